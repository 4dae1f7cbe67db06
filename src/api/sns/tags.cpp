// TagResource, UntagResource, ListTagsForResource. [SNS TagResource]
#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"

namespace fanfare::api::sns {

Result<Next, ApiError> tag_resource(const model::TagResourceRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::TagTopic>();
  auto key = topic_of(in.resource_arn, "ResourceArn", "resourceArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.tags.has_value()) return must_not_be_null("tags");
  auto tags = read_tags(in.tags, call);
  if (!tags) return tags.error();
  command.tags = *tags;
  return Next::Engine;
}

Result<Next, ApiError> untag_resource(const model::UntagResourceRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::UntagTopic>();
  auto key = topic_of(in.resource_arn, "ResourceArn", "resourceArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.tag_keys.has_value()) return must_not_be_null("tagKeys");
  auto* const keys = call.arena.take_array<std::string_view>(in.tag_keys.size());
  for (std::size_t i = 0; i < in.tag_keys.size(); ++i) keys[i] = in.tag_keys[i].view();
  command.keys = {keys, in.tag_keys.size()};
  return Next::Engine;
}

Result<Next, ApiError> list_tags_for_resource(const model::ListTagsForResourceRequest& in, Call& call) {
  auto key = topic_of(in.resource_arn, "ResourceArn", "resourceArn", call);
  if (!key) return key.error();
  call.request.emplace<engine::ListTopicTags>().topic = *key;
  return Next::Engine;
}

void list_tags_for_resource_reply(const engine::Tags& tags, ReplyCall& call) {
  auto* const entries = call.answer.arena.take_array<model::Tag>(tags.tags.size());
  for (std::size_t i = 0; i < tags.tags.size(); ++i) {
    entries[i] = {std::string_view(tags.tags[i].first), std::string_view(tags.tags[i].second)};
  }
  model::ListTagsForResourceResponse out;
  out.tags = {entries, tags.tags.size()};
  call.answer.write(out);
}

}  // namespace fanfare::api::sns

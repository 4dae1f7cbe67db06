// CreateTopic, DeleteTopic, ListTopics. [SNS CreateTopic]
#include <fmt/format.h>

#include <algorithm>

#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"

namespace fanfare::api::sns {

Result<Next, ApiError> create_topic(const model::CreateTopicInput& in, Call& call) {
  auto& command = call.request.emplace<engine::CreateTopic>();
  if (!in.name.has_value()) return must_not_be_null("name");
  if (!topic::is_valid_topic_name(in.name.view())) return invalid_parameter("Topic Name");
  command.topic = {call.account, call.region, in.name.view()};
  for (const auto& [name, value] : in.attributes) {
    if (auto error = read_topic_attribute(name.view(), value.view(), command.attributes)) return *std::move(error);
  }
  if (in.data_protection_policy.has_value()) {
    command.attributes.data_protection_policy = std::string(in.data_protection_policy.view());
  }
  auto tags = read_tags(in.tags, call);
  if (!tags) return tags.error();
  command.tags = *tags;
  return Next::Engine;
}

void create_topic_reply(const engine::TopicFound& found, ReplyCall& call) {
  model::CreateTopicResponse out;
  out.topic_arn = call.answer.arena.copy(found.key->arn().str());
  call.answer.write(out);
}

Result<Next, ApiError> delete_topic(const model::DeleteTopicInput& in, Call& call) {
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  call.request.emplace<engine::DeleteTopic>().topic = *key;
  return Next::Engine;
}

Result<Next, ApiError> list_topics(const model::ListTopicsInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ListTopics>();
  auto after = read_token(in.next_token, call);
  if (!after) return after.error();
  command.account = call.account;
  command.region = call.region;
  command.after = *after;
  return Next::Engine;
}

void list_topics_reply(const engine::TopicNames& names, ReplyCall& call) {
  auto* const topics = call.answer.arena.take_array<model::Topic>(names.keys.size());
  std::ranges::transform(names.keys, topics, [&](const topic::TopicKey& key) {
    return model::Topic{call.answer.arena.copy(key.arn().str())};
  });
  model::ListTopicsResponse out;
  out.topics = {topics, names.keys.size()};
  if (names.more) out.next_token = write_token(names.keys.back().name.str(), call.answer);
  call.answer.write(out);
}

}  // namespace fanfare::api::sns

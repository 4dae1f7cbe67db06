// TagQueue, UntagQueue, ListQueueTags. [SQS TagQueue]
#include <fmt/format.h>

#include <algorithm>

#include "api/aws/message_rules.h"
#include "api/aws/tag_characters.h"
#include "api/sqs/actions.h"
#include "api/sqs/errors.h"
#include "api/sqs/validate.h"

namespace fanfare::api::sqs {
namespace {

/// "aws:", "AWS:" ...: AWS keeps tags of its own under it.
bool has_reserved_prefix(std::string_view text) {
  constexpr std::string_view kPrefix = "aws:";
  return text.size() >= kPrefix.size() &&
         std::equal(kPrefix.begin(), kPrefix.end(), text.begin(), [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

/// Nullopt if a key or value may stand in a tag. `what` says which one it is.
std::optional<ApiError> check_tag_text(std::string_view text, const std::string& what) {
  if (has_reserved_prefix(text))
    return api_error(Error::InvalidParameterValue, fmt::format("{} is invalid: the prefix aws: is reserved.", what));
  if (const auto bad = aws::forbidden_in_tag(text)) {
    return api_error(Error::InvalidParameterValue,
                     fmt::format("{} is invalid: it can have letters, digits, white space and _ . : / = + - @ only, and not '{}'.",
                                 what, *bad));
  }
  return std::nullopt;
}

}  // namespace

Result<std::span<const engine::Tag>, ApiError> read_tags(const wire::aws::Map<wire::aws::Text>& given, Call& call) {
  auto* const tags = call.arena.take_array<engine::Tag>(given.size());
  std::size_t count = 0;
  for (const auto& [key, value] : given) {
    if (key.empty() || aws::character_count(key.view()) > 128) {
      return api_error(
          Error::InvalidParameterValue,
          fmt::format("Tag key '{}' is invalid: it must have 1 to 128 characters.", key.view().substr(0, 512)));
    }
    if (aws::character_count(value.view()) > 256) {
      return api_error(
          Error::InvalidParameterValue,
          fmt::format("The value of tag '{}' is invalid: it can have at most 256 characters.", key.view()));
    }
    if (auto error = check_tag_text(key.view(), fmt::format("Tag key '{}'", key.view()))) return *std::move(error);
    if (auto error = check_tag_text(value.view(), fmt::format("The value of tag '{}'", key.view()))) return *std::move(error);
    tags[count++] = {key.view(), value.view()};
  }
  return std::span<const engine::Tag>(tags, count);
}

Result<Next, ApiError> tag_queue(const model::TagQueueRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::TagQueue>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (in.tags.empty()) return missing_parameter("Tags");
  auto tags = read_tags(in.tags, call);
  if (!tags) return tags.error();
  command.tags = *tags;
  return Next::Engine;
}

Result<Next, ApiError> untag_queue(const model::UntagQueueRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::UntagQueue>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (in.tag_keys.empty()) return missing_parameter("TagKeys");
  auto* const keys = call.arena.take_array<std::string_view>(in.tag_keys.size());
  for (std::size_t i = 0; i < in.tag_keys.size(); ++i) keys[i] = in.tag_keys[i].view();
  command.keys = {keys, in.tag_keys.size()};
  return Next::Engine;
}

Result<Next, ApiError> list_queue_tags(const model::ListQueueTagsRequest& in, Call& call) {
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  call.request.emplace<engine::ListQueueTags>().queue = *key;
  return Next::Engine;
}

void list_queue_tags_reply(const engine::Tags& tags, ReplyCall& call) {
  auto* const entries = call.answer.arena.take_array<wire::aws::Entry<wire::aws::Text>>(tags.tags.size());
  for (std::size_t i = 0; i < tags.tags.size(); ++i) {
    entries[i] = {std::string_view(tags.tags[i].first), std::string_view(tags.tags[i].second)};
  }
  model::ListQueueTagsResult out;
  if (!tags.tags.empty()) out.tags = {entries, tags.tags.size()};
  call.answer.write(out);
}

}  // namespace fanfare::api::sqs

#include "api/sqs/validate.h"

#include <fmt/format.h>

#include <algorithm>

namespace fanfare::api::sqs {
namespace {

using aws::ApiError;

bool is_letter_or_digit(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Whether a QueueUrl is no URL but a queue's name. What could be an address gone wrong is none: "a.b/work", an ARN.
bool is_name(std::string_view text) { return text.find_first_of("/:?#") == std::string_view::npos; }

}  // namespace

Result<queue::QueueKeyView, ApiError> queue_of(const wire::aws::Text& queue_url, const aws::Call& call) {
  std::string_view path = queue_url.view();
  if (!queue_url.has_value() || path.empty()) {
    if (call.queue_path.empty()) return missing_parameter("QueueUrl");
    path = call.queue_path;
  }
  const std::size_t scheme = path.find("://");
  const bool is_url = scheme != std::string_view::npos;
  if (is_url) {
    path.remove_prefix(scheme + 3);
    path = path.substr(std::min(path.find_first_of("/?#"), path.size()));
  } else if (is_name(path)) {
    return queue::QueueKeyView{call.account, call.region, path};
  }
  path = path.substr(0, path.find_first_of("?#"));
  while (path.ends_with('/')) path.remove_suffix(1);
  if (is_url && path.empty()) return api_error(Error::QueueDoesNotExist, "The specified queue does not exist.");
  const std::size_t before_name = path.rfind('/');
  if (before_name != std::string_view::npos) {
    const std::string_view name = path.substr(before_name + 1);
    path = path.substr(0, before_name);
    const std::string_view account = path.substr(path.rfind('/') + 1);
    const bool is_account =
        account.size() == 12 && std::ranges::all_of(account, [](char c) { return c >= '0' && c <= '9'; });
    if (is_account && !name.empty()) return queue::QueueKeyView{account, call.region, name};
  }
  return api_error(Error::InvalidAddress,
                   fmt::format("The address {} is not valid for this endpoint.", queue_url.view().substr(0, 1024)));
}

std::string_view queue_url(const queue::QueueKey& key, const aws::ReplyCall& call) {
  const std::string& base = call.context.base_url;
  const std::string& account = key.account.str();
  const std::string& name = key.name.str();
  const std::size_t size = base.size() + account.size() + name.size() + 2;
  char* const begin = call.answer.arena.take(size);
  char* to = std::ranges::copy(base, begin).out;
  *to++ = '/';
  to = std::ranges::copy(account, to).out;
  *to++ = '/';
  std::ranges::copy(name, to);
  return {begin, size};
}

std::optional<ApiError> check_fifo_id(const wire::aws::Text& id, std::string_view parameter) {
  if (!id.has_value()) return std::nullopt;
  const std::string_view text = id.view();
  const bool right =
      !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
  if (right) return std::nullopt;
  return invalid_value(
      text, parameter,
      fmt::format("{} can only include alphanumeric and punctuation characters. 1 to 128 in length.", parameter));
}

bool is_batch_entry_id(std::string_view id) {
  return !id.empty() && id.size() <= 80 &&
         std::ranges::all_of(id, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; });
}

BatchEntry& keep_entry(ReplyContext& context, std::string_view id, std::string_view handle) {
  BatchEntry& entry = context.batch.emplace_back();
  entry.id_begin = static_cast<std::uint32_t>(context.texts.size());
  entry.id_size = static_cast<std::uint32_t>(id.size());
  context.texts += id;
  entry.handle_begin = static_cast<std::uint32_t>(context.texts.size());
  entry.handle_size = static_cast<std::uint32_t>(handle.size());
  context.texts += handle;
  return entry;
}

void refuse_entry(ReplyContext& context, BatchEntry& entry, ApiError error) {
  entry.error = static_cast<std::int32_t>(context.errors.size());
  context.errors.push_back(std::move(error));
}

Result<queue::ReceiptHandle, ApiError> receipt_of(const wire::aws::Text& text, const aws::Call& call) {
  if (!text.has_value() || text.empty()) return missing_parameter("ReceiptHandle");
  const auto handle = call.receipts.parse(text.view());
  if (!handle) {
    return api_error(
        Error::ReceiptHandleIsInvalid,
        fmt::format("The input receipt handle \"{}\" is not a valid receipt handle.", text.view().substr(0, 1024)));
  }
  return *handle;
}

}  // namespace fanfare::api::sqs

// Rules about single parameters that several SQS actions share, with AWS's texts.
#pragma once

#include <optional>
#include <string_view>

#include "api/aws/call.h"
#include "api/sqs/errors.h"
#include "base/result.h"
#include "core/queue/names.h"
#include "core/queue/settings.h"
#include "wire/aws_shape/shape.h"

namespace fanfare::api::sqs {

/// The queue of a QueueUrl, or of the request's path when there is none. The URL's scheme, host and whatever stands
/// before the last two parts of its path do not matter: "http://sqs:4566/000000000000/work". A bare name, "work", is the
/// queue of the caller's own account in the request's region. Errors: MissingParameter; QueueDoesNotExist for a URL
/// without a path; InvalidAddress for anything else that names no account and queue.
Result<queue::QueueKeyView, aws::ApiError> queue_of(const wire::aws::Text& queue_url, const aws::Call& call);

/// "http://localhost:4566/000000000000/work"
std::string_view queue_url(const queue::QueueKey& key, const aws::ReplyCall& call);

/// MessageGroupId and MessageDeduplicationId: 1 to 128 letters, digits and punctuation. Nullopt if absent or fine.
std::optional<aws::ApiError> check_fifo_id(const wire::aws::Text& id, std::string_view parameter);

/// A number in the range of a queue setting: absent, the setting, or InvalidParameterValue with `reason`.
template <class Setting>
Result<std::optional<Setting>, aws::ApiError> setting_of(const wire::aws::Number& number, std::string_view parameter,
                                                         std::string_view reason) {
  if (!number.has_value()) return std::optional<Setting>();
  const auto setting = Setting::of(*number);
  if (!setting) return invalid_value(std::to_string(*number), parameter, reason);
  return std::optional<Setting>(*setting);
}

/// Whether an entry's id is 1 to 80 of [A-Za-z0-9_-].
bool is_batch_entry_id(std::string_view id);

/// What all batches check before any entry: 1 to 10 entries, ids of the right form and all different. `List` is a List
/// of entries with a member `id`.
template <class List>
std::optional<aws::ApiError> check_batch(const List& entries, std::string_view entry_name) {
  if (entries.empty()) {
    return api_error(Error::EmptyBatchRequest,
                     "There should be at least one " + std::string(entry_name) + " in the request.");
  }
  if (entries.size() > 10) {
    return api_error(
        Error::TooManyEntriesInBatchRequest,
        "Maximum number of entries per request are 10. You have sent " + std::to_string(entries.size()) + ".");
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].id.has_value())
      return missing_parameter(std::string(entry_name) + "." + std::to_string(i + 1) + ".Id");
    if (!is_batch_entry_id(entries[i].id.view())) {
      return api_error(
          Error::InvalidBatchEntryId,
          "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most "
          "80 letters long.");
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (entries[k].id.view() == entries[i].id.view()) {
        return api_error(Error::BatchEntryIdsNotDistinct, "Id " + std::string(entries[i].id.view()) + " repeated.");
      }
    }
  }
  return std::nullopt;
}

/// Remembers an entry of a batch, with the text of its receipt handle if it has one.
BatchEntry& keep_entry(ReplyContext& context, std::string_view id, std::string_view handle = {});
/// The entry is refused before the engine sees it.
void refuse_entry(ReplyContext& context, BatchEntry& entry, aws::ApiError error);

/// The receipt handle of a text; ReceiptHandleIsInvalid for one that this broker did not make.
Result<queue::ReceiptHandle, aws::ApiError> receipt_of(const wire::aws::Text& text, const aws::Call& call);

}  // namespace fanfare::api::sqs

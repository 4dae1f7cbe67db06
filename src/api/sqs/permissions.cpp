// AddPermission and RemovePermission. [SQS AddPermission]
#include <algorithm>

#include "api/sqs/actions.h"
#include "api/sqs/errors.h"
#include "api/sqs/validate.h"

namespace fanfare::api::sqs {
namespace {

std::optional<ApiError> check_label(const wire::aws::Text& label) {
  if (label.empty()) return missing_parameter("Label");
  if (is_batch_entry_id(label.view())) return std::nullopt;  // the same characters, the same length
  return invalid_value(label.view(), "Label",
                       "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
}

std::span<const std::string_view> views_of(const wire::aws::List<wire::aws::Text>& texts, Call& call) {
  auto* const views = call.arena.take_array<std::string_view>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) views[i] = texts[i].view();
  return {views, texts.size()};
}

}  // namespace

Result<Next, ApiError> add_permission(const model::AddPermissionRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::AddPermission>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (auto error = check_label(in.label)) return *std::move(error);
  if (in.aws_account_ids.empty()) return missing_parameter("AWSAccountIds");
  if (in.actions.empty()) return missing_parameter("Actions");
  command.label = in.label.view();
  command.accounts = views_of(in.aws_account_ids, call);
  command.actions = views_of(in.actions, call);
  call.context.subject = in.label.view();
  return Next::Engine;
}

Result<Next, ApiError> remove_permission(const model::RemovePermissionRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::RemovePermission>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (auto error = check_label(in.label)) return *std::move(error);
  command.label = in.label.view();
  call.context.subject = in.label.view();
  return Next::Engine;
}

}  // namespace fanfare::api::sqs

#include "core/inbox/input.h"

#include <algorithm>

namespace fanfare::inbox {
namespace {

InputError too_long(std::string_view member, std::size_t bytes, std::size_t bytes_max) {
  return {InputFault::TooLong, std::string{member} + ": " + std::to_string(bytes) + " bytes, at most " +
                                   std::to_string(bytes_max) + " are accepted"};
}

}  // namespace

std::optional<InputError> check_identifier(std::string_view member, std::string_view value, std::size_t bytes_max) {
  if (value.empty())
    return InputError{InputFault::Missing, std::string{member} + ": must be a text of at least one character"};
  if (value.size() > bytes_max) return too_long(member, value.size(), bytes_max);
  for (std::size_t i = 0; i < value.size(); ++i)
    if (static_cast<unsigned char>(value[i]) < 0x20 || value[i] == 0x7f)
      return InputError{InputFault::BadCharacter, std::string{member} + ": a control character at byte " +
                                                      std::to_string(i) + "; none is accepted"};
  return std::nullopt;
}

Result<Intent, InputError> checked(Intent intent) {
  if (auto error = check_identifier("idempotency_key", intent.key.str(), kIdempotencyKeyBytesMax))
    return *std::move(error);
  if (auto error = check_identifier("workspace", intent.workspace.str(), kWorkspaceBytesMax)) return *std::move(error);
  if (auto error = check_identifier("kind", intent.kind.str(), kKindBytesMax)) return *std::move(error);
  if (auto error = check_identifier("object_id", intent.object_id.str(), kObjectIdBytesMax)) return *std::move(error);
  if (intent.revision && intent.revision->size() > kRevisionBytesMax)
    return too_long("revision", intent.revision->size(), kRevisionBytesMax);
  if (intent.data.size() > kDataBytesMax) return too_long("data", intent.data.size(), kDataBytesMax);
  if (intent.recipients.empty())
    return InputError{InputFault::Missing, "recipient: must be a text, or recipients a list of at least one"};
  if (intent.recipients.size() > kRecipientsMax)
    return InputError{InputFault::TooMany, "recipients: " + std::to_string(intent.recipients.size()) +
                                               " entries, at most " + std::to_string(kRecipientsMax) + " are accepted"};
  for (const Recipient& recipient : intent.recipients)
    if (auto error = check_identifier("recipient", recipient.str(), kRecipientBytesMax)) return *std::move(error);
  std::sort(intent.recipients.begin(), intent.recipients.end());
  intent.recipients.erase(std::unique(intent.recipients.begin(), intent.recipients.end()), intent.recipients.end());
  if (intent.created_at && intent.expires_at && *intent.expires_at <= *intent.created_at)
    return InputError{InputFault::Contradiction, "expires_at: must be after created_at"};
  return intent;
}

}  // namespace fanfare::inbox

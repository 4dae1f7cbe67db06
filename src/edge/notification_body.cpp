#include "edge/notification_body.h"

#include "wire/json/writer.h"

namespace fanfare::edge {
namespace {

using inbox::InputError;
using inbox::InputFault;
using wire::json::Value;

/// The member, or null if it is absent or JSON's null.
const Value* present(const Value& object, std::string_view member) {
  const Value* const value = object.find(member);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

InputError wrong_type(std::string_view member, std::string_view accepted, const Value& found) {
  return {InputFault::WrongType, std::string{member} + ": must be " + std::string{accepted} + ", not " +
                                     std::string{wire::json::describe(found.kind())}};
}

/// A text. Identifiers of applications are often numbers: an integer counts as its digits.
Result<std::string, InputError> text_of(std::string_view member, const Value& value) {
  if (const auto text = value.as_string()) return std::string{*text};
  if (const auto number = value.number_text();
      number && number->find_first_not_of("-0123456789") == std::string_view::npos)
    return std::string{*number};
  return wrong_type(member, "a text", value);
}

/// A required text; empty if absent, which inbox::checked() refuses.
template <class Name>
std::optional<InputError> read_name(const Value& object, std::string_view member, Name& into) {
  const Value* const value = present(object, member);
  if (value == nullptr) return InputError{InputFault::Missing, std::string{member} + ": is missing; a text is needed"};
  auto text = text_of(member, *value);
  if (!text) return text.error();
  into = Name{*std::move(text)};
  return std::nullopt;
}

std::optional<InputError> read_time(const Value& object, std::string_view member, std::optional<Timestamp>& into) {
  const Value* const value = present(object, member);
  if (value == nullptr) return std::nullopt;
  const auto text = value->as_string();
  if (!text) return wrong_type(member, "a time such as 2026-11-30T10:59:45Z", *value);
  into = parse_iso8601(*text);
  if (!into)
    return InputError{InputFault::WrongType, std::string{member} + ": must be a time such as 2026-11-30T10:59:45Z"};
  return std::nullopt;
}

std::optional<InputError> read_recipients(const Value& object, std::vector<inbox::Recipient>& into) {
  const Value* const one = present(object, "recipient");
  const Value* const many = present(object, "recipients");
  if (one != nullptr && many != nullptr)
    return InputError{InputFault::Contradiction, "recipient: must be absent when recipients is there"};
  if (one != nullptr) {
    auto text = text_of("recipient", *one);
    if (!text) return text.error();
    into.emplace_back(*std::move(text));
  }
  if (many != nullptr) {
    if (!many->is_array()) return wrong_type("recipients", "a list of texts", *many);
    if (many->size() > inbox::kRecipientsMax)
      return InputError{InputFault::TooMany, "recipients: " + std::to_string(many->size()) + " entries, at most " +
                                                 std::to_string(inbox::kRecipientsMax) + " are accepted"};
    into.reserve(many->size());
    for (const Value& entry : many->items()) {
      auto text = text_of("recipients", entry);
      if (!text) return text.error();
      into.emplace_back(*std::move(text));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<inbox::Intent, InputError> read_notification(const Value& value) {
  if (!value.is_object())
    return InputError{InputFault::NotJson,
                      "a notification must be an object, not " + std::string{wire::json::describe(value.kind())}};
  inbox::Intent intent;
  if (auto error = read_name(value, "idempotency_key", intent.key)) return *std::move(error);
  if (auto error = read_recipients(value, intent.recipients)) return *std::move(error);
  if (auto error = read_name(value, "workspace", intent.workspace)) return *std::move(error);
  if (auto error = read_name(value, "kind", intent.kind)) return *std::move(error);
  if (auto error = read_name(value, "object_id", intent.object_id)) return *std::move(error);
  if (const Value* const revision = present(value, "revision")) {
    auto text = text_of("revision", *revision);
    if (!text) return text.error();
    intent.revision = *std::move(text);
  }
  if (const Value* const data = present(value, "data")) data->append_to(intent.data);
  if (auto error = read_time(value, "created_at", intent.created_at)) return *std::move(error);
  if (auto error = read_time(value, "expires_at", intent.expires_at)) return *std::move(error);
  return inbox::checked(std::move(intent));
}

Result<inbox::Intent, InputError> parse_notification_message(std::string_view body) {
  const auto parsed = wire::json::parse(body);
  if (!parsed) return InputError{InputFault::NotJson, parsed.error().message()};
  const bool enveloped = parsed->find_string("Type") == "Notification" && parsed->find("idempotency_key") == nullptr;
  if (!enveloped) return read_notification(*parsed);
  const auto message = parsed->find_string("Message");
  if (!message) return InputError{InputFault::Missing, "Message: is missing in the SNS envelope"};
  const auto inner = wire::json::parse(*message);
  if (!inner) return InputError{InputFault::NotJson, "Message: " + inner.error().message()};
  return read_notification(*inner);
}

void append_item(std::string& out, const inbox::Notification& item) {
  wire::json::Writer writer{out};
  writer.begin_object().key("id").string(item.id.str()).key("sequence").unsigned_integer(item.sequence);
  writer.key("workspace").string(item.inbox.workspace.str()).key("kind").string(item.kind.str());
  writer.key("object_id").string(item.object_id.str()).key("revision");
  if (item.revision) {
    writer.string(*item.revision);
  } else {
    writer.null();
  }
  writer.key("data").raw(item.data.empty() ? std::string_view{"null"} : std::string_view{item.data});
  writer.key("created_at").string(iso8601(item.created_at)).key("seen").boolean(item.seen);
  writer.key("read").boolean(item.read).key("archived").boolean(item.archived).end_object();
}

}  // namespace fanfare::edge

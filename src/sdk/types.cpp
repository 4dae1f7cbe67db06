// The small functions of the SDK's value types.
#include <fmt/format.h>

#include <charconv>

#include "fanfare/consumer.h"
#include "fanfare/sns.h"
#include "fanfare/sqs.h"
#include "fanfare/transport.h"
#include "wire/http/headers.h"

namespace fanfare::sdk {
std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Service: return "service";
    case ErrorKind::Throttled: return "throttled";
    case ErrorKind::Unreachable: return "unreachable";
    case ErrorKind::Timeout: return "timeout";
    case ErrorKind::Cancelled: return "cancelled";
    case ErrorKind::Credentials: return "credentials";
    case ErrorKind::Malformed: return "malformed";
    case ErrorKind::Invalid: return "invalid";
  }
  return "unknown";
}

std::string Error::describe() const {
  if (!code.empty()) return fmt::format("{} ({}): {}", code, status, message);
  return fmt::format("{}: {}", to_string(kind), message);
}

std::string TransportResponse::header(std::string_view name) const {
  for (const auto& [header_name, value] : headers)
    if (wire::http::equal_ignoring_case(header_name, name)) return value;
  return {};
}

std::size_t counted_bytes(const std::string& body, const std::vector<MessageAttribute>& attributes) {
  std::size_t bytes = body.size();
  for (const MessageAttribute& attribute : attributes)
    bytes += attribute.name.size() + attribute.type.size() + attribute.value.size();
  return bytes;
}

int ReceivedMessage::receive_count() const {
  const auto found = system_attributes.find("ApproximateReceiveCount");
  int count = 0;
  if (found != system_attributes.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), count);
  return count;
}

std::string ReceivedMessage::group_id() const {
  const auto found = system_attributes.find("MessageGroupId");
  return found == system_attributes.end() ? std::string{} : found->second;
}

const std::string* Delivery::attribute(std::string_view name) const {
  for (const MessageAttribute& one : attributes)
    if (one.name == name) return &one.value;
  return nullptr;
}

}  // namespace fanfare::sdk

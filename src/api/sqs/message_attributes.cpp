#include "api/sqs/message_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "api/aws/message_rules.h"
#include "api/sqs/errors.h"
#include "base/bytes.h"
#include "wire/digest/digest.h"

namespace fanfare::api::sqs {
namespace {

using aws::ApiError;
using message::MessageAttribute;

// A message's size does not count its trace header, so the header needs a limit of its own. Those in use have 100 bytes.
constexpr std::size_t kTraceHeaderBytesMax = 1024;

ApiError refused(std::string message) { return api_error(Error::InvalidParameterValue, std::move(message)); }

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::ranges::equal(text.substr(0, lower.size()), lower, {}, [](char c) {
           return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
         });
}

std::optional<ApiError> check_name(std::string_view name) {
  if (auto fault = aws::attribute_name_fault(name)) return refused(*std::move(fault));
  if (starts_with_ignoring_case(name, "aws.") || starts_with_ignoring_case(name, "amazon.")) {
    return refused(
        fmt::format("The message attribute name '{}' is reserved: it must not start with AWS. or Amazon.", name));
  }
  return std::nullopt;
}

template <class Value>
Result<MessageAttribute, ApiError> read_attribute(std::string_view name, const Value& value, std::string_view whose) {
  const std::string_view type = value.data_type.view();
  if (type.empty()) {
    return refused(fmt::format("Message ({}) attribute '{}' must contain a non-empty attribute type.", whose, name));
  }
  if (!aws::is_attribute_type(type) || type.size() > 256) {
    return refused(
        fmt::format("The message attribute '{}' has an invalid message attribute type, the set of supported type "
                    "prefixes is Binary, Number, and String.",
                    name));
  }
  if (!value.string_list_values.empty() || !value.binary_list_values.empty()) {
    return api_error(Error::UnsupportedOperation,
                     "Message attribute list values in SendMessage operation are not supported.");
  }
  const bool binary = aws::is_binary_type(type);
  const wire::aws::Text& text = binary ? value.binary_value : value.string_value;
  if (text.empty()) {
    return refused(fmt::format(
        "Message ({}) attribute '{}' must contain a non-empty value of type '{}'.", whose, name,
        type.substr(0, type.find('.')) == "Number" ? std::string_view("String") : type.substr(0, type.find('.'))));
  }
  if ((binary ? value.string_value : value.binary_value).has_value()) {
    return refused(fmt::format("Message ({}) attribute '{}' has values of two types: give the one of type '{}' only.",
                               whose, name, binary ? "Binary" : "String"));
  }
  if (!binary) {
    if (const auto character = aws::forbidden_character(text.view())) {
      return api_error(
          Error::InvalidMessageContents,
          fmt::format("Invalid binary character '{}' was found in the value of message attribute '{}', the set of "
                      "allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | "
                      "[#x10000-#x10FFFF]",
                      *character, name));
    }
  }
  if (aws::is_number_type(type) && !aws::is_attribute_number(text.view())) {
    return refused(fmt::format("Can't cast the value of message ({}) attribute '{}' to a number.", whose, name));
  }
  return MessageAttribute{name, type, text.view()};
}

void append_text(std::string& out, std::string_view text) {
  append_be32(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

}  // namespace

Result<std::span<const MessageAttribute>, ApiError> read_message_attributes(
    const wire::aws::Map<model::MessageAttributeValue>& given, wire::aws::Arena& arena) {
  if (given.empty()) return std::span<const MessageAttribute>();
  if (given.size() > 10) {
    return refused(fmt::format("Number of message attributes [{}] exceeds the allowed maximum [10].", given.size()));
  }
  auto* const attributes = arena.take_array<MessageAttribute>(given.size());
  std::size_t count = 0;
  for (const auto& [name, value] : given) {
    if (auto error = check_name(name.view())) return *std::move(error);
    auto attribute = read_attribute(name.view(), value, "user");
    if (!attribute) return attribute.error();
    attributes[count++] = *attribute;
  }
  const std::span<MessageAttribute> all(attributes, count);
  std::ranges::sort(all, {}, &MessageAttribute::name);
  if (const auto twice = std::ranges::adjacent_find(all, {}, &MessageAttribute::name); twice != all.end()) {
    return refused(fmt::format("Message attribute name '{}' is given more than once.", twice->name));
  }
  return std::span<const MessageAttribute>(all);
}

Result<std::string_view, ApiError> read_system_attributes(
    const wire::aws::Map<model::MessageSystemAttributeValue>& given) {
  std::string_view trace_header;
  for (const auto& [name, value] : given) {
    if (name.view() != "AWSTraceHeader") {
      return refused(
          fmt::format("Message system attribute name '{}' is invalid: only AWSTraceHeader can be sent.", name.view()));
    }
    auto attribute = read_attribute(name.view(), value, "system");
    if (!attribute) return attribute.error();
    if (attribute->type != "String") {
      return refused("Message (system) attribute 'AWSTraceHeader' must be of type 'String'.");
    }
    if (attribute->value.size() > kTraceHeaderBytesMax) {
      return refused(fmt::format("Message (system) attribute 'AWSTraceHeader' can have at most {} bytes.",
                                 kTraceHeaderBytesMax));
    }
    trace_header = attribute->value;
  }
  return trace_header;
}

bool is_trace_header(std::string_view text) {
  return !text.empty() && text.size() <= kTraceHeaderBytesMax && !aws::forbidden_character(text);
}

std::array<std::uint8_t, 16> attributes_md5(std::span<const MessageAttribute> sorted) {
  std::string bytes;
  for (const MessageAttribute& attribute : sorted) {
    append_text(bytes, attribute.name);
    append_text(bytes, attribute.type);
    bytes.push_back(attribute.is_binary() ? 2 : 1);
    append_text(bytes, attribute.value);
  }
  return wire::digest::md5(bytes);
}

std::array<std::uint8_t, 16> trace_header_md5(std::string_view trace_header) {
  const MessageAttribute attribute{"AWSTraceHeader", "String", trace_header};
  return attributes_md5({&attribute, 1});
}

bool is_wanted(std::string_view name, std::span<const std::string> wanted) {
  return std::ranges::any_of(wanted, [&](const std::string& pattern) {
    if (pattern.ends_with(".*")) return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 2));
    return name == pattern;
  });
}

}  // namespace fanfare::api::sqs

#include "api/aws/call.h"

#include <fmt/format.h>

#include <charconv>

#include "wire/aws_json/document.h"
#include "wire/aws_query/xml.h"

namespace fanfare::api::aws {

void Answer::write_nothing() {
  if (context_.protocol == Protocol::Json) {
    body_.append("{}");
    return;
  }
  const wire::aws::Shape* const output = context_.operation->output;
  write_raw(output == nullptr ? nullptr : arena.take_array<std::uint64_t>(output->size / 8 + 1));
}

void Answer::write_raw(const void* output) {
  const Operation& operation = *context_.operation;
  if (context_.protocol == Protocol::Json) {
    wire::aws_json::append(body_, *operation.output, output);
    return;
  }
  const std::string_view xml_namespace = model_of(operation.service).xml_namespace;
  wire::aws_query::append_reply(body_, xml_namespace, operation.name, operation.output, output,
                                text(context_.request_id));
}

std::string_view Answer::hex(const std::array<std::uint8_t, 16>& digest) {
  constexpr char digits[] = "0123456789abcdef";
  char* const to = arena.take(32);
  for (std::size_t i = 0; i < digest.size(); ++i) {
    to[2 * i] = digits[digest[i] >> 4];
    to[2 * i + 1] = digits[digest[i] & 15];
  }
  return {to, 32};
}

std::string_view Answer::decimal(std::int64_t number) {
  char* const to = arena.take(24);
  return {to, static_cast<std::size_t>(std::to_chars(to, to + 24, number).ptr - to)};
}

std::string_view Answer::text(const Uuid& id) {
  constexpr char digits[] = "0123456789abcdef";
  char* const begin = arena.take(36);
  char* to = begin;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    *to++ = digits[id.bytes[i] >> 4];
    *to++ = digits[id.bytes[i] & 15];
  }
  return {begin, 36};
}

Result<Next, ApiError> not_here_yet(const void*, Call& call) {
  return api_error(CommonError::NotHereYet, fmt::format("The action {} of {} is not supported by this broker yet.",
                                                        call.operation.name, model_of(call.operation.service).name));
}

}  // namespace fanfare::api::aws

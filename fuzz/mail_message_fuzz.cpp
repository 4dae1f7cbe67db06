// A mail of arbitrary values: no value begins a line of its own, and all of it can be carried by SMTP.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "wire/mail/mail.h"

namespace {

// The next part of the input, up to a byte 0xff.
std::string_view part(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\xff'), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare;
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  wire::mail::Message message;
  message.from = "news@example.com";
  const std::string_view to = part(rest);
  message.to = wire::mail::is_address(to) ? to : "box@example.com";
  message.subject = part(rest);
  message.from_name = part(rest);
  const wire::mail::Field field[] = {{"x-id", part(rest)}};
  message.fields = field;
  message.body = rest;
  std::string out;
  wire::mail::append_message(message, out);
  const std::size_t head = out.find("\r\n\r\n");
  FANFARE_ASSERT(head != std::string::npos);
  std::size_t fields = 1;
  for (std::size_t i = 0; i < head; ++i)
    if (out[i] == '\n' && out[i + 1] != ' ') ++fields;
  FANFARE_ASSERT(fields == 9, std::to_string(fields));
  for (std::size_t i = 0; i < out.size(); ++i) {
    FANFARE_ASSERT(static_cast<unsigned char>(out[i]) < 0x80, std::to_string(i));
    FANFARE_ASSERT(out[i] != '\n' || (i > 0 && out[i - 1] == '\r'), std::to_string(i));
    FANFARE_ASSERT(out[i] != '\r' || (i + 1 < out.size() && out[i + 1] == '\n'), std::to_string(i));
  }
  FANFARE_ASSERT(std::all_of(message.to.begin(), message.to.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '<' && c != '>'; }));
  return 0;
}

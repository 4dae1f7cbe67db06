// Writing single header fields; for the writers beside it.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace fanfare::wire::http {

/// CR, LF and NUL become spaces, so that no value can begin a field or a body of its own.
inline void append_field(std::string& out, std::string_view name, std::string_view value) {
  const auto append_safe = [&out](std::string_view text) {
    const auto begin = out.size();
    out.append(text);
    for (auto at = begin; at < out.size(); ++at) {
      if (out[at] == '\r' || out[at] == '\n' || out[at] == '\0') out[at] = ' ';
    }
  };
  append_safe(name);
  out.append(": ");
  append_safe(value);
  out.append("\r\n");
}

inline void append_length(std::string& out, std::uint64_t length) {
  char digits[24];
  const auto written = std::to_chars(digits, digits + sizeof digits, length);
  out.append("Content-Length: ").append(digits, static_cast<std::size_t>(written.ptr - digits)).append("\r\n");
}

}  // namespace fanfare::wire::http

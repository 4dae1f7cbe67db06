// Escaping and numbers of the JSON writer; plain text is found sixteen bytes at a time.
#include "wire/json/writer.h"

#include <charconv>
#include <cmath>

#include "wire/json/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fanfare::wire::json {

namespace {

constexpr bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

/// The first position from `at` that is not a printable ASCII character or needs an escape.
std::size_t skip_plain(std::string_view text, std::size_t at) {
#if defined(__SSE2__)
  const auto quote = _mm_set1_epi8('"');
  const auto backslash = _mm_set1_epi8('\\');
  const auto space = _mm_set1_epi8(0x20);
  for (; at + 16 <= text.size(); at += 16) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    // Signed: bytes from 0x80 are below 0x20, too.
    const auto special = _mm_or_si128(_mm_cmplt_epi8(block, space),
                                      _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
    const int mask = _mm_movemask_epi8(special);
    if (mask != 0) return at + static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(mask)));
  }
#endif
  while (at < text.size() && is_plain(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"': out.append("\\\""); return;
    case '\\': out.append("\\\\"); return;
    case '\b': out.append("\\b"); return;
    case '\f': out.append("\\f"); return;
    case '\n': out.append("\\n"); return;
    case '\r': out.append("\\r"); return;
    case '\t': out.append("\\t"); return;
    default: break;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  const char escape[] = {'\\', 'u', '0', '0', kDigits[byte >> 4], kDigits[byte & 15]};
  out.append(escape, sizeof escape);
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t copied = 0;  // text up to here is in `out`
  std::size_t at = 0;
  while ((at = skip_plain(text, at)) < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      out.append(text, copied, at - copied);
      append_escape(out, text[at]);
      copied = ++at;
      continue;
    }
    const auto step = utf8_step(text.substr(at));
    if (!step.valid) {
      out.append(text, copied, at - copied);
      out.append("\xef\xbf\xbd");
      copied = at + step.size;
    }
    at += step.size;
  }
  out.append(text, copied, text.size() - copied);
  out.push_back('"');
}

std::string to_quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

Writer& Writer::integer(std::int64_t value) {
  char digits[24];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  return raw({digits, static_cast<std::size_t>(written.ptr - digits)});
}

Writer& Writer::unsigned_integer(std::uint64_t value) {
  char digits[24];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  return raw({digits, static_cast<std::size_t>(written.ptr - digits)});
}

Writer& Writer::real(double value) {
  if (!std::isfinite(value)) return null();
  char digits[32];
  // Beyond 2^53 always with an exponent: the shortest digits, padded with zeros, would read as another integer.
  const auto written = std::fabs(value) > 0x1p53
                           ? std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific)
                           : std::to_chars(digits, digits + sizeof digits, value);
  return raw({digits, static_cast<std::size_t>(written.ptr - digits)});
}

}  // namespace fanfare::wire::json

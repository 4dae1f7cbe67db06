// Appends JSON text to a string; nothing is allocated but the string's growth.
//
//   json::Writer w(out);
//   w.begin_object().key("MessageId").string(id).key("Count").integer(3).end_object();   //
//   {"MessageId":"..","Count":3}
//
// Rule 1: the writer puts commas; the caller keeps the grammar (a key before each member, ends that match begins).
// Rule 2: the output is always valid UTF-8: what is not is replaced by U+FFFD, one for each maximal broken part.
// Source: [RFC 8259 7].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fanfare::wire::json {

/// Appends `text` as a JSON string with its quotes: `"a\"b"`. Escapes `"`, `\` and U+0000 to U+001F only.
void append_quoted(std::string& out, std::string_view text);
std::string to_quoted(std::string_view text);

class Writer {
 public:
  /// Appends to `out`, which outlives the writer.
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }

  Writer& key(std::string_view name) {
    separate();
    append_quoted(out_, name);
    out_.push_back(':');
    comma_ = false;
    return *this;
  }
  Writer& string(std::string_view value) {
    separate();
    append_quoted(out_, value);
    return *this;
  }
  Writer& integer(std::int64_t value);
  Writer& unsigned_integer(std::uint64_t value);
  /// The shortest text that reads back as the same double; null if it is not finite.
  Writer& real(double value);
  Writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  Writer& null() { return raw("null"); }
  /// A value that is JSON text already; it is not checked.
  Writer& raw(std::string_view json) {
    separate();
    out_.append(json);
    return *this;
  }

 private:
  void separate() {
    if (comma_) out_.push_back(',');
    comma_ = true;
  }
  Writer& open(char bracket) {
    separate();
    out_.push_back(bracket);
    comma_ = false;
    return *this;
  }
  Writer& close(char bracket) {
    out_.push_back(bracket);
    comma_ = true;
    return *this;
  }
  std::string& out_;
  bool comma_ = false;  // whether the next value or key follows another one
};

}  // namespace fanfare::wire::json

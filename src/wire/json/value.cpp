// The strict recursive parser behind json::Value. Off the hot path: it prefers good messages to speed.
#include "wire/json/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <ostream>

#include "wire/json/utf8.h"
#include "wire/json/writer.h"

namespace fanfare::wire::json {

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::Null: return "null";
    case Kind::Bool: return "a boolean";
    case Kind::Number: return "a number";
    case Kind::String: return "a string";
    case Kind::Array: return "an array";
    case Kind::Object: return "an object";
  }
  return "";
}

// ---- Value ----

namespace {

/// Whether the first digit that counts of a number too large or too small for a double stands left of the point.
bool is_large(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto exponent_at = std::min(text.find_first_of("eE"), text.size());
  const auto mantissa = text.substr(0, exponent_at);
  std::int64_t exponent = 0;
  if (exponent_at < text.size()) {
    auto digits = text.substr(exponent_at + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (read.ec == std::errc::result_out_of_range) return !digits.starts_with('-');
  }
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<std::int64_t>(std::min(mantissa.find_first_of("123456789"), mantissa.size()));
  const auto magnitude = first < point ? point - first : point - first + 1;
  return magnitude + exponent > 0;
}

std::optional<double> read_double(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range) {
    if (is_large(text)) return std::nullopt;
    return text.starts_with('-') ? -0.0 : 0.0;
  }
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

Value Value::boolean(bool value) { return Value{Node{value}}; }

Value Value::integer(std::int64_t value) { return Value{Node{Number{std::to_string(value)}}}; }

Value Value::real(double value) {
  if (!std::isfinite(value)) return {};
  std::string text;
  Writer{text}.real(value);
  return Value{Node{Number{std::move(text)}}};
}

Value Value::string(std::string value) { return Value{Node{std::move(value)}}; }
Value Value::array(std::vector<Value> items) { return Value{Node{std::move(items)}}; }
Value Value::object(std::vector<Member> members) { return Value{Node{std::move(members)}}; }

std::optional<bool> Value::as_bool() const {
  if (const auto* value = std::get_if<bool>(&node_)) return *value;
  return std::nullopt;
}

std::optional<std::string_view> Value::as_string() const {
  if (const auto* value = std::get_if<std::string>(&node_)) return std::string_view{*value};
  return std::nullopt;
}

std::optional<std::string_view> Value::number_text() const {
  if (const auto* number = std::get_if<Number>(&node_)) return std::string_view{number->text};
  return std::nullopt;
}

std::optional<std::int64_t> Value::as_int64() const {
  const auto text = number_text();
  if (!text) return std::nullopt;
  if (text->find_first_of(".eE") == std::string_view::npos) {
    std::int64_t value = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), value);
    if (read.ec != std::errc{}) return std::nullopt;
    return value;
  }
  const auto value = read_double(*text);
  if (!value || std::trunc(*value) != *value || std::fabs(*value) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> Value::as_double() const {
  const auto text = number_text();
  return text ? read_double(*text) : std::nullopt;
}

std::span<const Value> Value::items() const {
  if (const auto* items = std::get_if<std::vector<Value>>(&node_)) return *items;
  return {};
}

std::span<const Member> Value::members() const {
  if (const auto* members = std::get_if<std::vector<Member>>(&node_)) return *members;
  return {};
}

const Value* Value::find(std::string_view key) const {
  const auto all = members();
  // From the back, so that the last of several members of one name wins, as everywhere.
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Member& member) { return member.key == key; });
  return found == all.rend() ? nullptr : &found->value;
}

std::optional<std::string_view> Value::find_string(std::string_view key) const {
  const auto* value = find(key);
  return value != nullptr ? value->as_string() : std::nullopt;
}

std::size_t Value::size() const { return is_object() ? members().size() : items().size(); }

namespace {

void write(Writer& writer, const Value& value) {
  switch (value.kind()) {
    case Kind::Null: writer.null(); return;
    case Kind::Bool: writer.boolean(*value.as_bool()); return;
    case Kind::Number: writer.raw(*value.number_text()); return;
    case Kind::String: writer.string(*value.as_string()); return;
    case Kind::Array:
      writer.begin_array();
      for (const auto& item : value.items()) write(writer, item);
      writer.end_array();
      return;
    case Kind::Object:
      writer.begin_object();
      for (const auto& member : value.members()) write(writer.key(member.key), member.value);
      writer.end_object();
      return;
  }
}

bool equal_numbers(const Value& a, const Value& b) {
  if (*a.number_text() == *b.number_text()) return true;
  const auto int_a = a.as_int64();
  const auto int_b = b.as_int64();
  if (int_a && int_b) return *int_a == *int_b;
  // An integer and a fraction that round to the same double are different numbers.
  if (int_a || int_b) return false;
  const auto double_a = a.as_double();
  const auto double_b = b.as_double();
  return double_a && double_b && *double_a == *double_b;
}

bool equal_members(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  std::vector<const Member*> left;
  std::vector<const Member*> right;
  for (const auto& member : a.members()) left.push_back(&member);
  for (const auto& member : b.members()) right.push_back(&member);
  const auto by_key = [](const Member* x, const Member* y) { return x->key < y->key; };
  std::stable_sort(left.begin(), left.end(), by_key);
  std::stable_sort(right.begin(), right.end(), by_key);
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](const Member* x, const Member* y) { return x->key == y->key && x->value == y->value; });
}

}  // namespace

void Value::append_to(std::string& out) const {
  Writer writer{out};
  write(writer, *this);
}

std::string Value::to_string() const {
  std::string out;
  append_to(out);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << value.to_string(); }

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::Null: return true;
    case Kind::Bool: return a.as_bool() == b.as_bool();
    case Kind::Number: return equal_numbers(a, b);
    case Kind::String: return a.as_string() == b.as_string();
    case Kind::Array: return std::ranges::equal(a.items(), b.items());
    case Kind::Object: return equal_members(a, b);
  }
  return false;
}

// ---- Error ----

std::string Error::message() const { return fmt::format("line {}, column {}: {}", line, column, detail); }

// ---- ValueParser ----

class ValueParser {
 public:
  ValueParser(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {
    limits_.depth_max = std::min<std::size_t>(limits_.depth_max, 1024);
  }

  Result<Value, Error> parse_document() {
    if (text_.size() > limits_.bytes_max) {
      at_ = 0;
      fail(Reason::TooLong,
           fmt::format("the text has {} bytes, at most {} are accepted", text_.size(), limits_.bytes_max));
      return take_error();
    }
    skip_space();
    Value root;
    if (!parse_value(root, 0)) return take_error();
    skip_space();
    if (at_ < text_.size()) {
      fail(Reason::TrailingContent, "expected the end after the document, found " + found());
      return take_error();
    }
    return root;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_space() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  /// What stands at the current place, for messages: `'x'`, `byte 0x07`, `the end`.
  [[nodiscard]] std::string found() const {
    if (at_end()) return "the end";
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte > 0x20 && byte < 0x7f) return fmt::format("'{}'", text_[at_]);
    const auto step = utf8_step(text_.substr(at_));
    if (byte >= 0x80 && step.valid) return fmt::format("'{}'", text_.substr(at_, step.size));
    return fmt::format("byte 0x{:02x}", byte);
  }

  bool fail(Reason reason, std::string detail) {
    const auto before = text_.substr(0, at_);
    const auto line_start = before.rfind('\n');
    error_ = Error{reason, at_, static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
                   static_cast<std::uint32_t>(line_start == std::string_view::npos ? at_ + 1 : at_ - line_start),
                   std::move(detail)};
    return false;
  }
  bool fail_expected(std::string_view what) {
    return fail(at_end() ? Reason::UnexpectedEnd : Reason::UnexpectedCharacter,
                fmt::format("expected {}, found {}", what, found()));
  }
  Error take_error() { return std::move(*error_); }

  bool parse_value(Value& out, std::size_t depth) {
    switch (peek()) {
      case '{': return parse_object(out, depth + 1);
      case '[': return parse_array(out, depth + 1);
      case '"': {
        std::string text;
        if (!parse_string(text)) return false;
        out = Value::string(std::move(text));
        return true;
      }
      case 't': return parse_word("true", out, Value::boolean(true));
      case 'f': return parse_word("false", out, Value::boolean(false));
      case 'n': return parse_word("null", out, Value{});
      default: break;
    }
    const char c = peek();
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(out);
    return fail_expected("a value");
  }

  bool parse_word(std::string_view word, Value& out, Value value) {
    if (!text_.substr(at_).starts_with(word)) return fail_expected("a value");
    at_ += word.size();
    out = std::move(value);
    return true;
  }

  bool enter(std::size_t depth) {
    if (depth > limits_.depth_max) {
      return fail(Reason::TooDeep, fmt::format("arrays and objects may be nested {} deep", limits_.depth_max));
    }
    ++at_;
    skip_space();
    return true;
  }

  bool parse_array(Value& out, std::size_t depth) {
    if (!enter(depth)) return false;
    std::vector<Value> items;
    if (peek() == ']') {
      ++at_;
    } else {
      for (;;) {
        if (!parse_value(items.emplace_back(), depth)) return false;
        skip_space();
        if (peek() == ']') {
          ++at_;
          break;
        }
        if (peek() != ',') return fail_expected("',' or ']' after an array's element");
        ++at_;
        skip_space();
      }
    }
    out = Value::array(std::move(items));
    return true;
  }

  bool parse_object(Value& out, std::size_t depth) {
    if (!enter(depth)) return false;
    std::vector<Member> members;
    std::vector<std::size_t> key_offsets;
    if (peek() == '}') {
      ++at_;
    } else {
      for (;;) {
        if (peek() != '"') {
          return fail_expected(members.empty() ? "a member's name in quotes or '}'" : "a member's name in quotes");
        }
        key_offsets.push_back(at_);
        auto& member = members.emplace_back();
        if (!parse_string(member.key)) return false;
        skip_space();
        if (peek() != ':') return fail_expected("':' after a member's name");
        ++at_;
        skip_space();
        if (!parse_value(member.value, depth)) return false;
        skip_space();
        if (peek() == '}') {
          ++at_;
          break;
        }
        if (peek() != ',') return fail_expected("',' or '}' after a member");
        ++at_;
        skip_space();
      }
    }
    if (!settle_duplicates(members, key_offsets)) return false;
    out = Value::object(std::move(members));
    return true;
  }

  bool settle_duplicates(std::vector<Member>& members, const std::vector<std::size_t>& key_offsets) {
    if (limits_.duplicate_keys == DuplicateKeys::KeepAll || members.size() < 2) return true;
    std::vector<std::size_t> order(members.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto keys = members[a].key <=> members[b].key;
      return keys != 0 ? keys < 0 : a < b;
    });
    std::vector<bool> dropped(members.size(), false);
    bool any = false;
    std::size_t earliest = key_offsets.empty() ? 0 : key_offsets.back() + 1;  // offset of the earliest repeated key
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
      if (members[order[i]].key != members[order[first]].key) {
        first = i;
        continue;
      }
      any = true;
      earliest = std::min(earliest, key_offsets[order[i]]);
      members[order[first]].value = std::move(members[order[i]].value);
      dropped[order[i]] = true;
    }
    if (!any) return true;
    if (limits_.duplicate_keys == DuplicateKeys::Reject) {
      at_ = earliest;
      return fail(Reason::DuplicateKey, "this member's name occurs a second time in the object");
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (dropped[i]) continue;
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
    members.resize(kept);
    return true;
  }

  bool parse_string(std::string& out) {
    ++at_;  // the quote
    for (;;) {
      const auto begin = at_;
      while (!at_end() && text_[at_] != '"' && text_[at_] != '\\' && static_cast<unsigned char>(text_[at_]) >= 0x20) {
        const auto step = utf8_step(text_.substr(at_));
        if (!step.valid) {
          return fail(Reason::InvalidUtf8,
                      fmt::format("byte 0x{:02x} is not valid UTF-8 here", static_cast<unsigned char>(text_[at_])));
        }
        at_ += step.size;
      }
      out.append(text_.substr(begin, at_ - begin));
      if (at_end()) return fail_expected("'\"' at the end of a string");
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] != '\\') {
        return fail(Reason::ControlCharacter, fmt::format("control character 0x{:02x} must be escaped in a string",
                                                          static_cast<unsigned char>(text_[at_])));
      }
      if (!parse_escape(out)) return false;
    }
  }

  bool parse_escape(std::string& out) {
    const auto begin = at_;
    ++at_;  // the backslash
    if (at_end()) return fail_expected("an escaped character");
    const char c = text_[at_];
    switch (c) {
      case '"':
      case '\\':
      case '/': out.push_back(c); break;
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 't': out.push_back('\t'); break;
      case 'u': {
        char32_t code = 0;
        if (!parse_hex4(code)) return false;
        if (code >= 0xd800 && code <= 0xdfff) {
          const bool first_half = code < 0xdc00;
          char32_t second = 0;
          if (first_half && text_.substr(at_).starts_with("\\u")) {
            ++at_;
            if (!parse_hex4(second)) return false;
          }
          if (second < 0xdc00 || second > 0xdfff) {
            at_ = begin;
            return fail(Reason::LoneSurrogate, "an escaped surrogate stands without its other half");
          }
          code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        }
        append_utf8(out, code);
        return true;
      }
      default:
        return fail(Reason::InvalidEscape,
                    fmt::format("expected one of \" \\ / b f n r t u after '\\', found {}", found()));
    }
    ++at_;
    return true;
  }

  /// At the `u` of an escape; ends behind its four digits.
  bool parse_hex4(char32_t& code) {
    ++at_;
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_end()) return fail_expected("four hexadecimal digits after '\\u'");
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) {
        return fail(Reason::InvalidEscape,
                    fmt::format("expected four hexadecimal digits after '\\u', found {}", found()));
      }
      code = code * 16 + static_cast<char32_t>(digit);
    }
    return true;
  }

  bool parse_number(Value& out) {
    const auto begin = at_;
    const auto digits = [&] {
      const auto first = at_;
      while (peek() >= '0' && peek() <= '9') ++at_;
      return at_ > first;
    };
    const auto bad = [&](std::string_view expected) {
      return fail(at_end() ? Reason::UnexpectedEnd : Reason::InvalidNumber,
                  fmt::format("expected {}, found {}", expected, found()));
    };
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      if (peek() >= '0' && peek() <= '9') return bad("no digit after a leading zero");
    } else if (!digits()) {
      return bad("a digit after '-'");
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) return bad("a digit after '.'");
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return bad("a digit in the exponent");
    }
    out = Value{Value::Node{Value::Number{std::string{text_.substr(begin, at_ - begin)}}}};
    return true;
  }

  std::string_view text_;
  Limits limits_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

Result<Value, Error> parse(std::string_view text, const Limits& limits) {
  return ValueParser{text, limits}.parse_document();
}

}  // namespace fanfare::wire::json

// A small immutable JSON document for everything off the hot path: policies, filter policies, configuration, events.
//
// Rule 1: parse() is strict RFC 8259: no trailing content, no invalid UTF-8, no lone surrogates, no comments.
// Rule 2: members keep the order of the text; numbers keep their source text, so 1.10 and 12345678901234567890 survive.
// Rule 3: nesting is limited, so that neither parsing nor destruction can exhaust the stack.
// Hot paths use json/reader.h instead. Source: [RFC 8259].
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace fanfare::wire::json {

enum class Kind : std::uint8_t { Null, Bool, Number, String, Array, Object };

/// "null", "a boolean", "a number", "a string", "an array", "an object": for messages.
std::string_view describe(Kind kind);

struct Member;

/// Copying copies the whole tree. The default value is null. Safe to read from several threads.
class Value {
 public:
  Value() = default;
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  /// Not finite: null, as ECMAScript does.
  static Value real(double value);
  static Value string(std::string value);
  static Value array(std::vector<Value> items);
  /// Keys are not checked for duplicates.
  static Value object(std::vector<Member> members);

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(node_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::Null; }
  [[nodiscard]] bool is_bool() const { return kind() == Kind::Bool; }
  [[nodiscard]] bool is_number() const { return kind() == Kind::Number; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::String; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::Array; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::Object; }

  /// Nullopt if the value is of another kind.
  [[nodiscard]] std::optional<bool> as_bool() const;
  [[nodiscard]] std::optional<std::string_view> as_string() const;
  /// The number if it is a whole one in range, however it is written: 5, 5.0 and 50e-1 are all 5.
  /// Numbers with a fraction part or an exponent are looked at as doubles and refused beyond 2^53.
  [[nodiscard]] std::optional<std::int64_t> as_int64() const;
  /// The nearest double; nullopt for a number beyond the range of doubles (1e999), too.
  [[nodiscard]] std::optional<double> as_double() const;
  /// The number as it was written: `1.10`. Nullopt if it is not a number.
  [[nodiscard]] std::optional<std::string_view> number_text() const;

  /// Elements of an array; empty for every other kind.
  [[nodiscard]] std::span<const Value> items() const;
  /// Members of an object in the order of the text; empty for every other kind.
  [[nodiscard]] std::span<const Member> members() const;
  /// The member of this name; null pointer if there is none or this is no object.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// The string of this member; nullopt if it is absent or no string.
  [[nodiscard]] std::optional<std::string_view> find_string(std::string_view key) const;
  /// Number of elements or members; 0 for every other kind.
  [[nodiscard]] std::size_t size() const;

  /// Compact text, without white space; numbers as they were written.
  void append_to(std::string& out) const;
  [[nodiscard]] std::string to_string() const;

  /// Objects are equal if they have the same members in any order; numbers if they have the same value as int64 or
  /// double, or the same text.
  friend bool operator==(const Value& a, const Value& b);
  /// Compact text, for test failures and logs.
  friend std::ostream& operator<<(std::ostream& out, const Value& value);

 private:
  friend class ValueParser;
  struct Number {
    std::string text;
  };
  using Node = std::variant<std::monostate, bool, Number, std::string, std::vector<Value>, std::vector<Member>>;
  explicit Value(Node node);
  Node node_;
};

struct Member {
  std::string key;
  Value value;
};

// Here, not in the class: clang wants Member complete.
inline Value::Value(Node node) : node_(std::move(node)) {}

enum class DuplicateKeys : std::uint8_t {
  LastWins,  ///< one member, at the place of the first with the value of the last, as ECMAScript does
  Reject,    ///< Reason::DuplicateKey
  KeepAll,   ///< all of them, in order
};

struct Limits {
  std::size_t depth_max = 64;  ///< arrays and objects inside each other; `[[1]]` has depth 2; at most 1024
  std::size_t bytes_max = 64 * 1024 * 1024;
  DuplicateKeys duplicate_keys = DuplicateKeys::LastWins;
};

enum class Reason : std::uint8_t {
  UnexpectedCharacter,  ///< the text is not JSON at this place
  UnexpectedEnd,        ///< the text ends before the document does
  TrailingContent,      ///< a whole document, then more
  InvalidUtf8,
  InvalidEscape,     ///< `\x`, `\u12g4`
  LoneSurrogate,     ///< `\ud800` without its second half, or the second half alone
  ControlCharacter,  ///< U+0000 to U+001F inside a string must be escaped
  InvalidNumber,     ///< `01`, `1.`, `+1`, `NaN`
  NumberOutOfRange,  ///< only from Reader: an integer beyond 64 bits, or a number beyond doubles
  DuplicateKey,
  TooDeep,
  TooLong,
};

struct Error {
  Reason reason;
  std::size_t offset;    ///< byte offset of the place
  std::uint32_t line;    ///< from 1
  std::uint32_t column;  ///< from 1, in bytes
  std::string detail;    ///< what was expected and what was found: `expected ',' or '}' after a member, found 'x'`

  /// `line 3, column 7: expected ',' or '}' after a member, found 'x'`
  [[nodiscard]] std::string message() const;
};

Result<Value, Error> parse(std::string_view text, const Limits& limits = {});

}  // namespace fanfare::wire::json

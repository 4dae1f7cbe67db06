// Values as resolvers and scalars see them: arguments and variables after coercion, and untyped input before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graphql/arena.h"
#include "wire/json/reader.h"
#include "wire/json/value.h"

namespace fanfare::graphql {

enum class ValueKind : std::uint8_t { Absent, Null, Boolean, Int, Float, String, Enum, List, Object };

struct ValueMember;

/// 16 bytes; what it points to lives in an arena. Absent: not given, which is not the same as null. [GraphQL 2.9.5]
class Value {
 public:
  constexpr Value() = default;
  static Value null() { return Value(ValueKind::Null); }
  static Value boolean(bool value) {
    Value result(ValueKind::Boolean);
    result.boolean_ = value;
    return result;
  }
  static Value integer(std::int64_t value) {
    Value result(ValueKind::Int);
    result.integer_ = value;
    return result;
  }
  static Value real(double value) {
    Value result(ValueKind::Float);
    result.real_ = value;
    return result;
  }
  static Value string(std::string_view value) { return Value(ValueKind::String, value); }
  static Value enumerator(std::string_view name) { return Value(ValueKind::Enum, name); }
  static Value list(std::span<const Value> items) {
    Value result(ValueKind::List);
    result.size_ = static_cast<std::uint32_t>(items.size());
    result.items_ = items.data();
    return result;
  }
  static Value object(std::span<const ValueMember> members) {
    Value result(ValueKind::Object);
    result.size_ = static_cast<std::uint32_t>(members.size());
    result.members_ = members.data();
    return result;
  }

  [[nodiscard]] ValueKind kind() const { return kind_; }
  [[nodiscard]] bool is_absent() const { return kind_ == ValueKind::Absent; }
  [[nodiscard]] bool is_null() const { return kind_ == ValueKind::Null; }
  /// Neither absent nor null.
  [[nodiscard]] bool has_value() const { return kind_ > ValueKind::Null; }

  /// False, 0, empty if the value is of another kind. as_real() also takes Int; as_text() String and Enum.
  [[nodiscard]] bool as_boolean() const { return kind_ == ValueKind::Boolean && boolean_; }
  [[nodiscard]] std::int64_t as_integer() const { return kind_ == ValueKind::Int ? integer_ : 0; }
  [[nodiscard]] double as_real() const {
    return kind_ == ValueKind::Float ? real_ : static_cast<double>(as_integer());
  }
  [[nodiscard]] std::string_view as_text() const {
    return kind_ == ValueKind::String || kind_ == ValueKind::Enum ? std::string_view(text_, size_) : std::string_view();
  }
  [[nodiscard]] std::span<const Value> items() const {
    return kind_ == ValueKind::List ? std::span(items_, size_) : std::span<const Value>();
  }
  [[nodiscard]] std::span<const ValueMember> members() const;
  /// Absent if there is no such member.
  [[nodiscard]] Value find(std::string_view name) const;

 private:
  constexpr explicit Value(ValueKind kind) : kind_(kind) {}
  Value(ValueKind kind, std::string_view text)
      : kind_(kind), size_(static_cast<std::uint32_t>(text.size())), text_(text.data()) {}

  ValueKind kind_ = ValueKind::Absent;
  std::uint32_t size_ = 0;
  union {
    std::int64_t integer_ = 0;
    bool boolean_;
    double real_;
    const char* text_;
    const Value* items_;
    const ValueMember* members_;
  };
};

struct ValueMember {
  std::string_view name;
  Value value;
};

inline std::span<const ValueMember> Value::members() const {
  return kind_ == ValueKind::Object ? std::span(members_, size_) : std::span<const ValueMember>();
}

inline Value Value::find(std::string_view name) const {
  for (const ValueMember& member : members()) {
    if (member.name == name) return member.value;
  }
  return {};
}

/// The JSON value in `arena`. Strings are copied.
Value to_value(const wire::json::Value& json, Arena& arena);
Value to_value(const wire::json::Node& json, Arena& arena);
/// A copy whose strings and parts all live in `arena`.
Value copy(const Value& value, Arena& arena);

/// Appends compact JSON; Absent is written as null, an enum value as a string.
void append_json(std::string& out, const Value& value);
/// For messages: the value as JSON, cut after 60 bytes.
std::string show(const Value& value);

bool operator==(const Value& a, const Value& b);

}  // namespace fanfare::graphql

#include "graphql/serialize.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "wire/json/writer.h"

namespace fanfare::graphql {
namespace {

using Kind = Resolved::Kind;

template <class Number>
void append_number(std::string& out, Number value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, static_cast<std::size_t>(end.ptr - digits));
}

std::string show(const Resolved& value) {
  switch (value.kind()) {
    case Kind::Null: return "null";
    case Kind::Boolean: return value.as_boolean() ? "true" : "false";
    case Kind::Int: return fmt::format("{}", value.as_integer());
    case Kind::Float: return fmt::format("{}", value.as_real());
    case Kind::String: return show(Value::string(value.as_string()));
    case Kind::Items:
    case Kind::Generated: return "a list";
    default: return "an object";
  }
}

/// The whole text as a number, as ECMAScript reads it but for its stranger forms.
std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool append_int(std::string& out, const Resolved& value) {
  constexpr double kLow = std::numeric_limits<std::int32_t>::min();
  constexpr double kHigh = std::numeric_limits<std::int32_t>::max();
  double number = 0;
  switch (value.kind()) {
    case Kind::Int:
      if (value.as_integer() < std::numeric_limits<std::int32_t>::min() || value.as_integer() > std::numeric_limits<std::int32_t>::max()) return false;
      append_number(out, value.as_integer());
      return true;
    case Kind::Boolean: number = value.as_boolean() ? 1 : 0; break;
    case Kind::Float: number = value.as_real(); break;
    case Kind::String: {
      const auto parsed = number_in(value.as_string());
      if (!parsed) return false;
      number = *parsed;
      break;
    }
    default: return false;
  }
  if (!(number >= kLow && number <= kHigh) || number != std::trunc(number)) return false;
  append_number(out, static_cast<std::int32_t>(number));
  return true;
}

bool append_float(std::string& out, const Resolved& value) {
  switch (value.kind()) {
    case Kind::Int: append_number(out, value.as_integer()); return true;
    case Kind::Boolean: out.push_back(value.as_boolean() ? '1' : '0'); return true;
    case Kind::Float:
      if (!std::isfinite(value.as_real())) return false;
      append_number(out, value.as_real());
      return true;
    case Kind::String: {
      const auto parsed = number_in(value.as_string());
      if (!parsed || !std::isfinite(*parsed)) return false;
      append_number(out, *parsed);
      return true;
    }
    default: return false;
  }
}

bool append_string(std::string& out, const Resolved& value) {
  switch (value.kind()) {
    case Kind::String: wire::json::append_quoted(out, value.as_string()); return true;
    case Kind::Boolean: out.append(value.as_boolean() ? "\"true\"" : "\"false\""); return true;
    case Kind::Int:
      out.push_back('"');
      append_number(out, value.as_integer());
      out.push_back('"');
      return true;
    case Kind::Float:
      if (!std::isfinite(value.as_real())) return false;
      out.push_back('"');
      append_number(out, value.as_real());
      out.push_back('"');
      return true;
    default: return false;
  }
}

bool append_boolean(std::string& out, const Resolved& value) {
  switch (value.kind()) {
    case Kind::Boolean: out.append(value.as_boolean() ? "true" : "false"); return true;
    case Kind::Int: out.append(value.as_integer() != 0 ? "true" : "false"); return true;
    case Kind::Float:
      if (!std::isfinite(value.as_real())) return false;
      out.append(value.as_real() != 0 ? "true" : "false");
      return true;
    default: return false;
  }
}

bool append_id(std::string& out, const Resolved& value) {
  if (value.kind() == Kind::String) {
    wire::json::append_quoted(out, value.as_string());
    return true;
  }
  if (value.kind() != Kind::Int) return false;
  out.push_back('"');
  append_number(out, value.as_integer());
  out.push_back('"');
  return true;
}

/// Any value as a custom scalar takes it; nullopt if it cannot be one.
std::optional<Value> as_value(const Resolved& value, Arena& arena) {
  switch (value.kind()) {
    case Kind::Null: return Value::null();
    case Kind::Boolean: return Value::boolean(value.as_boolean());
    case Kind::Int: return Value::integer(value.as_integer());
    case Kind::Float: return Value::real(value.as_real());
    case Kind::String: return Value::string(value.as_string());
    case Kind::Json: return to_value(value.as_json(), arena);
    case Kind::Input: return value.as_input();
    case Kind::Items:
    case Kind::Generated: {
      const auto items = arena.array<Value>(value.count());
      for (std::size_t i = 0; i < items.size(); ++i) {
        const auto item = as_value(value.kind() == Kind::Items ? value.list_items()[i] : value.item(i), arena);
        if (!item) return std::nullopt;
        items[i] = *item;
      }
      return Value::list(items);
    }
    default: return std::nullopt;
  }
}

bool append_custom(std::string& out, const Type& type, const Resolved& value, Arena& arena, std::string& problem) {
  if (type.codec == nullptr || !type.codec->serialize) {
    if (value.kind() == Kind::String) {
      wire::json::append_quoted(out, value.as_string());
      return true;
    }
    if (value.kind() == Kind::Json) {
      value.as_json().append_to(out);
      return true;
    }
  }
  auto converted = as_value(value, arena);
  if (!converted) return false;
  if (type.codec != nullptr && type.codec->serialize) {
    const auto serialized = type.codec->serialize(*converted, arena);
    if (!serialized) {
      problem = fmt::format("The scalar \"{}\" cannot represent {}: {}", type.name, show(value), serialized.error());
      return false;
    }
    converted = *serialized;
  }
  append_json(out, *converted);
  return true;
}

}  // namespace

Resolved plain(const Resolved& value) {
  if (value.kind() == Kind::Json) {
    const wire::json::Value& json = value.as_json();
    switch (json.kind()) {
      case wire::json::Kind::Null: return Resolved::null();
      case wire::json::Kind::Bool: return Resolved::boolean(*json.as_bool());
      case wire::json::Kind::Number:
        if (const auto integer = json.as_int64()) return Resolved::integer(*integer);
        return Resolved::real(json.as_double().value_or(HUGE_VAL));
      case wire::json::Kind::String: return Resolved::string(*json.as_string());
      default: return value;
    }
  }
  if (value.kind() == Kind::Input) {
    const Value& input = value.as_input();
    switch (input.kind()) {
      case ValueKind::Absent:
      case ValueKind::Null: return Resolved::null();
      case ValueKind::Boolean: return Resolved::boolean(input.as_boolean());
      case ValueKind::Int: return Resolved::integer(input.as_integer());
      case ValueKind::Float: return Resolved::real(input.as_real());
      case ValueKind::String:
      case ValueKind::Enum: return Resolved::string(input.as_text());
      default: return value;
    }
  }
  return value;
}

bool serialize_leaf(std::string& out, const Type& type, const Resolved& value, Arena& arena, std::string& problem) {
  bool ok = false;
  if (type.kind == TypeKind::Enum) {
    if (value.kind() == Kind::String) {
      if (const EnumValue* found = type.find_value(value.as_string())) {
        out.push_back('"');
        out.append(found->name);
        out.push_back('"');
        return true;
      }
    }
    problem = fmt::format("The enum \"{}\" has no value {}.", type.name, show(value));
    return false;
  }
  switch (type.scalar) {
    case ScalarKind::Int: ok = append_int(out, value); break;
    case ScalarKind::Float: ok = append_float(out, value); break;
    case ScalarKind::String: ok = append_string(out, value); break;
    case ScalarKind::Boolean: ok = append_boolean(out, value); break;
    case ScalarKind::Id: ok = append_id(out, value); break;
    case ScalarKind::Custom: ok = append_custom(out, type, value, arena, problem); break;
  }
  if (!ok && problem.empty()) problem = fmt::format("The scalar \"{}\" cannot represent {}.", type.name, show(value));
  return ok;
}

}  // namespace fanfare::graphql

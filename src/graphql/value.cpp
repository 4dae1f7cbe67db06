#include "graphql/value.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "wire/json/writer.h"

namespace fanfare::graphql {

using wire::json::Kind;

Value to_value(const wire::json::Value& json, Arena& arena) {
  switch (json.kind()) {
    case Kind::Null: return Value::null();
    case Kind::Bool: return Value::boolean(*json.as_bool());
    case Kind::Number:
      if (const auto integer = json.as_int64()) return Value::integer(*integer);
      return Value::real(json.as_double().value_or(HUGE_VAL));
    case Kind::String: return Value::string(arena.copy(*json.as_string()));
    case Kind::Array: {
      const auto items = arena.array<Value>(json.size());
      for (std::size_t i = 0; i < items.size(); ++i) items[i] = to_value(json.items()[i], arena);
      return Value::list(items);
    }
    case Kind::Object: {
      const auto members = arena.array<ValueMember>(json.size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        members[i] = {arena.copy(std::string_view(json.members()[i].key)), to_value(json.members()[i].value, arena)};
      }
      return Value::object(members);
    }
  }
  return Value::null();
}

Value to_value(const wire::json::Node& json, Arena& arena) {
  switch (json.kind()) {
    case Kind::Null: return Value::null();
    case Kind::Bool: return Value::boolean(*json.as_bool());
    case Kind::Number:
      if (const auto integer = json.as_int64()) return Value::integer(*integer);
      return Value::real(json.as_double().value_or(HUGE_VAL));
    case Kind::String: return Value::string(arena.copy(*json.as_string()));
    case Kind::Array: {
      const auto items = arena.array<Value>(json.size());
      std::size_t i = 0;
      for (const auto item : json.items()) items[i++] = to_value(item, arena);
      return Value::list(items);
    }
    case Kind::Object: {
      const auto members = arena.array<ValueMember>(json.size());
      std::size_t count = 0;
      for (const auto member : json.members()) {
        ValueMember* place = nullptr;  // of duplicate keys the last counts
        if (members.size() <= 64) {
          for (std::size_t i = 0; i < count; ++i) {
            if (members[i].name == member.key) place = &members[i];
          }
        }
        if (place == nullptr) {
          place = &members[count++];
          place->name = arena.copy(member.key);
        }
        place->value = to_value(member.value, arena);
      }
      return Value::object(members.first(count));
    }
  }
  return Value::null();
}

Value copy(const Value& value, Arena& arena) {
  switch (value.kind()) {
    case ValueKind::String: return Value::string(arena.copy(value.as_text()));
    case ValueKind::Enum: return Value::enumerator(arena.copy(value.as_text()));
    case ValueKind::List: {
      const auto items = arena.array<Value>(value.items().size());
      for (std::size_t i = 0; i < items.size(); ++i) items[i] = copy(value.items()[i], arena);
      return Value::list(items);
    }
    case ValueKind::Object: {
      const auto members = arena.array<ValueMember>(value.members().size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        members[i] = {arena.copy(value.members()[i].name), copy(value.members()[i].value, arena)};
      }
      return Value::object(members);
    }
    default: return value;
  }
}

void append_json(std::string& out, const Value& value) {
  switch (value.kind()) {
    case ValueKind::Absent:
    case ValueKind::Null: out.append("null"); return;
    case ValueKind::Boolean: out.append(value.as_boolean() ? "true" : "false"); return;
    case ValueKind::Int: {
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, value.as_integer());
      out.append(digits, end.ptr);
      return;
    }
    case ValueKind::Float: {
      if (!std::isfinite(value.as_real())) {
        out.append("null");
        return;
      }
      char digits[40];
      const auto end = std::to_chars(digits, digits + sizeof digits, value.as_real());
      out.append(digits, end.ptr);
      return;
    }
    case ValueKind::String:
    case ValueKind::Enum: wire::json::append_quoted(out, value.as_text()); return;
    case ValueKind::List: {
      out.push_back('[');
      bool first = true;
      for (const Value& item : value.items()) {
        if (!first) out.push_back(',');
        first = false;
        append_json(out, item);
      }
      out.push_back(']');
      return;
    }
    case ValueKind::Object: {
      out.push_back('{');
      bool first = true;
      for (const ValueMember& member : value.members()) {
        if (!first) out.push_back(',');
        first = false;
        wire::json::append_quoted(out, member.name);
        out.push_back(':');
        append_json(out, member.value);
      }
      out.push_back('}');
      return;
    }
  }
}

std::string show(const Value& value) {
  std::string text;
  append_json(text, value);
  constexpr std::size_t kShown = 60;
  if (text.size() > kShown) {
    std::size_t cut = kShown;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // not inside a character
    text.resize(cut);
    text.append("...");
  }
  return text;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::Absent:
    case ValueKind::Null: return true;
    case ValueKind::Boolean: return a.as_boolean() == b.as_boolean();
    case ValueKind::Int: return a.as_integer() == b.as_integer();
    case ValueKind::Float: return a.as_real() == b.as_real();
    case ValueKind::String:
    case ValueKind::Enum: return a.as_text() == b.as_text();
    case ValueKind::List: {
      if (a.items().size() != b.items().size()) return false;
      for (std::size_t i = 0; i < a.items().size(); ++i) {
        if (!(a.items()[i] == b.items()[i])) return false;
      }
      return true;
    }
    case ValueKind::Object: {
      if (a.members().size() != b.members().size()) return false;
      for (const ValueMember& member : a.members()) {
        if (!(b.find(member.name) == member.value)) return false;
      }
      return true;
    }
  }
  return false;
}

}  // namespace fanfare::graphql

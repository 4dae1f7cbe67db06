#include "wire/aws_json/document.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/time.h"
#include "wire/digest/encoding.h"
#include "wire/json/writer.h"

namespace fanfare::wire::aws_json {
namespace {

using aws::Arena;
using aws::DecodeError;
using aws::field_at;
using aws::Kind;
using aws::Member;
using aws::RawList;
using aws::Shape;
using What = DecodeError::What;

/// Members mostly come in one order, so the search begins behind the one that was found last.
const Member* find_member(std::span<const Member> members, std::string_view name, std::size_t& hint) {
  const std::size_t count = members.size();
  for (std::size_t i = 0, at = hint; i < count; ++i, ++at) {
    if (at >= count) at = 0;
    const Member& member = members[at];
    if (member.name.size() == name.size() && std::memcmp(member.name.data(), name.data(), name.size()) == 0) {
      hint = at + 1;
      return &member;
    }
  }
  return nullptr;
}

class Decoder {
 public:
  explicit Decoder(Arena& arena) : arena_(arena) {}

  std::optional<DecodeError> structure(json::Node node, const Shape& shape, void* base, std::string_view member_name) {
    if (node.kind() != json::Kind::Object) return wrong_type(node, shape, member_name);
    std::size_t hint = 0;
    for (const auto [key, value] : node.members()) {
      const Member* const member = find_member(shape.members, key, hint);
      if (member == nullptr) continue;
      auto* const field = static_cast<char*>(base) + member->offset;
      if (auto error = this->value(value, *member->shape, field, member->name)) return error;
    }
    return std::nullopt;
  }

 private:
  // Not of a member further inside.
  static bool is_of(const DecodeError& error, std::string_view member_name) { return error.member.data() == member_name.data(); }

  static DecodeError wrong_type(json::Node node, const Shape& shape, std::string_view member_name) {
    return {What::WrongType, member_name, shape.kind, json::describe(node.kind())};
  }

  // Recursion is as deep as the shapes are, and no shape contains itself.
  std::optional<DecodeError> value(json::Node node, const Shape& shape, void* field, std::string_view member_name) {
    switch (shape.kind) {
      case Kind::String:
        if (const auto text = node.as_string()) {
          *static_cast<aws::Text*>(field) = aws::Text(*text);
          return std::nullopt;
        }
        break;
      case Kind::Integer:
      case Kind::Long:
        if (const auto number = node.as_int64()) {
          if (shape.kind == Kind::Integer && *number != static_cast<std::int32_t>(*number)) {
            return DecodeError{What::OutOfRange, member_name, shape.kind, "a number"};
          }
          *static_cast<aws::Number*>(field) = *number;
          return std::nullopt;
        }
        break;
      case Kind::Boolean:
        if (const auto flag = node.as_bool()) {
          *static_cast<aws::Flag*>(field) = *flag;
          return std::nullopt;
        }
        break;
      case Kind::Blob:
        if (const auto text = node.as_string()) {
          const auto bytes = digest::decode_base64(*text);
          if (!bytes) return wrong_type(node, shape, member_name);
          *static_cast<aws::Bytes*>(field) = aws::Bytes(arena_.copy(*bytes));
          return std::nullopt;
        }
        break;
      case Kind::List:
        if (node.kind() == json::Kind::Array) return list(node, shape, *static_cast<RawList*>(field), member_name);
        break;
      case Kind::Map:
        if (node.kind() == json::Kind::Object) return map(node, shape, *static_cast<RawList*>(field), member_name);
        break;
      case Kind::Structure:
        if (node.is_null()) return std::nullopt;
        return structure(node, shape, field, member_name);
      case Kind::Double:
        if (const auto number = node.as_double()) {
          *static_cast<aws::Real*>(field) = *number;
          return std::nullopt;
        }
        break;
      case Kind::Timestamp:  // seconds since 1970, perhaps with a fraction; a text in the form of RFC 3339 too
        if (const auto number = node.as_double()) {
          if (!(*number > -1e12 && *number < 1e12)) return DecodeError{What::OutOfRange, member_name, shape.kind, "a number"};
          *static_cast<aws::Time*>(field) = static_cast<std::int64_t>(std::floor(*number * 1000.0 + 0.5));
          return std::nullopt;
        }
        if (const auto text = node.as_string()) {
          const auto time = parse_iso8601(*text);
          if (!time) break;
          *static_cast<aws::Time*>(field) = unix_ms(*time);
          return std::nullopt;
        }
        break;
    }
    if (node.is_null()) return std::nullopt;
    return wrong_type(node, shape, member_name);
  }

  std::optional<DecodeError> list(json::Node node, const Shape& shape, RawList& list, std::string_view member_name) {
    list = {nullptr, 0, true};
    aws::ListBuilder builder(arena_, list, shape.size);
    for (const json::Node item : node.items()) {
      if (auto error = value(item, *shape.element, builder.append(), member_name)) {
        error->element = is_of(*error, member_name);
        return error;
      }
    }
    return std::nullopt;
  }

  std::optional<DecodeError> map(json::Node node, const Shape& shape, RawList& list, std::string_view member_name) {
    list = {nullptr, 0, true};
    aws::ListBuilder builder(arena_, list, shape.size);
    for (const auto [key, item] : node.members()) {
      char* const entry = builder.append();
      field_at<aws::Text>(entry, 0) = aws::Text(key);
      if (auto error = value(item, *shape.element, entry + shape.value_offset, member_name)) {
        if (is_of(*error, member_name)) error->key = key;
        return error;
      }
    }
    return std::nullopt;
  }

  Arena& arena_;
};

void append_integer(std::string& out, std::int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Writes `before` and the value; nothing at all, and false, if the field is absent.
bool append_value(std::string& out, const Shape& shape, const void* field, std::string_view before) {
  switch (shape.kind) {
    case Kind::String: {
      const auto& text = *static_cast<const aws::Text*>(field);
      if (!text.has_value()) return false;
      out.append(before);
      json::append_quoted(out, text.view());
      return true;
    }
    case Kind::Blob: {
      const auto& bytes = *static_cast<const aws::Bytes*>(field);
      if (!bytes.has_value()) return false;
      out.append(before).push_back('"');
      digest::append_base64(out, bytes.view());
      out.push_back('"');
      return true;
    }
    case Kind::Boolean: {
      const auto& flag = *static_cast<const aws::Flag*>(field);
      if (!flag.has_value()) return false;
      out.append(before).append(*flag ? "true" : "false");
      return true;
    }
    case Kind::Integer:
    case Kind::Long: {
      const auto& number = *static_cast<const aws::Number*>(field);
      if (!number.has_value()) return false;
      append_integer(out.append(before), *number);
      return true;
    }
    case Kind::Double: {
      const auto& number = *static_cast<const aws::Real*>(field);
      if (!number.has_value()) return false;
      char digits[32];
      out.append(before).append(digits, std::to_chars(digits, digits + sizeof digits, *number).ptr);
      return true;
    }
    case Kind::Timestamp: {  // seconds, with milliseconds as a fraction
      const auto& time = *static_cast<const aws::Time*>(field);
      if (!time.has_value()) return false;
      append_integer(out.append(before), *time / 1000);
      if (const auto fraction = *time % 1000; fraction > 0) out.append("." + std::to_string(1000 + fraction).substr(1));
      return true;
    }
    case Kind::List:
    case Kind::Map: {
      const auto& list = *static_cast<const RawList*>(field);
      if (!list.present) return false;
      const bool is_map = shape.kind == Kind::Map;
      out.append(before).push_back(is_map ? '{' : '[');
      for (std::uint32_t i = 0; i < list.size; ++i) {
        const char* const element = static_cast<const char*>(list.data) + std::size_t{i} * shape.size;
        if (i > 0) out.push_back(',');
        if (is_map) {
          json::append_quoted(out, field_at<aws::Text>(element, 0).view());
          out.push_back(':');
        }
        if (!append_value(out, *shape.element, element + (is_map ? shape.value_offset : 0), {})) out.append("null");
      }
      out.push_back(is_map ? '}' : ']');
      return true;
    }
    case Kind::Structure: append(out.append(before), shape, field); return true;
  }
  return false;
}

}  // namespace

Result<Success, DecodeError> decode(json::Node root, const Shape& shape, void* structure, Arena& arena) {
  if (auto error = Decoder(arena).structure(root, shape, structure, {})) return *error;
  return Success{};
}

void append(std::string& out, const Shape& shape, const void* structure) {
  out.push_back('{');
  bool comma = false;
  for (const Member& member : shape.members) {
    if (comma) out.push_back(',');
    if (append_value(out, *member.shape, static_cast<const char*>(structure) + member.offset, member.json_key)) {
      comma = true;
    } else if (comma) {
      out.pop_back();
    }
  }
  out.push_back('}');
}

}  // namespace fanfare::wire::aws_json

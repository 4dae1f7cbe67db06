#include "wire/aws_query/form.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "base/time.h"
#include "wire/digest/encoding.h"

namespace fanfare::wire::aws_query {
namespace {

using aws::Arena;
using aws::DecodeError;
using aws::Kind;
using aws::Member;
using aws::RawList;
using aws::Shape;
using http::FormField;
using What = DecodeError::What;

/// "Entry.1.Id" -> "Entry", leaving "1.Id".
std::string_view take_segment(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view segment = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return segment;
}

/// A list index: 1 to 999,999,999; 0 for anything else.
std::uint32_t index_of(std::string_view segment) {
  if (segment.empty() || segment.size() > 9) return 0;
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  return error == std::errc() && end == segment.data() + segment.size() ? index : 0;
}

/// Orders names so that the parameters of one list element stand together and elements stand by their numbers.
bool by_path(const FormField& left, const FormField& right) {
  std::string_view a = left.name;
  std::string_view b = right.name;
  while (!a.empty() && !b.empty()) {
    const std::string_view x = take_segment(a);
    const std::string_view y = take_segment(b);
    const std::uint32_t i = index_of(x);
    const std::uint32_t j = index_of(y);
    if (i != 0 || j != 0) {
      if (i != j) return j == 0 || (i != 0 && i < j);  // numbers before names, or three names could stand in a circle
    } else if (x != y) {
      return x < y;
    }
  }
  return a.empty() && !b.empty();
}

std::optional<What> store_scalar(const Shape& shape, void* field, std::string_view value, Arena& arena) {
  switch (shape.kind) {
    case Kind::String: *static_cast<aws::Text*>(field) = aws::Text(value); return std::nullopt;
    case Kind::Blob: {
      const auto bytes = digest::decode_base64(value);
      if (!bytes) return What::WrongType;
      *static_cast<aws::Bytes*>(field) = aws::Bytes(arena.copy(*bytes));
      return std::nullopt;
    }
    case Kind::Boolean:
      if (value != "true" && value != "false" && value != "True" && value != "False") return What::WrongType;
      *static_cast<aws::Flag*>(field) = value == "true" || value == "True";
      return std::nullopt;
    case Kind::Integer:
    case Kind::Long: {
      std::int64_t number = 0;
      if (value.starts_with('+')) value.remove_prefix(1);
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error == std::errc::result_out_of_range) return What::OutOfRange;
      if (error != std::errc() || end != value.data() + value.size()) return What::WrongType;
      if (shape.kind == Kind::Integer && number != static_cast<std::int32_t>(number)) return What::OutOfRange;
      *static_cast<aws::Number*>(field) = number;
      return std::nullopt;
    }
    case Kind::Double: {
      double number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error == std::errc::result_out_of_range) return What::OutOfRange;
      if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) return What::WrongType;
      *static_cast<aws::Real*>(field) = number;
      return std::nullopt;
    }
    case Kind::Timestamp: {
      const auto time = parse_iso8601(value);
      if (!time) return What::WrongType;
      *static_cast<aws::Time*>(field) = unix_ms(*time);
      return std::nullopt;
    }
    case Kind::List:
    case Kind::Map:
    case Kind::Structure: break;
  }
  return What::WrongType;
}

/// Stores parameters one by one, each from the root. Elements must come in rising order of their numbers; out_of_order
/// says that one did not, and then the caller sorts and starts anew.
class Walk {
 public:
  explicit Walk(Arena& arena) : arena_(arena) {}

  bool out_of_order = false;

  std::optional<DecodeError> structure(const Shape& shape, void* base, std::string_view path, std::string_view value) {
    const std::string_view name = take_segment(path);
    for (const Member& member : shape.members) {
      if (member.query_name != name) continue;
      auto* const field = static_cast<char*>(base) + member.offset;
      return this->value(*member.shape, field, path, value, member.name);
    }
    return std::nullopt;
  }

 private:
  std::optional<DecodeError> value(const Shape& shape, void* field, std::string_view path, std::string_view text,
                                   std::string_view member) {
    switch (shape.kind) {
      case Kind::Structure: return structure(shape, field, path, text);
      case Kind::List:
      case Kind::Map: return element(shape, *static_cast<RawList*>(field), path, text, member);
      case Kind::String:
      case Kind::Integer:
      case Kind::Long:
      case Kind::Double:
      case Kind::Boolean:
      case Kind::Blob:
      case Kind::Timestamp: break;
    }
    if (!path.empty()) return std::nullopt;
    if (const auto what = store_scalar(shape, field, text, arena_))
      return DecodeError{*what, member, shape.kind, "a string"};
    return std::nullopt;
  }

  std::optional<DecodeError> element(const Shape& shape, RawList& list, std::string_view path, std::string_view text,
                                     std::string_view member) {
    if (path.empty() && text.empty()) {  // how SDKs write an empty list: "Attributes="
      list.present = true;
      return std::nullopt;
    }
    if (!shape.flattened && take_segment(path) != shape.element_name) return std::nullopt;
    std::string_view rest = path;
    std::uint32_t index = index_of(take_segment(rest));
    if (index == 0 && shape.flattened && path.starts_with("member.")) {
      // Clients that do not know that the list is flattened: "AttributeName.member.1=All".
      path.remove_prefix(std::string_view("member.").size());
      rest = path;
      index = index_of(take_segment(rest));
    }
    if (index == 0) {
      // A flattened list of one element may do without the number: "Attribute.Name=DelaySeconds&Attribute.Value=45".
      if (!shape.flattened) return std::nullopt;
      index = 1;
      rest = path;
    }
    aws::ListBuilder builder(arena_, list, shape.size);
    char* item = nullptr;
    if (list.size > 0 && builder.note() == index) {
      item = builder.last();
    } else if (list.size > 0 && builder.note() > index) {
      out_of_order = true;
      return std::nullopt;
    } else {
      item = builder.append();
      builder.note() = index;
    }
    if (shape.kind == Kind::List) return value(*shape.element, item, rest, text, member);
    const std::string_view side = take_segment(rest);
    if (side == shape.key_name && rest.empty()) {
      aws::field_at<aws::Text>(item, 0) = aws::Text(text);
    } else if (side == shape.value_name) {
      return value(*shape.element, item + shape.value_offset, rest, text, member);
    }
    return std::nullopt;
  }

  Arena& arena_;
};

}  // namespace

Result<Success, DecodeError> decode(std::span<const FormField> parameters, const Shape& shape, void* structure,
                                    Arena& arena) {
  bool out_of_order = false;
  const auto store_all = [&](std::span<const FormField> all) -> std::optional<DecodeError> {
    Walk walk(arena);
    for (const FormField& parameter : all) {
      if (auto error = walk.structure(shape, structure, parameter.name, parameter.value)) return error;
      if ((out_of_order = walk.out_of_order)) return std::nullopt;
    }
    return std::nullopt;
  };
  auto error = store_all(parameters);
  if (out_of_order) {
    std::vector<FormField> sorted(parameters.begin(), parameters.end());
    std::ranges::stable_sort(sorted, by_path);
    std::memset(structure, 0, shape.size);
    error = store_all(sorted);
    if (out_of_order) return DecodeError{What::Malformed};
  }
  if (error) return *error;
  return Success{};
}

}  // namespace fanfare::wire::aws_query

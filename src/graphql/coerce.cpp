#include "graphql/coerce.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "graphql/printer.h"

namespace fanfare::graphql {
namespace {

// An error per item of a hostile list would make a response larger than any document.
constexpr std::size_t kIssuesMax = 32;

std::string show_literal(const ValueNode& literal) {
  std::string text;
  print(text, literal);
  constexpr std::size_t kShown = 60;
  if (text.size() > kShown) {
    std::size_t cut = kShown;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    text.resize(cut);
    text.append("...");
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view digits) {
  std::int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

double parse_real(std::string_view digits) {
  double value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec == std::errc::result_out_of_range) return std::strtod(std::string(digits).c_str(), nullptr);  // 0 or infinite
  return value;
}

bool fits_int(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

std::string_view wanted(ScalarKind scalar) {
  switch (scalar) {
    case ScalarKind::Int: return "a whole number from -2147483648 to 2147483647";
    case ScalarKind::Float: return "a number";
    case ScalarKind::String: return "a string";
    case ScalarKind::Boolean: return "true or false";
    case ScalarKind::Id: return "a string or a whole number";
    case ScalarKind::Custom: break;
  }
  return "a value";
}

/// Absent if the literal does not fit the built-in scalar.
Value builtin_literal(const ValueNode& literal, ScalarKind scalar) {
  switch (scalar) {
    case ScalarKind::Int:
      if (literal.kind == LiteralKind::Int) {
        const auto value = parse_integer(literal.text());
        if (value && fits_int(*value)) return Value::integer(*value);
      }
      return {};
    case ScalarKind::Float:
      if (literal.kind == LiteralKind::Int || literal.kind == LiteralKind::Float) {
        const double value = parse_real(literal.text());
        if (std::isfinite(value)) return Value::real(value);
      }
      return {};
    case ScalarKind::String: return literal.kind == LiteralKind::String ? Value::string(literal.text()) : Value();
    case ScalarKind::Boolean: return literal.kind == LiteralKind::Boolean ? Value::boolean(literal.boolean) : Value();
    case ScalarKind::Id:
      return literal.kind == LiteralKind::String || literal.kind == LiteralKind::Int ? Value::string(literal.text()) : Value();
    case ScalarKind::Custom: break;
  }
  return {};
}

class LiteralChecker {
 public:
  LiteralChecker(Arena& arena, std::vector<LiteralIssue>& issues) : arena_(arena), issues_(issues) {}

  void check(const ValueNode& literal, TypeRef type) {
    if (literal.kind == LiteralKind::Variable || issues_.size() >= kIssuesMax) return;
    if (type.is_non_null()) {
      if (literal.kind == LiteralKind::Null) {
        return issue(literal.at, fmt::format("Expected a value of type \"{}\", which cannot be null.", type.str()));
      }
      return check(literal, type.inner());
    }
    if (literal.kind == LiteralKind::Null) return;
    if (type.is_list()) {
      if (literal.kind != LiteralKind::List) return check(literal, type.inner());  // one item stands for a list of one
      for (const ValueNode& item : literal.items()) check(item, type.inner());
      return;
    }
    switch (type.named->kind) {
      case TypeKind::InputObject: return check_object(literal, *type.named);
      case TypeKind::Enum: return check_enum(literal, *type.named);
      case TypeKind::Scalar: return check_scalar(literal, *type.named);
      default: return;  // an output type: another rule reports it
    }
  }

 private:
  void issue(Offset at, std::string message) {
    if (issues_.size() < kIssuesMax) issues_.push_back({at, std::move(message)});
  }

  void check_enum(const ValueNode& literal, const Type& type) {
    if (literal.kind != LiteralKind::Enum) {
      return issue(literal.at, fmt::format("Expected a value of the enum \"{}\", without quotation marks; found {}.", type.name,
                                           show_literal(literal)));
    }
    if (type.find_value(literal.text()) != nullptr) return;
    std::vector<std::string_view> names;
    for (const EnumValue& value : type.values) names.push_back(value.name);
    issue(literal.at, fmt::format("The enum \"{}\" has no value \"{}\".{}", type.name, literal.text(),
                                  did_you_mean(literal.text(), names)));
  }

  void check_scalar(const ValueNode& literal, const Type& type) {
    if (type.scalar != ScalarKind::Custom) {
      if (!builtin_literal(literal, type.scalar).is_absent()) return;
      return issue(literal.at, fmt::format("Expected {} for type \"{}\", found {}.", wanted(type.scalar), type.name,
                                           show_literal(literal)));
    }
    // With a variable inside, only the request can say.
    if (type.codec == nullptr || !type.codec->parse || literal.has_variable) return;
    const auto parsed = type.codec->parse(untyped(literal, {}, arena_), arena_);
    if (!parsed) {
      issue(literal.at, fmt::format("Expected a value of type \"{}\", found {}: {}", type.name, show_literal(literal), parsed.error()));
    }
  }

  void check_object(const ValueNode& literal, const Type& type) {
    if (literal.kind != LiteralKind::Object) {
      return issue(literal.at, fmt::format("Expected an object of type \"{}\", found {}.", type.name, show_literal(literal)));
    }
    std::size_t known = 0;
    const ObjectFieldNode* last_known = nullptr;
    std::vector<bool> given(type.input_fields.size());
    for (const ObjectFieldNode& field : literal.fields()) {
      const std::uint32_t index = type.table.find(field.name.text());
      if (index == NameTable::kNone) {
        std::vector<std::string_view> names;
        for (const InputValue& candidate : type.input_fields) names.push_back(candidate.name);
        issue(field.name.at, fmt::format("The input object \"{}\" has no field \"{}\".{}", type.name, field.name.text(),
                                         did_you_mean(field.name.text(), names)));
        continue;
      }
      ++known;
      last_known = &field;
      given[index] = true;
      check(field.value, type.input_fields[index].type);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const InputValue& field = type.input_fields[i];
      if (!given[i] && field.is_required()) {
        issue(literal.at, fmt::format("Field \"{}\" of type \"{}\" is required in the input object \"{}\".", field.name,
                                      field.type.str(), type.name));
      }
    }
    if (!type.is_one_of) return;
    if (known != 1 || last_known->value.kind == LiteralKind::Null) {
      issue(literal.at, fmt::format("The OneOf input object \"{}\" needs exactly one field, and not null.", type.name));
    }
  }

  Arena& arena_;
  std::vector<LiteralIssue>& issues_;
};

class LiteralCoercion {
 public:
  LiteralCoercion(const VariableValues& variables, Arena& arena) : variables_(variables), arena_(arena) {}

  Value coerce(const ValueNode& literal, TypeRef type) {
    if (literal.kind == LiteralKind::Variable) {
      // Variables have been coerced to their own type; the rule All Variable Usages Are Allowed makes that fit here,
      // but for null or nothing in a non-null place. A single item may stand for a list.
      const Value value = variables_.find(literal.text());
      if (type.is_non_null() && !value.has_value()) return fail();
      return value;
    }
    if (type.is_non_null()) {
      if (literal.kind == LiteralKind::Null) return fail();
      return coerce(literal, type.inner());
    }
    if (literal.kind == LiteralKind::Null) return Value::null();
    if (type.is_list()) return coerce_list(literal, type.inner());
    switch (type.named->kind) {
      case TypeKind::InputObject: return coerce_object(literal, *type.named);
      case TypeKind::Enum: {
        const EnumValue* value = literal.kind == LiteralKind::Enum ? type.named->find_value(literal.text()) : nullptr;
        return value != nullptr ? Value::enumerator(value->name) : fail();
      }
      case TypeKind::Scalar: return coerce_scalar(literal, *type.named);
      default: return fail();
    }
  }

  [[nodiscard]] bool ok() const { return ok_; }

 private:
  Value fail() {
    ok_ = false;
    return Value::null();
  }

  Value coerce_list(const ValueNode& literal, TypeRef item_type) {
    if (literal.kind != LiteralKind::List) {
      const auto items = arena_.array<Value>(1);
      items[0] = item(literal, item_type);
      return Value::list(items);
    }
    const auto items = arena_.array<Value>(literal.items().size());
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = item(literal.items()[i], item_type);
    return Value::list(items);
  }

  Value item(const ValueNode& literal, TypeRef type) {
    const Value value = coerce(literal, type);
    return value.is_absent() ? Value::null() : value;
  }

  Value coerce_scalar(const ValueNode& literal, const Type& type) {
    if (type.scalar != ScalarKind::Custom) {
      const Value value = builtin_literal(literal, type.scalar);
      return value.is_absent() ? fail() : value;
    }
    const Value raw = untyped(literal, variables_, arena_);
    if (type.codec == nullptr || !type.codec->parse) return raw;
    const auto parsed = type.codec->parse(raw, arena_);
    return parsed ? *parsed : fail();
  }

  Value coerce_object(const ValueNode& literal, const Type& type) {
    if (literal.kind != LiteralKind::Object) return fail();
    const auto slots = arena_.array<ValueMember>(type.input_fields.size());
    std::size_t given = 0;
    for (const ObjectFieldNode& field : literal.fields()) {
      const std::uint32_t index = type.table.find(field.name.text());
      if (index == NameTable::kNone) return fail();
      const Value value = coerce_field(field.value, type.input_fields[index]);
      slots[index].value = value;
      if (value.is_absent()) continue;
      ++given;
      if (type.is_one_of && value.is_null()) return fail();
    }
    if (type.is_one_of && given != 1) return fail();
    return Value::object(fill(slots, type));
  }

  /// A variable without a value leaves the field to its default.
  Value coerce_field(const ValueNode& literal, const InputValue& field) {
    if (literal.kind == LiteralKind::Variable) {
      const Value value = variables_.find(literal.text());
      if (value.is_absent() && !field.is_required()) return {};
    }
    return coerce(literal, field.type);
  }

  std::span<ValueMember> fill(std::span<ValueMember> slots, const Type& type) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const InputValue& field = type.input_fields[i];
      Value value = slots[i].value.is_absent() ? field.default_value : slots[i].value;
      if (value.is_absent()) {
        if (field.is_required()) ok_ = false;
        continue;
      }
      slots[count++] = {field.name, value};
    }
    return slots.first(count);
  }

  const VariableValues& variables_;
  Arena& arena_;
  bool ok_ = true;
};

class InputCoercion {
 public:
  InputCoercion(Arena& arena, std::vector<InputIssue>& issues) : arena_(arena), issues_(issues) {}

  Value coerce(const Value& input, TypeRef type) {
    if (issues_.size() >= kIssuesMax) return Value::null();
    if (type.is_non_null()) {
      if (!input.has_value()) return issue(fmt::format("expected a value of type \"{}\", which cannot be null", type.str()));
      return coerce(input, type.inner());
    }
    if (!input.has_value()) return Value::null();
    if (type.is_list()) {
      if (input.kind() != ValueKind::List) {
        const auto items = arena_.array<Value>(1);
        items[0] = coerce(input, type.inner());
        return Value::list(items);
      }
      const auto items = arena_.array<Value>(input.items().size());
      for (std::size_t i = 0; i < items.size() && issues_.size() < kIssuesMax; ++i) {
        const Step step(*this, {}, i);
        items[i] = coerce(input.items()[i], type.inner());
      }
      return Value::list(items);
    }
    switch (type.named->kind) {
      case TypeKind::InputObject: return coerce_object(input, *type.named);
      case TypeKind::Enum: return coerce_enum(input, *type.named);
      case TypeKind::Scalar: return coerce_scalar(input, *type.named);
      default: return issue(fmt::format("\"{}\" is not an input type", type.named->name));
    }
  }

 private:
  /// One step into the value, for messages; the steps are linked through the stack.
  struct Step {
    Step(InputCoercion& owner, std::string_view name_in, std::size_t index_in)
        : coercion(owner), before(owner.step_), name(name_in), index(index_in) {
      coercion.step_ = this;
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { coercion.step_ = before; }
    InputCoercion& coercion;
    const Step* before;
    std::string_view name;
    std::size_t index;
  };

  Value issue(std::string message) {
    std::string path;
    for (const Step* step = step_; step != nullptr; step = step->before) {
      path.insert(0, step->name.empty() ? fmt::format("[{}]", step->index) : fmt::format(".{}", step->name));
    }
    if (issues_.size() < kIssuesMax) issues_.push_back({std::move(path), std::move(message)});
    return Value::null();
  }

  Value coerce_enum(const Value& input, const Type& type) {
    if (input.kind() != ValueKind::String && input.kind() != ValueKind::Enum) {
      return issue(fmt::format("expected the name of a value of the enum \"{}\", found {}", type.name, show(input)));
    }
    if (const EnumValue* value = type.find_value(input.as_text())) return Value::enumerator(value->name);
    std::vector<std::string_view> names;
    for (const EnumValue& value : type.values) names.push_back(value.name);
    return issue(fmt::format("the enum \"{}\" has no value {}{}", type.name, show(input), did_you_mean(input.as_text(), names)));
  }

  Value coerce_scalar(const Value& input, const Type& type) {
    switch (type.scalar) {
      case ScalarKind::Int:
        if (input.kind() == ValueKind::Int && fits_int(input.as_integer())) return input;
        break;
      case ScalarKind::Float:
        if (input.kind() == ValueKind::Int) return Value::real(static_cast<double>(input.as_integer()));
        if (input.kind() == ValueKind::Float && std::isfinite(input.as_real())) return input;
        break;
      case ScalarKind::String:
        if (input.kind() == ValueKind::String) return input;
        break;
      case ScalarKind::Boolean:
        if (input.kind() == ValueKind::Boolean) return input;
        break;
      case ScalarKind::Id:
        if (input.kind() == ValueKind::String) return input;
        if (input.kind() == ValueKind::Int) {
          char digits[24];
          const auto end = std::to_chars(digits, digits + sizeof digits, input.as_integer());
          return Value::string(arena_.copy(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits))));
        }
        // A whole number beyond 64 bits arrives as a double.
        if (input.kind() == ValueKind::Float && std::trunc(input.as_real()) == input.as_real() && std::abs(input.as_real()) < 1e21) {
          return Value::string(arena_.copy(std::string_view(fmt::format("{:.0f}", input.as_real()))));
        }
        break;
      case ScalarKind::Custom: {
        if (type.codec == nullptr || !type.codec->parse) return input;
        const auto parsed = type.codec->parse(input, arena_);
        if (parsed) return *parsed;
        return issue(fmt::format("expected a value of type \"{}\", found {}: {}", type.name, show(input), parsed.error()));
      }
    }
    return issue(fmt::format("expected {} for type \"{}\", found {}", wanted(type.scalar), type.name, show(input)));
  }

  Value coerce_object(const Value& input, const Type& type) {
    if (input.kind() != ValueKind::Object) {
      return issue(fmt::format("expected an object of type \"{}\", found {}", type.name, show(input)));
    }
    const auto slots = arena_.array<ValueMember>(type.input_fields.size());
    std::size_t given = 0;
    bool has_null = false;
    for (const ValueMember& member : input.members()) {
      const std::uint32_t index = type.table.find(member.name);
      if (index == NameTable::kNone) {
        std::vector<std::string_view> names;
        for (const InputValue& candidate : type.input_fields) names.push_back(candidate.name);
        issue(fmt::format("the input object \"{}\" has no field \"{}\"{}", type.name, member.name.substr(0, 60),
                          did_you_mean(member.name, names)));
        if (issues_.size() >= kIssuesMax) break;
        continue;
      }
      if (member.value.is_absent()) continue;
      const Step step(*this, type.input_fields[index].name, 0);
      slots[index].value = coerce(member.value, type.input_fields[index].type);
      ++given;
      has_null |= member.value.is_null();
    }
    if (type.is_one_of && (given != 1 || has_null)) {
      return issue(fmt::format("the OneOf input object \"{}\" needs exactly one field, and not null", type.name));
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const InputValue& field = type.input_fields[i];
      const Value value = slots[i].value.is_absent() ? field.default_value : slots[i].value;
      if (!value.is_absent()) {
        slots[count++] = {field.name, value};
      } else if (field.is_required()) {
        issue(fmt::format("field \"{}\" of type \"{}\" is required in the input object \"{}\"", field.name, field.type.str(), type.name));
      }
    }
    return Value::object(slots.first(count));
  }

  Arena& arena_;
  std::vector<InputIssue>& issues_;
  const Step* step_ = nullptr;
};

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<std::size_t> row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) row[i] = i;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (std::size_t j = 1; j <= b.size(); ++j) {
    std::size_t diagonal = row[0];
    row[0] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const std::size_t above = row[i];
      row[i] = std::min({above + 1, row[i - 1] + 1, diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[a.size()];
}

}  // namespace

void check_literal(const ValueNode& literal, TypeRef type, Arena& arena, std::vector<LiteralIssue>& issues) {
  LiteralChecker(arena, issues).check(literal, type);
}

Value coerce_literal(const ValueNode& literal, TypeRef type, const VariableValues& variables, Arena& arena, bool& ok) {
  LiteralCoercion coercion(variables, arena);
  const Value value = coercion.coerce(literal, type);
  ok &= coercion.ok();
  return value;
}

Value coerce_input(const Value& input, TypeRef type, Arena& arena, std::vector<InputIssue>& issues) {
  return InputCoercion(arena, issues).coerce(input, type);
}

Value untyped(const ValueNode& literal, const VariableValues& variables, Arena& arena) {
  switch (literal.kind) {
    case LiteralKind::Variable: {
      const Value value = variables.find(literal.text());
      return value.is_absent() ? Value::null() : value;
    }
    case LiteralKind::Int:
      if (const auto value = parse_integer(literal.text())) return Value::integer(*value);
      return Value::real(parse_real(literal.text()));
    case LiteralKind::Float: return Value::real(parse_real(literal.text()));
    case LiteralKind::String: return Value::string(literal.text());
    case LiteralKind::Boolean: return Value::boolean(literal.boolean);
    case LiteralKind::Null: return Value::null();
    case LiteralKind::Enum: return Value::enumerator(literal.text());
    case LiteralKind::List: {
      const auto items = arena.array<Value>(literal.items().size());
      for (std::size_t i = 0; i < items.size(); ++i) items[i] = untyped(literal.items()[i], variables, arena);
      return Value::list(items);
    }
    case LiteralKind::Object: {
      const auto members = arena.array<ValueMember>(literal.fields().size());
      for (std::size_t i = 0; i < members.size(); ++i) {
        members[i] = {literal.fields()[i].name.text(), untyped(literal.fields()[i].value, variables, arena)};
      }
      return Value::object(members);
    }
  }
  return Value::null();
}

bool coerce_arguments(std::span<const InputValue> definitions, const List<ArgumentNode>& given,
                      const VariableValues& variables, Arena& arena, std::span<Value> out, LiteralIssue& issue) {
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    const InputValue& definition = definitions[i];
    const ArgumentNode* argument = nullptr;
    for (const ArgumentNode& candidate : given) {
      if (candidate.name.text() == definition.name) {
        argument = &candidate;
        break;
      }
    }
    Value value;
    if (argument != nullptr) {
      if (argument->value.kind == LiteralKind::Variable) {
        value = variables.find(argument->value.text());
        if (value.is_absent()) argument = nullptr;  // as if it were not given
      } else {
        bool ok = true;
        value = coerce_literal(argument->value, definition.type, variables, arena, ok);
        if (!ok) {
          issue = {argument->value.at, fmt::format("Argument \"{}\" of type \"{}\" has an invalid value: {}", definition.name,
                                                   definition.type.str(), show_literal(argument->value))};
          return false;
        }
      }
    }
    if (argument == nullptr) {
      value = definition.default_value;
      if (value.is_absent() && definition.type.is_non_null()) {
        issue = {0, fmt::format("Argument \"{}\" of type \"{}\" is required and has no value.", definition.name, definition.type.str())};
        return false;
      }
    } else if (value.is_null() && definition.type.is_non_null()) {
      issue = {argument->value.at, fmt::format("Argument \"{}\" of type \"{}\" cannot be null.", definition.name, definition.type.str())};
      return false;
    }
    out[i] = value;
  }
  return true;
}

TypeRef resolve_type(const Schema& schema, const TypeNode& type) { return {schema.find_type(type.name.text()), type.wrappers}; }

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kSuggested = 3;
  constexpr std::size_t kLongest = 40;
  constexpr std::size_t kCompared = 300;  // a schema of thousands of names must not make errors expensive
  if (name.size() > kLongest) return {};
  const std::size_t limit = name.size() * 2 / 5 + 1;
  std::vector<std::pair<std::size_t, std::string_view>> close;
  for (std::size_t i = 0; i < std::min(candidates.size(), kCompared); ++i) {
    if (candidates[i].size() > kLongest) continue;
    const std::size_t distance = edit_distance(name, candidates[i], limit);
    if (distance <= limit) close.emplace_back(distance, candidates[i]);
  }
  if (close.empty()) return {};
  std::stable_sort(close.begin(), close.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (close.size() > kSuggested) close.resize(kSuggested);
  std::string text = " Did you mean ";
  for (std::size_t i = 0; i < close.size(); ++i) {
    if (i > 0) text.append(i + 1 == close.size() ? " or " : ", ");
    text.append("\"").append(close[i].second).append("\"");
  }
  return text + "?";
}

}  // namespace fanfare::graphql

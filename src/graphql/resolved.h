// What resolvers return, and what they are called with.
//
// Rules
// 1. A Resolved refers to strings, objects and lists that it does not own. They must stay until the value has been
//    written: for a resolver that answers at once, until the execution of its field is over. FieldCall::keep() copies
//    what would not live long enough; objects that list items point to must outlive the execution or lie in its arena.
// 2. A resolver does not block. If it cannot answer at once it calls suspend() and returns what that gave it; the caller of
//    the execution completes the field later.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "graphql/arena.h"
#include "graphql/schema.h"
#include "graphql/value.h"

namespace fanfare::graphql {

class Execution;

/// Names a suspended field of one execution.
using PendingId = std::uint64_t;

class Resolved {
 public:
  enum class Kind : std::uint8_t {
    Null,
    Boolean,
    Int,
    Float,
    String,
    Object,     ///< something that the resolvers of its type know how to read
    Items,      ///< a list, item by item
    Generated,  ///< a list whose items a function makes
    Json,       ///< a JSON value; objects are read member by member
    Input,      ///< a graphql::Value; likewise
    Error,
    Pending,
  };
  using ItemAt = Resolved (*)(const void* data, std::size_t index);
  struct ErrorText {
    std::string_view message;
    std::string_view extensions;  ///< a JSON object or empty
  };

  constexpr Resolved() = default;
  static constexpr Resolved null() { return {}; }
  static Resolved boolean(bool value) {
    Resolved result(Kind::Boolean);
    result.boolean_ = value;
    return result;
  }
  static Resolved integer(std::int64_t value) {
    Resolved result(Kind::Int);
    result.integer_ = value;
    return result;
  }
  static Resolved real(double value) {
    Resolved result(Kind::Float);
    result.real_ = value;
    return result;
  }
  /// UTF-8; also an enum value's name.
  static Resolved string(std::string_view value) {
    Resolved result(Kind::String);
    result.pointer_ = value.data();
    result.size_ = value.size();
    return result;
  }
  /// `type` says which object type it is where the field's type is abstract. `tag` is the resolvers' own.
  static Resolved object(const void* pointer, const Type* type = nullptr, std::uint64_t tag = 0) {
    Resolved result(Kind::Object);
    result.pointer_ = pointer;
    result.type_ = type;
    result.size_ = tag;
    return result;
  }
  static Resolved items(std::span<const Resolved> list) {
    Resolved result(Kind::Items);
    result.pointer_ = list.data();
    result.size_ = list.size();
    return result;
  }
  static Resolved generated(const void* data, std::size_t count, ItemAt at) {
    Resolved result(Kind::Generated);
    result.pointer_ = data;
    result.size_ = count;
    result.at_ = at;
    return result;
  }
  static Resolved json(const wire::json::Value* value) {
    Resolved result(Kind::Json);
    result.pointer_ = value;
    return result;
  }
  static Resolved input(const Value* value) {
    Resolved result(Kind::Input);
    result.pointer_ = value;
    return result;
  }
  static Resolved error(const ErrorText* text) {
    Resolved result(Kind::Error);
    result.pointer_ = text;
    return result;
  }
  static Resolved pending(PendingId id) {
    Resolved result(Kind::Pending);
    result.size_ = id;
    return result;
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::Null; }
  [[nodiscard]] bool as_boolean() const { return boolean_; }
  [[nodiscard]] std::int64_t as_integer() const { return integer_; }
  [[nodiscard]] double as_real() const { return real_; }
  [[nodiscard]] std::string_view as_string() const { return {static_cast<const char*>(pointer_), static_cast<std::size_t>(size_)}; }
  template <class T>
  [[nodiscard]] const T& as() const {
    return *static_cast<const T*>(pointer_);
  }
  [[nodiscard]] const void* pointer() const { return pointer_; }
  [[nodiscard]] const Type* type() const { return kind_ == Kind::Object ? type_ : nullptr; }
  [[nodiscard]] std::uint64_t tag() const { return size_; }
  [[nodiscard]] std::span<const Resolved> list_items() const { return {static_cast<const Resolved*>(pointer_), static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(size_); }
  [[nodiscard]] Resolved item(std::size_t index) const { return at_(pointer_, index); }
  [[nodiscard]] const wire::json::Value& as_json() const { return as<wire::json::Value>(); }
  [[nodiscard]] const Value& as_input() const { return as<Value>(); }
  [[nodiscard]] const ErrorText& as_error() const { return as<ErrorText>(); }

 private:
  constexpr explicit Resolved(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::Null;
  union {
    std::int64_t integer_ = 0;
    bool boolean_;
    double real_;
    const void* pointer_;
  };
  std::uint64_t size_ = 0;
  union {
    const Type* type_ = nullptr;
    ItemAt at_;
  };
};

/// One call of a resolver. Lives during the call only.
class FieldCall {
 public:
  FieldCall(Execution& execution_in, const Type& parent_in, const Field& field_in, const Resolved& source_in,
            std::span<const Value> arguments_in, void* context_in, Arena& arena_in)
      : parent(parent_in), field(field_in), source(source_in), arguments(arguments_in), context(context_in), arena(arena_in), execution_(execution_in) {}

  const Type& parent;                ///< the object type
  const Field& field;
  const Resolved& source;            ///< the object whose field it is; of a root field, the root value
  std::span<const Value> arguments;  ///< in the order of the field's definition; Absent: not given and without default
  void* context;                     ///< what the request was started with
  Arena& arena;                      ///< lives as long as the execution

  /// Absent if there is no such argument or it has no value.
  [[nodiscard]] Value argument(std::string_view name) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (field.arguments[i].name == name) return arguments[i];
    }
    return {};
  }

  [[nodiscard]] std::string_view keep(std::string_view text) { return arena.copy(text); }
  /// Room for a list's items, to be filled and given to Resolved::items().
  [[nodiscard]] std::span<Resolved> make_items(std::size_t count) { return arena.array<Resolved>(count); }
  /// A field error. `extensions` is a JSON object as text, or empty.
  [[nodiscard]] Resolved error(std::string_view message, std::string_view extensions = {}) {
    return Resolved::error(arena.make<Resolved::ErrorText>(arena.copy(message), arena.copy(extensions)));
  }
  /// The answer comes later: `id` is for Execution::complete(). Return the result.
  [[nodiscard]] Resolved suspend(PendingId& id);

 private:
  Execution& execution_;
};

using Resolver = std::function<Resolved(FieldCall& call)>;
/// The object type of a value of an abstract type; null if it cannot tell.
using TypeResolver = std::function<const Type*(const Resolved& value)>;

}  // namespace fanfare::graphql

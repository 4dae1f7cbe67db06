// A subscription's filter policy: which publications it wants. Parsed once, immutable.
//
// Rule 1: keys are joined by AND, the values of one key by OR; an absent key satisfies only {"exists":false}.
// Rule 2: a field is named by its path: {"a":{"b":..}} and {"a.b":..} are the same, in policies and in bodies.
// Rule 3: any element of an array may match; fields under one array must be satisfied by one element of it.
// Rule 4: {"exists":false} wants that no scalar stands at the path anywhere in the message.
// Rule 5: what the language does not have is refused when it is set, never ignored.
// Source: [SNS filter policies]; the grammar is that of aws/event-ruler, errors as AWS words them and at the place that
// its JSON parser names (filter_policy_parser.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/message/content.h"
#include "core/topic/filter_pattern.h"
#include "wire/json/value.h"

namespace fanfare::topic {

/// Where the keys are looked up. "MessageAttributes" | "MessageBody"   [SNS FilterPolicyScope]
enum class FilterScope : std::uint8_t { MessageAttributes, MessageBody };

std::string_view text_of(FilterScope scope);
std::optional<FilterScope> parse_filter_scope(std::string_view text);

/// Why a filter policy is refused; the API prefixes `message` as the action wants it.
struct FilterError {
  enum class Kind : std::uint8_t {
    NotJson,            ///< no JSON, or no object at the top
    BadMatch,           ///< a rule of the grammar is broken; message as AWS words it
    UnknownOperator,    ///< `Unrecognized match type X`
    NestedAttributes,   ///< nesting in scope MessageAttributes
    TooManyKeys,        ///< more than 5
    TooComplex,         ///< more than 150 combinations, 256 KiB, or 100 keys inside each other
  };
  Kind kind;
  std::string message;        ///< "Match value must be String, number, true, false, or null"
  std::size_t offset = 0;     ///< byte offset of the place in the policy's text
  [[nodiscard]] bool has_prefix() const { return kind != Kind::NestedAttributes; }  ///< whether "FilterPolicy: " comes first
};

/// Why a publication did not pass; for the counters. [SNS CloudWatch metrics]
enum class FilterOutcome : std::uint8_t {
  Passed,
  NoMessageAttributes,  ///< scope MessageAttributes and the message has none
  InvalidAttributes,    ///< an attribute that the policy names cannot be read (a String.Array that is no JSON array)
  InvalidMessageBody,   ///< scope MessageBody and the body is no JSON object
  Mismatch,             ///< readable, and not wanted
};

/// The body of one publication, parsed when the first filter asks for it. One for each publication.
class LazyBody {
 public:
  explicit LazyBody(std::string_view text) : text_(text) {}
  /// The body if it is a JSON object; null pointer if not.
  const wire::json::Value* object();

 private:
  std::string_view text_;
  bool parsed_ = false;
  std::optional<wire::json::Value> value_;
};

/// What an attribute's value is for filters.
struct FilterAttribute {
  bool invalid = false;  ///< a String.Array that is no JSON array, or a Number that is none
  wire::json::Value value;
  /// The scalars of the value: itself, or all elements of the array, however nested. Views into `value`.
  void scalars(std::vector<FilterScalar>& out) const;
  /// Nullopt for a Binary attribute, which filters do not see.
  static std::optional<FilterAttribute> of(const message::MessageAttribute& attribute);
};

class FilterPolicy {
 public:
  static Result<FilterPolicy, FilterError> parse(std::string_view json, FilterScope scope);

  [[nodiscard]] FilterScope scope() const { return scope_; }
  /// The text that was parsed.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Joined by OR; at least one. For the index.
  [[nodiscard]] const std::vector<FilterConjunction>& conjunctions() const { return conjunctions_; }
  [[nodiscard]] FilterOutcome matches(std::span<const message::MessageAttribute> attributes, LazyBody& body) const;

 private:
  FilterPolicy() = default;
  FilterScope scope_ = FilterScope::MessageAttributes;
  std::string text_;
  std::vector<FilterConjunction> conjunctions_;
};

/// The grammar alone: the alternatives of a policy, without trees. For FilterPolicy::parse().
Result<std::vector<FilterConjunction>, FilterError> parse_filter_conjunctions(std::string_view json, FilterScope scope);

}  // namespace fanfare::topic

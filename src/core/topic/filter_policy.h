// A subscription's filter policy: which publications it wants. Parsed once, immutable.
//
// Rule 1: keys are joined by AND, the values of one key by OR; an absent key satisfies no exact value.
// Rule 2: what the language has and this version does not evaluate is refused when it is set, never ignored.
// Source: [SNS filter policies]; the grammar is that of aws/event-ruler, errors as AWS words them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/message/content.h"
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
    TooComplex,         ///< more than 150 combinations
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
  InvalidAttributes,    ///< an attribute that the policy looks at cannot be read (a String.Array that is no JSON array)
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

class FilterPolicy {
 public:
  static Result<FilterPolicy, FilterError> parse(std::string_view json, FilterScope scope);

  FilterPolicy(FilterPolicy&&) noexcept;
  FilterPolicy& operator=(FilterPolicy&&) noexcept;
  ~FilterPolicy();

  [[nodiscard]] FilterScope scope() const { return scope_; }
  /// The text that was parsed.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] FilterOutcome matches(std::span<const message::MessageAttribute> attributes, LazyBody& body) const;

  struct Node;  ///< only filter_policy.cpp knows what it is

 private:
  FilterPolicy();
  FilterScope scope_ = FilterScope::MessageAttributes;
  std::string text_;
  std::unique_ptr<Node> root_;
};

}  // namespace fanfare::topic

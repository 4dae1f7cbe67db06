// How a subscription's arguments are compared with an event's payload.
// Rule 1: equality by GraphQL value: ID and String equal a JSON string or a JSON integer of the same spelling; Int and
//         Float compare as numbers (1 equals 1.0); enums by name, which is a Text here; Boolean equals true or false.
// Rule 2: a null or absent argument is no term: it matches all. A null or absent payload member equals no term.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fanfare::live {

enum class MatchKind : std::uint8_t { Text, Number, Boolean };

/// A value to be equal to, in a canonical form: two values are equal if and only if kind and key are.
class MatchValue {
 public:
  static MatchValue text(std::string value) { return {MatchKind::Text, std::move(value)}; }
  static MatchValue boolean(bool value) { return {MatchKind::Boolean, value ? "t" : "f"}; }
  static MatchValue number(std::int64_t value);
  static MatchValue number(double value);

  [[nodiscard]] MatchKind kind() const { return kind_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  friend bool operator==(const MatchValue&, const MatchValue&) = default;

 private:
  MatchValue(MatchKind kind, std::string key) : kind_(kind), key_(std::move(key)) {}
  MatchKind kind_;
  std::string key_;
};

/// One argument: `path` names a payload member, "document" or "doc.id".
struct Term {
  std::string path;
  MatchValue value;
  friend bool operator==(const Term&, const Term&) = default;
};

/// All terms must match; none matches every event of the trigger.
struct Filter {
  std::vector<Term> terms;
  friend bool operator==(const Filter&, const Filter&) = default;
};

/// A scalar of the payload as JSON spells it.
struct Scalar {
  enum class Type : std::uint8_t { String, Integer, Real, Boolean } type;
  std::string text;  ///< String: the unescaped content. Integer, Real: the spelling. Boolean: "true" or "false".

  /// The canonical key if this scalar is compared as `kind`; nullopt: it equals no value of that kind.
  [[nodiscard]] std::optional<std::string> key_as(MatchKind kind) const;
};

}  // namespace fanfare::live

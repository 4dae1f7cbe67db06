// Texts of a policy that are compared with those of a request: literals, globs and variables.
//
// Rule 1: a pattern is read once; comparing allocates nothing unless a variable's values are longer than 400 bytes.
// Rule 2: what a variable brings is literal: a `*` in a user's name is no wildcard.
// Source: [IAM policy variables], [IAM condition operators], [IAM Resource element].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fanfare::policy {

struct Request;

/// `*` is any run of characters, also none; `?` is one. Time is at most the product of the lengths.
bool glob_match(std::string_view pattern, std::string_view text);
/// The same without regard to the case of ASCII letters.
bool glob_match_ignoring_case(std::string_view pattern, std::string_view text);
/// An ARN against a pattern of a condition: six parts, split at the first five colons, each matched for itself; so a
/// `*` crosses no colon but in the sixth part. A pattern of `*` alone matches everything.
bool arn_match(std::string_view pattern, std::string_view arn);
/// An ARN against a pattern of the Resource element: as arn_match, but a `*` at the end of a part goes on beyond its
/// colon: `arn:aws:sqs:*` and `arn:aws:*:work` match a queue.
bool resource_match(std::string_view pattern, std::string_view arn);
bool equal_ignoring_case(std::string_view a, std::string_view b);

class Pattern {
 public:
  enum class Syntax : std::uint8_t { Literal, Glob };
  static constexpr std::size_t kVariablesMax = 32;

  struct Piece {
    std::string text;  ///< what stands there, in the inner form; of a variable its key: "aws:username"
    bool variable = false;
    std::optional<std::string> fallback;  ///< ${aws:PrincipalTag/team, 'everybody'}
  };

  Pattern() = default;
  /// A text as a policy has it. With `variables`, `${key}` stands for the request's value, and `${*}`, `${?}`, `${$}`
  /// for these characters. Nullopt with what is wrong in `problem`: `"${aws:x" has no closing brace`.
  static std::optional<Pattern> parse(std::string_view text, Syntax syntax, bool variables, std::string& problem);

  [[nodiscard]] bool has_variables() const { return !pieces_.empty(); }
  /// Whether the text needs no wildcard to match: then it stands in inner().
  [[nodiscard]] bool exact() const { return exact_; }
  /// The inner form of a pattern without variables: as written, with a byte 1 before each character that is no
  /// wildcard.
  [[nodiscard]] const std::string& inner() const { return inner_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] Syntax syntax() const { return syntax_; }

  bool equals(std::string_view text, const Request& request) const;
  bool equals_ignoring_case(std::string_view text, const Request& request) const;
  bool glob(std::string_view text, const Request& request) const;
  bool arn(std::string_view text, const Request& request) const;
  bool resource(std::string_view text, const Request& request) const;

 private:
  template <class Compare>
  bool with_expanded(const Request& request, Compare compare) const;

  Syntax syntax_ = Syntax::Literal;
  bool exact_ = true;
  std::string inner_;
  std::vector<Piece> pieces_;
};

}  // namespace fanfare::policy

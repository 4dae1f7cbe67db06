// One value of a filter policy: what it accepts. And the parsed form of a whole policy, which the matcher and the index share.
//
// Rule 1: everything here is plain data, fixed once FilterPolicy::parse() has made it.
// Rule 2: a pattern looks at one scalar; arrays are taken apart before (any element may match).
// Source: [SNS string value matching, numeric value matching]; where they are silent, aws/event-ruler's semantics.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json/value.h"

namespace fanfare::topic {

/// A string, number, boolean or null of a message: an attribute's value, or a leaf of the body. A view.
struct FilterScalar {
  enum class Kind : std::uint8_t { String, Number, True, False, Null };
  Kind kind = Kind::Null;
  std::string_view text;  ///< of a String
  double number = 0;      ///< of a Number

  static FilterScalar of(std::string_view string) { return {Kind::String, string, 0}; }
  /// Nullopt for arrays and objects.
  static std::optional<FilterScalar> of(const wire::json::Value& value);
};

/// "10.0.0.0/24", "2001:db8::/32"; also an address, with all its bits.
struct IpRange {
  std::array<std::uint8_t, 16> address{};  ///< network order; an IPv4 address takes the first four bytes
  bool v6 = false;
  std::uint8_t bits = 0;

  /// An address without a slash.
  static std::optional<IpRange> parse_address(std::string_view text);
  [[nodiscard]] bool contains(const IpRange& address_of_message) const;
  /// The first `count` bits as bytes, the rest zero.
  [[nodiscard]] std::array<std::uint8_t, 16> prefix(unsigned count) const;
};

/// Lower case of ASCII letters only: what equals-ignore-case compares.
std::string lower_case(std::string_view text);

struct FilterPattern {
  enum class Kind : std::uint8_t {
    String,            ///< "rugby"
    Number,            ///< 17; {"numeric":["=",17]}
    True,
    False,
    Null,
    Prefix,            ///< {"prefix":"auto-"}
    Suffix,            ///< {"suffix":".pdf"}
    EqualsIgnoreCase,  ///< {"equals-ignore-case":"Tennis"}; `text` is in lower case
    Wildcard,          ///< {"wildcard":"doc-*-eu"}; `literals` are the pieces between the stars
    Range,             ///< {"numeric":[">",0,"<=",100]}
    Cidr,              ///< {"cidr":"10.0.0.0/24"}
    Exists,            ///< {"exists":true}
    Absent,            ///< {"exists":false}: looks at no scalar; the field must have none
    AnythingBut,       ///< {"anything-but":["a","b"]}: none of `excluded` accepts the scalar
  };
  Kind kind = Kind::Null;
  std::string text;
  double low = 0;  ///< of a Number, both bounds are its value; -infinity and infinity: no bound
  double high = 0;
  bool low_open = false;  ///< the bound itself is outside
  bool high_open = false;
  IpRange range;
  std::vector<std::string> literals;
  std::vector<FilterPattern> excluded;

  /// Absent accepts none.
  [[nodiscard]] bool accepts(const FilterScalar& scalar) const;
};

/// One field of a policy: its path, and what it may be.
struct FilterClause {
  std::string path;  ///< keys joined by dots: "detail.source"; in scope MessageAttributes an attribute's name
  std::vector<FilterPattern> any;
};

/// Clauses joined by AND. A policy with `$or` is several of them, joined by OR.
struct FilterConjunction {
  struct Node {
    std::string key;                          ///< one segment of a path
    std::vector<std::uint32_t> clauses;       ///< that end here
    std::vector<std::uint32_t> children;      ///< in `nodes`
    std::vector<std::uint32_t> below;         ///< all clauses of this node and under it
  };
  std::vector<FilterClause> clauses;
  std::vector<Node> nodes;  ///< the paths as a tree; the first is the root; empty in scope MessageAttributes

  /// Makes `nodes` from the clauses' paths.
  void build_tree();
};

}  // namespace fanfare::topic

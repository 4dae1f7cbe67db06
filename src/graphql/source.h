// A GraphQL text with its name, and places in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fanfare::graphql {

/// Byte offset from the start of a source text.
using Offset = std::uint32_t;

/// A text handed in: an SDL file or a request document.
struct Source {
  std::string_view name;  ///< "schema.graphql"; shown in messages
  std::string_view text;
};

/// Both count from 1; columns count Unicode code points. [GraphQL 7.1.2]
struct Location {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

/// Line terminators are LF, CR and CR LF. [GraphQL 2.1.3]
Location locate(std::string_view text, Offset at);

/// The line at `location` and a caret below it, for people:
///     3 |   user(id: 1) { nam }
///       |                 ^
std::string excerpt(std::string_view text, Location location);

}  // namespace fanfare::graphql

// A GraphQL text with its name, and places in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// Locations in a text without reading it from its start each time: what many errors in a large text need.
class LineIndex {
 public:
  /// Linear in the text, which outlives the index.
  explicit LineIndex(std::string_view text);
  /// As locate() says, in constant time.
  [[nodiscard]] Location locate(Offset at) const;

 private:
  static constexpr std::size_t kBlock = 256;
  std::string_view text_;
  std::vector<Location> blocks_;  // where each block of kBlock bytes begins
};

/// The line at `location` and a caret below it, for people:
///     3 |   user(id: 1) { nam }
///       |                 ^
std::string excerpt(std::string_view text, Location location);

}  // namespace fanfare::graphql

#include "graphql/source.h"

#include <algorithm>

#include <fmt/format.h>

namespace fanfare::graphql {

namespace {

/// Moves `location` from byte `from` to byte `to`.
void advance(std::string_view text, std::size_t from, std::size_t to, Location& location) {
  for (std::size_t i = from; i < to; ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && !(i + 1 < text.size() && text[i + 1] == '\n'))) {
      ++location.line;
      location.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++location.column;
    }
  }
}

}  // namespace

Location locate(std::string_view text, Offset at) {
  Location location{1, 1};
  advance(text, 0, std::min<std::size_t>(at, text.size()), location);
  return location;
}

LineIndex::LineIndex(std::string_view text) : text_(text) {
  blocks_.reserve(text.size() / kBlock + 1);
  Location location{1, 1};
  for (std::size_t start = 0; start <= text.size(); start += kBlock) {
    blocks_.push_back(location);
    advance(text, start, std::min(start + kBlock, text.size()), location);
  }
}

Location LineIndex::locate(Offset at) const {
  const std::size_t end = std::min<std::size_t>(at, text_.size());
  Location location = blocks_[end / kBlock];
  advance(text_, end / kBlock * kBlock, end, location);
  return location;
}

std::string excerpt(std::string_view text, Location location) {
  std::size_t start = 0;
  for (std::uint32_t line = 1; line < location.line && start < text.size(); ++start) {
    if (text[start] == '\n' || (text[start] == '\r' && !(start + 1 < text.size() && text[start + 1] == '\n'))) ++line;
  }
  const std::size_t stop = std::min(text.find_first_of("\r\n", start), text.size());
  std::string line(text.substr(std::min(start, text.size()), stop - std::min(start, stop)));
  std::replace(line.begin(), line.end(), '\t', ' ');
  constexpr std::size_t kLongest = 160;  // a minified document is one line of megabytes
  std::size_t column = location.column - 1;
  if (line.size() > kLongest) {
    const std::size_t from = column > kLongest / 2 ? column - kLongest / 2 : 0;
    line = line.substr(std::min(from, line.size()), kLongest);
    column -= from;
  }
  const std::string number = fmt::format("{}", location.line);
  return fmt::format("{} | {}\n{} | {}^\n", number, line, std::string(number.size(), ' '), std::string(column, ' '));
}

}  // namespace fanfare::graphql

#include "graphql/source.h"

#include <algorithm>

#include <fmt/format.h>

namespace fanfare::graphql {

Location locate(std::string_view text, Offset at) {
  Location location{1, 1};
  const std::size_t end = std::min<std::size_t>(at, text.size());
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && !(i + 1 < text.size() && text[i + 1] == '\n'))) {
      ++location.line;
      line_start = i + 1;
    }
  }
  for (std::size_t i = line_start; i < end; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++location.column;
  }
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

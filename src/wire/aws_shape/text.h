// What kind of characters a text holds, as the services' rules about message bodies need to know.
// Source of truth: RFC 3629 for UTF-8; [SQS SendMessage] for the characters that a message may hold, which are
// XML 1.0's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fanfare::wire::aws {

enum class TextClass : std::uint8_t {
  Plain,      ///< UTF-8, only #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF
  Forbidden,  ///< UTF-8, but with other characters: control characters, U+FFFE, U+FFFF
  NotUtf8,
};

TextClass classify(std::string_view text);

/// The character that starts at text[at] and how many bytes it takes; 0 bytes when it is not UTF-8.
struct Character {
  std::uint32_t code_point;
  std::size_t bytes;
};
Character character_at(std::string_view text, std::size_t at);

}  // namespace fanfare::wire::aws

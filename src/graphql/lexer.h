// Cuts a GraphQL text into tokens, a batch at a time.
//
// Rules
// 1. The text is any bytes; what is not UTF-8 is an error token with its place, never read past.
// 2. Each byte is looked at a constant number of times.
// Source of truth: GraphQL September 2025, section 2.1.
#pragma once

#include <string>
#include <string_view>

#include "graphql/arena.h"
#include "graphql/source.h"

namespace fanfare::graphql {

enum class TokenKind : std::uint8_t {
  End,
  Error,
  Bang,
  Dollar,
  Amp,
  ParenL,
  ParenR,
  Spread,
  Colon,
  Equals,
  At,
  BracketL,
  BracketR,
  BraceL,
  Pipe,
  BraceR,
  Name,
  Int,
  Float,
  String,
  BlockString,
};

struct Token {
  const char* data;
  std::uint32_t size;
  Offset at;
  TokenKind kind;

  /// Name, Int, Float: as written. String, BlockString: the value. Else empty or meaningless.
  [[nodiscard]] std::string_view text() const { return {data, size}; }
};

/// Not thread-safe. `text` (below 4 GiB) and `arena` outlive the tokens; decoded strings go into the arena. The text is
/// followed by kPadding bytes of zero, so that reading ahead needs no checks.
class Lexer {
 public:
  static constexpr std::size_t kPadding = 8;

  Lexer(std::string_view text, Arena& arena) : text_(text), arena_(&arena) {}

  /// Writes the next tokens to `out`, at least one and at most `most`, and returns how many. The last one of a text is
  /// TokenKind::End, or TokenKind::Error, and then the message says why; nothing may be asked for after it.
  std::size_t fill(Token* out, std::size_t most);
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] Offset error_at() const { return error_at_; }

 private:
  void skip_comment();
  void unusual(Token& token);
  Token make(TokenKind kind, Offset start, std::string_view text = {}) const;
  Token fail(Offset at, std::string message);
  Token number(Offset start);
  Token string(Offset start);
  Token block_string(Offset start);
  bool escape(std::string& out);
  bool check_utf8(Offset at, unsigned& length);

  std::string_view text_;
  Arena* arena_;
  Offset at_ = 0;
  std::string error_;
  Offset error_at_ = 0;
  std::string scratch_;
};

/// The token's kind for messages: `a name`, `"{"`, `the end of the text`.
std::string describe(const Token& token);
std::string_view describe(TokenKind kind);

/// Removes the common indentation and the blank lines at both ends. `raw` has its `\"""` replaced already.
/// [GraphQL 2.9.4 BlockStringValue]
std::string block_string_value(std::string_view raw);

inline bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace fanfare::graphql

#include "graphql/lexer.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace fanfare::graphql {
namespace {

/// What a character begins: a punctuator's own kind, or one of the values above them.
enum Class : std::uint8_t { kName = 0x40, kIgnored, kOther };

struct CharTable {
  std::array<std::uint8_t, 256> kind{};
  std::array<bool, 256> name{};

  constexpr CharTable() {
    kind.fill(kOther);
    for (const char c : {' ', '\t', '\n', '\r', ','}) kind[index(c)] = kIgnored;
    for (char c = '0'; c <= '9'; ++c) name[index(c)] = true;
    for (char c = 'a'; c <= 'z'; ++c) letter(c);
    for (char c = 'A'; c <= 'Z'; ++c) letter(c);
    letter('_');
    set('!', TokenKind::Bang);
    set('$', TokenKind::Dollar);
    set('&', TokenKind::Amp);
    set('(', TokenKind::ParenL);
    set(')', TokenKind::ParenR);
    set(':', TokenKind::Colon);
    set('=', TokenKind::Equals);
    set('@', TokenKind::At);
    set('[', TokenKind::BracketL);
    set(']', TokenKind::BracketR);
    set('{', TokenKind::BraceL);
    set('|', TokenKind::Pipe);
    set('}', TokenKind::BraceR);
  }
  static constexpr std::size_t index(char c) { return static_cast<unsigned char>(c); }
  constexpr void letter(char c) {
    kind[index(c)] = kName;
    name[index(c)] = true;
  }
  constexpr void set(char c, TokenKind token) { kind[index(c)] = static_cast<std::uint8_t>(token); }
};
constexpr CharTable kTable;

std::string show_char(std::string_view text, Offset at) {
  const auto c = static_cast<unsigned char>(text[at]);
  if (c >= 0x20 && c < 0x7F) return fmt::format("'{}'", text[at]);
  return fmt::format("byte 0x{:02X}", c);
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | code >> 12));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | code >> 18));
    out.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::uint32_t> four_hex(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t code = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    code = code << 4 | static_cast<std::uint32_t>(digit);
  }
  return code;
}

constexpr bool is_lead_surrogate(std::uint32_t code) { return code >= 0xD800 && code <= 0xDBFF; }
constexpr bool is_trail_surrogate(std::uint32_t code) { return code >= 0xDC00 && code <= 0xDFFF; }

}  // namespace

Token Lexer::make(TokenKind kind, Offset start, std::string_view text) const {
  return {text.data(), static_cast<std::uint32_t>(text.size()), start, kind};
}

Token Lexer::fail(Offset at, std::string message) {
  error_ = std::move(message);
  error_at_ = at;
  at_ = static_cast<Offset>(text_.size());
  return make(TokenKind::Error, at);
}

// Names, punctuators and white space are met here, with everything that the loop needs in registers; the rest is unusual
// enough to go through at_.
std::size_t Lexer::fill(Token* const out, std::size_t most) {
  constexpr std::uint64_t kSpaces = 0x2020202020202020;
  const char* const base = text_.data();
  const char* at = base + at_;
  Token* token = out;
  Token* const end = out + most;
  while (token != end) {
    const std::uint8_t kind = kTable.kind[CharTable::index(*at)];
    if (kind == kName) {
      const char* const start = at;
      do ++at;
      while (kTable.name[CharTable::index(*at)]);
      token->data = start;
      token->size = static_cast<std::uint32_t>(at - start);
      token->at = static_cast<Offset>(start - base);
      token->kind = TokenKind::Name;
      ++token;
    } else if (kind == kIgnored) {
      ++at;
      while (*at == ' ') {  // indentation: as many spaces as there are zero bytes at the word's start
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        word ^= kSpaces;  // the zeros behind the text end it
        if (word != 0) {
          at += std::countr_zero(word) / 8;
          break;
        }
        at += sizeof word;
      }
    } else if (kind < kName) {
      token->at = static_cast<Offset>(at - base);
      token->kind = static_cast<TokenKind>(kind);
      ++token;
      ++at;
    } else if (*at == '.' && at[1] == '.' && at[2] == '.') {
      token->at = static_cast<Offset>(at - base);
      token->kind = TokenKind::Spread;
      ++token;
      at += 3;
    } else if (*at == '#') {
      at_ = static_cast<Offset>(at - base);
      skip_comment();
      at = base + at_;
    } else if (text_.substr(static_cast<std::size_t>(at - base), 3) == "\xEF\xBB\xBF") {
      at += 3;  // a byte order mark is white space wherever it stands
    } else {
      at_ = static_cast<Offset>(at - base);
      unusual(*token);
      at = base + at_;
      if (token->kind <= TokenKind::Error) {
        ++token;
        break;
      }
      ++token;
    }
  }
  at_ = static_cast<Offset>(at - base);
  return static_cast<std::size_t>(token - out);
}

/// To the end of the line, of the text, or to what is no UTF-8.
void Lexer::skip_comment() {
  while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') {
    unsigned length = 1;
    if (static_cast<signed char>(text_[at_]) < 0 && !check_utf8(at_, length)) return;
    at_ += length;
  }
}

void Lexer::unusual(Token& token) {
  const Offset start = at_;
  if (start >= text_.size()) {
    token = make(TokenKind::End, start);
    return;
  }
  const char c = text_[start];
  if (c == '.') {
    token = fail(start, "unexpected '.'; a spread is written with three points: \"...\"");
  } else if (is_digit(c) || c == '-') {
    token = number(start);
  } else if (c == '"') {
    token = text_.substr(start, 3) == "\"\"\"" ? block_string(start) : string(start);
  } else if (c == '\'') {
    token = fail(start, "unexpected single quotation mark; strings are written with double ones");
  } else {
    unsigned length = 1;
    if (!check_utf8(start, length)) {
      token = fail(start, "the text is not valid UTF-8 here");
    } else {
      token = fail(start, fmt::format("unexpected character {}", length == 1 ? show_char(text_, start)
                                                                             : fmt::format("\"{}\"", text_.substr(start, length))));
    }
  }
}

Token Lexer::number(Offset start) {
  const auto peek = [&](Offset at) { return at < text_.size() ? text_[at] : '\0'; };
  const auto digits = [&]() -> bool {
    if (!is_digit(peek(at_))) return false;
    while (is_digit(peek(at_))) ++at_;
    return true;
  };
  const auto wanted_digit = [&] {
    return fail(at_, at_ < text_.size() ? fmt::format("invalid number: expected a digit, found {}", show_char(text_, at_))
                                        : std::string("invalid number: expected a digit, found the end of the text"));
  };
  bool is_float = false;
  if (peek(at_) == '-') ++at_;
  if (peek(at_) == '0') {
    ++at_;
    if (is_digit(peek(at_))) return fail(at_, "invalid number: a digit after a leading zero");
  } else if (!digits()) {
    return wanted_digit();
  }
  if (peek(at_) == '.') {
    is_float = true;
    ++at_;
    if (!digits()) return wanted_digit();
  }
  if (peek(at_) == 'e' || peek(at_) == 'E') {
    is_float = true;
    ++at_;
    if (peek(at_) == '+' || peek(at_) == '-') ++at_;
    if (!digits()) return wanted_digit();
  }
  if (peek(at_) == '.' || is_name_start(peek(at_))) {
    return fail(at_, fmt::format("invalid number: {} directly after it", show_char(text_, at_)));
  }
  return make(is_float ? TokenKind::Float : TokenKind::Int, start, text_.substr(start, at_ - start));
}

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
bool Lexer::check_utf8(Offset at, unsigned& length) {
  const auto byte = [&](Offset i) { return i < text_.size() ? static_cast<unsigned char>(text_[i]) : 0U; };
  const auto continues = [&](Offset i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(at);
  if (first < 0x80) {
    length = 1;
    return true;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
    return continues(at + 1);
  }
  if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    const unsigned second = byte(at + 1);
    if (first == 0xE0 && second < 0xA0) return false;
    if (first == 0xED && second > 0x9F) return false;
    return continues(at + 1) && continues(at + 2);
  }
  if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    const unsigned second = byte(at + 1);
    if (first == 0xF0 && second < 0x90) return false;
    if (first == 0xF4 && second > 0x8F) return false;
    return continues(at + 1) && continues(at + 2) && continues(at + 3);
  }
  return false;
}

// `at_` stands behind a backslash. On failure error_ is set.
bool Lexer::escape(std::string& out) {
  const Offset backslash = at_ - 1;
  const auto refuse = [&](std::string message) {
    (void)fail(backslash, std::move(message));
    return false;
  };
  if (at_ >= text_.size()) return refuse("the string is not closed");
  const char c = text_[at_++];
  switch (c) {
    case '"':
    case '\\':
    case '/':
      out.push_back(c);
      return true;
    case 'b':
      out.push_back('\b');
      return true;
    case 'f':
      out.push_back('\f');
      return true;
    case 'n':
      out.push_back('\n');
      return true;
    case 'r':
      out.push_back('\r');
      return true;
    case 't':
      out.push_back('\t');
      return true;
    case 'u':
      break;
    default:
      return refuse("unknown escape sequence; known are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX and \\u{X...}");
  }
  std::uint32_t code = 0;
  if (at_ < text_.size() && text_[at_] == '{') {
    ++at_;
    const Offset first = at_;
    while (at_ < text_.size() && hex_digit(text_[at_]) >= 0) {
      if (code <= 0x10FFFF) code = code << 4 | static_cast<std::uint32_t>(hex_digit(text_[at_]));
      ++at_;
    }
    if (at_ == first || at_ >= text_.size() || text_[at_] != '}') return refuse("invalid escape: \\u{ needs hexadecimal digits and }");
    ++at_;
    if (code > 0x10FFFF || is_lead_surrogate(code) || is_trail_surrogate(code)) {
      return refuse("invalid escape: not a Unicode scalar value");
    }
    append_utf8(out, code);
    return true;
  }
  const auto lead = four_hex(text_.substr(at_));
  if (!lead) return refuse("invalid escape: \\u needs four hexadecimal digits");
  at_ += 4;
  code = *lead;
  if (is_lead_surrogate(code)) {
    const auto trail = text_.substr(at_, 2) == "\\u" ? four_hex(text_.substr(at_ + 2)) : std::nullopt;
    if (!trail || !is_trail_surrogate(*trail)) return refuse("invalid escape: the first half of a surrogate pair alone");
    at_ += 6;
    code = 0x10000 + ((code - 0xD800) << 10) + (*trail - 0xDC00);
  } else if (is_trail_surrogate(code)) {
    return refuse("invalid escape: the second half of a surrogate pair alone");
  }
  append_utf8(out, code);
  return true;
}

Token Lexer::string(Offset start) {
  ++at_;
  const Offset first = at_;
  bool has_escape = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      const std::string_view value =
          has_escape ? arena_->copy(std::string_view(scratch_)) : text_.substr(first, at_ - first);
      ++at_;
      return make(TokenKind::String, start, value);
    }
    if (c == '\n' || c == '\r') break;
    if (c == '\\') {
      if (!has_escape) scratch_.assign(text_.substr(first, at_ - first));
      has_escape = true;
      ++at_;
      if (!escape(scratch_)) return make(TokenKind::Error, error_at_);
      continue;
    }
    unsigned length = 1;
    if (static_cast<signed char>(c) < 0 && !check_utf8(at_, length)) return fail(at_, "the text is not valid UTF-8 here");
    if (has_escape) scratch_.append(text_.substr(at_, length));
    at_ += length;
  }
  return fail(start, "the string is not closed on its line; strings over several lines are written with \"\"\"");
}

Token Lexer::block_string(Offset start) {
  at_ += 3;
  Offset chunk = at_;
  bool is_simple = true;  // one line, nothing to replace
  scratch_.clear();
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"' && text_.substr(at_, 3) == "\"\"\"") {
      const std::string_view last = text_.substr(chunk, at_ - chunk);
      at_ += 3;
      if (is_simple && last.find_first_not_of(" \t") != std::string_view::npos) {
        return make(TokenKind::BlockString, start, last);
      }
      scratch_.append(last);
      return make(TokenKind::BlockString, start, arena_->copy(std::string_view(block_string_value(scratch_))));
    }
    if (c == '\\' && text_.substr(at_, 4) == "\\\"\"\"") {
      is_simple = false;
      scratch_.append(text_.substr(chunk, at_ - chunk)).append("\"\"\"");
      at_ += 4;
      chunk = at_;
      continue;
    }
    if (c == '\n' || c == '\r') is_simple = false;
    unsigned length = 1;
    if (static_cast<signed char>(c) < 0 && !check_utf8(at_, length)) return fail(at_, "the text is not valid UTF-8 here");
    at_ += length;
  }
  return fail(start, "the block string is not closed with \"\"\"");
}

std::string block_string_value(std::string_view raw) {
  std::vector<std::string_view> lines;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= raw.size(); ++i) {
    if (i < raw.size() && raw[i] != '\n' && raw[i] != '\r') continue;
    lines.push_back(raw.substr(start, i - start));
    if (i + 1 < raw.size() && raw[i] == '\r' && raw[i + 1] == '\n') ++i;
    start = i + 1;
  }
  std::size_t common = std::string_view::npos;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t indent = lines[i].find_first_not_of(" \t");
    if (indent != std::string_view::npos) common = std::min(common, indent);
  }
  if (common != std::string_view::npos) {
    for (std::size_t i = 1; i < lines.size(); ++i) lines[i].remove_prefix(std::min(common, lines[i].size()));
  }
  const auto blank = [](std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; };
  std::size_t first = 0;
  std::size_t last = lines.size();
  while (first < last && blank(lines[first])) ++first;
  while (last > first && blank(lines[last - 1])) --last;
  std::string value;
  for (std::size_t i = first; i < last; ++i) {
    if (i > first) value.push_back('\n');
    value.append(lines[i]);
  }
  return value;
}

std::string_view describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::End: return "the end of the text";
    case TokenKind::Error: return "an invalid token";
    case TokenKind::Bang: return "\"!\"";
    case TokenKind::Dollar: return "\"$\"";
    case TokenKind::Amp: return "\"&\"";
    case TokenKind::ParenL: return "\"(\"";
    case TokenKind::ParenR: return "\")\"";
    case TokenKind::Spread: return "\"...\"";
    case TokenKind::Colon: return "\":\"";
    case TokenKind::Equals: return "\"=\"";
    case TokenKind::At: return "\"@\"";
    case TokenKind::BracketL: return "\"[\"";
    case TokenKind::BracketR: return "\"]\"";
    case TokenKind::BraceL: return "\"{\"";
    case TokenKind::Pipe: return "\"|\"";
    case TokenKind::BraceR: return "\"}\"";
    case TokenKind::Name: return "a name";
    case TokenKind::Int: return "an integer";
    case TokenKind::Float: return "a number";
    case TokenKind::String: return "a string";
    case TokenKind::BlockString: return "a block string";
  }
  return "";
}

std::string describe(const Token& token) {
  constexpr std::size_t kShown = 40;
  switch (token.kind) {
    case TokenKind::Name: return fmt::format("the name \"{}\"", token.text().substr(0, kShown));
    case TokenKind::Int:
    case TokenKind::Float: return fmt::format("the number {}", token.text().substr(0, kShown));
    default: return std::string(describe(token.kind));
  }
}

}  // namespace fanfare::graphql

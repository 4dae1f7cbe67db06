#include "policy/pattern.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/context.h"

namespace fanfare::policy {
namespace {

/// Stands in the inner form before a character that is meant as it is, though it looks like a wildcard (or like this).
constexpr char kLiteral = '\x01';

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

template <class Same>
bool match(std::string_view pattern, std::string_view text, Same same) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last * seen, and what it has taken so far
  std::size_t taken = 0;
  while (t < text.size()) {
    const bool more = p < pattern.size();
    if (more && pattern[p] == '*') {
      star = p++;
      taken = t;
      continue;
    }
    const bool literal = more && pattern[p] == kLiteral && p + 1 < pattern.size();
    if (more && (literal ? same(pattern[p + 1], text[t]) : pattern[p] == '?' || same(pattern[p], text[t]))) {
      p += literal ? 2 : 1;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool glob_with_case(std::string_view pattern, std::string_view text) {
  return match(pattern, text, [](char a, char b) { return a == b; });
}

/// Cuts the next part of an ARN off, without its colon. False when there is no colon any more; then `part` is the rest.
bool cut(std::string_view& rest, std::string_view& part) {
  const std::size_t colon = rest.find(':');
  part = rest.substr(0, colon);
  rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  return colon != std::string_view::npos;
}

void append_literally(fmt::memory_buffer& out, std::string_view text) {
  for (const char c : text) {
    if (c == '*' || c == '?' || c == kLiteral) out.push_back(kLiteral);
    out.push_back(c);
  }
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool glob_match(std::string_view pattern, std::string_view text) { return glob_with_case(pattern, text); }

bool glob_match_ignoring_case(std::string_view pattern, std::string_view text) {
  return match(pattern, text, [](char a, char b) { return lower(a) == lower(b); });
}

bool arn_match(std::string_view pattern, std::string_view arn) {
  if (pattern == "*") return true;
  for (int i = 0; i < 5; ++i) {
    std::string_view wanted;
    std::string_view part;
    const bool more_wanted = cut(pattern, wanted);
    if (cut(arn, part) != more_wanted || !glob_with_case(wanted, part)) return false;
    if (!more_wanted) return true;
  }
  return glob_with_case(pattern, arn);
}

bool resource_match(std::string_view pattern, std::string_view arn) {
  for (int i = 0; i < 5; ++i) {
    const std::string_view pattern_from_here = pattern;
    const std::string_view arn_from_here = arn;
    std::string_view wanted;
    std::string_view part;
    const bool more_wanted = cut(pattern, wanted);
    if (wanted.ends_with('*')) return glob_with_case(pattern_from_here, arn_from_here);
    if (cut(arn, part) != more_wanted || !glob_with_case(wanted, part)) return false;
    if (!more_wanted) return true;
  }
  return glob_with_case(pattern, arn);
}

std::optional<Pattern> Pattern::parse(std::string_view text, Syntax syntax, bool variables, std::string& problem) {
  Pattern pattern;
  pattern.syntax_ = syntax;
  const bool glob = syntax == Syntax::Glob;
  std::string current;
  const auto add_literally = [&](char c) {
    if (glob && (c == '*' || c == '?' || c == kLiteral)) {
      current.push_back(kLiteral);
      pattern.exact_ = false;  // the inner form differs from the text
    }
    current.push_back(c);
  };
  std::size_t found = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (variables && c == '$' && i + 1 < text.size() && text[i + 1] == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) {
        problem = fmt::format("\"{}\" has no closing brace", text.substr(i));
        return std::nullopt;
      }
      std::string_view key = text.substr(i + 2, end - i - 2);
      i = end;
      if (key == "*" || key == "?" || key == "$") {
        add_literally(key[0]);
        continue;
      }
      Piece variable{{}, true, {}};
      if (const std::size_t comma = key.find(','); comma != std::string_view::npos) {
        std::string_view fallback = key.substr(comma + 1);
        while (fallback.starts_with(' ')) fallback.remove_prefix(1);
        while (fallback.ends_with(' ')) fallback.remove_suffix(1);
        if (fallback.size() < 2 || !fallback.starts_with('\'') || !fallback.ends_with('\'')) {
          problem = fmt::format("the default of the variable \"${{{}}}\" does not stand between ' and '", key);
          return std::nullopt;
        }
        variable.fallback = fallback.substr(1, fallback.size() - 2);
        key = key.substr(0, comma);
      }
      while (key.starts_with(' ')) key.remove_prefix(1);
      while (key.ends_with(' ')) key.remove_suffix(1);
      if (key.empty() || key.find_first_of("${ \t\r\n") != std::string_view::npos) {
        problem = fmt::format("\"{}\" is no variable such as ${{aws:username}}", text);
        return std::nullopt;
      }
      if (++found > kVariablesMax) {
        problem = fmt::format("a text has more than {} variables", kVariablesMax);
        return std::nullopt;
      }
      variable.text = key;
      if (!current.empty()) pattern.pieces_.push_back({std::move(current), false, {}});
      current.clear();
      pattern.pieces_.push_back(std::move(variable));
    } else if (glob && c == kLiteral) {
      add_literally(c);
    } else {
      if (glob && (c == '*' || c == '?')) pattern.exact_ = false;
      current.push_back(c);
    }
  }
  if (pattern.pieces_.empty()) {
    pattern.inner_ = std::move(current);
  } else {
    pattern.exact_ = false;
    if (!current.empty()) pattern.pieces_.push_back({std::move(current), false, {}});
  }
  return pattern;
}

/// A variable without a value, or with several, makes the text match nothing. [IAM policy variables]
template <class Compare>
bool Pattern::with_expanded(const Request& request, Compare compare) const {
  fmt::memory_buffer buffer;
  for (const Piece& piece : pieces_) {
    if (!piece.variable) {
      buffer.append(piece.text);
      continue;
    }
    const KeyValues values = values_of(request, key_of(piece.text), piece.text);
    std::string_view value;
    if (values.size() == 1) {
      value = values[0];
    } else if (values.empty() && piece.fallback) {
      value = *piece.fallback;
    } else {
      return false;
    }
    if (syntax_ == Syntax::Glob) {
      append_literally(buffer, value);
    } else {
      buffer.append(value);
    }
  }
  return compare(std::string_view{buffer.data(), buffer.size()});
}

bool Pattern::equals(std::string_view text, const Request& request) const {
  if (!has_variables()) return inner_ == text;
  return with_expanded(request, [&](std::string_view wanted) { return wanted == text; });
}
bool Pattern::equals_ignoring_case(std::string_view text, const Request& request) const {
  if (!has_variables()) return equal_ignoring_case(inner_, text);
  return with_expanded(request, [&](std::string_view wanted) { return equal_ignoring_case(wanted, text); });
}
bool Pattern::glob(std::string_view text, const Request& request) const {
  if (exact_) return inner_ == text;
  if (!has_variables()) return glob_with_case(inner_, text);
  return with_expanded(request, [&](std::string_view wanted) { return glob_with_case(wanted, text); });
}
bool Pattern::arn(std::string_view text, const Request& request) const {
  if (exact_) return inner_ == text;
  if (!has_variables()) return arn_match(inner_, text);
  return with_expanded(request, [&](std::string_view wanted) { return arn_match(wanted, text); });
}
bool Pattern::resource(std::string_view text, const Request& request) const {
  if (exact_) return inner_ == text;
  if (!has_variables()) return resource_match(inner_, text);
  return with_expanded(request, [&](std::string_view wanted) { return resource_match(wanted, text); });
}

}  // namespace fanfare::policy

#include "moderate.h"

#include <algorithm>
#include <array>

#include "text.h"

namespace pipeline {
namespace {

struct ScoredWord {
  std::string_view word;
  std::string_view rule;
  int score;
};

// Mild on purpose: what one meets in changelogs and mailing lists.
constexpr std::array<ScoredWord, 19> kWords{{
    {"stupid", "insult", 3}, {"idiot", "insult", 5},     {"idiotic", "insult", 4}, {"moron", "insult", 5},   {"dumb", "insult", 2},
    {"crap", "coarse", 3},   {"damn", "coarse", 2},      {"hell", "coarse", 1},    {"sucks", "coarse", 3},   {"bullshit", "coarse", 5},
    {"shit", "coarse", 5},   {"fuck", "coarse", 6},      {"kill", "violence", 1},  {"hate", "hostile", 2},   {"viagra", "spam", 8},
    {"casino", "spam", 6},   {"lottery", "spam", 4},     {"password", "secret", 1}, {"ugly", "hostile", 1},
}};

std::string excerpt(std::string_view text, std::size_t at) {
  const std::size_t from = at > 20 ? at - 20 : 0;
  std::string out{text.substr(from, 60)};
  std::replace_if(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  // A cut inside a UTF-8 sequence leaves bytes that are no text: drop them at both ends.
  while (!out.empty() && (static_cast<unsigned char>(out.front()) & 0xC0) == 0x80) out.erase(out.begin());
  std::size_t tail = out.size();
  while (tail > 0 && (static_cast<unsigned char>(out[tail - 1]) & 0xC0) == 0x80) --tail;
  if (tail > 0 && static_cast<unsigned char>(out[tail - 1]) >= 0xC0) out.resize(tail - 1);
  return out;
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Accepted: return "accepted";
    case Verdict::Review: return "review";
    case Verdict::Rejected: return "rejected";
  }
  return "unknown";
}

Moderation moderate(std::string_view text) {
  Moderation result;
  int points = 0;
  const auto find = [&](std::string_view rule, std::size_t at, int score) {
    points += score;
    if (result.findings.size() < 20) result.findings.push_back({std::string{rule}, excerpt(text, at), score});
  };
  std::size_t word_count = 0;
  std::size_t begin = 0;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || is_upper(c); };
  int shouted_run = 0;
  while (begin < text.size()) {
    while (begin < text.size() && !is_letter(text[begin])) {
      // An address of a person in a text that users wrote.
      if (text[begin] == '@' && begin > 0 && begin + 1 < text.size() && is_letter(text[begin - 1]) && is_letter(text[begin + 1]))
        find("contact", begin, 1);
      ++begin;
    }
    std::size_t end = begin;
    bool all_upper = true;
    while (end < text.size() && is_letter(text[end])) all_upper = is_upper(text[end++]) && all_upper;
    if (end == begin) break;
    ++word_count;
    std::string word{text.substr(begin, end - begin)};
    std::transform(word.begin(), word.end(), word.begin(), [](char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; });
    for (const ScoredWord& scored : kWords)
      if (word == scored.word) find(scored.rule, begin, scored.score);
    shouted_run = all_upper && word.size() >= 4 ? shouted_run + 1 : 0;
    if (shouted_run == 4) find("shouting", begin, 1);
    begin = end;
  }
  const std::size_t thousands = std::max<std::size_t>(word_count, 200);
  result.score = static_cast<int>(static_cast<std::size_t>(points) * 1000 / thousands);
  result.verdict = result.score >= 20 ? Verdict::Rejected : result.score >= 5 ? Verdict::Review : Verdict::Accepted;
  return result;
}

}  // namespace pipeline

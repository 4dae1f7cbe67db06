#include "text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace pipeline {
namespace {

bool is_letter(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Sorted, for binary search.
constexpr std::array<std::string_view, 92> kStopWords{
    "about", "after", "all",   "also",  "an",    "and",   "any",   "are",   "as",    "at",    "be",    "because", "been",
    "before", "being", "but",  "by",    "can",   "could", "did",   "do",    "does",  "each",  "for",   "from",    "had",
    "has",   "have",  "he",    "her",   "his",   "how",   "if",    "in",    "into",  "is",    "it",    "its",     "just",
    "may",   "me",    "more",  "most",  "must",  "my",    "no",    "not",   "of",    "on",    "one",   "only",    "or",
    "other", "our",   "out",   "over",  "own",   "same",  "she",   "should", "so",   "some",  "such",  "than",    "that",
    "the",   "their", "them",  "then",  "there", "these", "they",  "this",  "those", "to",    "too",   "under",   "up",
    "use",   "used",  "very",  "was",   "we",    "were",  "what",  "when",  "which", "while", "who",   "will",    "with",
    "you"};
static_assert(std::is_sorted(kStopWords.begin(), kStopWords.end()));

/// A full stop inside "e.g." or "3.4" ends no sentence.
bool ends_sentence(std::string_view text, std::size_t at) {
  if (text[at] == '!' || text[at] == '?') return true;
  if (text[at] != '.') return false;
  if (at + 1 < text.size() && text[at + 1] != ' ' && text[at + 1] != '\n' && text[at + 1] != '\t') return false;
  return at < 2 || text[at - 2] != '.';
}

}  // namespace

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && is_letter(static_cast<unsigned char>(text[i]))) {
      word.push_back(lower(text[i]));
    } else if (!word.empty()) {
      if (word.size() >= 2 && word.size() <= 40) out.push_back(word);
      word.clear();
    }
  }
  return out;
}

bool is_stop_word(std::string_view word) { return std::binary_search(kStopWords.begin(), kStopWords.end(), word); }

std::vector<std::string> sentences(std::string_view text) {
  std::vector<std::string> out;
  std::string current;
  const auto finish = [&] {
    const auto letters = static_cast<std::size_t>(
        std::count_if(current.begin(), current.end(), [](char c) { return is_letter(static_cast<unsigned char>(c)); }));
    if (current.size() >= 30 && current.size() <= 400 && letters * 3 >= current.size() * 2) out.push_back(current);
    current.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
    if (c == '\n' && i + 1 < text.size() && text[i + 1] == '\n') {
      finish();  // a paragraph ends its last sentence
    } else if (blank) {
      if (!current.empty() && current.back() != ' ') current.push_back(' ');
    } else {
      current.push_back(c);
      if (ends_sentence(text, i)) finish();
    }
  }
  finish();
  return out;
}

}  // namespace pipeline

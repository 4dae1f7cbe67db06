#include "summarise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "text.h"

namespace pipeline {
namespace {

using Weights = std::unordered_map<std::string, double>;

Weights word_weights(std::string_view text) {
  std::unordered_map<std::string, int> counts;
  for (std::string& word : words(text))
    if (!is_stop_word(word)) ++counts[std::move(word)];
  Weights weights;
  for (const auto& [word, count] : counts) weights[word] = std::log(1.0 + count);
  return weights;
}

/// Share of words that two sets have in common.
double overlap(const std::set<std::string>& a, const std::set<std::string>& b) {
  if (a.empty() || b.empty()) return 0;
  const auto common = std::count_if(a.begin(), a.end(), [&](const std::string& word) { return b.contains(word); });
  return static_cast<double>(common) / static_cast<double>(std::min(a.size(), b.size()));
}

}  // namespace

Summary summarise(std::string_view text, std::size_t sentence_count) {
  const Weights weights = word_weights(text);
  std::vector<std::string> all = sentences(text);
  struct Candidate {
    std::size_t index;
    double score;
    std::set<std::string> words;
  };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Candidate candidate{i, 0, {}};
    for (std::string& word : words(all[i]))
      if (!is_stop_word(word)) candidate.words.insert(std::move(word));
    if (candidate.words.size() < 4) continue;
    for (const std::string& word : candidate.words)
      if (const auto found = weights.find(word); found != weights.end()) candidate.score += found->second;
    candidate.score /= static_cast<double>(candidate.words.size());
    candidate.score *= 1.0 + 0.3 / (1.0 + static_cast<double>(i));  // documents say early what they are about
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  std::vector<const Candidate*> chosen;
  for (const Candidate& candidate : candidates) {
    if (chosen.size() == sentence_count) break;
    const bool repeats = std::any_of(chosen.begin(), chosen.end(),
                                     [&](const Candidate* other) { return overlap(candidate.words, other->words) > 0.6; });
    if (!repeats) chosen.push_back(&candidate);
  }
  std::sort(chosen.begin(), chosen.end(), [](const Candidate* a, const Candidate* b) { return a->index < b->index; });
  Summary summary;
  for (const Candidate* candidate : chosen) summary.sentences.push_back(std::move(all[candidate->index]));

  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [word, weight] : weights)
    if (word.size() >= 4) ranked.emplace_back(-weight, word);  // the word itself breaks ties, so that the order is the same everywhere
  const std::size_t wanted = std::min<std::size_t>(5, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(wanted), ranked.end());
  for (std::size_t i = 0; i < wanted; ++i) summary.key_words.push_back(ranked[i].second);
  return summary;
}

}  // namespace pipeline

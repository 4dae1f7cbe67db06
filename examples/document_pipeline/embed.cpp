#include "embed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "text.h"

namespace pipeline {
namespace {

std::uint64_t fnv1a(std::string_view text) {  // [RFC draft-eastlake-fnv] the same on every machine, unlike std::hash
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

Embedding embed(std::string_view text) {
  std::unordered_map<std::string, int> counts;
  for (std::string& word : words(text))
    if (!is_stop_word(word)) ++counts[std::move(word)];
  std::array<double, kDimensions> sums{};
  for (const auto& [word, count] : counts) {
    const std::uint64_t hash = fnv1a(word);
    const double sign = (hash >> 63) != 0 ? -1.0 : 1.0;
    // Rounded to a grid, so that the sum does not depend on the order in which the map yields its words.
    sums[hash % kDimensions] += sign * std::round(std::log(1.0 + count) * 65536.0);
  }
  double squares = 0;
  for (const double sum : sums) squares += sum * sum;
  Embedding embedding{};
  if (squares > 0)
    for (std::size_t i = 0; i < kDimensions; ++i) embedding[i] = static_cast<float>(sums[i] / std::sqrt(squares));
  return embedding;
}

float similarity(const Embedding& a, const Embedding& b) {
  float sum = 0;
  for (std::size_t i = 0; i < kDimensions; ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<Neighbour> EmbeddingIndex::nearest(const Embedding& embedding, std::size_t count) const {
  std::vector<Neighbour> all;
  all.reserve(documents_.size());
  for (std::size_t i = 0; i < documents_.size(); ++i) all.push_back({documents_[i], similarity(embedding, embeddings_[i])});
  const std::size_t wanted = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.document < b.document;
  });
  all.resize(wanted);
  return all;
}

void EmbeddingIndex::add(std::string document, const Embedding& embedding) {
  documents_.push_back(std::move(document));
  embeddings_.push_back(embedding);
}

}  // namespace pipeline

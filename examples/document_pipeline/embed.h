// Hashed term vectors, and the nearest earlier documents.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

inline constexpr std::size_t kDimensions = 256;
/// Length 1, or all zeros for a text without words.
using Embedding = std::array<float, kDimensions>;

/// Each word adds log(1 + its count) at a place, with a sign, that its hash decides (the hashing trick); then length 1.
Embedding embed(std::string_view text);

/// Cosine similarity, -1 to 1.
float similarity(const Embedding& a, const Embedding& b);

struct Neighbour {
  std::string document;
  float similarity;
};

/// Remembers the embeddings it was given. Not thread-safe.
class EmbeddingIndex {
 public:
  /// The nearest of those added before, the best first; ties by document id.
  [[nodiscard]] std::vector<Neighbour> nearest(const Embedding& embedding, std::size_t count) const;
  void add(std::string document, const Embedding& embedding);
  [[nodiscard]] std::size_t size() const { return documents_.size(); }

 private:
  std::vector<std::string> documents_;
  std::vector<Embedding> embeddings_;
};

}  // namespace pipeline

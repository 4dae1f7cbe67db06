// Extractive summary: the sentences that say most of what the document says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

struct Summary {
  std::vector<std::string> sentences;  ///< in the order of the document
  std::vector<std::string> key_words;  ///< the five that weigh most
};

/// Sentences are ranked by the mean weight of their words (logarithm of the word's count in the document, stop words left
/// out), a little more at the beginning of the document; one that repeats a chosen one is passed over.
/// A text without sentences gives an empty summary.
Summary summarise(std::string_view text, std::size_t sentence_count = 3);

}  // namespace pipeline

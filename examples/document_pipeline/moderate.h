// Moderation of user-generated text by a scored list of words and patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

struct Finding {
  std::string rule;     ///< "insult", "shouting", "contact", ...
  std::string excerpt;  ///< at most 60 bytes around the place
  int score;
};

enum class Verdict { Accepted, Review, Rejected };
std::string_view to_string(Verdict verdict);

struct Moderation {
  Verdict verdict = Verdict::Accepted;
  int score = 0;                  ///< sum of the findings, scaled to 1,000 words: long texts are no worse for their length
  std::vector<Finding> findings;  ///< the first 20
};

/// Review from 5 points a thousand words, Rejected from 20.
Moderation moderate(std::string_view text);

}  // namespace pipeline

// Plain-text tools that the pipeline's workers share: sentences, words, and the words that carry no meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// Lower-case words of letters (UTF-8 letters beyond ASCII count as such), two characters or longer, in order.
std::vector<std::string> words(std::string_view text);

/// "the", "and", "is", ...: English words that say nothing about what a text is about.
bool is_stop_word(std::string_view word);

/// Sentences in order, white space collapsed. Headings, tables and code (few letters) are left out, so is what is shorter
/// than 30 or longer than 400 bytes.
std::vector<std::string> sentences(std::string_view text);

}  // namespace pipeline

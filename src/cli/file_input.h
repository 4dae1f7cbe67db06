// Whole files and standard input as texts.
#pragma once

#include <optional>
#include <string>

namespace fanfare::cli {

/// Reads the file, or standard input for `-`, into `text`. Else a sentence: `policy.json: No such file or directory`.
std::optional<std::string> read_input(const std::string& path, std::string& text);

}  // namespace fanfare::cli

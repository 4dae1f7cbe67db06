// `fanfare journal verify|repair|stats`: what is in a data folder's journal, what is wrong with it, and making it good again.
// While a server has the folder open, verify and stats see a journal that moves; repair refuses.
#pragma once

#include <string>

namespace fanfare::server {

struct ToolResult {
  int exit_code = 0;   ///< 0 sound; 4 damaged, or repaired with a loss; 1 it could not be done
  std::string output;  ///< for the standard output, ends with a line feed
  std::string error;   ///< for the standard error; empty: none
};

/// `folder` is a data folder (which holds a folder `journal`) or the journal's folder itself.
ToolResult verify_journal_folder(const std::string& folder, bool json);

/// Nothing changes if the journal is sound. Else everything that can be read goes into a new journal that takes the folder's place; the old
/// folder is kept, whole, beside it as FOLDER.damaged-N; what was left out goes to FOLDER.repair-N.json.
ToolResult repair_journal_folder(const std::string& folder, bool json);

ToolResult describe_journal_folder(const std::string& folder, bool json);

}  // namespace fanfare::server

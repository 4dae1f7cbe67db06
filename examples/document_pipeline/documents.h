// Finds and reads the text documents of a folder: plain text, gzip, manual pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

enum class DocumentKind { PlainText, ManualPage };
std::string_view to_string(DocumentKind kind);

struct DocumentFile {
  std::string path;
  DocumentKind kind;
  /// Written by many hands without an editor: changelogs, news, to-do lists, readmes. These are moderated.
  bool user_generated;
};

/// Regular files below the folders that look like text documents, sorted by path, each once (links are not followed).
/// Folders that cannot be read are passed over.
std::vector<DocumentFile> find_documents(const std::vector<std::string>& folders, std::size_t at_most);

/// The document's text as valid UTF-8: unpacked, for manual pages without the markup. Nullopt when the file cannot be read,
/// is no text, is empty, or is longer than 8 MiB unpacked.
std::optional<std::string> read_document(const DocumentFile& file);

/// Removes roff requests and escapes: ".SH NAME\n\\fBls\\fR \\- list" -> "NAME\nls - list".
std::string strip_roff(std::string_view source);

}  // namespace pipeline

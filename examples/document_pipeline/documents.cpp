#include "documents.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytesMax = 8u << 20;

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         }) != text.end();
}

std::optional<DocumentFile> classify(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string stem = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  const std::string extension = fs::path{stem}.extension().string();
  const bool manual = path.string().find("/man/") != std::string::npos || path.string().find("/man") != std::string::npos;
  if (manual && extension.size() >= 2 && extension[1] >= '1' && extension[1] <= '9')
    return DocumentFile{path.string(), DocumentKind::ManualPage, false};
  static constexpr std::string_view kTextNames[] = {"copyright", "changelog", "readme", "news", "todo", "authors", "faq", "install",
                                                    "thanks",    "bugs",      "history", "notice", "changes", "license"};
  static constexpr std::string_view kTextExtensions[] = {"", ".txt", ".md", ".rst", ".text", ".Debian"};
  bool wanted = extension == ".txt" || extension == ".md" || extension == ".rst";
  for (const std::string_view known : kTextNames)
    wanted = wanted || (contains_ignoring_case(stem, known) &&
                        std::find(std::begin(kTextExtensions), std::end(kTextExtensions), extension) != std::end(kTextExtensions));
  if (!wanted) return std::nullopt;
  bool user_generated = false;
  for (const std::string_view loose : {"changelog", "news", "todo", "readme", "bugs", "faq", "history", "changes"})
    user_generated = user_generated || contains_ignoring_case(stem, loose);
  return DocumentFile{path.string(), DocumentKind::PlainText, user_generated};
}

/// Bytes that are no UTF-8 (old Latin-1 files) become U+FFFD.
std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c < 0x80) {
      // SQS takes no other control characters than these. [SQS SendMessage]
      if (c >= 0x20 || c == '\n' || c == '\t' || c == '\r') out.push_back(bytes[i]);
      ++i;
      continue;
    }
    const std::size_t length = c >= 0xF0 && c <= 0xF4 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    bool valid = length != 0 && c <= 0xF4 && i + length <= bytes.size();
    for (std::size_t k = 1; valid && k < length; ++k) valid = (static_cast<unsigned char>(bytes[i + k]) & 0xC0) == 0x80;
    if (valid && length >= 3) {  // no overlong forms, surrogates, non-characters or code points beyond the last
      const auto second = static_cast<unsigned char>(bytes[i + 1]);
      valid = !(c == 0xE0 && second < 0xA0) && !(c == 0xED && second >= 0xA0) && !(c == 0xF0 && second < 0x90) &&
              !(c == 0xF4 && second >= 0x90) &&
              !(c == 0xEF && second == 0xBF && static_cast<unsigned char>(bytes[i + 2]) >= 0xBE);
    }
    if (valid) {
      out.append(bytes.substr(i, length));
      i += length;
    } else {
      out.append("\xEF\xBF\xBD");
      ++i;
    }
  }
  return out;
}

std::optional<std::string> read_file(const std::string& path) {
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  const std::unique_ptr<gzFile_s, Close> file{gzopen(path.c_str(), "rb")};  // reads what is not packed as it is
  if (!file) return std::nullopt;
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const int got = gzread(file.get(), buffer, sizeof buffer);
    if (got < 0) return std::nullopt;
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
    if (bytes.size() > kBytesMax) return std::nullopt;
  }
}

}  // namespace

std::string_view to_string(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::PlainText: return "text";
    case DocumentKind::ManualPage: return "manual";
  }
  return "unknown";
}

std::vector<DocumentFile> find_documents(const std::vector<std::string>& folders, std::size_t at_most) {
  std::vector<DocumentFile> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::recursive_directory_iterator it{folder, fs::directory_options::skip_permission_denied, error};
    for (; !error && it != fs::recursive_directory_iterator{}; it.increment(error)) {
      std::error_code status_error;
      const fs::file_status status = it->symlink_status(status_error);
      if (status_error || !fs::is_regular_file(status)) continue;
      if (auto document = classify(it->path())) found.push_back(std::move(*document));
    }
  }
  std::sort(found.begin(), found.end(), [](const DocumentFile& a, const DocumentFile& b) { return a.path < b.path; });
  found.erase(std::unique(found.begin(), found.end(), [](const DocumentFile& a, const DocumentFile& b) { return a.path == b.path; }),
              found.end());
  if (found.size() > at_most) found.resize(at_most);
  return found;
}

std::string strip_roff(std::string_view source) {
  std::string out;
  for (std::size_t begin = 0; begin < source.size();) {
    std::size_t end = source.find('\n', begin);
    if (end == std::string_view::npos) end = source.size();
    std::string_view line = source.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with(".\\\"") || line.starts_with("'\\\"")) continue;
    if (!line.empty() && (line.front() == '.' || line.front() == '\'')) {
      static constexpr std::string_view kKeepArguments[] = {".SH", ".SS", ".B ", ".I ", ".BR", ".BI", ".IR", ".RB", ".TP", ".Nm",
                                                            ".Nd", ".Sh", ".Ss", ".Pp", ".It", ".Fl", ".Ar", ".Xr"};
      const bool keep = std::any_of(std::begin(kKeepArguments), std::end(kKeepArguments),
                                    [&](std::string_view request) { return line.starts_with(request); });
      if (line.starts_with(".PP") || line.starts_with(".P") || line.starts_with(".SH") || line.starts_with(".Sh")) out.push_back('\n');
      if (!keep) continue;
      const std::size_t space = line.find(' ');
      if (space == std::string_view::npos) continue;
      line.remove_prefix(space + 1);
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') continue;
      if (line[i] != '\\' || i + 1 >= line.size()) {
        out.push_back(line[i]);
        continue;
      }
      const char escape = line[++i];
      if (escape == 'f') {  // \fB, \f(CW, \f[BI]
        if (i + 1 < line.size() && line[i + 1] == '(') i += 3;
        else if (i + 1 < line.size() && line[i + 1] == '[') i = std::min(line.find(']', i), line.size());
        else ++i;
      } else if (escape == '(') {  // \(co
        const std::string_view glyph = line.substr(std::min(i + 1, line.size()), 2);
        out += glyph == "aq" || glyph == "cq" || glyph == "oq" ? "'" : glyph == "em" || glyph == "en" ? "-" : "";
        i += 2;
      } else if (escape == '[' || escape == '*') {
        i = std::min(line.find(']', i), line.size());
      } else if (escape == 's') {
        while (i + 1 < line.size() && (line[i + 1] == '+' || line[i + 1] == '-' || (line[i + 1] >= '0' && line[i + 1] <= '9'))) ++i;
      } else if (escape == '-' || escape == '\\' || escape == '.' || escape == '\'' || escape == '`' || escape == ' ') {
        out.push_back(escape == '\\' ? '\\' : escape);
      } else if (escape == 'e') {
        out.push_back('\\');
      }
    }
    out.push_back('\n');
  }
  return out;
}

std::optional<std::string> read_document(const DocumentFile& file) {
  std::optional<std::string> bytes = read_file(file.path);
  if (!bytes || bytes->empty() || bytes->find('\0') != std::string::npos) return std::nullopt;
  std::string text = to_utf8(file.kind == DocumentKind::ManualPage ? strip_roff(*bytes) : *bytes);
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; })) return std::nullopt;
  return text;
}

}  // namespace pipeline

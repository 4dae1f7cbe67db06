#include "cli/file_input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace fanfare::cli {

std::optional<std::string> read_input(const std::string& path, std::string& text) {
  const bool standard_input = path == "-";
  std::error_code ignored;
  if (!standard_input && std::filesystem::is_directory(path, ignored)) return path + ": is a directory";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      standard_input ? nullptr : std::fopen(path.c_str(), "rb"), [](std::FILE* file) { return std::fclose(file); });
  std::FILE* const file = standard_input ? stdin : opened.get();
  if (file == nullptr) return path + ": " + std::strerror(errno);
  text.clear();
  char buffer[16 * 1024];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, got);
  if (std::ferror(file) != 0) return path + ": cannot be read";
  return std::nullopt;
}

}  // namespace fanfare::cli

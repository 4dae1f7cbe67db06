#include "journal/file_system.h"

#include <cerrno>
#include <new>
#include <system_error>

namespace fanfare::journal {

std::string FileError::describe(std::string_view file_name) const {
  std::string text(operation);
  text.append(" of ").append(file_name).append(": ").append(std::generic_category().message(number));
  return text;
}

JournalError FileError::kind() const {
  return number == ENOSPC || number == EDQUOT ? JournalError::NoSpace : JournalError::Io;
}

PageMemory::PageMemory(std::size_t bytes)
    : data_(static_cast<char*>(::operator new(bytes, std::align_val_t{kPageBytes}))), bytes_(bytes) {}
PageMemory::~PageMemory() { ::operator delete(data_, std::align_val_t{kPageBytes}); }

Result<std::size_t, FileError> File::write_pages(std::string_view pages, std::uint64_t offset, Sync sync) {
  if (const auto written = write_all(*this, pages, offset, sync); !written) return written.error();
  return pages.size();
}

Result<Success, FileError> write_all_pages(File& file, std::string_view pages, std::uint64_t offset, Sync sync) {
  while (!pages.empty()) {
    const auto written = file.write_pages(pages, offset, sync);
    if (!written) return written.error();
    if (*written == 0) return FileError{EIO, "pwrite"};
    pages.remove_prefix(*written);
    offset += *written;
  }
  return Success{};
}

Result<Success, FileError> write_all(File& file, std::span<const std::string_view> pieces, std::uint64_t offset, Sync sync) {
  std::vector<std::string_view> rest;  // only after a short write
  while (!pieces.empty()) {
    const auto written = file.write_at(pieces, offset, sync);
    if (!written) return written.error();
    offset += *written;
    std::size_t done = *written;
    std::size_t whole = 0;
    while (whole < pieces.size() && pieces[whole].size() <= done) done -= pieces[whole++].size();
    if (whole == pieces.size()) break;
    if (*written == 0) return FileError{EIO, "pwrite"};
    std::vector<std::string_view> remaining(pieces.begin() + static_cast<std::ptrdiff_t>(whole), pieces.end());
    remaining.front().remove_prefix(done);
    rest = std::move(remaining);
    pieces = rest;
  }
  return Success{};
}

}  // namespace fanfare::journal

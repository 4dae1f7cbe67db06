// The file system port on Linux. pwritev2 with RWF_DSYNC makes one write durable without a second system call, and O_DIRECT
// writes pages around the page cache.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "journal/file_system.h"

namespace fanfare::journal {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

/// The call's result, again while a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class PosixFile final : public File {
 public:
  explicit PosixFile(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  Result<std::size_t, FileError> write_at(std::span<const std::string_view> pieces, std::uint64_t offset, Sync sync) override {
    std::array<iovec, 64> vectors;
    std::size_t count = 0;
    for (const std::string_view piece : pieces.first(std::min(pieces.size(), vectors.size()))) {
      vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};  // NOLINT: iovec serves both directions
    }
    const auto write = [&](int flags) {
      return uninterrupted([&] {
        return ::pwritev2(descriptor_.number(), vectors.data(), static_cast<int>(count), static_cast<off_t>(offset), flags);
      });
    };
    ssize_t written = write(sync == Sync::Yes ? RWF_DSYNC : 0);
    if (written < 0 && errno == EOPNOTSUPP && sync == Sync::Yes) {  // some file systems know no flags
      written = write(0);
      if (written >= 0 && ::fdatasync(descriptor_.number()) != 0) return FileError{errno, "fdatasync"};
    }
    if (written < 0) return FileError{errno, "pwrite"};
    return static_cast<std::size_t>(written);
  }

  Result<std::size_t, FileError> write_pages(std::string_view pages, std::uint64_t offset, Sync sync) override {
    if (around_ == Around::Unknown) open_around();
    if (around_ == Around::No) return File::write_pages(pages, offset, sync);
    iovec vector{const_cast<char*>(pages.data()), pages.size()};  // NOLINT: iovec serves both directions
    const ssize_t written = uninterrupted([&] {
      return ::pwritev2(direct_.number(), &vector, 1, static_cast<off_t>(offset), sync == Sync::Yes ? RWF_DSYNC : 0);
    });
    const auto whole = static_cast<std::size_t>(std::max<ssize_t>(written, 0)) / kPageBytes * kPageBytes;
    if (whole > 0) return whole;
    // The file system wants larger pages, or the kernel knows no flags: through the page cache then, for good.
    if (written >= 0 || errno == EINVAL || errno == EOPNOTSUPP) {
      around_ = Around::No;
      return File::write_pages(pages, offset, sync);
    }
    return FileError{errno, "pwrite"};
  }

  Result<std::size_t, FileError> read_at(char* into, std::size_t size, std::uint64_t offset) override {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t got = uninterrupted(
          [&] { return ::pread(descriptor_.number(), into + done, size - done, static_cast<off_t>(offset + done)); });
      if (got < 0) return FileError{errno, "pread"};
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<Success, FileError> sync() override {
    if (uninterrupted([&] { return ::fdatasync(descriptor_.number()); }) != 0) return FileError{errno, "fdatasync"};
    return Success{};
  }

  Result<std::uint64_t, FileError> size() override {
    struct stat status {};
    if (::fstat(descriptor_.number(), &status) != 0) return FileError{errno, "fstat"};
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<Success, FileError> truncate(std::uint64_t bytes) override {
    if (uninterrupted([&] { return ::ftruncate(descriptor_.number(), static_cast<off_t>(bytes)); }) != 0) {
      return FileError{errno, "ftruncate"};
    }
    return Success{};
  }

  Result<bool, FileError> try_lock() override {
    if (uninterrupted([&] { return ::flock(descriptor_.number(), LOCK_EX | LOCK_NB); }) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
    return FileError{errno, "flock"};
  }

 private:
  enum class Around { Unknown, Yes, No };

  /// A second descriptor, because most reads go through the page cache. By way of /proc, for the file's name may have changed; where that
  /// is not mounted, or the file system has no such writes, pages are written like anything else.
  void open_around() {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", descriptor_.number());
    const int access = ::fcntl(descriptor_.number(), F_GETFL) & O_ACCMODE;
    const int number = uninterrupted([&] { return ::open(path.data(), access | O_DIRECT | O_CLOEXEC); });
    around_ = number >= 0 ? Around::Yes : Around::No;
    if (number >= 0) direct_.reset(number);
  }

  Descriptor descriptor_;
  Descriptor direct_{-1};
  Around around_ = Around::Unknown;
};

class PosixFolder final : public FileSystem {
 public:
  explicit PosixFolder(Descriptor folder) : folder_(std::move(folder)) {}

  Result<std::unique_ptr<File>, FileError> open(const std::string& name, OpenMode mode) override {
    int flags = O_CLOEXEC | (mode == OpenMode::Read ? O_RDONLY : O_RDWR);
    if (mode == OpenMode::Create) flags |= O_CREAT;
    Descriptor file(uninterrupted([&] { return ::openat(folder_.number(), name.c_str(), flags, 0600); }));
    if (file.number() < 0) return FileError{errno, "open"};
    return std::unique_ptr<File>{std::make_unique<PosixFile>(std::move(file))};
  }

  Result<Success, FileError> rename(const std::string& from, const std::string& to) override {
    if (::renameat(folder_.number(), from.c_str(), folder_.number(), to.c_str()) != 0) return FileError{errno, "rename"};
    return Success{};
  }

  Result<Success, FileError> remove(const std::string& name) override {
    if (::unlinkat(folder_.number(), name.c_str(), 0) != 0) return FileError{errno, "unlink"};
    return Success{};
  }

  Result<Success, FileError> sync_directory() override {
    if (uninterrupted([&] { return ::fsync(folder_.number()); }) != 0) return FileError{errno, "fsync of the folder"};
    return Success{};
  }

  std::uint64_t free_bytes() override {
    struct statvfs disk {};
    if (::fstatvfs(folder_.number(), &disk) != 0) return FileSystem::free_bytes();
    return std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }

  Result<std::vector<std::string>, FileError> list() override {
    Descriptor again(uninterrupted([&] { return ::openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (again.number() < 0) return FileError{errno, "open"};
    DIR* stream = ::fdopendir(::dup(again.number()));
    if (stream == nullptr) return FileError{errno, "opendir"};
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
      const std::string_view name(entry->d_name);
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int number = errno;
    ::closedir(stream);
    if (number != 0) return FileError{number, "readdir"};
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  Descriptor folder_;
};

}  // namespace

Result<std::unique_ptr<FileSystem>, FileError> open_folder(const std::string& path, MissingFolder missing) {
  const bool made = missing == MissingFolder::Make && ::mkdir(path.c_str(), 0700) == 0;
  if (missing == MissingFolder::Make && !made && errno != EEXIST) return FileError{errno, "mkdir"};
  Descriptor folder(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (folder.number() < 0) return FileError{errno, "open"};
  if (made) {
    const std::string parent = path + "/..";
    Descriptor above(uninterrupted([&] { return ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (above.number() < 0 || ::fsync(above.number()) != 0) return FileError{errno, "fsync of the parent folder"};
  }
  return std::unique_ptr<FileSystem>{std::make_unique<PosixFolder>(std::move(folder))};
}

}  // namespace fanfare::journal

// Loaded before the program (LD_PRELOAD): counts the calls that change the journal's folder and ends the process at one of them, as
// kill -9 would. Nothing in the program knows of it.
//
//   KILLPOINT_AT    the call's number, from 0; not set: none
//   KILLPOINT_HOW   before (default): the call is not made; half: of what a write changes, the first half reaches the file
//   KILLPOINT_LOG   a file that gets a line for each call: `17 write 00000000000000000001.segment 1234`
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<long> calls{0};

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// What the descriptor is called; empty for what is not the journal's.
std::string name_of(int fd) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[4096];
  const ssize_t length = ::readlink(link, path, sizeof path);
  std::string text(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  if (text.ends_with("/journal")) return ".";
  const std::size_t slash = text.rfind('/');
  if (slash == std::string::npos || !std::string_view(text).substr(0, slash).ends_with("/journal")) return {};
  return text.substr(slash + 1);
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

/// True: this is the call. `bytes` is for the log.
bool reached(const char* what, const std::string& name, std::size_t bytes) {
  const long number = calls++;
  if (const char* log = std::getenv("KILLPOINT_LOG")) {
    char line[512];
    const int length = std::snprintf(line, sizeof line, "%ld %s %s %zu\n", number, what, name.c_str(), bytes);
    const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (fd >= 0) {
      [[maybe_unused]] const long written = ::syscall(SYS_write, fd, line, static_cast<std::size_t>(length));
      ::close(fd);
    }
  }
  const char* at = std::getenv("KILLPOINT_AT");
  return at != nullptr && std::atol(at) == number;
}

ssize_t write_pieces(int fd, const iovec* pieces, int count, off_t offset, int flags) {
  const std::string name = name_of(fd);
  if (!name.empty()) {
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    if (reached("write", name, bytes.size())) {
      const char* how = std::getenv("KILLPOINT_HOW");
      if (how != nullptr && std::strcmp(how, "half") == 0) {
        // By a descriptor of its own: one that writes around the page cache takes whole pages only. Half of what it changes: a page
        // that is written again differs from what is there only where something was added.
        char link[64];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const int again = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, link, O_RDWR | O_CLOEXEC));
        std::string present(bytes.size(), '\0');
        present.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(again, present.data(), present.size(), offset), 0)));
        const auto differs = [&](std::size_t i) { return i >= present.size() || present[i] != bytes[i]; };
        std::size_t first = 0;
        while (first < bytes.size() && !differs(first)) ++first;
        std::size_t last = bytes.size();
        while (last > first && (!differs(last - 1) || (bytes[last - 1] == '\0' && last > present.size()))) --last;
        [[maybe_unused]] const ssize_t half = ::pwrite(again, bytes.data(), first + (last - first) / 2, offset);
      }
      die();
    }
  }
  return ::syscall(SYS_pwritev2, fd, pieces, count, offset, 0, flags);
}

void pass(const char* what, int fd) {
  const std::string name = name_of(fd);
  if (!name.empty() && reached(what, name, 0)) die();
}

void pass(const char* what, int folder, const char* name) {
  if (name_of(folder) == "." && reached(what, name, 0)) die();
}

}  // namespace

extern "C" {

ssize_t pwritev2(int fd, const iovec* pieces, int count, off_t offset, int flags) { return write_pieces(fd, pieces, count, offset, flags); }
ssize_t pwritev64v2(int fd, const iovec* pieces, int count, off_t offset, int flags) { return write_pieces(fd, pieces, count, offset, flags); }

int fdatasync(int fd) {
  pass("sync", fd);
  return real<int(int)>("fdatasync")(fd);
}
int fsync(int fd) {
  pass("sync", fd);
  return real<int(int)>("fsync")(fd);
}
int ftruncate(int fd, off_t length) noexcept {
  pass("truncate", fd);
  return real<int(int, off_t)>("ftruncate")(fd, length);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  pass("rename", to_folder, to);
  return real<int(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder, to);
}
int unlinkat(int folder, const char* name, int flags) noexcept {
  pass("remove", folder, name);
  return real<int(int, const char*, int)>("unlinkat")(folder, name, flags);
}
int openat(int folder, const char* name, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if ((flags & O_CREAT) != 0) pass("create", folder, name);
  return real<int(int, const char*, int, mode_t)>("openat")(folder, name, flags, mode);
}

}  // extern "C"

#include "server/os_secrets.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace fanfare::server {

void OsSecrets::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    if (used_ == pool_.size()) {
      std::size_t have = 0;
      while (have < pool_.size()) {
        const ssize_t got = ::getrandom(pool_.data() + have, pool_.size() - have, 0);
        FANFARE_ASSERT(got > 0 || errno == EINTR, "the operating system gives no random bytes");
        if (got > 0) have += static_cast<std::size_t>(got);
      }
      used_ = 0;
    }
    const std::size_t count = std::min(out.size(), pool_.size() - used_);
    std::memcpy(out.data(), pool_.data() + used_, count);
    std::memset(pool_.data() + used_, 0, count);  // what was given out is kept nowhere
    used_ += count;
    out = out.subspan(count);
  }
}

}  // namespace fanfare::server

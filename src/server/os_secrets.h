// Unguessable bytes from the operating system, drawn 4 KiB at a time: one call costs as much as a whole request's parsing.
#pragma once

#include <array>
#include <cstddef>

#include "base/rng.h"

namespace fanfare::server {

/// Not thread-safe: one a loop.
class OsSecrets final : public Secrets {
 public:
  void fill(std::span<std::uint8_t> out) override;

 private:
  std::array<std::uint8_t, 4096> pool_;
  std::size_t used_ = sizeof(pool_);
};

}  // namespace fanfare::server

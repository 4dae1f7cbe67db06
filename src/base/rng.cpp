#include "base/rng.h"

#include <bit>

#include "base/assert.h"

namespace fanfare {

Rng::Rng(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {  // splitmix64 spreads the seed over the state, as xoshiro's authors advise
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  FANFARE_ASSERT(bound >= 1);
  const std::uint64_t threshold = (0 - bound) % bound;  // rejects the uneven rest: every value is equally likely
  for (;;) {
    const std::uint64_t value = next();
    if (value >= threshold) return value % bound;
  }
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  FANFARE_ASSERT(low <= high);
  const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (span == UINT64_MAX) return static_cast<std::int64_t>(next());
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(span + 1));
}

void SeededSecrets::fill(std::span<std::uint8_t> out) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % 8 == 0) word = rng_.next();
    out[i] = static_cast<std::uint8_t>(word >> (i % 8 * 8));
  }
}

}  // namespace fanfare

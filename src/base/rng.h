// The two sources of randomness, told apart by name. Rng: jitter, workloads, simulation; seeded, the same numbers on
// every machine. Secrets: receipt handles, tokens, message ids; from the operating system in production, seeded in
// simulation.
// std::*_distribution is banned: it differs between libraries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fanfare {

/// xoshiro256**. Not thread-safe; copy it to branch a stream.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  std::uint64_t next();
  /// Uniform in [0, bound); bound >= 1.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// True with probability numerator / denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::array<std::uint64_t, 4> state_;
};

/// Unguessable bytes. Implementations: base's SeededSecrets for tests and simulation, server's for production.
class Secrets {
 public:
  virtual ~Secrets() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;
  std::array<std::uint8_t, 16> bytes16() {
    std::array<std::uint8_t, 16> out;
    fill(out);
    return out;
  }
};

/// Repeatable and therefore guessable: never in production.
class SeededSecrets final : public Secrets {
 public:
  explicit SeededSecrets(std::uint64_t seed) : rng_(seed) {}
  void fill(std::span<std::uint8_t> out) override;

 private:
  Rng rng_;
};

}  // namespace fanfare

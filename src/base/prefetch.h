// Begins to load memory into the processor's cache, for a loop that would else wait for it once a turn.
#pragma once

namespace fanfare {

/// The line of `address`, which may point anywhere.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  // Without it the compiler takes a function that only prefetches for one without any effect, and leaves its calls out.
  asm volatile("");
}

}  // namespace fanfare

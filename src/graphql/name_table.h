// NameTable: from a name to its index in a list, by open addressing over the list's own names.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "graphql/arena.h"

namespace fanfare::graphql {

inline std::uint64_t hash_name(std::string_view name) {
  // Names are short: the first and the last eight bytes and the length tell nearly all apart, and equality is compared
  // anyway. Longer ones mix in their middle.
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15ULL) * (b ^ 0xD1B54A32D192ED03ULL);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const char* at = name.data();
  const std::size_t size = name.size();
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (size >= 8) {
    std::memcpy(&first, at, 8);
    std::memcpy(&last, at + size - 8, 8);
    std::uint64_t hash = mix(first, last + size);
    for (std::size_t i = 8; i + 8 < size; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at + i, 8);
      hash = mix(hash, word);
    }
    return hash;
  }
  for (std::size_t i = 0; i < size; ++i) first = first << 8 | static_cast<unsigned char>(at[i]);
  return mix(first, size);
}

/// Immutable once built. Of equal names the first wins.
class NameTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  NameTable() = default;
  /// `name_at(i)` gives the i-th name; the names outlive the table.
  template <class NameAt>
  NameTable(Arena& arena, std::size_t count, NameAt name_at) {
    std::size_t size = 4;
    while (size < count * 2) size *= 2;
    slots_ = arena.array<Slot>(size);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view name = name_at(i);
      const std::uint64_t hash = hash_name(name);
      std::size_t at = hash & (size - 1);
      while (slots_[at].index != kNone && slots_[at].name != name) at = (at + 1) & (size - 1);
      if (slots_[at].index == kNone) slots_[at] = {name, static_cast<std::uint32_t>(i)};
    }
  }

  /// Its index, or kNone.
  [[nodiscard]] std::uint32_t find(std::string_view name) const {
    if (slots_.empty()) return kNone;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash_name(name) & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.index == kNone || slot.name == name) return slot.index;
    }
  }

 private:
  struct Slot {
    std::string_view name;
    std::uint32_t index = kNone;
  };
  std::span<Slot> slots_;
};

}  // namespace fanfare::graphql

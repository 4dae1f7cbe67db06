// Fixed-width integers in byte buffers, as durable and wire formats write them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace fanfare {

static_assert(std::endian::native == std::endian::little,
              "durable formats are little-endian; add byte swaps for this machine");

template <class Integer>
void append_le(std::string& out, Integer value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof value);
}

/// Little-endian integer at `at`; the caller has checked that it is inside.
template <class Integer>
Integer load_le(const char* at) {
  Integer value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Big-endian, as network formats and the MD5 of message attributes want it.
inline void append_be32(std::string& out, std::uint32_t value) { append_le(out, __builtin_bswap32(value)); }

/// Reads a buffer from front to back. After the first read beyond the end, ok() is false and all reads give zero or
/// empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  Integer take() {
    if (rest_.size() < sizeof(Integer)) return fail<Integer>();
    const auto value = load_le<Integer>(rest_.data());
    rest_.remove_prefix(sizeof(Integer));
    return value;
  }
  /// `count` bytes; a view into the buffer.
  std::string_view take_bytes(std::size_t count) {
    if (rest_.size() < count) return fail<std::string_view>();
    const auto bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  /// A u32 length and as many bytes; what append_sized writes.
  std::string_view take_sized() { return take_bytes(take<std::uint32_t>()); }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }

 private:
  template <class T>
  T fail() {
    ok_ = false;
    rest_ = {};
    return T{};
  }
  std::string_view rest_;
  bool ok_ = true;
};

inline void append_sized(std::string& out, std::string_view bytes) {
  append_le(out, static_cast<std::uint32_t>(bytes.size()));
  out.append(bytes);
}

}  // namespace fanfare

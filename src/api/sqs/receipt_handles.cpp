#include "api/sqs/receipt_handles.h"

#include <cstring>
#include <string>

#include "base/bytes.h"
#include "wire/digest/encoding.h"

namespace fanfare::api {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kNamedBytes = 23;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kCharacters = (kNamedBytes + kTagBytes) / 3 * 4;
static_assert((kNamedBytes + kTagBytes) % 3 == 0, "no padding, so that there is one spelling");

template <class Integer>
char* store(char* to, Integer value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

}  // namespace

std::string_view ReceiptHandles::text_of(const queue::ReceiptHandle& handle, wire::aws::Arena& arena) const {
  char raw[kNamedBytes + kTagBytes];
  char* to = store(raw, kVersion);
  to = store(to, handle.queue.partition);
  to = store(to, handle.queue.number);
  to = store(to, handle.message.value);
  to = store(to, handle.receipt);
  to = store(to, handle.epoch);
  const auto tag = tag_(std::string_view(raw, kNamedBytes));
  std::memcpy(to, tag.data(), kTagBytes);

  std::string text;
  text.reserve(kCharacters);
  wire::digest::append_base64(text, std::string_view(raw, sizeof raw), wire::digest::Base64::UrlUnpadded);
  return arena.copy(text);
}

std::optional<queue::ReceiptHandle> ReceiptHandles::parse(std::string_view text) const {
  if (text.size() != kCharacters) return std::nullopt;
  const auto raw = wire::digest::decode_base64(text, wire::digest::Base64::UrlUnpadded);
  if (!raw) return std::nullopt;
  const std::string_view named = std::string_view(*raw).substr(0, kNamedBytes);
  const auto tag = tag_(named);
  if (!wire::digest::equal_in_constant_time(std::string_view(*raw).substr(kNamedBytes),
                                            wire::digest::bytes_of(tag).substr(0, kTagBytes))) {
    return std::nullopt;
  }
  ByteReader reader(named);
  if (reader.take<std::uint8_t>() != kVersion) return std::nullopt;
  queue::ReceiptHandle handle;
  handle.queue.partition = reader.take<std::uint16_t>();
  handle.queue.number = reader.take<std::uint32_t>();
  handle.message.value = reader.take<std::uint64_t>();
  handle.receipt = reader.take<std::uint32_t>();
  handle.epoch = reader.take<std::uint32_t>();
  return handle;
}

}  // namespace fanfare::api

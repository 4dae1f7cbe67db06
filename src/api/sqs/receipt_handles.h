// Receipt handles as text that callers cannot read or make: base64url of what names one delivery, and a tag that only
// this broker can compute.
//
//   0   u8   version = 1
//   1   u16  partition of the queue      3  u32  number of the queue
//   7   u64  sequence number             15 u32  receipt          19 u32  epoch
//   23  16 bytes  HMAC-SHA256 of bytes 0 to 22, truncated     (little-endian; 39 bytes, 52 characters)
#pragma once

#include <optional>
#include <string_view>

#include "core/queue/names.h"
#include "wire/aws_shape/shape.h"
#include "wire/digest/digest.h"

namespace fanfare::api {

class ReceiptHandles {
 public:
  explicit ReceiptHandles(std::string_view secret) : tag_(secret) {}

  /// 52 characters of A-Z a-z 0-9 - _, in the arena.
  std::string_view text_of(const queue::ReceiptHandle& handle, wire::aws::Arena& arena) const;
  /// Nullopt for everything that text_of did not write with the same secret. Takes the same time for every wrong tag.
  [[nodiscard]] std::optional<queue::ReceiptHandle> parse(std::string_view text) const;

 private:
  wire::digest::HmacSha256 tag_;
};

}  // namespace fanfare::api

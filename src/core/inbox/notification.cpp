#include "core/inbox/notification.h"

#include <algorithm>

#include "base/bytes.h"

namespace fanfare::inbox {
namespace {

// FNV-1a with 128 bits: a few lines that will give the same value for ever. It tells a repetition from a mistake;
// whoever may create notifications gains nothing by a collision with a key of their own.
Fingerprint fnv128(std::string_view bytes) {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide{1} << 88) | 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142ULL} << 64) | 0x62b821756295c58dULL;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kPrime;
  }
  Fingerprint out{};
  for (std::uint8_t& byte : out) {
    byte = static_cast<std::uint8_t>(hash);
    hash >>= 8;
  }
  return out;
}

void append_time(std::string& out, const std::optional<Timestamp>& time) {
  append_le(out, static_cast<std::uint8_t>(time.has_value()));
  append_le(out, time ? unix_ms(*time) : std::int64_t{0});
}

}  // namespace

Fingerprint fingerprint(const Intent& intent) {
  // Sizes go before the parts, so that no two intents have the same bytes.
  std::string bytes;
  bytes.reserve(256 + intent.data.size());
  append_sized(bytes, intent.workspace.str());
  append_sized(bytes, intent.kind.str());
  append_sized(bytes, intent.object_id.str());
  append_le(bytes, static_cast<std::uint32_t>(intent.recipients.size()));
  for (const Recipient& recipient : intent.recipients) append_sized(bytes, recipient.str());
  append_le(bytes, static_cast<std::uint8_t>(intent.revision.has_value()));
  append_sized(bytes, intent.revision ? *intent.revision : std::string_view{});
  append_sized(bytes, intent.data);
  append_time(bytes, intent.created_at);
  append_time(bytes, intent.expires_at);
  return fnv128(bytes);
}

NotificationId fresh_id(Timestamp now, std::array<std::uint8_t, 16> random) {
  Uuid id{random};
  const auto time = static_cast<std::uint64_t>(unix_ms(now));
  for (std::size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<std::uint8_t>(time >> (8 * (5 - i)));
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x70);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return NotificationId{id};
}

NotificationId item_id(const NotificationId& notification, std::size_t index, std::size_t recipients) {
  if (recipients == 1) return notification;
  NotificationId id{notification.derived(index)};
  // Version 7 keeps the time in front.
  if ((notification.bytes[6] & 0xf0) == 0x70) {
    std::copy_n(notification.bytes.begin(), 6, id.bytes.begin());
    id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x70);
  }
  return id;
}

}  // namespace fanfare::inbox

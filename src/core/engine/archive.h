// One list of fields serves both ways: `fields(archive, value)` names a struct's fields in order, and the archive writes
// or reads them. Used by records and snapshots; the formats are described there.
//
// Rule 1: integers little-endian; times as i64 Unix ms; ids as 16 bytes; texts as u32 length and bytes; lists as u32 count
//         and elements; optional values as u8 and, if it is 1, the value; enumerations as u8.
// Rule 2: a Reader never reads outside its bytes. After the first thing that makes no sense ok() is false, and the rest
//         reads as zero or empty.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/engine/commands.h"
#include "core/queue/settings.h"
#include "core/topic/directory.h"
#include "core/topic/settings.h"

namespace fanfare::engine {

template <class T>
concept BoundedSetting = requires(const T& t) {
  { T::kMin } -> std::convertible_to<std::int64_t>;
  { t.count() } -> std::convertible_to<std::int64_t>;
};

class Writer {
 public:
  static constexpr bool kReads = false;
  explicit Writer(std::string& out) : out_(out) {}

  template <class T>
    requires std::is_integral_v<T>
  void operator()(const T& value) {
    append_le(out_, value);
  }
  void operator()(const bool& value) { append_le(out_, static_cast<std::uint8_t>(value)); }
  template <class E>
    requires std::is_enum_v<E>
  void operator()(const E& value) {
    append_le(out_, static_cast<std::uint8_t>(value));
  }
  void operator()(const Timestamp& value) { append_le(out_, unix_ms(value)); }
  void operator()(const Uuid& value) { out_.append(reinterpret_cast<const char*>(value.bytes.data()), 16); }
  void operator()(const std::string& value) { append_sized(out_, value); }
  template <class Tag>
  void operator()(const Strong<Tag>& value) {
    append_sized(out_, value.str());
  }
  template <BoundedSetting T>
  void operator()(const T& value) {
    append_le(out_, value.count());
  }
  template <class A, class B>
  void operator()(const std::pair<A, B>& value) {
    (*this)(value.first);
    (*this)(value.second);
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    append_le(out_, static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }
  template <class T>
    requires requires(Writer& w, const T& t) { fields(w, t); }
  void operator()(const T& value) {
    fields(*this, value);
  }

 private:
  std::string& out_;
};

/// Between 1970 and 9999: a time of a damaged file must not overflow when something is added to it.
constexpr bool is_plausible_time(std::int64_t ms) { return ms >= 0 && ms <= 253'402'300'799'999; }

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  /// Everything so far made sense.
  [[nodiscard]] bool ok() const { return ok_ && bytes_.ok(); }
  [[nodiscard]] std::size_t remaining() const { return bytes_.remaining(); }
  void fail() { ok_ = false; }

  template <class T>
    requires std::is_integral_v<T>
  void operator()(T& value) {
    value = bytes_.take<T>();
  }
  void operator()(bool& value) {
    const auto byte = bytes_.take<std::uint8_t>();
    if (byte > 1) fail();
    value = byte == 1;
  }
  /// Enumerations say their last value by an overload of last_of(E).
  template <class E>
    requires std::is_enum_v<E>
  void operator()(E& value) {
    const auto byte = bytes_.take<std::uint8_t>();
    if (byte > static_cast<std::uint8_t>(last_of(E{}))) return fail();
    value = static_cast<E>(byte);
  }
  void operator()(Timestamp& value) {
    const auto ms = bytes_.take<std::int64_t>();
    if (!is_plausible_time(ms)) return fail();
    value = timestamp_from_unix_ms(ms);
  }
  /// A number in groups of 7 bits; zero and not ok() if it does not fit.
  template <class T>
  T packed() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = bytes_.take<std::uint8_t>();
      const std::uint64_t bits = byte & 0x7f;
      if (shift == 63 && bits > 1) {
        fail();
        return 0;
      }
      value |= bits << shift;
      if ((byte & 0x80) == 0) break;
      if (shift == 63) {
        fail();
        return 0;
      }
    }
    if (value > std::numeric_limits<T>::max()) {
      fail();
      return 0;
    }
    return static_cast<T>(value);
  }
  /// A view into what is read.
  std::string_view bytes(std::size_t count) { return bytes_.take_bytes(count); }
  void operator()(Uuid& value) {
    const std::string_view raw = bytes_.take_bytes(16);
    if (raw.size() == 16) std::memcpy(value.bytes.data(), raw.data(), 16);
  }
  void operator()(std::string& value) { value = bytes_.take_sized(); }
  template <class Tag>
  void operator()(Strong<Tag>& value) {
    value = Strong<Tag>{bytes_.take_sized()};
  }
  template <BoundedSetting T>
  void operator()(T& value) {
    const auto checked = T::of(bytes_.take<std::int64_t>());
    if (!checked) return fail();
    value = *checked;
  }
  template <class A, class B>
  void operator()(std::pair<A, B>& value) {
    (*this)(value.first);
    (*this)(value.second);
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool present = false;
    (*this)(present);
    if (!present || !ok()) return;
    (*this)(value.emplace());
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    const auto count = bytes_.take<std::uint32_t>();
    // Every element has at least one byte: a count that lies cannot make us allocate much.
    if (count > bytes_.remaining()) return fail();
    values.clear();
    for (std::uint32_t i = 0; i < count && ok(); ++i) (*this)(values.emplace_back());
  }
  template <class T>
    requires requires(Reader& r, T& t) { fields(r, t); }
  void operator()(T& value) {
    fields(*this, value);
  }

 private:
  ByteReader bytes_;
  bool ok_ = true;
};

// ---- Fields of what others define -------------------------------------------------------------------------------------

/// `T` as an archive takes it: const for a Writer.
template <class Archive, class T>
using Arg = std::conditional_t<Archive::kReads, T, const T>;

}  // namespace fanfare::engine

namespace fanfare::queue {

inline DeduplicationScope last_of(DeduplicationScope) { return DeduplicationScope::MessageGroup; }
inline FifoThroughputLimit last_of(FifoThroughputLimit) { return FifoThroughputLimit::PerMessageGroupId; }
inline RedriveAllowPolicy::Permission last_of(RedriveAllowPolicy::Permission) {
  return RedriveAllowPolicy::Permission::ByQueue;
}

template <class A>
void fields(A& a, engine::Arg<A, QueueKey>& k) {
  a(k.account), a(k.region), a(k.name);
}
template <class A>
void fields(A& a, engine::Arg<A, RedrivePolicy>& p) {
  a(p.dead_letter_queue), a(p.max_receive_count);
}
template <class A>
void fields(A& a, engine::Arg<A, RedriveAllowPolicy>& p) {
  a(p.permission), a(p.sources);
}
template <class A>
void fields(A& a, engine::Arg<A, QueueSettings>& s) {
  a(s.visibility_timeout), a(s.delivery_delay), a(s.retention_period), a(s.maximum_message_size), a(s.receive_wait);
  a(s.redrive_policy), a(s.redrive_allow_policy), a(s.policy), a(s.fifo), a(s.content_based_deduplication);
  a(s.deduplication_scope), a(s.fifo_throughput_limit), a(s.kms_master_key_id), a(s.kms_key_reuse_period);
  a(s.managed_encryption);
}

}  // namespace fanfare::queue

namespace fanfare::engine {

inline MoveTask::Status last_of(MoveTask::Status) { return MoveTask::Status::Failed; }
inline ReplayStatus last_of(ReplayStatus) { return ReplayStatus::Stopped; }
inline MoveTask::Failure last_of(MoveTask::Failure) { return MoveTask::Failure::TimedOut; }

template <class A>
void fields(A& a, Arg<A, MoveTask>& t) {
  a(t.id), a(t.destination), a(t.per_second_max), a(t.status), a(t.failure), a(t.moved), a(t.to_move), a(t.started_at);
  a(t.paced_from), a(t.paced_moved);
}

}  // namespace fanfare::engine

namespace fanfare::topic {

inline FilterScope last_of(FilterScope) { return FilterScope::MessageBody; }
inline DeliveryProtocol last_of(DeliveryProtocol) { return DeliveryProtocol::Firehose; }
inline FifoThroughputScope last_of(FifoThroughputScope) { return FifoThroughputScope::MessageGroup; }

template <class A>
void fields(A& a, engine::Arg<A, DirectoryChange>& c) {
  a(c.kind), a(c.owner), a(c.key), a(c.removed), a(c.attributes);
}
template <class A>
void fields(A& a, engine::Arg<A, TopicKey>& k) {
  a(k.account), a(k.region), a(k.name);
}
template <class A>
void fields(A& a, engine::Arg<A, RedrivePolicy>& p) {
  a(p.dead_letter_queue);
}
template <class A>
void fields(A& a, engine::Arg<A, TopicSettings>& s) {
  a(s.display_name), a(s.policy), a(s.delivery_policy), a(s.signature_version), a(s.tracing_config);
  a(s.kms_master_key_id), a(s.fifo), a(s.content_based_deduplication), a(s.fifo_throughput_scope), a(s.archive_policy);
  a(s.data_protection_policy), a(s.feedback);
}
template <class A>
void fields(A& a, engine::Arg<A, SubscriptionSettings>& s) {
  a(s.raw_delivery), a(s.filter_policy), a(s.filter_scope), a(s.redrive_policy), a(s.delivery_policy);
  a(s.subscription_role_arn), a(s.replay_policy);
}

}  // namespace fanfare::topic

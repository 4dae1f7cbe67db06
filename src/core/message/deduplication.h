// What was accepted in the last five minutes, by deduplication id. [SQS FIFO exactly-once processing]
//
// Rule 1: an id stays known for exactly five minutes after it was accepted, whatever happens to its message. find() and
//         for_each() go by the time; forgetting only gives memory back, in slices.
// Rule 2: ids are kept as 128-bit hashes: about 65 bytes an id, whatever its length. Two different ids of one window meet
//         with a probability of less than one in 10^20 for a million of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "core/message/number_table.h"

namespace fanfare::message {

constexpr std::chrono::minutes kDeduplicationInterval{5};

class DeduplicationWindow {
 public:
  struct Key {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Accepted {
    Uuid id;                          ///< what the first one was answered with
    std::uint64_t sequence_number = 0;
    Timestamp at{};
  };

  /// `scope`: the group where ids count within their group only; else empty.
  static Key key_of(std::string_view scope, std::string_view deduplication_id);

  /// The one that was accepted less than five minutes before `now`; null pointer if this id is new.
  [[nodiscard]] const Accepted* find(const Key& key, Timestamp now) const;
  /// find() or insert() with this key comes soon; the second waits for what the first began to load.
  void prefetch_place(const Key& key) const { numbers_.prefetch_place(hash_of(key)); }
  void prefetch(const Key& key) const { numbers_.prefetch(hash_of(key)); }
  /// Known from now on, unless this key is known already. `at` is not before that of earlier calls.
  void insert(const Key& key, const Accepted& accepted);
  /// Gives the memory of at most `budget` old ids back; whether more of them are old.
  bool forget_old(Timestamp now, std::size_t budget = 64);
  /// When forget_old() will have something to do; nullopt if nothing is kept.
  [[nodiscard]] std::optional<Timestamp> next_to_forget() const;
  /// Ids that are kept, the old ones that are not forgotten yet included.
  [[nodiscard]] std::size_t size() const { return known_.size(); }

  /// One more than the number of the newest id; they are numbered by their acceptance.
  [[nodiscard]] std::uint64_t end() const { return forgotten_ + known_.size(); }
  /// Calls visit(key, accepted) for what is known at `now` of the ids from number `from` to below `below`, for a snapshot in slices: looks
  /// at up to `budget` of them. Returns the number to go on with; what was forgotten meanwhile was too old to be told.
  template <class Visit>
  std::uint64_t for_some(std::uint64_t from, std::uint64_t below, std::size_t budget, Timestamp now, Visit&& visit) const {
    for (from = std::max(from, forgotten_); from < below && budget > 0; ++from, --budget) {
      const Known& one = known_[static_cast<std::size_t>(from - forgotten_)];
      if (is_known(one.accepted.at, now)) visit(one.key, one.accepted);
    }
    return from;
  }
  /// Calls visit(key, accepted) for what is known at `now`, in the order in which it was accepted. `now` is not
  /// before the newest: then one whose id came again, which it could when it was five minutes old, is not known.
  template <class Visit>
  void for_each(Timestamp now, Visit&& visit) const {
    for (const Known& one : known_)
      if (is_known(one.accepted.at, now)) visit(one.key, one.accepted);
  }

 private:
  struct Known {
    Key key;
    Accepted accepted;
  };
  static bool is_known(Timestamp at, Timestamp now) { return at + kDeduplicationInterval > now; }
  static std::uint32_t hash_of(const Key& key) { return static_cast<std::uint32_t>(key.low >> 32); }
  // Numbers count all that was ever accepted, modulo 2^32.
  [[nodiscard]] std::uint32_t number_at(std::size_t index) const { return first_ + static_cast<std::uint32_t>(index); }
  [[nodiscard]] const Known& at(std::uint32_t number) const { return known_[number - first_]; }
  /// Of the last one that was accepted with this key.
  [[nodiscard]] std::optional<std::uint32_t> number_of(const Key& key) const {
    return numbers_.find(hash_of(key), [&](std::uint32_t number) { return at(number).key == key; });
  }

  std::deque<Known> known_;  // in the order of acceptance; also those whose key was accepted again since
  std::uint32_t first_ = 0;  // number of the first
  NumberTable numbers_;      // of the last one of each key
  std::uint64_t forgotten_ = 0;  // how many left the front
};

}  // namespace fanfare::message

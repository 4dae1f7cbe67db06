// What was accepted in the last five minutes, by deduplication id. [SQS FIFO exactly-once processing]
//
// Rule 1: an id stays known for exactly five minutes after it was accepted, whatever happens to its message. find() and
//         for_each() go by the time; forgetting only gives memory back, in slices.
// Rule 2: ids are kept as 128-bit hashes: about 100 bytes an id, whatever its length. Two different ids of one window meet
//         with a probability of less than one in 10^20 for a million of them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"

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
  /// Known from now on, unless this key is known already. `at` is not before that of earlier calls.
  void insert(const Key& key, const Accepted& accepted);
  /// Gives the memory of at most `budget` old ids back; whether more of them are old.
  bool forget_old(Timestamp now, std::size_t budget = 64);
  /// When forget_old() will have something to do; nullopt if nothing is kept.
  [[nodiscard]] std::optional<Timestamp> next_to_forget() const;
  /// Ids that are kept, the old ones that are not forgotten yet included.
  [[nodiscard]] std::size_t size() const { return order_.size(); }

  /// Calls visit(key, accepted) for what is known at `now`, in the order in which it was accepted.
  template <class Visit>
  void for_each(Timestamp now, Visit&& visit) const {
    for (const Place& place : order_) {
      const auto found = accepted_.find(place.key);
      if (found->second.at == place.at && is_known(place.at, now)) visit(place.key, found->second);
    }
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.low); }
  };
  struct Place {
    Key key;
    Timestamp at{};  ///< older than that of the key's entry: it was accepted again since
  };
  static bool is_known(Timestamp at, Timestamp now) { return at + kDeduplicationInterval > now; }

  std::unordered_map<Key, Accepted, Hash> accepted_;
  std::deque<Place> order_;
};

}  // namespace fanfare::message

// All filtered subscriptions of one topic, so that a publication meets only those that are likely to want it.
//
// Rule 1: each alternative of a policy (a conjunction) waits under the values of ONE of its fields: that with the fewest
//         others waiting there when it came. A publication collects who waits under its values and asks each policy.
// Rule 2: the answer is exactly that of asking every policy one by one; the index only leaves out who cannot match.
// Rule 3: exact values, and texts without regard to case, are found by hash; prefixes, suffixes and address ranges by hash,
//         once for each length that occurs; numeric ranges by an interval tree. A wildcard waits under its first or last
//         piece. Only `anything-but` and {"exists":true} wait under the field itself.
// The answer does not depend on the order of insertions. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/message/content.h"
#include "core/topic/filter_policy.h"
#include "core/topic/interval_tree.h"

namespace fanfare::topic {

/// Subscriptions that a publication did not pass, by FilterOutcome.
struct FilterTally {
  std::uint64_t no_attributes = 0;
  std::uint64_t invalid_attributes = 0;
  std::uint64_t invalid_body = 0;
  std::uint64_t mismatch = 0;
  friend bool operator==(const FilterTally&, const FilterTally&) = default;
};

class FilterIndex {
 public:
  FilterIndex();
  FilterIndex(FilterIndex&&) noexcept;
  FilterIndex& operator=(FilterIndex&&) noexcept;
  ~FilterIndex();

  /// `policy` stays where it is until remove(). A subscription is there at most once.
  void add(std::uint32_t subscription, const FilterPolicy& policy);
  /// Nothing happens if it is not there.
  void remove(std::uint32_t subscription);
  [[nodiscard]] std::size_t size() const;

  /// Appends the subscriptions that the publication passes, in ascending order, and counts the others.
  void match(std::span<const message::MessageAttribute> attributes, LazyBody& body, std::vector<std::uint32_t>& passed,
             FilterTally& tally);
  /// How many policies the last match() asked; for measurements.
  [[nodiscard]] std::size_t asked() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fanfare::topic

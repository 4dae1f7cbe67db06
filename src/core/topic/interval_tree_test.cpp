#include "core/topic/interval_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace fanfare::topic {
namespace {

using Entry = std::pair<Interval, std::uint32_t>;

bool same(const Entry& a, const Entry& b) {
  return a.second == b.second && a.first.low == b.first.low && a.first.high == b.first.high &&
         a.first.low_open == b.first.low_open && a.first.high_open == b.first.high_open;
}

RC_GTEST_PROP(IntervalTree, FindsWhatALookAtEveryIntervalFinds, ()) {
  const auto steps = *rc::gen::arbitrary<std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>>();
  IntervalTree tree;
  std::vector<Entry> all;
  for (const auto& [kind, a, b] : steps) {
    if (kind % 4 == 0 && !all.empty()) {
      const std::size_t victim = a % all.size();
      tree.erase(all[victim].first, all[victim].second);
      all.erase(std::find_if(all.begin(), all.end(), [&, gone = all[victim]](const Entry& one) { return same(one, gone); }));
    } else {
      Interval interval{static_cast<double>(a % 16), static_cast<double>(a % 16 + b % 8), (kind & 1) != 0, (kind & 2) != 0};
      if (b % 16 == 0) interval.low = -std::numeric_limits<double>::infinity();
      if (b % 16 == 1) interval.high = std::numeric_limits<double>::infinity();
      tree.insert(interval, b % 4u);
      all.emplace_back(interval, b % 4u);
    }
    RC_ASSERT(tree.size() == all.size());
    for (int twice = -1; twice < 50; twice += 3) {
      const double number = twice / 2.0;
      std::vector<std::uint32_t> found, expected;
      tree.for_each_containing(number, [&](std::uint32_t value) { found.push_back(value); });
      for (const auto& [interval, value] : all)
        if (interval.contains(number)) expected.push_back(value);
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      RC_ASSERT(found == expected);
    }
  }
}

TEST(IntervalTree, AnOpenBoundIsOutside) {
  IntervalTree tree;
  tree.insert({1, 2, true, false}, 7);
  int found = 0;
  const auto count = [&](std::uint32_t) { ++found; };
  tree.for_each_containing(1, count);
  EXPECT_EQ(found, 0);
  tree.for_each_containing(2, count);
  EXPECT_EQ(found, 1);
  tree.erase({1, 2, true, false}, 7);
  EXPECT_TRUE(tree.empty());
}

}  // namespace
}  // namespace fanfare::topic

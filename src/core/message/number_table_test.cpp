#include "core/message/number_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace fanfare::message {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;  // hash and number

bool holds(const NumberTable& table, const Pair& pair) {
  return table.find(pair.first, [&](std::uint32_t number) { return number == pair.second; }).has_value();
}

// A hash whose lowest bit says nothing, as the table takes it.
std::uint32_t hash_number(std::uint32_t i) { return i * 0x9e37'79b9u & ~1u; }

TEST(NumberTable, FindsWhatWasPutInAndNothingElse) {
  NumberTable table;
  EXPECT_FALSE(holds(table, {7, 7}));
  table.insert(7, 1);
  table.insert(7, 2);
  EXPECT_TRUE(holds(table, {7, 1}));
  EXPECT_TRUE(holds(table, {7, 2}));
  EXPECT_FALSE(holds(table, {7, 3}));
  EXPECT_FALSE(holds(table, {9, 1}));
  EXPECT_TRUE(table.erase(7, 1));
  EXPECT_FALSE(table.erase(7, 1));
  EXPECT_FALSE(holds(table, {7, 1}));
  EXPECT_TRUE(holds(table, {7, 2}));
  EXPECT_EQ(table.size(), 1u);
}

TEST(NumberTable, AnyNumberCanBeKept) {
  NumberTable table;
  table.insert(0, 0xffff'ffffu);
  table.insert(0xffff'ffffu, 0);
  EXPECT_TRUE(holds(table, {0, 0xffff'ffffu}));
  EXPECT_TRUE(holds(table, {0xffff'ffffu, 0}));
}

TEST(NumberTable, GrowsAndShrinksWithWhatItHolds) {
  NumberTable table;
  constexpr std::uint32_t kMany = 100'000;
  for (std::uint32_t i = 0; i < kMany; ++i) table.insert(hash_number(i), i);
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_TRUE(holds(table, {hash_number(i), i})) << i;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(table.erase(hash_number(i), i)) << i;
    // Merging must lose nobody: looked at where most is gone.
    if (kMany - i != 500) continue;
    for (std::uint32_t left = i + 1; left < kMany; ++left) ASSERT_TRUE(holds(table, {hash_number(left), left})) << left;
  }
  EXPECT_EQ(table.size(), 0u);
  table.insert(3, 3);
  EXPECT_TRUE(holds(table, {3, 3}));
}

TEST(NumberTable, HashesThatSomebodyChoseAlikeAreKeptToo) {
  NumberTable table;
  std::vector<Pair> pairs;
  for (std::uint32_t i = 0; i < 400; ++i) pairs.emplace_back(0x1234'5678u, i);           // all alike
  for (std::uint32_t i = 0; i < 400; ++i) pairs.emplace_back(0xabcd'0000u + (i << 1), i);  // alike in the upper bits
  for (const auto& [hash, number] : pairs) table.insert(hash, number);
  for (const Pair& pair : pairs) EXPECT_TRUE(holds(table, pair)) << pair.first << " " << pair.second;
  EXPECT_EQ(table.size(), pairs.size());
  for (const Pair& pair : pairs) {
    EXPECT_TRUE(table.erase(pair.first, pair.second)) << pair.first << " " << pair.second;
    EXPECT_FALSE(holds(table, pair)) << pair.first << " " << pair.second;
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST(NumberTable, MovesAndIsEmptyAfterwards) {
  NumberTable table;
  for (std::uint32_t i = 0; i < 1'000; ++i) table.insert(hash_number(i), i);
  NumberTable other{std::move(table)};
  EXPECT_EQ(table.size(), 0u);  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(holds(table, {hash_number(1), 1}));
  EXPECT_TRUE(holds(other, {hash_number(1), 1}));
  NumberTable third;
  third.insert(1, 1);
  third = std::move(other);
  EXPECT_EQ(third.size(), 1'000u);
  EXPECT_TRUE(holds(third, {hash_number(999), 999}));
}

// Against a list; hashes of few different values, so that segments overflow, split and merge.
RC_GTEST_PROP(NumberTable, HoldsWhatANaiveModelHolds, ()) {
  NumberTable table;
  std::vector<Pair> model;
  const auto spread = *rc::gen::element<std::uint32_t>(1, 0x0001'0001u, 0x9e37'79b9u, 0x0100'0000u);
  for (int round = *rc::gen::inRange(1, 12); round > 0; --round) {
    const bool fill = *rc::gen::inRange(0, 3) > 0;
    const std::uint32_t count = *rc::gen::inRange<std::uint32_t>(1, 300);
    const std::uint32_t seed = *rc::gen::arbitrary<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (fill) {
        const Pair pair{(seed % 1'000 + i % 200) * spread & ~1u, static_cast<std::uint32_t>(round) * 1'000 + i};
        model.push_back(pair);
        table.insert(pair.first, pair.second);
      } else if (!model.empty()) {
        const std::size_t which = (seed + i * 7'919u) % model.size();
        RC_ASSERT(table.erase(model[which].first, model[which].second));
        RC_ASSERT(!holds(table, model[which]));
        model[which] = model.back();
        model.pop_back();
      }
    }
    RC_ASSERT(table.size() == model.size());
    for (const Pair& pair : model) RC_ASSERT(holds(table, pair));
    RC_ASSERT(!table.erase(12, 0xffff'fffeu));
  }
}

}  // namespace
}  // namespace fanfare::message

#include "core/engine/payloads.h"

#include <gtest/gtest.h>

#include <string>

namespace fanfare::engine {
namespace {

TEST(PayloadStore, KeepsContentsUntilTheLastReferenceGoes) {
  PayloadStore store(1'000);
  const auto a = store.add({8}, "hello", 5, 2);
  EXPECT_EQ(store.content(a), "hello");
  EXPECT_EQ(store.position(a), LogPosition{8});
  store.release(a);
  EXPECT_EQ(store.content(a), "hello");
  const std::string_view view = store.content(a);
  store.release(a);
  EXPECT_EQ(view, "hello") << "valid until free_condemned()";
  store.free_condemned();
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.resident_bytes(), 0u);
  EXPECT_EQ(store.oldest_position(), std::nullopt);
}

TEST(PayloadStore, DropsTheOldestBeyondItsBudget) {
  PayloadStore store(10);
  const auto a = store.add({0}, "aaaa", 4, 1);
  const auto b = store.add({8}, "bbbb", 4, 1);
  const auto c = store.add({16}, "cccc", 4, 1);
  EXPECT_EQ(store.content(a), "");
  EXPECT_EQ(store.content(b), "bbbb");
  EXPECT_EQ(store.content(c), "cccc");
  EXPECT_EQ(store.resident_bytes(), 8u);
  EXPECT_EQ(store.position(a), LogPosition{0}) << "it is still known";
  const auto huge = store.add({24}, "longer than all", 15, 1);
  EXPECT_EQ(store.content(huge), "");
  EXPECT_EQ(store.content(b), "bbbb") << "what cannot fit drives nobody out";
}

TEST(PayloadStore, KnowsWhatLiesBeforeAPosition) {
  constexpr std::uint64_t kRegion = PayloadStore::kRegionBytes;
  PayloadStore store(0);
  const auto a = store.add({8}, "", 100, 1);
  const auto b = store.add({kRegion + 8}, "", 1'000'000, 2);
  store.add({20 * kRegion}, "", 5, 1);
  const std::uint64_t all = store.needed_bytes();
  EXPECT_EQ(store.needed_bytes_before({0}), 0u);
  const std::uint64_t first = store.needed_bytes_before({kRegion});
  EXPECT_GE(first, 100u);
  EXPECT_LT(first, 300u);
  EXPECT_GE(store.needed_bytes_before({2 * kRegion}), first + 1'000'000);
  EXPECT_EQ(store.needed_bytes_before({21 * kRegion}), all);
  EXPECT_EQ(store.needed_bytes_before({~std::uint64_t{0}}), all);
  store.move(a, {30 * kRegion});
  EXPECT_EQ(store.needed_bytes_before({kRegion}), 0u);
  EXPECT_EQ(store.needed_bytes_before({31 * kRegion}), all);
  store.release(b);
  EXPECT_EQ(store.needed_bytes_before({31 * kRegion}), all) << "it has another reference";
  store.release(b);
  EXPECT_EQ(store.needed_bytes_before({31 * kRegion}), store.needed_bytes());
}

TEST(PayloadStore, KnowsTheOldestRegionThatIsNeeded) {
  constexpr std::uint64_t kRegion = PayloadStore::kRegionBytes;
  PayloadStore store(0);
  const auto a = store.add({5}, "a", 1, 1);
  const auto b = store.add({kRegion + 7}, "b", 1, 1);
  const auto c = store.add({5 * kRegion}, "c", 1, 1);
  EXPECT_EQ(store.oldest_position(), LogPosition{0});
  store.release(a);
  EXPECT_EQ(store.oldest_position(), LogPosition{kRegion});
  store.move(b, {6 * kRegion});
  EXPECT_EQ(store.oldest_position(), LogPosition{5 * kRegion});
  store.release(c);
  EXPECT_EQ(store.oldest_position(), LogPosition{6 * kRegion});
  store.release(b);
  EXPECT_EQ(store.oldest_position(), std::nullopt);
  store.add({9 * kRegion}, "d", 1, 1);
  store.add({3 * kRegion}, "e", 1, 1);
  EXPECT_EQ(store.oldest_position(), LogPosition{3 * kRegion}) << "a snapshot's payloads come in any order";
}

TEST(PayloadStore, KeepsFewerContentsWhenVeryManyEntriesWait) {
  constexpr std::uint64_t kLimit = 1 << 20;
  PayloadStore store(kLimit);
  std::uint64_t position = 0;
  const auto fill = [&](int payloads, std::uint32_t copies) {
    for (int i = 0; i < payloads; ++i, position += 1040) store.add({position}, std::string(1000, 'x'), 1000, copies);
    store.free_condemned();
  };
  fill(2'000, 1);
  EXPECT_GT(store.resident_bytes(), kLimit - 1000);
  fill(1, 800'000);  // as many entries take about 66 MiB
  fill(1, 1);
  EXPECT_LT(store.resident_bytes(), kLimit * 3 / 4);
  EXPECT_GT(store.resident_bytes(), kLimit / 4);
  fill(1, 8'000'000);
  fill(1, 1);
  EXPECT_LE(store.resident_bytes(), kLimit / 32);
  EXPECT_GT(store.resident_bytes(), kLimit / 32 - 1000) << "never less than that";
}

TEST(PayloadStore, NumbersThatAreHeldAreNotUsedAgain) {
  PayloadStore store(1'000);
  const auto a = store.add({64}, "aa", 2, 2);
  const auto b = store.add({128}, "bb", 2, 1);
  store.hold();
  store.release(a);
  EXPECT_TRUE(store.shared(a)) << "at the begin of the hold it was";
  store.release(a);
  store.release(b);
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.needed_bytes(), 0u);
  EXPECT_EQ(store.oldest_position(), std::nullopt);
  const auto c = store.add({192}, "cc", 2, 1);
  EXPECT_NE(c, a);
  EXPECT_NE(c, b);
  EXPECT_EQ(store.position(a), LogPosition{64});
  EXPECT_EQ(store.bytes(b), 2u);
  EXPECT_TRUE(store.let_go(1));
  EXPECT_FALSE(store.let_go(10));
  EXPECT_EQ(store.size(), 1u);
  const auto d = store.add({256}, "dd", 2, 1);
  EXPECT_TRUE(d == a || d == b) << "memory follows what is there";
}

}  // namespace
}  // namespace fanfare::engine

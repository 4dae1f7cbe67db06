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

}  // namespace
}  // namespace fanfare::engine

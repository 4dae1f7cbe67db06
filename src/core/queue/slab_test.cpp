#include "core/queue/slab.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/queue/sequence_index.h"
#include "core/queue/slot_heap.h"

namespace fanfare::queue {
namespace {

TEST(Slab, GivesIndicesThatAreUsedAgain) {
  Slab<int> slab;
  const auto a = slab.allocate();
  const auto b = slab.allocate();
  EXPECT_NE(a, b);
  slab[a] = 7;
  slab.free(b);
  EXPECT_EQ(slab.allocate(), b);
  EXPECT_EQ(slab[b], 0) << "a new value is default-made";
  EXPECT_EQ(slab[a], 7);
}

RC_GTEST_PROP(Slab, BehavesAsAMap, ()) {
  Slab<std::uint64_t> slab;
  std::map<std::uint32_t, std::uint64_t> model;
  const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>());
  const auto repeats = *rc::gen::inRange(1, 40);
  std::uint64_t value = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const std::uint32_t step : steps) {
      if (model.empty() || (step + static_cast<std::uint32_t>(repeat)) % 3 != 0) {
        const auto index = slab.allocate();
        RC_ASSERT(model.emplace(index, ++value).second);
        slab[index] = value;
      } else {
        auto victim = std::next(model.begin(), static_cast<long>(step % model.size()));
        slab.free(victim->first);
        model.erase(victim);
      }
    }
  }
  RC_ASSERT(slab.size() == model.size());
  auto index = slab.next_used(0);
  for (const auto& [key, expected] : model) {
    RC_ASSERT(index == key);
    RC_ASSERT(slab[index] == expected);
    index = slab.next_used(index + 1);
  }
  RC_ASSERT(index == slab.end());
}

TEST(Slab, OfManyIsGivenBackAndUsedAgain) {
  Slab<std::uint64_t> slab;
  constexpr std::uint32_t kMany = 64 * (64 + 16 * 5) + 7;
  for (int round = 0; round < 3; ++round) {
    std::set<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < kMany; ++i) {
      const auto index = slab.allocate();
      ASSERT_TRUE(indices.insert(index).second) << index;
      slab[index] = index * 3ull;
    }
    EXPECT_LE(slab.end(), kMany + 64) << "what was freed is used again";
    // All but every 1,000th, from either end.
    std::uint32_t count = 0;
    const auto free_most = [&](std::uint32_t index) {
      if (index % 1'000 == 7) return;
      slab.free(index);
      ++count;
    };
    if (round % 2 == 0) std::for_each(indices.begin(), indices.end(), free_most);
    else std::for_each(indices.rbegin(), indices.rend(), free_most);
    EXPECT_EQ(slab.size(), kMany - count);
    for (auto index = slab.next_used(0); index != slab.end(); index = slab.next_used(index + 1)) {
      EXPECT_EQ(slab[index], index * 3ull);
      slab.free(index);
    }
    EXPECT_EQ(slab.size(), 0u);
  }
}

RC_GTEST_PROP(SlotHeap, TakesTheSmallestAndLosesAny, ()) {
  SlotHeap<std::uint32_t> heap;
  std::map<std::uint32_t, std::uint32_t> places;
  std::set<std::pair<std::uint32_t, std::uint32_t>> model;
  const auto place = [&](std::uint32_t slot, std::uint32_t position) { places[slot] = position; };
  std::uint32_t slot = 0;
  for (const auto step : *rc::gen::arbitrary<std::vector<std::uint32_t>>()) {
    if (step % 3 != 0 || model.empty()) {
      heap.push(step % 50, slot, place);
      model.emplace(step % 50, slot++);
    } else {
      auto victim = std::next(model.begin(), static_cast<long>(step % model.size()));
      RC_ASSERT(heap.at(places.at(victim->second)).slot == victim->second);
      heap.erase(places.at(victim->second), place);
      model.erase(victim);
    }
    RC_ASSERT(heap.size() == model.size());
    if (!model.empty()) {
      RC_ASSERT(heap.top().key == model.begin()->first);
    }
  }
}

RC_GTEST_PROP(SequenceIndex, FindsLiveNumbersOnly, ()) {
  SequenceIndex index;
  std::map<std::uint64_t, std::uint32_t> model;
  std::uint64_t next = 1;
  std::uint32_t slot = 0;
  for (const auto step : *rc::gen::arbitrary<std::vector<std::uint16_t>>()) {
    if (step % 3 != 0 || model.empty()) {
      next += step % 7 == 0 ? 1 + step : 1;  // gaps, as a new epoch makes them
      index.insert({next}, slot);
      model.emplace(next, slot++);
    } else {
      auto victim = step % 2 == 0 ? model.begin() : std::next(model.begin(), static_cast<long>(step % model.size()));
      index.erase({victim->first});
      RC_ASSERT(index.find({victim->first}) == SequenceIndex::kNone);
      model.erase(victim);
    }
    RC_ASSERT(index.first() == (model.empty() ? SequenceIndex::kNone : model.begin()->second));
  }
  for (const auto& [number, expected] : model) RC_ASSERT(index.find({number}) == expected);
  const std::uint64_t from = next / 2;
  auto expected = model.lower_bound(from);
  index.for_each({from}, [&](std::uint32_t found) {
    RC_ASSERT(expected != model.end());
    RC_ASSERT(found == (expected++)->second);
    return true;
  });
  RC_ASSERT(expected == model.end());
}

}  // namespace
}  // namespace fanfare::queue

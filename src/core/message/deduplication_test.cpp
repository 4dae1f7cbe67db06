#include "core/message/deduplication.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace fanfare::message {
namespace {

using namespace std::chrono_literals;
using Window = DeduplicationWindow;

constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'000'000);

TEST(DeduplicationWindow, KnowsAnIdForExactlyFiveMinutes) {
  Window window;
  const auto key = Window::key_of("", "once");
  EXPECT_EQ(window.find(key, kStart), nullptr);
  window.insert(key, {Uuid{}, 17, kStart});
  ASSERT_NE(window.find(key, kStart), nullptr);
  EXPECT_EQ(window.find(key, kStart)->sequence_number, 17u);
  EXPECT_EQ(window.next_to_forget(), kStart + 5min);
  EXPECT_FALSE(window.forget_old(kStart + 5min - 1ms));
  EXPECT_NE(window.find(key, kStart + 5min - 1ms), nullptr);
  EXPECT_EQ(window.find(key, kStart + 5min), nullptr) << "known by the time, not by what is forgotten";
  EXPECT_FALSE(window.forget_old(kStart + 5min));
  EXPECT_EQ(window.size(), 0u);
  EXPECT_EQ(window.next_to_forget(), std::nullopt);
}

TEST(DeduplicationWindow, KeepsTheFirst) {
  Window window;
  const auto key = Window::key_of("", "once");
  window.insert(key, {Uuid{}, 1, kStart});
  window.insert(key, {Uuid{}, 2, kStart + 1s});
  EXPECT_EQ(window.find(key, kStart + 1s)->sequence_number, 1u);
  EXPECT_EQ(window.find(key, kStart + 5min), nullptr) << "the second does not make it last longer";
}

TEST(DeduplicationWindow, AnIdThatIsOldAndNotForgottenYetCanComeAgain) {
  Window window;
  const auto key = Window::key_of("", "again");
  window.insert(key, {Uuid{}, 1, kStart});
  window.insert(key, {Uuid{}, 2, kStart + 5min});
  EXPECT_EQ(window.find(key, kStart + 5min)->sequence_number, 2u);
  EXPECT_FALSE(window.forget_old(kStart + 6min));
  EXPECT_EQ(window.find(key, kStart + 6min)->sequence_number, 2u) << "forgetting the first leaves the second";
  EXPECT_EQ(window.next_to_forget(), kStart + 10min);
}

TEST(DeduplicationWindow, ForgetsInSlices) {
  Window window;
  for (std::uint64_t i = 0; i < 10; ++i) window.insert(Window::key_of("", std::to_string(i)), {Uuid{}, i, kStart});
  EXPECT_TRUE(window.forget_old(kStart + 5min, 4));
  EXPECT_EQ(window.size(), 6u);
  EXPECT_TRUE(window.forget_old(kStart + 5min, 4));
  EXPECT_FALSE(window.forget_old(kStart + 5min, 4));
  EXPECT_EQ(window.size(), 0u);
}

TEST(DeduplicationWindow, VisitsInTheOrderOfAcceptance) {
  Window window;
  for (std::uint64_t i = 0; i < 5; ++i)
    window.insert(Window::key_of("", std::to_string(i)), {Uuid{}, i, kStart + seconds{static_cast<std::int64_t>(i)}});
  std::uint64_t expected = 2;
  window.for_each(kStart + 5min + 1s, [&](const Window::Key&, const Window::Accepted& accepted) {
    EXPECT_EQ(accepted.sequence_number, expected++);
  });
  EXPECT_EQ(expected, 5u);
}

// Against a list of all that was ever accepted.
RC_GTEST_PROP(DeduplicationWindow, AnswersAsANaiveModel, ()) {
  struct Accepted {
    std::string scope;
    std::string id;
    std::uint64_t number;
    Timestamp at;
  };
  std::vector<Accepted> all;
  Window window;
  Timestamp now = kStart;
  std::uint64_t number = 0;
  const auto known = [&](const std::string& scope, const std::string& id) -> const Accepted* {
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Accepted& a) { return a.scope == scope && a.id == id; });
    return found == all.rend() || found->at + 5min <= now ? nullptr : &*found;
  };
  for (const auto& [what, pause] : *rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>()) {
    now += what % 3 == 0 ? milliseconds{0} : milliseconds{pause * 3};
    const std::string scope = what % 4 == 0 ? "" : std::string(1, static_cast<char>('a' + what % 2));
    const std::string id = std::to_string(pause % 5);
    const auto key = Window::key_of(scope, id);
    const Accepted* expected = known(scope, id);
    const auto* found = window.find(key, now);
    RC_ASSERT((found == nullptr) == (expected == nullptr));
    if (found != nullptr) {
      RC_ASSERT(found->sequence_number == expected->number);
    } else {
      window.insert(key, {Uuid{}, ++number, now});
      all.push_back({scope, id, number, now});
    }
    if (what % 5 == 0) window.forget_old(now, what % 7);
    std::vector<std::uint64_t> kept;
    window.for_each(now, [&](const auto&, const auto& accepted) { kept.push_back(accepted.sequence_number); });
    std::vector<std::uint64_t> should;
    for (const Accepted& a : all)
      if (a.at + 5min > now) should.push_back(a.number);
    RC_ASSERT(kept == should);
  }
}

TEST(DeduplicationWindow, KeysOfDifferentIdsDiffer) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::size_t count = 0;
  const auto add = [&](std::string_view scope, std::string_view id) {
    const auto key = Window::key_of(scope, id);
    seen.emplace(key.high, key.low);
    ++count;
  };
  for (int i = 0; i < 100'000; ++i) add("", std::to_string(i));
  for (std::size_t size = 1; size < 128; ++size) add("", std::string(size, '\1'));
  add("ab", "c");
  add("a", "bc");
  add("abc", "");
  add("", "abc");
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(Window::key_of("g", "id"), Window::key_of("g", "id"));
}

}  // namespace
}  // namespace fanfare::message

// N7: a session's start without a gap, as single cases and over random interleavings.
#include "core/inbox/event_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "base/marks.h"
#include "base/rng.h"

namespace fanfare::inbox {
namespace {

const InboxKey kInbox{Recipient{"alice"}, Workspace{"docs"}};
constexpr Epoch kEpoch = 7;

Cursor place(Sequence sequence) { return {kEpoch, scope_of(kInbox), sequence}; }
StreamItem item(Sequence sequence) { return {sequence, std::make_shared<const std::string>(std::to_string(sequence))}; }
Head head(Sequence sequence, Counts counts = {}, Sequence floor = 0) { return {place(sequence), floor, counts}; }

/// "head", "page 3..9 limit 2", "reset@0", "item 4@4", "count 2/1@4": what comes after the @ is the cursor.
std::vector<std::string> told(const std::vector<StreamOutput>& outputs) {
  std::vector<std::string> lines;
  for (const StreamOutput& output : outputs) {
    if (std::holds_alternative<WantHead>(output)) lines.emplace_back("head");
    if (const auto* page = std::get_if<WantPage>(&output))
      lines.push_back("page " + std::to_string(page->after.sequence) + ".." + std::to_string(page->up_to) + " limit " +
                      std::to_string(page->limit));
    if (const auto* reset = std::get_if<SendReset>(&output))
      lines.push_back("reset@" + std::to_string(reset->cursor.sequence));
    if (const auto* sent = std::get_if<SendItem>(&output))
      lines.push_back("item " + *sent->item.body + "@" + std::to_string(sent->cursor.sequence));
    if (const auto* counts = std::get_if<SendCounts>(&output))
      lines.push_back("count " + std::to_string(counts->counts.unread) + "/" + std::to_string(counts->counts.unseen) +
                      "@" + std::to_string(counts->cursor.sequence));
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(EventStream, N7AnEmptyInboxStillTellsItsPlace) {
  EventStream stream{kInbox};
  EXPECT_EQ(told(stream.start(std::nullopt)), Lines{"head"});
  EXPECT_EQ(told(stream.on_head(head(0))), Lines{"count 0/0@0"});
  EXPECT_TRUE(stream.live());
}

TEST(EventStream, N7AllReadInboxTellsTheHead) {
  EventStream stream{kInbox};
  stream.start(std::nullopt);
  EXPECT_EQ(told(stream.on_head(head(9))), Lines{"page 0..9 limit 100"});
  EXPECT_EQ(told(stream.on_page({})), Lines{"count 0/0@9"});
}

TEST(EventStream, N7UnreadPagesThenBufferThenLive) {
  EventStream stream{kInbox, {.page = 2, .buffered_items_max = 8}};
  stream.start(std::nullopt);
  EXPECT_EQ(told(stream.on_item(item(5))), Lines{}) << "buffered until the head is known";
  EXPECT_EQ(told(stream.on_head(head(4, {4, 4, 4}))), (Lines{"page 0..4 limit 2"}));
  EXPECT_EQ(told(stream.on_page({{item(1), item(3)}, true})), (Lines{"item 1@1", "item 3@3", "page 3..4 limit 2"}));
  EXPECT_EQ(told(stream.on_item(item(6))), Lines{});
  EXPECT_EQ(told(stream.on_page({{item(4)}, false})), (Lines{"item 4@4", "item 5@5", "item 6@6", "count 4/4@6"}));
  EXPECT_EQ(told(stream.on_item(item(7))), Lines{"item 7@7"});
  EXPECT_EQ(told(stream.on_item(item(7))), Lines{}) << "once";
}

TEST(EventStream, N7ResumesBehindTheCursor) {
  EventStream stream{kInbox};
  stream.start(place(3));
  stream.on_item(item(3));
  EXPECT_EQ(told(stream.on_head(head(5))), Lines{"page 3..5 limit 100"});
  EXPECT_EQ(told(stream.on_page({{item(5)}, false})), (Lines{"item 5@5", "count 0/0@5"}));
}

TEST(EventStream, N7APageThatReachesOutOfItsBoundsRepeatsAndForestallsNothing) {
  EventStream stream{kInbox};
  stream.start(place(3));
  ASSERT_EQ(told(stream.on_head(head(5))), Lines{"page 3..5 limit 100"});
  EXPECT_EQ(told(stream.on_page({{item(2), item(3), item(4), item(6)}, false})), (Lines{"item 4@4", "count 0/0@5"}));
  EXPECT_EQ(told(stream.on_item(item(6))), Lines{"item 6@6"});
}

TEST(EventStream, N7AnUnknownCursorIsAnsweredByAResetAndEverythingUnread) {
  for (const Cursor& unknown : {Cursor{}, Cursor{kEpoch + 1, scope_of(kInbox), 3},
                                Cursor{kEpoch, scope_of(kInbox) + 1, 3}, place(6), place(1)}) {
    EventStream stream{kInbox};
    stream.start(unknown);
    EXPECT_MARKED(stream_cursor_unknown,
                  EXPECT_EQ(told(stream.on_head(head(5, {}, 2))), (Lines{"reset@0", "page 0..5 limit 100"}))
                      << unknown.text());
  }
}

TEST(EventStream, AHoleInLiveItemsIsFetched) {
  EventStream stream{kInbox};
  stream.start(std::nullopt);
  stream.on_head(head(0));
  EXPECT_EQ(told(stream.on_item(item(3))), Lines{"page 0..2 limit 100"});
  EXPECT_EQ(told(stream.on_item(item(2))), Lines{});
  EXPECT_EQ(told(stream.on_page({{item(1), item(2)}, false})), (Lines{"item 1@1", "item 2@2", "item 3@3"}));
}

TEST(EventStream, WhatTheBufferCannotHoldIsFetched) {
  EventStream stream{kInbox, {.page = 10, .buffered_items_max = 2}};
  stream.start(std::nullopt);
  EXPECT_MARKED(stream_buffer_full, for (Sequence n = 1; n <= 5; ++n) stream.on_item(item(n)));
  EXPECT_EQ(told(stream.on_head(head(0))), (Lines{"item 1@1", "item 2@2", "page 2..5 limit 10"}));
  EXPECT_EQ(told(stream.on_page({{item(3), item(4), item(5)}, false})),
            (Lines{"item 3@3", "item 4@4", "item 5@5", "count 0/0@5"}));
}

TEST(EventStream, CountsGoOutAfterWhatIsKnownAndOnlyWhenNewer) {
  EventStream stream{kInbox};
  stream.start(std::nullopt);
  EXPECT_EQ(told(stream.on_counts({1, 1, 9})), Lines{});
  EXPECT_EQ(told(stream.on_head(head(0, {0, 0, 8}))), Lines{"count 1/1@0"})
      << "the live value was newer than the head's";
  EXPECT_EQ(told(stream.on_counts({5, 5, 9})), Lines{});
  EXPECT_EQ(told(stream.on_counts({2, 1, 10})), Lines{"count 2/1@0"});
}

TEST(EventStream, AfterALossItReadsTheHeadAgain) {
  EventStream stream{kInbox};
  stream.start(std::nullopt);
  EXPECT_EQ(told(stream.on_lost()), Lines{}) << "a head is on its way, and another follows";
  EXPECT_EQ(told(stream.on_head(head(1))), Lines{"head"});
  EXPECT_EQ(told(stream.on_head(head(2))), Lines{"page 0..2 limit 100"});
  EXPECT_EQ(told(stream.on_page({{item(2)}, false})), (Lines{"item 2@2", "count 0/0@2"}));
  EXPECT_EQ(told(stream.on_lost()), Lines{"head"});
  EXPECT_EQ(told(stream.on_head(head(2))), Lines{});
  EXPECT_TRUE(stream.live());
}

TEST(EventStream, AnswersThatNobodyWaitsForAreIgnored) {
  EventStream stream{kInbox};
  EXPECT_EQ(told(stream.on_page({{item(1)}, false})), Lines{});
  EXPECT_EQ(told(stream.on_head(head(3))), Lines{});
}

// A store, its live items on their way to the stream (in any order, perhaps twice, perhaps lost with a word about it),
// and the stream's questions on their way to the store. Every interleaving must send each unread item once and in
// order.
RC_GTEST_PROP(EventStream, N7NoInterleavingLosesOrDoublesAnItem, (std::uint64_t seed)) {
  Rng rng{seed};
  struct Row {
    bool read = false;
  };
  std::vector<Row> rows;  // sequence - 1
  std::vector<StreamItem> live;
  bool lost = false;
  std::deque<StreamOutput> questions;
  std::vector<Sequence> sent;
  Sequence cursor_sent = 0;
  std::vector<Sequence> read_early;  // read before they were sent: may be left out
  Counts counts;
  Counts counts_sent;

  EventStream stream{kInbox, {.page = 1 + rng.below(4), .buffered_items_max = rng.below(5)}};
  const Sequence before = rng.below(8);
  rows.resize(before);
  counts = {before, before, before};
  std::optional<Cursor> after;
  Sequence begin = 0;
  if (rng.chance(1, 2)) {
    begin = rng.below(before + 1);
    after = place(begin);
  }
  bool reset_expected = false;
  if (rng.chance(1, 4)) {
    after = Cursor{};
    begin = 0;
    reset_expected = true;
  }
  bool reset_seen = false;

  const auto take = [&](std::vector<StreamOutput> outputs) {
    for (StreamOutput& output : outputs) {
      if (const auto* one = std::get_if<SendItem>(&output)) {
        sent.push_back(one->item.sequence);
        RC_ASSERT(one->cursor.sequence == one->item.sequence);
        cursor_sent = one->cursor.sequence;
      } else if (const auto* told_counts = std::get_if<SendCounts>(&output)) {
        RC_ASSERT(told_counts->counts.version >= counts_sent.version);
        counts_sent = told_counts->counts;
        cursor_sent = told_counts->cursor.sequence;
      } else if (std::holds_alternative<SendReset>(output)) {
        RC_ASSERT(sent.empty() && !reset_seen);
        reset_seen = true;
      } else {
        questions.push_back(std::move(output));
      }
    }
  };
  const auto answer = [&] {
    const StreamOutput question = std::move(questions.front());
    questions.pop_front();
    if (std::holds_alternative<WantHead>(question)) {
      take(stream.on_head({place(rows.size()), 0, counts}));
      return;
    }
    const auto& want = std::get<WantPage>(question);
    StreamPage page;
    for (Sequence n = want.after.sequence + 1; n <= want.up_to && n <= rows.size(); ++n) {
      if (rows[n - 1].read) continue;
      if (page.items.size() == want.limit) {
        page.more = true;
        break;
      }
      page.items.push_back(item(n));
    }
    take(stream.on_page(std::move(page)));
  };

  take(stream.start(after));
  for (int step = 0; step < 60; ++step) {
    switch (rng.below(6)) {
      case 0:
      case 1:  // a create commits; its live item is on its way
        rows.push_back({});
        ++counts.unread, ++counts.unseen, ++counts.version;
        live.push_back(item(rows.size()));
        if (rng.chance(1, 8)) live.push_back(item(rows.size()));
        break;
      case 2:
        if (!live.empty()) {
          const auto which = rng.chance(3, 4) ? 0 : rng.below(live.size());
          StreamItem arriving = live[which];
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
          if (rng.chance(1, 8)) {
            lost = true;
          } else {
            take(stream.on_item(std::move(arriving)));
          }
        }
        break;
      case 3:
        if (!questions.empty()) answer();
        break;
      case 4:
        if (std::exchange(lost, false)) take(stream.on_lost());
        take(stream.on_counts(counts));
        break;
      default:
        if (!rows.empty()) {
          const Sequence n = 1 + rng.below(rows.size());
          if (!rows[n - 1].read) {
            rows[n - 1].read = true;
            --counts.unread, ++counts.version;
            if (std::find(sent.begin(), sent.end(), n) == sent.end()) read_early.push_back(n);
          }
        }
    }
  }
  // Everything on its way arrives.
  for (StreamItem& arriving : std::exchange(live, {})) take(stream.on_item(std::move(arriving)));
  if (lost) take(stream.on_lost());
  take(stream.on_counts(counts));
  while (!questions.empty()) answer();

  RC_ASSERT(stream.live());
  RC_ASSERT(reset_seen == reset_expected);
  RC_ASSERT(std::is_sorted(sent.begin(), sent.end()));
  RC_ASSERT(std::adjacent_find(sent.begin(), sent.end()) == sent.end());
  for (Sequence n = begin + 1; n <= rows.size(); ++n) {
    const bool was_sent = std::find(sent.begin(), sent.end(), n) != sent.end();
    const bool may_be_left_out = std::find(read_early.begin(), read_early.end(), n) != read_early.end();
    RC_ASSERT(was_sent || may_be_left_out);
  }
  for (const Sequence n : sent) RC_ASSERT(n > begin);
  RC_ASSERT(stream.cursor() == place(rows.size()));
  RC_ASSERT(counts_sent == counts);
  RC_ASSERT(cursor_sent <= rows.size());
}

}  // namespace
}  // namespace fanfare::inbox

// What every inbox store must do, run on each of them; and each of them against the naive store over random operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <functional>

#include "base/rng.h"
#include "store/memory_inbox_store.h"
#include "store/naive_inbox_store.h"
#include "store/sqlite_inbox_store.h"

namespace fanfare::store {
namespace {

using namespace inbox;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Epoch kEpoch = 0x9f86d081884c7d65;
const Workspace kDocs{"docs"};

Timestamp at(milliseconds since_start) { return timestamp_from_unix_ms(1'800'000'000'000) + since_start; }
InboxKey inbox_of(std::string_view recipient, const Workspace& workspace = kDocs) {
  return {Recipient{recipient}, workspace};
}

using Maker = std::unique_ptr<InboxStore> (*)();
std::unique_ptr<InboxStore> make_memory() { return make_memory_inbox_store(kEpoch); }
std::unique_ptr<InboxStore> make_sqlite() {
  SqliteOptions options;
  options.path = ":memory:";
  options.epoch_if_new = kEpoch;
  auto store = open_sqlite_inbox_store(options);
  return store ? std::move(*store) : nullptr;
}

NotificationId id_of(std::uint64_t number) {
  SeededSecrets secrets{number};
  return NotificationId{Uuid::from_random(secrets.bytes16())};
}

Intent intent(std::string_view key, std::vector<std::string> recipients = {"alice"},
              const Workspace& workspace = kDocs) {
  Intent i;
  i.key = IdempotencyKey{key};
  i.workspace = workspace;
  i.kind = Kind{"ready"};
  i.object_id = ObjectId{"d-7"};
  i.revision = "3";
  i.data = R"({"pages":12})";
  for (auto& recipient : recipients) i.recipients.emplace_back(std::move(recipient));
  return i;
}

class InboxStoreContract : public ::testing::TestWithParam<std::pair<const char*, Maker>> {
 protected:
  void SetUp() override {
    store = GetParam().second();
    ASSERT_NE(store, nullptr);
  }

  template <class Expected>
  Expected ask(Operation operation) {
    const std::vector<Operation> operations{std::move(operation)};
    auto answers = store->execute(operations, now);
    EXPECT_TRUE(answers.has_value()) << (answers ? "" : answers.error().detail);
    if (!answers || answers->size() != 1 || !std::holds_alternative<Expected>(answers->front())) {
      ADD_FAILURE() << "another answer than expected";
      return {};
    }
    return std::get<Expected>(answers->front());
  }
  Created create(Intent what) { return ask<Created>(Create{std::move(what), id_of(++ids)}); }
  NotificationId create_for(std::string_view recipient, std::string_view key) {
    return create(intent(key, {std::string{recipient}})).id;
  }
  Page list(
      std::string_view recipient, const std::function<void(ListPage&)>& change = [](ListPage&) {}) {
    ListPage page{.inbox = inbox_of(recipient), .after = {}, .up_to = {}, .kind = {}};
    change(page);
    return ask<Page>(page);
  }
  std::vector<Sequence> sequences(const Page& page) {
    std::vector<Sequence> out;
    for (const Notification& item : page.items) out.push_back(item.sequence);
    return out;
  }
  Counts counts(std::string_view recipient) { return ask<Head>(ReadHead{inbox_of(recipient)}).counts; }
  Marked mark(Mark::Act act, std::vector<NotificationId> marked_ids, std::string_view recipient = "alice") {
    return ask<Marked>(Mark{act, Recipient{recipient}, {kDocs}, std::move(marked_ids)});
  }
  Cursor place(std::string_view recipient, Sequence sequence) {
    return {kEpoch, scope_of(inbox_of(recipient)), sequence};
  }
  void expect_counts(std::string_view recipient, std::uint64_t unread, std::uint64_t unseen) {
    const Counts got = counts(recipient);
    EXPECT_EQ(got.unread, unread);
    EXPECT_EQ(got.unseen, unseen);
    EXPECT_EQ(list(recipient, [](ListPage& p) { p.unread_only = true, p.limit = 200; }).items.size(), unread)
        << "the unread list and the count agree";
  }

  std::unique_ptr<InboxStore> store;
  Timestamp now = at(0s);
  std::uint64_t ids = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, InboxStoreContract,
                         ::testing::Values(std::pair{"Memory", Maker{make_memory}},
                                           std::pair{"Sqlite", Maker{make_sqlite}}),
                         [](const auto& one) { return one.param.first; });

// ---- creation

TEST_P(InboxStoreContract, N1KeepsEveryMemberOfARecord) {
  now = at(5s);
  Intent what = intent("k1");
  what.created_at = at(1s);
  what.expires_at = at(1h);
  const Created created = create(what);
  ASSERT_EQ(created.items.size(), 1u);
  EXPECT_EQ(created.items[0].sequence, 1u);
  EXPECT_EQ(created.items[0].cursor, place("alice", 1));
  EXPECT_EQ(created.items[0].id, created.id) << "one recipient: the item has the notification's id";
  EXPECT_EQ(created.items[0].created_at, at(1s));
  const Page page = list("alice");
  ASSERT_EQ(page.items.size(), 1u);
  const Notification expected{created.id,
                              1,
                              inbox_of("alice"),
                              Kind{"ready"},
                              ObjectId{"d-7"},
                              "3",
                              R"({"pages":12})",
                              at(1s),
                              at(1h),
                              false,
                              false,
                              false,
                              DeliveryState::Pending};
  EXPECT_EQ(page.items[0], expected);
  EXPECT_EQ(page.cursor, place("alice", 1));
  EXPECT_FALSE(page.reset);
  EXPECT_FALSE(page.more);
}

TEST_P(InboxStoreContract, N1AbsentMembersStayAbsent) {
  now = at(5s);
  Intent what = intent("k1");
  what.revision.reset();
  what.data.clear();
  create(what);
  const Page page = list("alice");
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].revision, std::nullopt);
  EXPECT_EQ(page.items[0].data, "");
  EXPECT_EQ(page.items[0].created_at, at(5s));
  EXPECT_EQ(page.items[0].expires_at, std::nullopt);
}

TEST_P(InboxStoreContract, N1OneKeyMakesOneNotification) {
  const Created first = create(intent("k1"));
  const Created again = create(intent("k1"));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.id, first.id);
  EXPECT_THAT(again.items, IsEmpty());
  expect_counts("alice", 1, 1);
}

TEST_P(InboxStoreContract, N1TheSameKeyWithAnotherBodyIsAConflict) {
  create(intent("k1"));
  Intent other = intent("k1");
  other.object_id = ObjectId{"d-8"};
  EXPECT_EQ(ask<Refused>(Create{other, id_of(99)}).refusal, Refusal::KeyConflict);
  EXPECT_EQ(ask<Refused>(Create{intent("k1", {"bob"}), id_of(99)}).refusal, Refusal::KeyConflict);
  EXPECT_EQ(ask<Refused>(Create{intent("k1", {"alice"}, Workspace{"team2"}), id_of(99)}).refusal, Refusal::KeyConflict);
  expect_counts("alice", 1, 1);
  expect_counts("bob", 0, 0);
}

TEST_P(InboxStoreContract, N1KeysOfTenantsAreApart) {
  Intent other = intent("k1");
  other.tenant = Tenant{"second"};
  create(intent("k1"));
  EXPECT_FALSE(create(other).duplicate);
}

TEST_P(InboxStoreContract, SeveralRecipientsGetAnItemEach) {
  const Created created = create(intent("k1", {"alice", "bob"}));
  ASSERT_EQ(created.items.size(), 2u);
  EXPECT_EQ(created.items[0].recipient, Recipient{"alice"});
  EXPECT_NE(created.items[0].id, created.items[1].id);
  EXPECT_NE(created.items[0].id, created.id);
  EXPECT_EQ(list("alice").items.at(0).id, created.items[0].id);
  EXPECT_EQ(list("bob").items.at(0).id, created.items[1].id);
  EXPECT_TRUE(create(intent("k1", {"alice", "bob"})).duplicate);
}

TEST_P(InboxStoreContract, SequencesAreDenseInEachInbox) {
  for (int i = 0; i < 5; ++i) {
    create_for("alice", "a" + std::to_string(i));
    if (i % 2 == 0) create_for("bob", "b" + std::to_string(i));
    create(intent("c" + std::to_string(i), {"alice"}, Workspace{"team2"}));
  }
  EXPECT_THAT(sequences(list("alice")), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(sequences(list("bob")), ElementsAre(1, 2, 3));
}

TEST_P(InboxStoreContract, ABatchAnswersEachAtItsPlaceAndInOrder) {
  Intent conflict = intent("k1");
  conflict.data = "{}";
  const std::vector<Operation> batch{Create{intent("k1"), id_of(1)}, Create{conflict, id_of(2)},
                                     Create{intent("k1"), id_of(3)}, Create{intent("k2"), id_of(4)},
                                     ReadHead{inbox_of("alice")}};
  const auto answers = store->execute(batch, now);
  ASSERT_TRUE(answers.has_value());
  ASSERT_EQ(answers->size(), 5u);
  EXPECT_EQ(std::get<Created>((*answers)[0]).id, id_of(1));
  EXPECT_EQ(std::get<Refused>((*answers)[1]).refusal, Refusal::KeyConflict);
  EXPECT_EQ(std::get<Created>((*answers)[2]).id, id_of(1));
  EXPECT_EQ(std::get<Created>((*answers)[3]).items.at(0).sequence, 2u);
  EXPECT_EQ(std::get<Head>((*answers)[4]).counts.unread, 2u);
}

TEST_P(InboxStoreContract, AnEmptyBatchIsFine) { EXPECT_TRUE(store->execute({}, now)->empty()); }

// ---- lists

TEST_P(InboxStoreContract, AnEmptyInboxHasAPlace) {
  const Page page = list("nobody");
  EXPECT_THAT(page.items, IsEmpty());
  EXPECT_EQ(page.cursor, place("nobody", 0));
  EXPECT_FALSE(page.reset);
  EXPECT_EQ(ask<Head>(ReadHead{inbox_of("nobody")}).cursor, place("nobody", 0));
}

TEST_P(InboxStoreContract, N7PagesFollowEachOtherWithoutAGap) {
  for (int i = 1; i <= 5; ++i) create_for("alice", "k" + std::to_string(i));
  Page page = list("alice", [](ListPage& p) { p.limit = 2; });
  EXPECT_THAT(sequences(page), ElementsAre(1, 2));
  EXPECT_TRUE(page.more);
  page = list("alice", [&](ListPage& p) { p.limit = 2, p.after = page.cursor; });
  EXPECT_THAT(sequences(page), ElementsAre(3, 4));
  page = list("alice", [&](ListPage& p) { p.limit = 2, p.after = page.cursor; });
  EXPECT_THAT(sequences(page), ElementsAre(5));
  EXPECT_FALSE(page.more);
  page = list("alice", [&](ListPage& p) { p.limit = 2, p.after = page.cursor; });
  EXPECT_THAT(page.items, IsEmpty());
  EXPECT_EQ(page.cursor, place("alice", 5)) << "without items the cursor stays";
  EXPECT_THAT(sequences(list("alice", [&](ListPage& p) { p.up_to = 3; })), ElementsAre(1, 2, 3));
}

TEST_P(InboxStoreContract, AnUnknownCursorIsAResetAndBeginsAtTheBeginning) {
  create_for("alice", "k1");
  create_for("bob", "k2");
  for (const Cursor& unknown :
       {Cursor{}, Cursor{kEpoch + 1, scope_of(inbox_of("alice")), 1}, place("bob", 1), place("alice", 2)}) {
    const Page page = list("alice", [&](ListPage& p) { p.after = unknown; });
    EXPECT_TRUE(page.reset) << unknown.text();
    EXPECT_THAT(sequences(page), ElementsAre(1)) << unknown.text();
  }
}

TEST_P(InboxStoreContract, FiltersUnreadKindAndArchived) {
  const auto first = create_for("alice", "k1");
  Intent other = intent("k2");
  other.kind = Kind{"failed"};
  const auto second = create(other).id;
  create_for("alice", "k3");
  mark(Mark::Act::Read, {first});
  mark(Mark::Act::Archive, {second});
  EXPECT_THAT(sequences(list("alice")), ElementsAre(1, 3));
  EXPECT_THAT(sequences(list("alice", [](ListPage& p) { p.unread_only = true; })), ElementsAre(3));
  EXPECT_THAT(sequences(list("alice", [](ListPage& p) { p.archived = true; })), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences(list("alice", [](ListPage& p) { p.archived = true, p.unread_only = true; })),
              ElementsAre(2, 3));
  EXPECT_THAT(sequences(list("alice", [](ListPage& p) { p.kind = Kind{"failed"}, p.archived = true; })),
              ElementsAre(2));
  const Page hidden = list("alice", [](ListPage& p) { p.kind = Kind{"failed"}; });
  EXPECT_THAT(hidden.items, IsEmpty());
  EXPECT_EQ(hidden.cursor, place("alice", 0)) << "a filter hid what the person has not seen";
}

TEST_P(InboxStoreContract, BeingPartOfAListAcknowledgesOnlyWhenAsked) {
  create_for("alice", "k1");
  EXPECT_EQ(list("alice").items.at(0).state, DeliveryState::Pending);
  EXPECT_EQ(list("alice").items.at(0).state, DeliveryState::Pending);
  const Page page = list("alice", [](ListPage& p) { p.acknowledge = true; });
  EXPECT_EQ(page.items.at(0).state, DeliveryState::Delivered);
  EXPECT_EQ(page.acknowledged, 1u);
  EXPECT_EQ(list("alice", [](ListPage& p) { p.acknowledge = true; }).acknowledged, 0u);
  EXPECT_THAT(ask<Claimed>(Claim{.owner = "w", .inboxes = {}}).items, IsEmpty());
  EXPECT_FALSE(list("alice").items.at(0).read) << "N6: delivered is not read";
  expect_counts("alice", 1, 1);
}

// ---- read state

TEST_P(InboxStoreContract, N6ReadSeenAndArchivedAreIndependent) {
  const auto first = create_for("alice", "k1");
  const auto second = create_for("alice", "k2");
  const auto third = create_for("alice", "k3");
  EXPECT_EQ(mark(Mark::Act::Read, {second}).changed, 1u);
  expect_counts("alice", 2, 3);
  EXPECT_EQ(ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 2)}).changed, 2u);
  expect_counts("alice", 2, 1);
  EXPECT_EQ(mark(Mark::Act::Archive, {third, first}).changed, 2u);
  expect_counts("alice", 0, 0);
  const Page page = list("alice", [](ListPage& p) { p.archived = true; });
  ASSERT_EQ(page.items.size(), 3u);
  const auto flags = [](const Notification& item) { return std::tuple{item.seen, item.read, item.archived}; };
  EXPECT_EQ(flags(page.items[0]), std::tuple(true, false, true));
  EXPECT_EQ(flags(page.items[1]), std::tuple(true, true, false));
  EXPECT_EQ(flags(page.items[2]), std::tuple(false, false, true));
}

TEST_P(InboxStoreContract, MarkingTwiceChangesOnce) {
  const auto id = create_for("alice", "k1");
  EXPECT_EQ(mark(Mark::Act::Read, {id, id}).changed, 1u);
  EXPECT_EQ(mark(Mark::Act::Read, {id}).changed, 0u);
  EXPECT_EQ(mark(Mark::Act::Archive, {id, id}).changed, 1u);
  EXPECT_EQ(mark(Mark::Act::Archive, {id}).changed, 0u);
  expect_counts("alice", 0, 0);
}

TEST_P(InboxStoreContract, OtherPeoplesItemsAndOtherWorkspacesArePassedOver) {
  const auto bobs = create_for("bob", "k1");
  const auto elsewhere = create(intent("k2", {"alice"}, Workspace{"team2"})).id;
  const Marked marked = mark(Mark::Act::Read, {bobs, elsewhere, id_of(12345)});
  EXPECT_EQ(marked.changed, 0u);
  EXPECT_THAT(marked.inboxes, IsEmpty());
  expect_counts("bob", 1, 1);
}

TEST_P(InboxStoreContract, MarkTellsTheCountsOfEveryInboxTouched) {
  const Workspace team2{"team2"};
  const auto first = create_for("alice", "k1");
  create_for("alice", "k2");
  const auto second = create(intent("k3", {"alice"}, team2)).id;
  const Marked marked = ask<Marked>(Mark{Mark::Act::Read, Recipient{"alice"}, {kDocs, team2}, {second, first}});
  EXPECT_EQ(marked.changed, 2u);
  ASSERT_EQ(marked.inboxes.size(), 2u);
  EXPECT_EQ(marked.inboxes[0].inbox.workspace, kDocs);
  EXPECT_EQ(marked.inboxes[0].counts.unread, 1u);
  EXPECT_EQ(marked.inboxes[1].inbox.workspace, team2);
  EXPECT_EQ(marked.inboxes[1].counts.unread, 0u);
}

TEST_P(InboxStoreContract, N6ReadAllStopsAtWhatTheClientHasSeen) {
  for (int i = 1; i <= 3; ++i) create_for("alice", "k" + std::to_string(i));
  const Marked marked = ask<Marked>(MarkUpTo{MarkUpTo::Act::Read, inbox_of("alice"), place("alice", 2)});
  EXPECT_EQ(marked.changed, 2u);
  ASSERT_EQ(marked.inboxes.size(), 1u);
  EXPECT_EQ(marked.inboxes[0].counts.unread, 1u);
  EXPECT_THAT(sequences(list("alice", [](ListPage& p) { p.unread_only = true; })), ElementsAre(3));
  EXPECT_EQ(ask<Marked>(MarkUpTo{MarkUpTo::Act::Read, inbox_of("alice"), place("alice", 2)}).changed, 0u);
  expect_counts("alice", 1, 3);
}

TEST_P(InboxStoreContract, ReadAllAndSeenRefuseUnknownCursors) {
  create_for("alice", "k1");
  for (const auto act : {MarkUpTo::Act::Read, MarkUpTo::Act::Seen})
    for (const Cursor& unknown :
         {Cursor{}, place("bob", 1), place("alice", 2), Cursor{kEpoch + 1, scope_of(inbox_of("alice")), 1}})
      EXPECT_EQ(ask<Refused>(MarkUpTo{act, inbox_of("alice"), unknown}).refusal, Refusal::UnknownCursor);
  EXPECT_EQ(ask<Marked>(MarkUpTo{MarkUpTo::Act::Read, inbox_of("nobody"), place("nobody", 0)}).changed, 0u);
  expect_counts("alice", 1, 1);
}

TEST_P(InboxStoreContract, N6SeenNeverGoesBack) {
  for (int i = 1; i <= 3; ++i) create_for("alice", "k" + std::to_string(i));
  ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 3)});
  EXPECT_EQ(ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 1)}).changed, 0u);
  expect_counts("alice", 3, 0);
}

TEST_P(InboxStoreContract, EveryChangeOfTheCountsRaisesTheirVersion) {
  std::uint64_t version = counts("alice").version;
  const auto expect_newer = [&](const char* what) {
    const std::uint64_t newer = counts("alice").version;
    EXPECT_GT(newer, version) << what;
    version = newer;
  };
  const auto id = create_for("alice", "k1");
  expect_newer("create");
  Intent expiring = intent("k2");
  expiring.expires_at = at(10s);
  create(expiring);
  expect_newer("create");
  mark(Mark::Act::Read, {id});
  expect_newer("read");
  ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 1)});
  expect_newer("seen");
  now = at(10s);
  expect_newer("expiry");
  mark(Mark::Act::Archive, {id});
  expect_newer("archive");
  create_for("alice", "k3");
  expect_newer("create");
  ask<Retained>(Retain{at(1h), 10});
  expect_newer("retention");
}

// ---- expiry

TEST_P(InboxStoreContract, AnItemIsInNoListAndNoCountFromItsExpiryOn) {
  Intent expiring = intent("k1");
  expiring.expires_at = at(10s);
  const auto id = create(expiring).id;
  create_for("alice", "k2");
  now = at(10s - 1ms);
  expect_counts("alice", 2, 2);
  now = at(10s);
  expect_counts("alice", 1, 1);
  EXPECT_THAT(sequences(list("alice", [](ListPage& p) { p.archived = true; })), ElementsAre(2));
  EXPECT_EQ(mark(Mark::Act::Read, {id}).changed, 0u);
  EXPECT_EQ(ask<Claimed>(Claim{.owner = "w", .inboxes = {}}).items.size(), 1u);
  EXPECT_EQ(ask<Head>(ReadHead{inbox_of("alice")}).cursor, place("alice", 2));
}

TEST_P(InboxStoreContract, WhatExpiredBeforeItWasStoredIsNeverShown) {
  now = at(10s);
  Intent late = intent("k1");
  late.expires_at = at(10s);
  const Created created = create(late);
  EXPECT_FALSE(created.duplicate);
  EXPECT_THAT(created.items, IsEmpty());
  expect_counts("alice", 0, 0);
  EXPECT_TRUE(create(late).duplicate);
  EXPECT_EQ(create(intent("k2")).items.at(0).sequence, 2u);
  EXPECT_FALSE(ask<Stats>(ReadStats{}).oldest_pending == at(0s));
}

TEST_P(InboxStoreContract, ExpiryOfReadSeenAndArchivedItemsKeepsTheCountsExact) {
  std::vector<NotificationId> made;
  for (int i = 0; i < 4; ++i) {
    Intent expiring = intent("k" + std::to_string(i));
    expiring.expires_at = at(10s + i * 1s);
    made.push_back(create(expiring).id);
  }
  mark(Mark::Act::Read, {made[0]});
  mark(Mark::Act::Archive, {made[1]});
  ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 3)});
  expect_counts("alice", 2, 1);
  now = at(11s);
  expect_counts("alice", 2, 1);
  now = at(12s);
  expect_counts("alice", 1, 1);
  now = at(13s);
  expect_counts("alice", 0, 0);
}

// ---- claims

TEST_P(InboxStoreContract, N3TwoWorkersNeverHoldOneItem) {
  for (int i = 1; i <= 3; ++i) create_for("alice", "k" + std::to_string(i));
  const Claimed first = ask<Claimed>(Claim{.owner = "w1", .limit = 2, .inboxes = {}});
  const Claimed second = ask<Claimed>(Claim{.owner = "w2", .inboxes = {}});
  ASSERT_EQ(first.items.size(), 2u);
  ASSERT_EQ(second.items.size(), 1u);
  EXPECT_EQ(first.items[0].sequence, 1u) << "oldest first";
  EXPECT_EQ(second.items[0].sequence, 3u);
  EXPECT_EQ(first.items[0].state, DeliveryState::Claimed);
  EXPECT_EQ(first.items[0].data, R"({"pages":12})");
  EXPECT_GT(second.token, first.token);
  EXPECT_THAT(ask<Claimed>(Claim{.owner = "w3", .inboxes = {}}).items, IsEmpty());
}

TEST_P(InboxStoreContract, N3OnlyTheHolderMarksDelivered) {
  const auto id = create_for("alice", "k1");
  const Claimed claimed = ask<Claimed>(Claim{.owner = "w1", .lease = 30s, .inboxes = {}});
  const Fenced wrong = ask<Fenced>(Complete{{claimed.token.value + 1}, {id}});
  EXPECT_EQ(wrong.applied, 0u);
  EXPECT_EQ(wrong.stale, 1u);
  EXPECT_EQ(ask<Fenced>(Complete{LeaseToken{}, {id}}).stale, 1u);
  EXPECT_EQ(list("alice").items.at(0).state, DeliveryState::Claimed);
  EXPECT_EQ(ask<Fenced>(Complete{claimed.token, {id, id_of(777)}}).applied, 1u);
  EXPECT_EQ(list("alice").items.at(0).state, DeliveryState::Delivered);
  EXPECT_EQ(ask<Fenced>(Complete{claimed.token, {id}}).stale, 1u) << "done already";
}

TEST_P(InboxStoreContract, N4AnExpiredClaimIsPendingAgainAndItsTokenIsStale) {
  const auto id = create_for("alice", "k1");
  const Claimed first = ask<Claimed>(Claim{.owner = "w1", .lease = 30s, .inboxes = {}});
  now = at(30s - 1ms);
  EXPECT_THAT(ask<Claimed>(Claim{.owner = "w2", .inboxes = {}}).items, IsEmpty());
  now = at(30s);
  const Claimed second = ask<Claimed>(Claim{.owner = "w2", .inboxes = {}});
  ASSERT_EQ(second.items.size(), 1u);
  EXPECT_EQ(second.leases_expired, 1u);
  EXPECT_EQ(ask<Fenced>(Complete{first.token, {id}}).stale, 1u);
  EXPECT_EQ(ask<Fenced>(Release{first.token, {id}, "late", now}).stale, 1u);
  EXPECT_EQ(ask<Fenced>(Renew{first.token}).applied, 0u);
  EXPECT_EQ(list("alice").items.at(0).state, DeliveryState::Claimed);
}

TEST_P(InboxStoreContract, N3RenewingProlongsTheClaim) {
  create_for("alice", "k1");
  const Claimed claimed = ask<Claimed>(Claim{.owner = "w1", .lease = 30s, .inboxes = {}});
  now = at(20s);
  EXPECT_EQ(ask<Fenced>(Renew{claimed.token, 30s}).applied, 1u);
  now = at(49s);
  EXPECT_THAT(ask<Claimed>(Claim{.owner = "w2", .inboxes = {}}).items, IsEmpty());
  now = at(50s);
  EXPECT_EQ(ask<Claimed>(Claim{.owner = "w2", .inboxes = {}}).items.size(), 1u);
}

TEST_P(InboxStoreContract, N4AReleasedItemWaitsForItsTime) {
  const auto first = create_for("alice", "k1");
  const auto second = create_for("alice", "k2");
  const Claimed claimed = ask<Claimed>(Claim{.owner = "w1", .inboxes = {}});
  EXPECT_EQ(ask<Fenced>(Release{claimed.token, {first, second}, "publish_failed", at(5s)}).applied, 2u);
  EXPECT_EQ(list("alice").items.at(0).state, DeliveryState::Pending);
  EXPECT_THAT(ask<Claimed>(Claim{.owner = "w1", .inboxes = {}}).items, IsEmpty());
  now = at(5s);
  EXPECT_EQ(ask<Claimed>(Claim{.owner = "w1", .inboxes = {}}).items.size(), 2u);
}

TEST_P(InboxStoreContract, ClaimsCanBeBoundToPeopleWithASession) {
  create_for("alice", "k1");
  create_for("bob", "k2");
  create_for("carol", "k3");
  const Claimed claimed = ask<Claimed>(
      Claim{.owner = "w1", .inboxes = {inbox_of("carol"), inbox_of("bob"), inbox_of("bob"), inbox_of("nobody")}});
  ASSERT_EQ(claimed.items.size(), 2u);
  EXPECT_EQ(claimed.items[0].inbox, inbox_of("bob"));
  EXPECT_EQ(claimed.items[1].inbox, inbox_of("carol"));
}

TEST_P(InboxStoreContract, N3AClientsAcknowledgementEndsWhatIsOwed) {
  const auto id = create_for("alice", "k1");
  const Claimed claimed = ask<Claimed>(Claim{.owner = "w1", .inboxes = {}});
  EXPECT_EQ(mark(Mark::Act::Acknowledge, {id}).changed, 1u);
  EXPECT_EQ(mark(Mark::Act::Acknowledge, {id}).changed, 0u);
  EXPECT_EQ(ask<Fenced>(Complete{claimed.token, {id}}).stale, 1u);
  expect_counts("alice", 1, 1);
}

TEST_P(InboxStoreContract, ActsOfThePersonEndWhatIsOwed) {
  const auto read = create_for("alice", "k1");
  const auto archived = create_for("alice", "k2");
  create_for("alice", "k3");
  mark(Mark::Act::Read, {read});
  mark(Mark::Act::Archive, {archived});
  EXPECT_EQ(ask<Stats>(ReadStats{}).pending, 1u);
  ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 3)});
  EXPECT_EQ(ask<Stats>(ReadStats{}).pending, 0u);
  EXPECT_EQ(ask<Stats>(ReadStats{}).oldest_pending, std::nullopt);
}

TEST_P(InboxStoreContract, N10StatsTellTheAgeOfTheOldestPending) {
  now = at(1s);
  const auto first = create_for("alice", "k1");
  now = at(2s);
  create_for("bob", "k2");
  ask<Claimed>(Claim{.owner = "w1", .limit = 1, .inboxes = {}});
  Stats stats = ask<Stats>(ReadStats{});
  EXPECT_EQ(stats.pending, 1u);
  EXPECT_EQ(stats.claimed, 1u);
  EXPECT_EQ(stats.oldest_pending, at(1s)) << "claimed is not delivered";
  mark(Mark::Act::Acknowledge, {first});
  EXPECT_EQ(ask<Stats>(ReadStats{}).oldest_pending, at(2s));
}

// ---- retention

TEST_P(InboxStoreContract, RetentionDeletesInSlicesAndFreesTheKey) {
  for (int i = 1; i <= 3; ++i) create_for("alice", "k" + std::to_string(i));
  now = at(1h);
  create_for("alice", "k4");
  Retained retained = ask<Retained>(Retain{at(1h), 2});
  EXPECT_EQ(retained.notifications, 2u);
  EXPECT_TRUE(retained.more);
  retained = ask<Retained>(Retain{at(1h), 2});
  EXPECT_EQ(retained.notifications, 1u);
  EXPECT_FALSE(retained.more);
  expect_counts("alice", 1, 1);
  EXPECT_FALSE(create(intent("k1")).duplicate);
  EXPECT_THAT(sequences(list("alice")), ElementsAre(4, 5)) << "sequences are never given twice";
  EXPECT_EQ(ask<Stats>(ReadStats{}).pending, 2u);
}

TEST_P(InboxStoreContract, N7ACursorThatRetentionPassedIsAReset) {
  create_for("alice", "k1");
  const auto second = create_for("alice", "k2");
  mark(Mark::Act::Read, {second});
  now = at(1h);
  ask<Retained>(Retain{at(1h), 10});
  EXPECT_TRUE(list("alice", [&](ListPage& p) { p.after = place("alice", 0); }).reset)
      << "unread 1 was deleted behind it";
  EXPECT_FALSE(list("alice", [&](ListPage& p) { p.after = place("alice", 1); }).reset)
      << "2 had been read: nothing is missing";
  EXPECT_EQ(ask<Marked>(MarkUpTo{MarkUpTo::Act::Seen, inbox_of("alice"), place("alice", 0)}).changed, 0u);
}

// ---- against the naive store

std::string told(const Notification& item) {
  return item.id.str().substr(0, 8) + "#" + std::to_string(item.sequence) + (item.seen ? "s" : "") +
         (item.read ? "r" : "") + (item.archived ? "a" : "") + std::to_string(static_cast<int>(item.state)) +
         item.inbox.recipient.str() + "/" + item.inbox.workspace.str() + " " + item.kind.str();
}
std::string told(const Counts& counts) {
  return "(" + std::to_string(counts.unread) + "," + std::to_string(counts.unseen) + ")";
}
std::string told(const Answer& answer) {
  struct Teller {
    std::string operator()(const Created& a) const {
      std::string out = "created " + a.id.str() + (a.duplicate ? " again" : "");
      for (const auto& item : a.items)
        out += " [" + item.recipient.str() + " " + item.cursor.text() + " " + item.id.str() + told(item.counts) + "]";
      return out;
    }
    std::string operator()(const Page& a) const {
      std::string out = "page " + a.cursor.text() + told(a.counts) + (a.reset ? " reset" : "") +
                        (a.more ? " more" : "") + " acknowledged " + std::to_string(a.acknowledged);
      for (const auto& item : a.items) out += " [" + told(item) + "]";
      return out;
    }
    std::string operator()(const Head& a) const {
      return "head " + a.cursor.text() + " floor " + std::to_string(a.floor) + told(a.counts);
    }
    std::string operator()(const Marked& a) const {
      std::string out = "marked " + std::to_string(a.changed);
      for (const auto& change : a.inboxes)
        out += " [" + change.inbox.recipient.str() + "/" + change.inbox.workspace.str() + told(change.counts) + "]";
      return out;
    }
    std::string operator()(const Claimed& a) const {
      std::string out = "claimed " + std::to_string(a.token.value) + " expired " + std::to_string(a.leases_expired);
      for (const auto& item : a.items) out += " [" + told(item) + "]";
      return out;
    }
    std::string operator()(const Fenced& a) const {
      return "fenced " + std::to_string(a.applied) + " stale " + std::to_string(a.stale);
    }
    std::string operator()(const Retained& a) const {
      return "retained " + std::to_string(a.notifications) + (a.more ? " more" : "");
    }
    std::string operator()(const Stats& a) const {
      return "stats " + std::to_string(a.pending) + " " + std::to_string(a.claimed) + " " +
             (a.oldest_pending ? iso8601(*a.oldest_pending) : "none");
    }
    std::string operator()(const Refused& a) const { return "refused " + std::to_string(static_cast<int>(a.refusal)); }
  };
  return std::visit(Teller{}, answer);
}

class RandomOperations {
 public:
  explicit RandomOperations(std::uint64_t seed) : rng_(seed) {}
  Operation next(Timestamp now) {
    switch (rng_.below(14)) {
      case 0:
      case 1:
      case 2: {
        Intent what = intent("k" + std::to_string(rng_.below(30)), {}, workspace());
        const std::uint64_t people = 1 + rng_.below(3);
        for (std::uint64_t i = 0; i < people; ++i)
          what.recipients.push_back(Recipient{"p" + std::to_string((rng_.below(2)) + i)});
        if (rng_.chance(1, 8)) what.kind = Kind{"failed"};
        if (rng_.chance(1, 4)) what.expires_at = now + milliseconds{rng_.between(-1, 5)};
        std::sort(what.recipients.begin(), what.recipients.end());
        what.recipients.erase(std::unique(what.recipients.begin(), what.recipients.end()), what.recipients.end());
        const NotificationId id = id_of(++made_);
        for (std::size_t i = 0; i < what.recipients.size(); ++i) ids_.push_back(item_id(id, i, what.recipients.size()));
        return Create{what, id};
      }
      case 3:
      case 4: {
        ListPage list{.inbox = inbox(), .after = {}, .up_to = {}, .kind = {}};
        if (rng_.chance(1, 2)) list.after = cursor(list.inbox);
        if (rng_.chance(1, 4)) list.up_to = rng_.below(12);
        list.limit = 1 + rng_.below(6);
        list.unread_only = rng_.chance(1, 2);
        list.archived = rng_.chance(1, 3);
        list.acknowledge = rng_.chance(1, 4);
        if (rng_.chance(1, 6)) list.kind = Kind{"failed"};
        return list;
      }
      case 5: return ReadHead{inbox()};
      case 6:
      case 7: {
        const Mark::Act acts[] = {Mark::Act::Read, Mark::Act::Archive, Mark::Act::Acknowledge};
        return Mark{acts[rng_.below(3)], inbox().recipient,
                    rng_.chance(1, 3) ? std::vector{kDocs} : std::vector{kDocs, Workspace{"team2"}}, some_ids()};
      }
      case 8: {
        const InboxKey key = inbox();
        return MarkUpTo{rng_.chance(1, 2) ? MarkUpTo::Act::Read : MarkUpTo::Act::Seen, key, cursor(key)};
      }
      case 9: {
        Claim claim{.owner = "w", .limit = 1 + rng_.below(5), .lease = milliseconds{1 + rng_.below(4)}, .inboxes = {}};
        if (rng_.chance(1, 2)) claim.inboxes = {inbox(), inbox()};
        return claim;
      }
      case 10: return Complete{{rng_.below(12)}, some_ids()};
      case 11: return Release{{rng_.below(12)}, some_ids(), "no_session", now + milliseconds{rng_.below(3)}};
      case 12:
        if (rng_.chance(1, 2)) return Renew{{rng_.below(12)}, milliseconds{rng_.below(5)}};
        return ReadStats{};
      default: return Retain{now - milliseconds{rng_.below(20)}, 1 + rng_.below(3)};
    }
  }
  Rng& rng() { return rng_; }

 private:
  Workspace workspace() { return rng_.chance(3, 4) ? kDocs : Workspace{"team2"}; }
  InboxKey inbox() { return {Recipient{"p" + std::to_string(rng_.below(4))}, workspace()}; }
  Cursor cursor(const InboxKey& key) {
    if (rng_.chance(1, 10)) return {};
    return {rng_.chance(1, 12) ? kEpoch + 1 : kEpoch, scope_of(key), rng_.below(12)};
  }
  std::vector<NotificationId> some_ids() {
    std::vector<NotificationId> out;
    for (std::uint64_t i = 0, n = rng_.below(6); i < n && !ids_.empty(); ++i)
      out.push_back(ids_[rng_.below(ids_.size())]);
    return out;
  }
  Rng rng_;
  std::uint64_t made_ = 0;
  std::vector<NotificationId> ids_;
};

void answers_like_the_naive_store(Maker make, std::uint64_t seed) {
  RandomOperations random{seed};
  const auto store = make();
  NaiveInboxStore naive{kEpoch};
  Timestamp now = at(0s);
  std::map<InboxKey, Counts> versions;
  for (int step = 0; step < 60; ++step) {
    now += milliseconds{random.rng().below(3)};
    std::vector<Operation> batch;
    for (std::uint64_t i = 0, n = 1 + random.rng().below(4); i < n; ++i) batch.push_back(random.next(now));
    const auto got = store->execute(batch, now);
    const auto expected = naive.execute(batch, now);
    RC_ASSERT(got.has_value());
    RC_ASSERT(got->size() == expected->size());
    for (std::size_t i = 0; i < got->size(); ++i) {
      if (told((*got)[i]) != told((*expected)[i])) {
        RC_LOG() << "step " << step << " operation " << i << " kind " << batch[i].index()
                 << "\n  store: " << told((*got)[i]) << "\n  naive: " << told((*expected)[i]) << "\n";
        RC_FAIL("another answer than the naive store's");
      }
      if (const auto* head = std::get_if<Head>(&(*got)[i])) {
        Counts& before = versions[std::get<ReadHead>(batch[i]).inbox];
        RC_ASSERT(head->counts.version >= before.version);
        if (head->counts.unread != before.unread || head->counts.unseen != before.unseen)
          RC_ASSERT(head->counts.version > before.version);
        before = head->counts;
      }
    }
  }
}

RC_GTEST_PROP(MemoryInboxStore, AnswersLikeTheNaiveStore, (std::uint64_t seed)) {
  answers_like_the_naive_store(make_memory, seed);
}
RC_GTEST_PROP(SqliteInboxStore, AnswersLikeTheNaiveStore, (std::uint64_t seed)) {
  answers_like_the_naive_store(make_sqlite, seed);
}

}  // namespace
}  // namespace fanfare::store

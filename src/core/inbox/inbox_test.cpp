#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/rng.h"
#include "core/inbox/cursor.h"
#include "core/inbox/input.h"
#include "core/inbox/operations.h"

namespace fanfare::inbox {
namespace {

Intent intent() {
  Intent i;
  i.key = IdempotencyKey{"job-7/done"};
  i.workspace = Workspace{"docs"};
  i.kind = Kind{"document.ready"};
  i.object_id = ObjectId{"d-7"};
  i.recipients = {Recipient{"alice"}};
  return i;
}

// ---- cursors

RC_GTEST_PROP(Cursor, TextAndValueAgree, (std::uint64_t epoch, std::uint32_t scope, std::uint64_t sequence)) {
  const Cursor cursor{epoch, scope, sequence};
  RC_ASSERT(Cursor::parse(cursor.text()) == cursor);
  RC_ASSERT(cursor.text().find_first_not_of("0123456789abcdef-") == std::string::npos);
}

TEST(Cursor, HasOneSpelling) {
  EXPECT_EQ((Cursor{0x9f86d081884c7d65, 0xa1b2c3d4, 42}.text()), "9f86d081884c7d65-a1b2c3d4-2a");
  EXPECT_EQ((Cursor{1, 2, 0}.text()), "0000000000000001-00000002-0");
  EXPECT_EQ((Cursor{UINT64_MAX, UINT32_MAX, UINT64_MAX}.text()).size(), 42u);
  for (const char* bad :
       {"", "2a", "9f86d081884c7d65-a1b2c3d4-", "9f86d081884c7d65-a1b2c3d4-02a", "9f86d081884c7d65-a1b2c3d4-2A",
        "9F86d081884c7d65-a1b2c3d4-2a", "9f86d081884c7d65_a1b2c3d4-2a", "9f86d081884c7d65-a1b2c3d4-2g",
        "9f86d081884c7d65-a1b2c3d4-2a ", "9f86d081884c7d65-a1b2c3d4-10000000000000000", "9f86d081884c7d65-a1b2c3d4--1",
        "+f86d081884c7d65-a1b2c3d4-2a"})
    EXPECT_EQ(Cursor::parse(bad), std::nullopt) << bad;
}

TEST(Cursor, KnowsItsInbox) {
  const InboxKey alice{Recipient{"alice"}, Workspace{"docs"}};
  EXPECT_NE(scope_of(alice), scope_of({Recipient{"bob"}, Workspace{"docs"}}));
  EXPECT_NE(scope_of(alice), scope_of({Recipient{"alice"}, Workspace{"team2"}}));
  EXPECT_NE(scope_of({Recipient{"ab"}, Workspace{"c"}}), scope_of({Recipient{"a"}, Workspace{"bc"}}));
  EXPECT_EQ(scope_of(alice), 0xe861a6b2u) << "clients keep cursors: this number may not change";
  Head head{{7, scope_of(alice), 10}, 4, {}};
  EXPECT_TRUE(is_known({7, scope_of(alice), 10}, head));
  EXPECT_TRUE(is_known({7, scope_of(alice), 4}, head));
  EXPECT_FALSE(is_known({7, scope_of(alice), 3}, head)) << "retention went past it";
  EXPECT_FALSE(is_known({7, scope_of(alice), 11}, head)) << "ahead of the store";
  EXPECT_FALSE(is_known({8, scope_of(alice), 5}, head)) << "another epoch";
  EXPECT_FALSE(is_known({7, scope_of(alice) + 1, 5}, head)) << "another inbox";
  EXPECT_FALSE(is_known({}, head));
}

// ---- intents

TEST(Fingerprint, N1DiffersWithEveryMemberAndNotWithTheKey) {
  std::set<Fingerprint> seen{fingerprint(intent())};
  const auto expect_new = [&](const char* what, const auto& change) {
    Intent changed = intent();
    change(changed);
    EXPECT_TRUE(seen.insert(fingerprint(changed)).second) << what;
  };
  expect_new("workspace", [](Intent& i) { i.workspace = Workspace{"team2"}; });
  expect_new("kind", [](Intent& i) { i.kind = Kind{"document.failed"}; });
  expect_new("object_id", [](Intent& i) { i.object_id = ObjectId{"d-8"}; });
  expect_new("recipients", [](Intent& i) { i.recipients.push_back(Recipient{"bob"}); });
  expect_new("other recipient", [](Intent& i) { i.recipients = {Recipient{"bob"}}; });
  expect_new("revision", [](Intent& i) { i.revision = "3"; });
  expect_new("empty revision", [](Intent& i) { i.revision = ""; });
  expect_new("data", [](Intent& i) { i.data = "{}"; });
  expect_new("created_at", [](Intent& i) { i.created_at = Timestamp{}; });
  expect_new("expires_at", [](Intent& i) { i.expires_at = Timestamp{}; });
  Intent other_key = intent();
  other_key.key = IdempotencyKey{"job-8/done"};
  EXPECT_EQ(fingerprint(other_key), fingerprint(intent()));
}

TEST(Fingerprint, N1IsTheSameForEver) {
  const Fingerprint print = fingerprint(intent());
  EXPECT_EQ(print[0], 0xe5);
  EXPECT_EQ(print[15], 0x53) << "stores keep fingerprints: repetitions of old intents would become conflicts";
}

TEST(ItemId, IsTheNotificationsOwnForOneRecipient) {
  SeededSecrets secrets{1};
  const NotificationId id{Uuid::from_random(secrets.bytes16())};
  EXPECT_EQ(item_id(id, 0, 1), id);
  EXPECT_NE(item_id(id, 0, 2), id);
  EXPECT_NE(item_id(id, 0, 2), item_id(id, 1, 2));
}

TEST(FreshId, IsInTheOrderOfTimeAndSoAreItsItems) {
  SeededSecrets secrets{1};
  const NotificationId early = fresh_id(timestamp_from_unix_ms(0x0123456789ab), secrets.bytes16());
  const NotificationId late = fresh_id(timestamp_from_unix_ms(0x0123456789ac), secrets.bytes16());
  EXPECT_EQ(early.str().substr(0, 15), "01234567-89ab-7");
  EXPECT_NE(std::string{"89ab"}.find(early.str()[19]), std::string::npos) << early.str();
  EXPECT_LT(early, late);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(item_id(early, i, 100).str().substr(0, 15), "01234567-89ab-7");
    EXPECT_LT(item_id(early, i, 100), item_id(late, i, 100));
  }
}

TEST(Checked, SortsRecipientsAndDropsRepetitions) {
  Intent i = intent();
  i.recipients = {Recipient{"bob"}, Recipient{"alice"}, Recipient{"bob"}};
  const auto good = checked(i);
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->recipients, (std::vector<Recipient>{Recipient{"alice"}, Recipient{"bob"}}));
}

TEST(Checked, AcceptsEveryLimitAndRefusesOneBeyond) {
  const struct {
    const char* member;
    std::size_t bytes_max;
    void (*set)(Intent&, std::string);
  } members[] = {
      {"idempotency_key", kIdempotencyKeyBytesMax,
       [](Intent& i, std::string s) { i.key = IdempotencyKey{std::move(s)}; }},
      {"workspace", kWorkspaceBytesMax, [](Intent& i, std::string s) { i.workspace = Workspace{std::move(s)}; }},
      {"kind", kKindBytesMax, [](Intent& i, std::string s) { i.kind = Kind{std::move(s)}; }},
      {"object_id", kObjectIdBytesMax, [](Intent& i, std::string s) { i.object_id = ObjectId{std::move(s)}; }},
      {"recipient", kRecipientBytesMax, [](Intent& i, std::string s) { i.recipients = {Recipient{std::move(s)}}; }},
      {"revision", kRevisionBytesMax, [](Intent& i, std::string s) { i.revision = std::move(s); }},
      {"data", kDataBytesMax, [](Intent& i, std::string s) { i.data = std::move(s); }},
  };
  for (const auto& member : members) {
    Intent i = intent();
    member.set(i, std::string(member.bytes_max, 'x'));
    EXPECT_TRUE(checked(i).has_value()) << member.member;
    member.set(i, std::string(member.bytes_max + 1, 'x'));
    const auto bad = checked(i);
    ASSERT_FALSE(bad.has_value()) << member.member;
    EXPECT_EQ(bad.error().fault, InputFault::TooLong);
    EXPECT_EQ(bad.error().detail, std::string{member.member} + ": " + std::to_string(member.bytes_max + 1) +
                                      " bytes, at most " + std::to_string(member.bytes_max) + " are accepted");
  }
  Intent many = intent();
  many.recipients.assign(kRecipientsMax, Recipient{"a"});
  EXPECT_TRUE(checked(many).has_value());
  many.recipients.push_back(Recipient{"a"});
  EXPECT_EQ(checked(many).error().fault, InputFault::TooMany);
}

TEST(Checked, RefusesEmptyNamesControlCharactersAndContradictions) {
  Intent i = intent();
  i.key = {};
  EXPECT_EQ(checked(i).error().fault, InputFault::Missing);
  i = intent();
  i.recipients.clear();
  EXPECT_EQ(checked(i).error().fault, InputFault::Missing);
  for (const std::string_view bad :
       {std::string_view{"a\nb"}, std::string_view{"a\0b", 3}, std::string_view{"a\x7f"}}) {
    i = intent();
    i.workspace = Workspace{bad};
    EXPECT_EQ(checked(i).error().fault, InputFault::BadCharacter);
  }
  i = intent();
  i.created_at = timestamp_from_unix_ms(5);
  i.expires_at = timestamp_from_unix_ms(5);
  EXPECT_EQ(checked(i).error().fault, InputFault::Contradiction);
}

}  // namespace
}  // namespace fanfare::inbox

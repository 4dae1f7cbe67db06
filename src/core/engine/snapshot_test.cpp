// Snapshots in slices: what is written is the state of the begin, whatever happens between the slices.
//
// testdata/snapshot-2 was written by the version that made that format, and is never written again; beside it is the state as text.
//
//   FANFARE_WRITE_FIXTURE=FILE build/dev/src/core/engine/fanfare_core_engine_test --gtest_filter='Snapshot.That*'   // in today's format
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/bytes.h"
#include "core/engine/player.h"
#include "core/engine/snapshot_sections.h"
#include "core/message/deduplication.h"

namespace fanfare::engine {
namespace {

using Sections = std::vector<std::string>;

Result<Engine, ReplayError> load(const Sections& sections, const EngineOptions& options = {}) {
  std::size_t next = 0;
  return Engine::load(options, [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
}

/// The state as text, without ids that are too old to count at `now`: the snapshot need not tell them.
std::string without_old_duplicates(const std::string& state, Timestamp now) {
  std::string out;
  std::istringstream lines(state);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("duplicates of")) continue;
    if (line.starts_with("  duplicate ") || line.starts_with("  attempt ")) {
      const Timestamp accepted = timestamp_from_unix_ms(std::stoll(line.substr(line.rfind(' ') + 1)));
      if (accepted + message::kDeduplicationInterval <= now) continue;
    }
    out += line + "\n";
  }
  return out;
}

/// Until nothing is to be done at this time.
void settle(EngineFixture& engine) {
  for (int i = 0; i < 1'000; ++i) {
    const LogPosition before = engine.engine.log_end();
    engine.input(DeadlineCame{});
    engine.deadline();
    engine.feed();
    if (engine.engine.log_end() == before && engine.engine.wanted_contents().empty()) return;
  }
  ADD_FAILURE() << "it does not come to rest";
}

/// Those of an engine that goes on while they are written.
struct Course {
  Sections sections;
  std::string at_begin;
  LogPosition begin;
};
Course snapshot_while_playing(Player& player, Rng& rng) {
  Course course;
  Engine& engine = player.engine.engine;
  player.engine.input(DeadlineCame{});
  player.engine.deadline();
  course.begin = engine.log_end();
  course.at_begin = engine.debug_state();
  engine.begin_snapshot();
  const std::size_t most = 1 + rng.below(40);
  while (engine.snapshot_slice(1 + rng.below(most), [&](std::string_view section) { course.sections.emplace_back(section); }))
    player.play(static_cast<int>(rng.below(6)));
  return course;
}

RC_GTEST_PROP(Snapshot, InSlicesIsTheStateOfItsBegin, (std::uint64_t seed)) {
  const EngineOptions options = EngineFixture::with_frame(small_memory(seed));
  Player player(seed, options);
  player.archives = seed % 2 == 1;
  Rng rng(seed + 1);
  player.play(static_cast<int>(50 + rng.below(200)));
  const Course course = snapshot_while_playing(player, rng);
  auto copy = load(course.sections, options);
  RC_ASSERT(copy.has_value());
  const Timestamp now = player.engine.now;
  RC_ASSERT(difference(without_old_duplicates(copy->debug_state(), now), without_old_duplicates(course.at_begin, now)) == "");

  // With the log since it is the live state.
  player.play(static_cast<int>(rng.below(30)));
  settle(player.engine);
  for (const auto& [position, record] : player.engine.log)
    if (position >= course.begin) RC_ASSERT(copy->replay(record, position).has_value());
  copy->start(player.engine.engine.log_end(), player.engine.now);
  EngineFixture replayed(options);
  replayed.engine = std::move(*copy);
  replayed.now = player.engine.now;
  replayed.expect_log_end(player.engine.engine.log_end());
  replayed.input(DeadlineCame{});
  replayed.deadline();
  const Timestamp end = player.engine.now;
  RC_ASSERT(difference(without_old_duplicates(replayed.engine.debug_state(), end), without_old_duplicates(player.engine.engine.debug_state(), end)) == "");
}

RC_GTEST_PROP(Snapshot, AnAbandonedOneLeavesNoTrace, (std::uint64_t seed)) {
  const EngineOptions options = EngineFixture::with_frame(small_memory(seed));
  Player player(seed, options);
  Player other(seed, options);
  player.archives = other.archives = seed % 2 == 1;
  Rng rng(seed + 1);
  player.play(150);
  other.play(150);
  Engine& engine = player.engine.engine;
  engine.begin_snapshot();
  const auto nowhere = [](std::string_view) {};
  for (auto slices = rng.below(30); slices > 0; --slices) {
    if (!engine.snapshot_slice(1 + rng.below(20), nowhere)) break;
    const int steps = static_cast<int>(rng.below(4));
    player.play(steps);
    other.play(steps);
  }
  engine.abandon_snapshot();
  if (rng.chance(1, 2)) {
    player.play(10);
    other.play(10);
  }
  engine.abandon_snapshot();
  if (engine.snapshotting())
    while (engine.snapshot_slice(1 + rng.below(20), nowhere)) {}
  for (Player* one : {&player, &other}) {
    one->play(50);
    one->engine.pass(seconds{4});
    one->engine.input(DeadlineCame{});
    one->engine.deadline();
  }
  RC_ASSERT(difference(engine.debug_state(), other.engine.engine.debug_state()) == "");
  RC_ASSERT(engine.needed_bytes() == other.engine.engine.needed_bytes());
  auto copy = loaded(engine, options);
  RC_ASSERT(difference(copy.debug_state(), engine.debug_state()) == "");
}

TEST(Snapshot, ASliceKeepsToItsBudget) {
  EngineFixture e;
  e.create_queue("q");
  for (int i = 0; i < 500; ++i) e.send("q", "x");
  e.engine.begin_snapshot();
  std::size_t slices = 0;
  std::size_t bytes = 0;
  while (e.engine.snapshot_slice(50, [&](std::string_view section) {
    EXPECT_LT(section.size(), 50u * 40);
    bytes += section.size();
  }))
    ++slices;
  EXPECT_GE(slices, 10u);
  EXPECT_LT(bytes, 500u * 30) << "a waiting message takes 25 bytes";
}

TEST(Snapshot, ASliceEndsWithItsPart) {
  EngineFixture e;
  e.create_queue("q");
  e.send("q", "x");
  e.engine.begin_snapshot();
  std::vector<std::string> parts;
  do parts.emplace_back(e.engine.snapshot_part());
  while (e.engine.snapshot_slice(std::numeric_limits<std::size_t>::max(), [](std::string_view) {}));
  EXPECT_EQ(parts, (std::vector<std::string>{"head", "queues", "topics", "subscriptions", "directory", "messages", "archives",
                                             "topic_duplicates", "queue_ids", "end", "cleaning"}));
}

TEST(Snapshot, MessagesOfAllQueuesAreWrittenBeforeTheManyDeduplicationIds) {
  EngineFixture e;
  queue::AttributeChanges fifo;
  fifo.fifo = true;
  for (const std::string_view name : {"a.fifo", "b.fifo"}) {
    e.create_queue(name, fifo);
    OutgoingMessage message = e.outgoing("x");
    message.content.group_id = "g";
    message.content.deduplication_id = "once";
    e.call<MessageSent>(SendMessage{queue_key(name), message});
  }
  const std::string at_begin = e.engine.debug_state();
  e.engine.begin_snapshot();
  Sections sections;
  while (e.engine.snapshot_slice(1'000, [&](std::string_view section) { sections.emplace_back(section); }));
  const auto is = [](SectionKind kind) { return [kind](const std::string& section) { return static_cast<SectionKind>(section[1]) == kind; }; };
  std::vector<SectionKind> kinds;
  for (const std::string& section : sections) kinds.push_back(static_cast<SectionKind>(section[1]));
  std::erase_if(kinds, [](SectionKind kind) { return kind != SectionKind::PackedEntries && kind != SectionKind::Duplicates; });
  EXPECT_EQ(kinds, (std::vector<SectionKind>{SectionKind::PackedEntries, SectionKind::PackedEntries, SectionKind::Duplicates, SectionKind::Duplicates}));

  const auto entries = std::find_if(sections.begin(), sections.end(), is(SectionKind::PackedEntries));
  ASSERT_NE(entries, sections.end());
  std::stable_partition(entries, sections.end() - 1, is(SectionKind::Duplicates));
  const auto copy = load(sections);
  ASSERT_TRUE(copy) << "as programs of before wrote them";
  EXPECT_EQ(difference(copy->debug_state(), at_begin), "");
}

TEST(Snapshot, APurgedQueueIsFreedWhenItIsWritten) {
  EngineFixture e;
  e.create_queue("q");
  for (int i = 0; i < 300; ++i) e.send("q", std::to_string(i));
  const std::string at_begin = e.engine.debug_state();
  e.engine.begin_snapshot();
  Sections sections;
  const auto write = [&](std::string_view section) { sections.emplace_back(section); };
  while (e.engine.snapshot_part() != "messages") ASSERT_TRUE(e.engine.snapshot_slice(100, write));
  EXPECT_TRUE(e.engine.snapshot_slice(100, write));
  e.call<Done>(PurgeQueue{queue_key("q")});
  e.send("q", "later");
  e.call<Done>(DeleteQueue{queue_key("q")});
  e.pass(seconds{1});
  EXPECT_GT(e.engine.needed_bytes(), 300u * 64);
  while (e.engine.snapshot_slice(10, write)) e.pass(seconds{1});
  e.deadline();
  EXPECT_EQ(e.engine.needed_bytes(), 0u);
  EXPECT_EQ(e.engine.oldest_needed_position(), std::nullopt);
  auto copy = load(sections);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(difference(copy->debug_state(), at_begin), "");
}

/// A FIFO topic with an archive of so many publications of a minute each; a queue gets them, too.
void archive(EngineFixture& e, int publications) {
  topic::TopicChanges changes;
  changes.fifo = true;
  changes.archive_policy = R"({"MessageRetentionPeriod":"1"})";
  e.create_topic("t.fifo", changes);
  queue::AttributeChanges attributes;
  attributes.fifo = true;
  attributes.policy = EngineFixture::delivery_policy("t.fifo");
  e.create_queue("q.fifo", attributes);
  e.subscribe("t.fifo", "q.fifo");
  for (int i = 0; i < publications; ++i) {
    const std::string id = std::to_string(i);
    OutgoingPublication out = e.publication(id);
    out.content.group_id = "g";
    out.content.deduplication_id = id;
    e.call<Published>(Publish{topic_key("t.fifo"), out});
    e.pass(std::chrono::minutes{1});
  }
}

TEST(Snapshot, AnArchiveIsThatOfTheBeginWhateverBecomesOfIt) {
  enum class Fate { GrowsOld, IsEmptied, IsBegunAnew, GoesWithItsTopic };
  for (const Fate fate : {Fate::GrowsOld, Fate::IsEmptied, Fate::IsBegunAnew, Fate::GoesWithItsTopic}) {
    SCOPED_TRACE(static_cast<int>(fate));
    EngineFixture e;
    archive(e, 100);
    const std::string at_begin = e.engine.debug_state();
    e.engine.begin_snapshot();
    Sections sections;
    const auto write = [&](std::string_view section) { sections.emplace_back(section); };
    // All but the last part of the archive.
    while (e.engine.snapshot_slice(10, write) && (static_cast<unsigned char>(sections.back()[1]) != 16)) {}
    const auto set_policy = [&](std::string policy) {
      ChangeTopic change{topic_key("t.fifo"), {}};
      change.attributes.archive_policy = std::move(policy);
      e.call<Done>(change);
    };
    if (fate == Fate::GrowsOld) e.pass(std::chrono::hours{23});
    if (fate != Fate::GrowsOld) set_policy("{}");
    if (fate == Fate::IsBegunAnew) set_policy(R"({"MessageRetentionPeriod":"2"})");
    if (fate == Fate::GoesWithItsTopic) e.call<Done>(DeleteTopic{topic_key("t.fifo")});
    while (e.engine.snapshot_slice(10, write)) e.pass(seconds{1});
    e.deadline();
    auto copy = load(sections);
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ(difference(without_old_duplicates(copy->debug_state(), e.now), without_old_duplicates(at_begin, e.now)), "");
    if (fate == Fate::GoesWithItsTopic) {
      e.call<Done>(DeleteQueue{queue_key("q.fifo")});
      e.pass(seconds{1});
      EXPECT_EQ(e.engine.needed_bytes(), 0u) << "what was kept for the snapshot is freed behind it";
    }
  }
}

TEST(Snapshot, ContentsThatAreSharedStaySo) {
  EngineFixture e;
  e.create_topic("t");
  for (const auto* queue : {"a", "b", "c"}) {
    e.create_queue_for(queue, "t");
    e.subscribe("t", queue);
  }
  for (int i = 0; i < 10; ++i) e.publish("t", std::to_string(i));
  const std::string at_begin = e.engine.debug_state();
  e.engine.begin_snapshot();
  Sections sections;
  // All copies but one go before theirs is written.
  for (const auto* queue : {"a", "c"})
    for (const Got& got : e.receive(queue, 10)) e.remove(queue, got);
  while (e.engine.snapshot_slice(1, [&](std::string_view section) { sections.emplace_back(section); })) {}
  auto copy = load(sections);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(difference(copy->debug_state(), at_begin), "");
}

/// Sends so many messages of a group to "q".
void send_of(EngineFixture& e, std::string_view group, int count) {
  for (int i = 0; i < count; ++i) {
    OutgoingMessage message = e.outgoing("x");
    message.content.group_id = group;
    e.call<MessageSent>(SendMessage{queue_key("q"), message});
  }
}

TEST(Snapshot, TenantsAreThoseOfTheBegin) {
  const EngineOptions options = EngineFixture::with_frame({});
  for (const bool abandoned_before : {false, true}) {
    EngineFixture e;
    e.create_queue("q");
    for (int i = 0; i < 70; ++i) send_of(e, "tenant-" + std::to_string(i), 3);
    send_of(e, "loud", 50);
    std::vector<Got> held;
    for (int i = 0; i < 24; ++i)
      for (Got& got : e.receive("q", 10, 1'000)) held.push_back(std::move(got));
    e.pass(std::chrono::minutes{4});
    for (std::size_t i = 0; i < 100; ++i) e.remove("q", held[i]);  // 33 have left, and of one more a message
    send_of(e, "", 20);
    send_of(e, "loud", 1);
    e.pass(std::chrono::minutes{2});
    e.input(DeadlineCame{});
    const std::string at_begin = e.engine.debug_state();
    EXPECT_NE(at_begin.find("noisy 'loud'"), std::string::npos);
    EXPECT_NE(at_begin.find("processing 'tenant-50' "), std::string::npos);
    const auto log_begin = e.log.size();
    Sections sections;
    const auto write = [&](std::string_view section) { sections.emplace_back(section); };
    if (abandoned_before) {
      e.engine.begin_snapshot();
      for (int i = 0; i < 20; ++i) e.engine.snapshot_slice(10, write);
      e.engine.abandon_snapshot();
      while (e.engine.snapshot_slice(1, write)) {}
      sections.clear();
    }
    e.engine.begin_snapshot();
    std::size_t next = 100;
    int slices = 0;
    while (e.engine.snapshot_slice(10, write)) {
      if (++slices % 3 == 0 && next < held.size()) e.remove("q", held[next++]);
      if (slices % 5 == 0) send_of(e, "tenant-" + std::to_string(slices), 1);
      if (slices % 7 == 0) e.receive("q", 1, 10);
      e.pass(seconds{1});
    }
    EXPECT_GT(slices, 40);
    for (const std::string& section : sections) EXPECT_LT(section.size(), 1'000u);
    auto copy = load(sections, options);
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ(difference(copy->debug_state(), at_begin), "");
    for (std::size_t i = log_begin; i < e.log.size(); ++i) ASSERT_TRUE(copy->replay(e.log[i].second, e.log[i].first).has_value());
    copy->start(e.engine.log_end(), e.now);
    EngineFixture replayed(options);
    replayed.engine = std::move(*copy);
    replayed.now = e.now;
    replayed.expect_log_end(e.engine.log_end());
    for (EngineFixture* one : {&e, &replayed}) one->input(DeadlineCame{});
    EXPECT_EQ(difference(replayed.engine.debug_state(), e.engine.debug_state()), "");
  }
}

TEST(Snapshot, TheProcessingTimeOfAnEmptyQueueIsKept) {
  EngineFixture e;
  e.create_queue("q");
  send_of(e, "a", 1);
  const std::vector<Got> got = e.receive("q", 1, 100);
  e.pass(seconds{20});
  e.remove("q", got[0]);
  EXPECT_NE(e.engine.debug_state().find("processing '' 0 and 20000, 20000 with what runs"), std::string::npos) << e.engine.debug_state();
  const Engine copy = loaded(e.engine, EngineFixture::with_frame({}));
  EXPECT_EQ(difference(copy.debug_state(), e.engine.debug_state()), "");
}

TEST(Snapshot, OfBeforeNoiseHadAnEndIsQuietFiveMinutesLater) {
  EngineFixture e;
  e.create_queue("q");
  send_of(e, "loud", 50);
  for (int i = 0; i < 4; ++i) e.receive("q", 10, 1'000);
  e.pass(seconds{100});
  e.input(DeadlineCame{});
  Sections sections;
  e.engine.snapshot([&](std::string_view section) {
    if (static_cast<SectionKind>(section[1]) != SectionKind::Tenants) sections.emplace_back(section);
  });
  std::string noisy;
  Writer writer(noisy);
  writer(kSnapshotVersion), writer(SectionKind::Noisy), writer(NoisyImage{1, {"loud"}});
  sections.insert(sections.end() - 1, noisy);
  auto copy = load(sections, EngineFixture::with_frame({}));
  ASSERT_TRUE(copy.has_value());
  const std::string state = copy->debug_state();
  EXPECT_NE(state.find("noisy 'loud' until " + std::to_string(unix_ms(e.now) + 300'000) + "\n"), std::string::npos) << state;
  EXPECT_NE(state.find(", 4000000 with what runs\n"), std::string::npos) << "what runs is counted from its begin: " << state;
}

TEST(Snapshot, WhatATenantsSectionCannotMeanIsRefused) {
  EngineFixture e;
  e.create_queue("q");
  queue::AttributeChanges fifo;
  fifo.fifo = true;
  e.create_queue("f.fifo", fifo);
  send_of(e, "a", 1);
  Sections sections;
  e.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  const auto loads = [&](const TenantsImage& image) {
    Sections with = sections;
    std::string section;
    Writer writer(section);
    writer(kSnapshotVersion), writer(SectionKind::Tenants), writer(image);
    with.insert(with.end() - 1, section);
    return load(with).has_value();
  };
  EXPECT_TRUE(loads({1, {}, {{"a", e.now}}, {{"a", {1, 2}}}}));
  EXPECT_FALSE(loads({1, {}, {{"b", e.now}}, {}})) << "a group without messages";
  EXPECT_FALSE(loads({1, {}, {}, {{"b", {1, 2}}}}));
  EXPECT_FALSE(loads({1, {}, {}, {{"a", {1, std::int64_t{1} << 50}}}}));
  EXPECT_FALSE(loads({1, {-(std::int64_t{1} << 50), 0}, {}, {}}));
  EXPECT_FALSE(loads({2, {}, {}, {}})) << "a FIFO queue";
  EXPECT_FALSE(loads({3, {}, {}, {}})) << "no queue";
}

TEST(Snapshot, WhatOnlyGarbageStillNamedIsForgotten) {
  EngineFixture e;
  e.create_topic("t");
  e.create_queue("dlq");
  e.create_queue_for("copies", "t");
  e.create_queue("q", redrives_to("dlq", 1));
  // More than a call frees: what is moved to the dead-letter queue names its source, a copy its subscription.
  for (int i = 0; i < 300; ++i) e.send("q", "x");
  for (int i = 0; i < 30; ++i) EXPECT_EQ(e.receive("q", 10, 0).size(), 10u);
  e.pass(seconds{1});
  EXPECT_TRUE(e.receive("q").empty());
  EXPECT_EQ(e.counts("dlq").visible, 300u);
  const Subscribed subscribed = e.subscribe("t", "copies");
  for (int i = 0; i < 300; ++i) e.publish("t", "x");
  e.call<Done>(DeleteQueue{queue_key("q")});
  e.call<Done>(Unsubscribe{{subscribed.topic.view(), subscribed.uuid}});
  e.call<Done>(DeleteQueue{queue_key("dlq")});
  e.call<Done>(DeleteQueue{queue_key("copies")});
  EXPECT_NE(e.engine.debug_state().find(":q deleted"), std::string::npos) << "garbage is not freed at once";
  Engine copy = loaded(e.engine, EngineFixture::with_frame({}));
  e.deadline();
  EXPECT_EQ(e.engine.debug_state().find(" deleted"), std::string::npos);
  EXPECT_EQ(difference(copy.debug_state(), e.engine.debug_state()), "");
}

TEST(Snapshot, DamagedBytesAreRefusedOrMakeAStateThatWorks) {
  Player player(5, EngineFixture::with_frame({}));
  player.archives = true;
  player.play(300);
  Sections sections;
  player.engine.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  Rng rng(3);
  for (int i = 0; i < 3'000; ++i) {
    Sections damaged = sections;
    std::string& section = damaged[rng.below(damaged.size())];
    const std::size_t at = rng.below(section.size());
    if (rng.chance(1, 4)) section.resize(at);
    else section[at] = static_cast<char>(rng.chance(1, 2) ? rng.below(256) : section[at] ^ static_cast<char>(1 << rng.below(8)));
    auto copy = load(damaged);
    if (copy) static_cast<void>(copy->debug_state());
  }
}

std::string file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(Snapshot, ThatAnEarlierVersionWroteIsRead) {
  const std::filesystem::path folder = std::filesystem::path(FANFARE_SOURCE_DIR) / "src/core/engine/testdata";
  const std::string bytes = file(folder / "snapshot-2");
  ByteReader reader{bytes};
  Sections sections;
  while (reader.remaining() > 0) sections.emplace_back(reader.take_bytes(reader.take<std::uint64_t>()));
  ASSERT_GT(sections.size(), 10u);
  auto old = load(sections, EngineFixture::with_frame({}));
  ASSERT_TRUE(old.has_value());
  std::string state = old->debug_state();
  for (std::size_t at = state.find(" \n"); at != std::string::npos; at = state.find(" \n")) state.erase(at, 1);  // as in the file
  EXPECT_EQ(difference(state, file(folder / "snapshot-2.state")), "");
  // It is written in today's form and means the same.
  Engine again = loaded(*old, EngineFixture::with_frame({}));
  EXPECT_EQ(difference(again.debug_state(), old->debug_state()), "");
  if (const char* path = std::getenv("FANFARE_WRITE_FIXTURE"); path != nullptr) {
    std::string bytes_now;
    again.snapshot([&](std::string_view section) {
      append_le(bytes_now, static_cast<std::uint64_t>(section.size()));
      bytes_now += section;
    });
    std::ofstream(path, std::ios::binary) << bytes_now;
  }
  // The forms are not mixed.
  sections.back()[0] = 3;
  EXPECT_FALSE(load(sections, EngineFixture::with_frame({})).has_value());
}

}  // namespace
}  // namespace fanfare::engine

// The broker's upkeep over a journal on disk: the folder stays small whatever pins it, snapshots are those of the engine, and
// nobody waits for either. FANFARE_BROKER_MESSAGES makes the last test larger.
#include "server/broker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/engine/records.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/test_support.h"

namespace fanfare::server {
namespace {

using engine::Caller;
using engine::Command;

constexpr std::uint64_t kSegment = 1 << 20;

class Harness final : public ReplyTarget {
 public:
  explicit Harness(BrokerOptions options = {}, bool background = false, journal::FileSystem* files = nullptr,
                   std::uint64_t segment_bytes = kSegment)
      : options_(options), background_(background), files_(files), segment_bytes_(segment_bytes) {
    open();
  }
  ~Harness() override { broker.reset(); }  // its job writes to the log, and must end before that goes

  void open() {
    const journal::FileJournalOptions journal_options{.segment_bytes = segment_bytes_, .background = background_};
    auto opened = files_ != nullptr ? journal::open_file_journal(*files_, secrets_, journal_options)
                                    : journal::open_file_journal(folder_.path(), secrets_, journal_options);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    auto recovered = Broker::recover(options_, std::move(opened->journal), clock_, log_);
    ASSERT_TRUE(recovered.has_value()) << recovered.error();
    broker = std::move(*recovered);
    target_ = broker->add_target(*this);
  }
  void kill() { broker.reset(); }
  /// Empty, or why not.
  std::string try_open() {
    auto opened = journal::open_file_journal(*files_, secrets_, {.segment_bytes = segment_bytes_, .background = background_});
    if (!opened) return opened.error().message;
    auto recovered = Broker::recover(options_, std::move(opened->journal), clock_, log_);
    if (!recovered) return recovered.error();
    broker = std::move(*recovered);
    target_ = broker->add_target(*this);
    return {};
  }
  [[nodiscard]] LogPosition end() {
    return broker->locked([](engine::Engine&, journal::Journal& journal) { return journal.next_position(); });
  }

  template <class Request>
  void ask(const Request& request) {
    Caller caller;
    caller.id = Broker::caller_id(target_, ++callers_);
    caller.principal = {policy::Principal::Kind::Account, "000000000000", "arn:aws:iam::000000000000:root", {}, {}};
    broker->handle(Command{caller, request}, clock_.now());
  }
  static queue::QueueKeyView key(std::string_view name) { return {"000000000000", "us-east-1", name}; }
  void create(std::string_view name) { ask(engine::CreateQueue{key(name), {}, {}}); }
  std::string send(std::string_view name, std::string_view body) {
    engine::OutgoingMessage message;
    message.id = MessageId{Uuid::from_random(secrets_.bytes16())};
    message.content.body = body;
    message.content.sender = "AIDAEXAMPLE";
    ask(engine::SendMessage{key(name), message});
    return message.id.str();
  }
  void publish(const topic::TopicKeyView& topic, std::string_view body) {
    engine::OutgoingPublication publication;
    publication.content.publication.emplace();
    publication.content.publication->id = PublicationId{Uuid::from_random(secrets_.bytes16())};
    publication.content.body = body;
    publication.content.group_id = "g";
    const std::string id = publication.content.publication->id.str();
    publication.content.deduplication_id = id;
    ask(engine::Publish{topic, publication});
  }
  void deadline(milliseconds later = {}) { broker->handle(engine::DeadlineCame{}, clock_.now() + later); }
  std::size_t receive_and_delete(std::string_view name, int most = 10) {
    engine::ReceiveMessages request;
    request.queue = key(name);
    request.max_messages = *queue::MaxMessages::of(most);
    handles_.clear();
    ask(request);
    const auto handles = handles_;
    for (const auto& handle : handles) ask(engine::DeleteMessage{key(name), handle});
    return handles.size();
  }
  void commit() {
    const LogPosition end = broker->locked([](engine::Engine&, journal::Journal& journal) { return journal.next_position(); });
    ASSERT_EQ(broker->commit(end), CommitState::Durable);
  }
  /// Until there is nothing left to do.
  void keep_up() {
    for (int round = 0; round < 100; ++round) {
      const UpkeepStats before = broker->upkeep_stats();
      broker->maintain();
      broker->finish_upkeep();
      const UpkeepStats after = broker->upkeep_stats();
      if (before.snapshots == after.snapshots && before.slices == after.slices) return;
    }
    ADD_FAILURE() << "upkeep does not come to an end";
  }

  [[nodiscard]] std::string state() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.debug_state(); });
  }
  [[nodiscard]] std::uint64_t needed() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.needed_bytes(); });
  }
  [[nodiscard]] std::uint64_t on_disk(std::string_view extension = {}) const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      if (extension.empty() || file.path().extension() == extension) bytes += file.file_size();
    return bytes;
  }

  void on_reply(const engine::Reply& reply) override {
    ++replies;
    refused = std::holds_alternative<engine::Unavailable>(reply.body);
    if (const auto* received = std::get_if<engine::MessagesReceived>(&reply.body))
      for (const engine::ReceivedMessage& message : received->messages) {
        handles_.push_back(message.handle);
        ids.push_back(message.id.str());
      }
  }

  std::unique_ptr<Broker> broker;
  std::uint64_t replies = 0;
  bool refused = false;  // the last reply said that the disk is full
  std::vector<std::string> ids;  // of all messages that were received

 private:
  BrokerOptions options_;
  bool background_;
  journal::FileSystem* files_;
  std::uint64_t segment_bytes_;
  journal::TemporaryFolder folder_;
  SeededSecrets secrets_{11};
  Clock clock_;
  Log log_;
  std::uint8_t target_ = 0;
  std::uint64_t callers_ = 0;
  std::vector<queue::ReceiptHandle> handles_;
};

std::string body(std::uint64_t number, std::size_t bytes) {
  std::string text = std::to_string(number) + ' ';
  text.resize(bytes, 'x');
  return text;
}

/// A state without its queues' next sequence numbers, which rise with each start.
std::string without_next(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.starts_with("queue ")) line.resize(line.find(" next "));
    kept += line + '\n';
    at = end + 1;
  }
  return kept;
}

/// Twice what is needed and two segments; CONTROL and LOCK are small.
void expect_bounded(Harness& it, std::uint64_t live_state) {
  const std::uint64_t bound = 2 * (it.needed() + live_state) + 2 * kSegment + 16 * 1024;
  ASSERT_LE(it.on_disk(), bound) << "needed " << it.needed() << ", snapshots " << it.on_disk(".snapshot");
}

TEST(BrokerUpkeep, OneOldMessageInEachSegmentDoesNotPinTheDisk) {
  Harness it;
  it.create("old");
  it.create("busy");
  std::uint64_t number = 0;
  for (int segment = 0; segment < 60; ++segment) {
    it.send("old", body(++number, 1000));
    for (int round = 0; round < 90; ++round) {
      for (int i = 0; i < 10; ++i) it.send("busy", body(++number, 1000));
      it.commit();
      it.receive_and_delete("busy");
      it.commit();
      if (round % 10 == 0) {
        it.keep_up();
        expect_bounded(it, it.on_disk(".snapshot"));
      }
    }
  }
  const UpkeepStats stats = it.broker->upkeep_stats();
  EXPECT_GT(stats.relocated_bytes, 60u * 1000) << "the old messages had to be moved";
  EXPECT_LT(stats.relocated_bytes, 60u * 60 * 1200) << "and not more often than once for each segment that was given up";
  EXPECT_GT(stats.snapshots, 30u);

  const std::string before = it.state();
  it.kill();
  it.open();
  EXPECT_EQ(without_next(it.state()), without_next(before));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(it.receive_and_delete("old"), 10u) << "nothing was lost on the way";
  EXPECT_EQ(it.receive_and_delete("old"), 0u);
}

// ---- Archives -----------------------------------------------------------------------------------------------------------

constexpr topic::TopicKeyView kArchiving{"000000000000", "us-east-1", "t.fifo"};

/// A topic that archives, and a queue for its replay.
void create_archive(Harness& it) {
  topic::TopicChanges archiving;
  archiving.fifo = true;
  archiving.archive_policy = R"({"MessageRetentionPeriod":"7"})";
  it.ask(engine::CreateTopic{kArchiving, archiving, {}});
  queue::AttributeChanges fifo;
  fifo.fifo = true;
  fifo.policy = R"({"Statement":{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}})";
  it.ask(engine::CreateQueue{Harness::key("again.fifo"), fifo, {}});
}

void begin_replay(Harness& it) {
  engine::Subscribe request;
  request.topic = kArchiving;
  request.endpoint = "arn:aws:sqs:us-east-1:000000000000:again.fifo";
  request.attributes.replay_policy = R"({"PointType":"Timestamp","StartingPoint":"2020-01-01T00:00:00.000Z"})";
  it.ask(request);
  it.ids.clear();
}

/// What a replay gives, each message once.
void expect_replayed(Harness& it, std::size_t archived, milliseconds later = {}) {
  for (int round = 0; round < 1'000 && it.ids.size() < archived; ++round) {
    it.deadline(later);
    it.commit();
    while (it.receive_and_delete("again.fifo") > 0) {}
  }
  EXPECT_EQ(it.ids.size(), archived);
  EXPECT_EQ(std::set<std::string>(it.ids.begin(), it.ids.end()).size(), archived);
  EXPECT_EQ(it.broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.failed_delivery_count(); }), 0u);
}

/// A folder that knows the lock that whoever uses the log must hold.
class UsedUnderTheLock final : public journal::FileSystem {
 public:
  explicit UsedUnderTheLock(journal::FileSystem& files) : files_(files) {}

  const Broker* broker = nullptr;  // null: it is recovering
  std::atomic<std::size_t> uses{0};
  std::atomic<std::size_t> without{0};

  Result<std::unique_ptr<journal::File>, journal::FileError> open(const std::string& name, journal::OpenMode mode) override {
    auto file = files_.open(name, mode);
    if (!file || !name.ends_with(".segment")) return file;
    return std::unique_ptr<journal::File>(std::make_unique<Segment>(*this, std::move(*file)));
  }
  Result<Success, journal::FileError> rename(const std::string& from, const std::string& to) override { return files_.rename(from, to); }
  Result<Success, journal::FileError> remove(const std::string& name) override { return files_.remove(name); }
  Result<Success, journal::FileError> sync_directory() override { return files_.sync_directory(); }
  Result<std::vector<std::string>, journal::FileError> list() override { return files_.list(); }

 private:
  class Segment final : public journal::File {
   public:
    Segment(UsedUnderTheLock& owner, std::unique_ptr<journal::File> file) : owner_(owner), file_(std::move(file)) {}
    Result<std::size_t, journal::FileError> write_at(std::span<const std::string_view> pieces, std::uint64_t offset, journal::Sync sync) override {
      owner_.note_use();
      return file_->write_at(pieces, offset, sync);
    }
    Result<std::size_t, journal::FileError> read_at(char* into, std::size_t size, std::uint64_t offset) override {
      owner_.note_use();
      return file_->read_at(into, size, offset);
    }
    Result<Success, journal::FileError> sync() override {
      owner_.note_use();
      return file_->sync();
    }
    Result<std::uint64_t, journal::FileError> size() override { return file_->size(); }
    Result<Success, journal::FileError> truncate(std::uint64_t bytes) override { return file_->truncate(bytes); }
    Result<bool, journal::FileError> try_lock() override { return file_->try_lock(); }

   private:
    UsedUnderTheLock& owner_;
    std::unique_ptr<journal::File> file_;
  };

  void note_use() {
    if (broker == nullptr) return;
    ++uses;
    if (!broker->holds_lock()) ++without;
  }

  journal::FileSystem& files_;
};

// A read changes what the journal remembers of the file: beside another user of the journal it may find another record's bytes.
TEST(BrokerArchive, AReplayReadsTheLogUnderTheLock) {
  BrokerOptions options;
  options.engine.resident_bytes_max = 4 << 10;
  journal::FaultyFileSystem disk(5);
  UsedUnderTheLock files(disk);
  Harness it(options, false, &files);
  create_archive(it);
  for (std::size_t i = 0; i < 100; ++i) it.publish(kArchiving, body(i, 1000));
  it.commit();
  it.kill();
  it.open();  // nothing is in memory any more
  files.broker = it.broker.get();
  begin_replay(it);
  expect_replayed(it, 100);
  files.broker = nullptr;
  EXPECT_GT(files.uses, 0u);
  EXPECT_EQ(files.without, 0u);
}

TEST(BrokerUpkeep, UsesTheLogUnderTheLock) {
  BrokerOptions options;
  options.engine.resident_bytes_max = 64 << 10;
  options.snapshot_bytes = 256 << 10;
  journal::FaultyFileSystem disk(7);
  UsedUnderTheLock files(disk);
  Harness it(options, false, &files, 128 << 10);
  files.broker = it.broker.get();
  create_archive(it);
  it.create("busy");
  for (std::uint64_t round = 0; round < 100; ++round) {
    it.publish(kArchiving, body(round, 1000));
    for (std::uint64_t i = 0; i < 10; ++i) it.send("busy", body(i, 1000));
    it.commit();
    it.receive_and_delete("busy");
    it.commit();
    if (round % 10 == 0) it.keep_up();
  }
  it.keep_up();
  const UpkeepStats stats = it.broker->upkeep_stats();
  files.broker = nullptr;
  EXPECT_GT(stats.snapshots, 0u);
  EXPECT_GT(stats.relocated_bytes, 0u);
  EXPECT_EQ(files.without, 0u) << "of " << files.uses << " uses";
}

TEST(BrokerArchive, WhatTheDiskCannotReadForAWhileIsNotLeftOut) {
  BrokerOptions options;
  options.engine.resident_bytes_max = 4 << 10;
  journal::FaultyFileSystem files(6);
  Harness it(options, false, &files);
  create_archive(it);
  for (std::size_t i = 0; i < 100; ++i) it.publish(kArchiving, body(i, 1000));
  it.commit();
  it.kill();
  it.open();
  begin_replay(it);
  it.commit();
  files.fail_from(files.steps(), journal::Fault::Io);
  for (int second = 0; second < 10; ++second) it.deadline(seconds{second});
  files.fail_never_more();
  expect_replayed(it, 100, seconds{10});
}

// Contents that only the archive needs are moved on with the log, survive restarts, and are read from the disk by a replay.
TEST(BrokerUpkeep, AnArchiveDoesNotPinTheDiskAndIsReplayedFromIt) {
  BrokerOptions options;
  options.engine.resident_bytes_max = 64 << 10;
  Harness it(options);
  create_archive(it);
  it.create("busy");
  constexpr std::size_t kArchived = 400;
  for (std::size_t i = 0; i < kArchived; ++i) {
    it.publish(kArchiving, body(i, 1000));
    for (std::uint64_t k = 0; k < 10; ++k) it.send("busy", body(k, 1000));
    it.commit();
    it.receive_and_delete("busy");
    it.commit();
    if (i % 20 == 0) {
      it.keep_up();
      expect_bounded(it, it.on_disk(".snapshot"));
    }
  }
  EXPECT_GT(it.broker->upkeep_stats().relocated_bytes, kArchived * 1000 / 2) << "the archive was in the way";
  it.kill();
  it.open();

  begin_replay(it);
  expect_replayed(it, kArchived);
}

TEST(BrokerUpkeep, ALogOfLiveMessagesIsNotMovedAgainAndAgain) {
  Harness it;
  it.create("waiting");
  std::uint64_t number = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 100; ++i) it.send("waiting", body(++number, 1000));
    it.commit();
    it.keep_up();
    expect_bounded(it, it.on_disk(".snapshot"));
  }
  EXPECT_EQ(it.broker->upkeep_stats().relocated_bytes, 0u);
  // Every second message goes: half of each segment is dead, and the log is twice what is needed.
  std::size_t deleted = 0;
  while (it.receive_and_delete("waiting") > 0) {
    it.commit();
    if (++deleted % 50 == 0) {
      it.keep_up();
      expect_bounded(it, it.on_disk(".snapshot"));
    }
  }
  it.keep_up();
  EXPECT_LE(it.on_disk(), 2 * kSegment + 64 * 1024);
}

TEST(BrokerUpkeep, ASnapshotIsTheStateItself) {
  BrokerOptions options;
  options.snapshot_bytes = 100 << 10;
  Harness it(options);
  it.create("jobs");
  std::uint64_t number = 0;
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 30; ++i) it.send("jobs", body(++number, 100 + rng.below(900)));
    it.receive_and_delete("jobs");
    it.commit();
    it.keep_up();
  }
  EXPECT_GT(it.broker->upkeep_stats().snapshots, 2u);
  const std::string before = without_next(it.state());
  it.kill();
  it.open();
  EXPECT_EQ(without_next(it.state()), before);
}

TEST(BrokerOnAFullDisk, SendsAreRefusedAndDeletesMakeRoomAgain) {
  journal::FaultyFileSystem files(3);
  files.set_capacity(12 << 20);
  Harness it({}, false, &files);
  it.create("jobs");
  const std::string text = body(1, 3000);
  std::uint64_t sent = 0;
  for (int round = 0; round < 3; ++round) {
    it.refused = false;
    std::uint64_t accepted = 0;
    for (; accepted < 100'000; ++accepted) {
      it.send("jobs", text);
      if (it.refused) break;
      // Everything that was not refused can be made durable: sends stop before the disk does.
      ASSERT_EQ(it.broker->commit(it.end()), CommitState::Durable) << "after " << accepted << " messages";
      it.keep_up();
    }
    ASSERT_GT(accepted, 500u);
    ASSERT_TRUE(it.refused);
    EXPECT_FALSE(it.broker->writable());
    sent += accepted;
    std::size_t taken = 0;
    for (std::size_t some = 1; some > 0; taken += some) {
      some = it.receive_and_delete("jobs");
      ASSERT_EQ(it.broker->commit(it.end()), CommitState::Durable) << "receives and deletes still work, after " << taken;
      it.broker->finish_upkeep();
    }
    EXPECT_EQ(taken, accepted);
    for (int second = 0; second < 5 && !it.broker->writable(); ++second) it.keep_up();
    EXPECT_TRUE(it.broker->writable()) << "the room that deletes made is found without anybody's help";
  }
  EXPECT_EQ(it.ids.size(), sent);
}

// Whatever is left of the disk when no further segment fits, and although a snapshot was never due.
TEST(BrokerOnAFullDisk, TheShortestMessagesTakenOneByOneMakeRoomAgain) {
  for (std::uint64_t rest = 0; rest < 8; rest += 3) {
    journal::FaultyFileSystem files(3);
    files.set_capacity((6 << 20) + rest * kSegment / 8);
    Harness it({}, false, &files);
    it.create("jobs");
    it.refused = false;
    std::size_t accepted = 0;
    for (; accepted < 100'000; ++accepted) {
      it.send("jobs", "x");
      if (it.refused) break;
      if (accepted % 20 != 0) continue;
      ASSERT_EQ(it.broker->commit(it.end()), CommitState::Durable) << "after " << accepted << " messages";
      it.broker->maintain();
      it.broker->finish_upkeep();
    }
    ASSERT_TRUE(it.refused);
    std::size_t taken = 0;
    while (!it.broker->writable() && it.receive_and_delete("jobs", 1) > 0) {
      if (++taken % 20 != 0) continue;
      ASSERT_EQ(it.broker->commit(it.end()), CommitState::Durable) << "after " << taken << " of " << accepted << ", rest " << rest;
      it.broker->maintain();
      it.broker->finish_upkeep();
    }
    EXPECT_TRUE(it.broker->writable());
    EXPECT_LT(taken, 2 * kSegment / 144);
  }
}

TEST(BrokerOnAFullDisk, AFewOldMessagesDoNotKeepItFull) {
  journal::FaultyFileSystem files(3);
  files.set_capacity(12 << 20);
  Harness it({}, false, &files);
  it.create("old");
  it.create("jobs");
  for (std::uint64_t i = 0; i < 20; ++i) it.send("old", body(i, 3000));
  const std::string text = body(1, 3000);
  std::uint64_t accepted = 0;
  for (; accepted < 100'000 && !it.refused; ++accepted) {
    it.send("jobs", text);
    if (accepted % 500 == 0) it.send("old", text);
    ASSERT_EQ(it.broker->commit(it.end()), CommitState::Durable) << "after " << accepted << " messages";
    it.keep_up();
  }
  ASSERT_TRUE(it.refused);
  for (std::size_t some = 1; some > 0;) {
    some = it.receive_and_delete("jobs");
    ASSERT_EQ(it.broker->commit(it.end()), CommitState::Durable);
    it.broker->finish_upkeep();
  }
  for (int second = 0; second < 5 && !it.broker->writable(); ++second) it.keep_up();
  EXPECT_TRUE(it.broker->writable()) << "what is left is written again, and its old segments are given up";
  it.send("jobs", text);
  EXPECT_FALSE(it.refused);
}

/// A broker's life on a disk that loses power: what was acknowledged is there, what was deleted is not.
std::string live_on_a_dying_disk(std::uint64_t seed, bool pretend_to_sync, std::uint64_t& cuts) {
  journal::FaultyFileSystem files(seed);
  if (pretend_to_sync) files.pretend_to_sync();
  Rng rng(seed + 77);
  BrokerOptions options;
  options.snapshot_bytes = 24 << 10;
  Harness it(options, false, &files, 16 << 10);
  std::set<std::string> promised;
  std::set<std::string> in_doubt;  // sent or deleted, and not acknowledged when the power went
  it.create("jobs");
  if (it.broker->commit(it.end()) != CommitState::Durable) return "a disk in order fails";
  for (int life = 0; life < 3; ++life) {
    files.fail_at(files.steps() + rng.below(250), journal::Fault::PowerCut);
    ++cuts;
    for (int turn = 0; turn < 60 && !files.power_is_off(); ++turn) {
      std::set<std::string> sent;
      std::set<std::string> deleted;
      for (auto count = rng.below(4); count > 0; --count) {
        const std::string id = it.send("jobs", body(turn, 100 + rng.below(1500)));
        if (!it.refused) sent.insert(id);
      }
      if (rng.chance(2, 3)) {
        it.ids.clear();
        it.receive_and_delete("jobs");
        deleted.insert(it.ids.begin(), it.ids.end());
      }
      in_doubt.insert(sent.begin(), sent.end());
      in_doubt.insert(deleted.begin(), deleted.end());
      for (const std::string& id : deleted) {
        if (promised.contains(id) || sent.contains(id) || in_doubt.contains(id)) continue;
        return "hands out a message that nobody sent";
      }
      if (it.broker->commit(it.end()) == CommitState::Durable) {
        // All that is in doubt has been written in order, and is durable now.
        promised.insert(sent.begin(), sent.end());
        for (const std::string& id : deleted) promised.erase(id);
        in_doubt.clear();
      }
      if (rng.chance(1, 4)) it.keep_up();
    }
    files.cut_power();
    it.kill();
    files.restart();
    files.fail_never_more();
    auto opened = it.try_open();
    if (!opened.empty()) return "does not open: " + opened;
    std::set<std::string> found;
    it.broker->locked([&](engine::Engine& engine, journal::Journal& journal) {
      std::string record;
      engine.visit_messages([&](const engine::MessagePlace& place) {
        found.insert(place.id.str());
        if (!journal.read(place.position, record) || !engine::content_of_record(record)) opened += "a content is lost; ";
      });
    });
    if (!opened.empty()) return opened;
    for (const std::string& id : promised)
      if (!found.contains(id) && !in_doubt.contains(id)) return "lost " + id;
    for (const std::string& id : found)
      if (!promised.contains(id) && !in_doubt.contains(id)) return "brought back " + id;
    promised = found;
    in_doubt.clear();
  }
  return {};
}

TEST(BrokerPowerCut, LosesNothingThatWasAcknowledged) {
  const char* wanted = std::getenv("FANFARE_POWER_CUTS");
  const std::uint64_t cuts_wanted = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 300;
  std::uint64_t cuts = 0;
  std::uint64_t lives = 0;
  for (; cuts < cuts_wanted; ++lives) ASSERT_EQ(live_on_a_dying_disk(lives, false, cuts), "") << "live_on_a_dying_disk(" << lives << ")";
  std::printf("%llu power cuts in %llu lives of a broker: nothing lost, nothing brought back\n", static_cast<unsigned long long>(cuts),
              static_cast<unsigned long long>(lives));
}

TEST(BrokerPowerCut, TheCheckFindsTheLossesOfADiskThatDoesNotSync) {
  std::uint64_t cuts = 0;
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) found += live_on_a_dying_disk(seed, true, cuts).empty() ? 0 : 1;
  EXPECT_GT(found, 15) << "of 20 lives";
}

TEST(BrokerUpkeep, AProcessThatDiesSoonDoesNotLeaveMoreAndMoreToRecover) {
  BrokerOptions options;
  options.snapshot_bytes = 200 << 10;
  Harness it(options);
  it.create("jobs");
  std::uint64_t number = 0;
  for (int life = 0; life < 30; ++life) {
    for (int i = 0; i < 50; ++i) it.send("jobs", body(++number, 1000));
    it.commit();  // its upkeep may begin a snapshot, and the process does not live to see its end
    it.kill();
    it.open();
    const auto left = it.broker->locked([](engine::Engine& engine, journal::Journal& journal) {
      auto latest = journal.snapshots().latest();
      return engine.log_end().value - (latest && *latest != nullptr ? (*latest)->position().value : 0);
    });
    EXPECT_LE(left, (200u << 10) + 2 * 50 * 1100) << "after life " << life;
  }
}

TEST(BrokerUpkeep, NobodyWaitsForUpkeep) {
  const char* wanted = std::getenv("FANFARE_BROKER_MESSAGES");
  const std::uint64_t messages = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 20'000;
  BrokerOptions options;
  options.snapshot_bytes = 1 << 20;
  Harness it(options, true);
  it.create("waiting");
  const std::string text = body(1, 100);
  std::chrono::nanoseconds longest_send{};
  for (std::uint64_t i = 0; i < messages; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    it.send("waiting", text);
    longest_send = std::max<std::chrono::nanoseconds>(longest_send, std::chrono::steady_clock::now() - begin);
    if (i % 64 == 63) it.commit();
  }
  it.commit();
  it.keep_up();
  const UpkeepStats filled = it.broker->upkeep_stats();
  EXPECT_GT(filled.snapshots, 0u);
  // Others come and go meanwhile, until what waits is in the way of giving up the log, and is moved.
  it.create("busy");
  const std::string large = body(2, 8000);
  const std::uint64_t others = it.needed() / 8000 + 300;
  for (std::uint64_t i = 0; i < others; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    it.send("busy", large);
    longest_send = std::max<std::chrono::nanoseconds>(longest_send, std::chrono::steady_clock::now() - begin);
    if (i % 10 == 9) {
      it.commit();
      it.receive_and_delete("busy");
    }
  }
  it.commit();
  it.keep_up();
  EXPECT_GT(it.broker->upkeep_stats().slices, 10u);
  const UpkeepStats stats = it.broker->upkeep_stats();
  std::printf("%llu messages: %llu snapshots, %llu bytes relocated in %llu slices; upkeep held the engine at most %.3f ms "
              "(%.3f ms of work), a send with the wait for the lock took at most %.3f ms\n",
              static_cast<unsigned long long>(messages), static_cast<unsigned long long>(stats.snapshots),
              static_cast<unsigned long long>(stats.relocated_bytes), static_cast<unsigned long long>(stats.slices),
              std::chrono::duration<double, std::milli>(stats.overall().longest).count(),
              std::chrono::duration<double, std::milli>(stats.overall().longest_work).count(),
              std::chrono::duration<double, std::milli>(longest_send).count());
  for (const char* part : {"begin", "messages", "cleaning", "relocation", "trim"})
    EXPECT_GT(stats.holds.contains(part) ? stats.holds.at(part).work.count() : 0, 0) << part;
  EXPECT_LT(stats.overall().longest_work, std::chrono::milliseconds(5)) << "sanitizers included; the figure is in docs/evidence";
}

}  // namespace
}  // namespace fanfare::server

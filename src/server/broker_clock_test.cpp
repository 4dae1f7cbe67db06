// The broker without sockets: what recovery owes to the clock.
#include "server/broker.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "server/clock.h"
#include "server/log.h"

namespace fanfare::server {
namespace {

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant steady() const override { return instant; }
  std::int64_t system_ms = 1'800'000'000'000;
  Instant instant{};

 protected:
  [[nodiscard]] std::int64_t system() const override { return system_ms; }
};

struct Nobody final : ReplyTarget {
  void on_reply(const engine::Reply&) override {}
};

class BrokerFixture : public testing::Test {
 protected:
  void start(Clock& clock) {
    auto opened = journal::open_file_journal(disk, secrets, {.segment_bytes = 16 * 1024, .background = false});
    ASSERT_TRUE(opened);
    BrokerOptions options;
    options.snapshot_bytes = 1;
    options.run_aside = [this](std::function<void()> job) { aside.push_back(std::move(job)); };
    auto recovered = Broker::recover(options, std::move(opened->journal), clock, log);
    ASSERT_TRUE(recovered) << recovered.error();
    broker = std::move(*recovered);
    broker->add_target(nobody);
  }
  void create_queue(Clock& clock) {
    engine::CreateQueue create{{"000000000000", "us-east-1", "q"}, {}, {}};
    create.attributes.retention_period = *queue::RetentionPeriod::of(60);
    ask(create, clock);
  }
  void ask(const engine::Request& request, Clock& clock) {
    engine::Command command;
    command.caller.id = Broker::caller_id(0, 1);
    command.caller.principal = {policy::Principal::Kind::Account, "000000000000", "arn:aws:iam::000000000000:root", {}, {}};
    command.request = request;
    broker->handle(command, clock.now());
  }

  journal::FaultyFileSystem disk{1};
  SeededSecrets secrets{1};
  Log log = Log::silent();
  Nobody nobody;
  std::vector<std::function<void()>> aside;
  std::unique_ptr<Broker> broker;
};

TEST_F(BrokerFixture, TheClockDoesNotRunBackBehindASnapshotThatNoRecordFollows) {
  HandClock before;
  start(before);
  create_queue(before);
  broker->maintain();
  ASSERT_EQ(aside.size(), 1u);
  aside[0]();
  const Timestamp told = before.now();
  broker.reset();

  HandClock after;
  after.system_ms -= 3'600'000;  // the system's clock was set back meanwhile
  start(after);
  EXPECT_GE(after.now(), told);
}

TEST_F(BrokerFixture, WhatHasExpiredDoesNotComeBackWhenTheClockWasSetBack) {
  HandClock before;
  start(before);
  create_queue(before);
  const std::string body(1'000, 'x');
  for (int i = 0; i < 80; ++i) {  // several segments, and full ones: half-empty segments would be relocated first
    engine::SendMessage send{{"000000000000", "us-east-1", "q"}, {}};
    send.message.content.body = body;
    ask(send, before);
  }
  const auto waiting = [&] {
    std::size_t count = 0;
    broker->locked([&](const engine::Engine& engine, const journal::Journal&) { count = engine.message_count(); });
    return count;
  };
  const auto first_position = [&] {
    LogPosition first;
    broker->locked([&](const engine::Engine&, const journal::Journal& journal) { first = journal.first_position(); });
    return first;
  };
  broker->maintain();
  ASSERT_EQ(aside.size(), 1u);
  aside[0]();  // the snapshot holds them all
  before.system_ms += 61'000;
  before.instant += seconds{61};
  broker->handle(engine::DeadlineCame{}, before.now());
  ASSERT_EQ(waiting(), 0u);
  broker->maintain();
  ASSERT_GT(first_position(), LogPosition{0}) << "their contents are given up";
  broker.reset();

  HandClock after;
  after.system_ms -= 3'600'000;
  start(after);
  broker->handle(engine::DeadlineCame{}, after.now());
  EXPECT_EQ(waiting(), 0u);
}

}  // namespace
}  // namespace fanfare::server

#include "store/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>

#include "store/memory_inbox_store.h"

namespace fanfare::store {
namespace {

using namespace inbox;

const InboxKey kInbox{Recipient{"alice"}, Workspace{"docs"}};

/// Counts transactions, and holds the first one until it is let go.
class GateStore final : public InboxStore {
 public:
  explicit GateStore(bool fail = false) : fail_(fail) {}
  Result<std::vector<Answer>, StoreError> execute(std::span<const Operation> operations, Timestamp now) override {
    if (batches.empty()) {
      entered.count_down();
      gate.wait();
    }
    batches.push_back(operations.size());
    if (fail_) return StoreError{StoreErrorKind::Unavailable, "disk full"};
    return memory_->execute(operations, now);
  }
  Epoch epoch() const override { return memory_->epoch(); }
  Result<Success, StoreError> tidy() override { return Success{}; }

  std::latch entered{1};
  std::latch gate{1};
  std::vector<std::size_t> batches;  // read after stop()

 private:
  bool fail_;
  std::unique_ptr<InboxStore> memory_ = make_memory_inbox_store(7);
};

Timestamp clock_at_zero() { return Timestamp{}; }

std::vector<Operation> heads(std::size_t count) { return std::vector<Operation>(count, ReadHead{kInbox}); }

TEST(Worker, WhatQueuesUpDuringATransactionSharesTheNext) {
  auto owned = std::make_unique<GateStore>();
  GateStore& store = *owned;
  Worker worker{std::move(owned), clock_at_zero};
  std::vector<int> order;  // written by the worker's thread only, read after stop()
  worker.submit(heads(1), [&](auto answers) {
    EXPECT_TRUE(answers.has_value());
    order.push_back(0);
  });
  store.entered.wait();
  for (int i = 1; i <= 10; ++i)
    worker.submit(heads(2), [&, i](auto answers) {
      ASSERT_TRUE(answers.has_value());
      EXPECT_EQ(answers->size(), 2u);
      order.push_back(i);
    });
  store.gate.count_down();
  worker.stop();
  EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 20}));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
      << "completions come in the order of submission";
  EXPECT_EQ(worker.totals().transactions, 2u);
  EXPECT_EQ(worker.totals().operations, 21u);
}

TEST(Worker, ATransactionHasABoundAndWhatBelongsTogetherStaysTogether) {
  auto owned = std::make_unique<GateStore>();
  GateStore& store = *owned;
  Worker worker{std::move(owned), clock_at_zero, {.queued_max = 1000, .batch_max = 10}};
  worker.submit(heads(1), [](auto) {});
  store.entered.wait();
  for (const std::size_t size : {4u, 4u, 4u, 25u, 1u}) worker.submit(heads(size), [](auto) {});
  store.gate.count_down();
  worker.stop();
  EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 8, 4, 25, 1}));
}

TEST(Worker, AFullQueueRefusesAtOnce) {
  auto owned = std::make_unique<GateStore>();
  GateStore& store = *owned;
  Worker worker{std::move(owned), clock_at_zero, {.queued_max = 3, .batch_max = 500}};
  worker.submit(heads(1), [](auto) {});
  store.entered.wait();
  int answered = 0;
  worker.submit(heads(5), [&](auto answers) { answered += answers ? 1 : 0; });  // an empty queue takes anything
  bool refused = false;
  worker.submit(heads(1), [&](auto answers) {
    ASSERT_FALSE(answers.has_value());
    EXPECT_EQ(answers.error().kind, StoreErrorKind::Unavailable);
    refused = true;
  });
  EXPECT_TRUE(refused) << "before submit() returns";
  store.gate.count_down();
  worker.stop();
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(worker.totals().refused, 1u);
}

TEST(Worker, AFailedTransactionIsToldToAllInIt) {
  auto owned = std::make_unique<GateStore>(true);
  GateStore& store = *owned;
  Worker worker{std::move(owned), clock_at_zero};
  int failures = 0;
  const auto count = [&](auto answers) {
    ASSERT_FALSE(answers.has_value());
    EXPECT_EQ(answers.error().detail, "disk full");
    ++failures;
  };
  worker.submit(heads(1), count);
  store.entered.wait();
  worker.submit(heads(1), count);
  worker.submit(heads(1), count);
  store.gate.count_down();
  worker.stop();
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(worker.totals().failed_transactions, 2u);
}

TEST(Worker, StopRunsWhatIsQueuedAndRefusesWhatComesLater) {
  Worker worker{make_memory_inbox_store(7), clock_at_zero};
  EXPECT_EQ(worker.epoch(), 7u);
  int answered = 0;
  for (int i = 0; i < 100; ++i) worker.submit(heads(1), [&](auto answers) { answered += answers ? 1 : 0; });
  worker.stop();
  EXPECT_EQ(answered, 100);
  bool refused = false;
  worker.submit(heads(1), [&](auto answers) { refused = !answers.has_value(); });
  EXPECT_TRUE(refused);
  worker.stop();
}

TEST(Worker, ManyThreadsGetTheirOwnAnswers) {
  Worker worker{make_memory_inbox_store(7), clock_at_zero};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&worker, t] {
      const InboxKey mine{Recipient{"p" + std::to_string(t)}, Workspace{"docs"}};
      for (int i = 0; i < 200; ++i) {
        std::promise<Cursor> answered;
        worker.submit({ReadHead{mine}},
                      [&](auto answers) { answered.set_value(std::get<Head>(answers->front()).cursor); });
        EXPECT_EQ(answered.get_future().get().scope, scope_of(mine));
      }
    });
  for (auto& thread : threads) thread.join();
  worker.stop();
  EXPECT_EQ(worker.totals().operations, 800u);
}

}  // namespace
}  // namespace fanfare::store

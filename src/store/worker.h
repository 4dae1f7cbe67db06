// Makes a synchronous inbox store asynchronous, with group commit: one thread takes what has queued up while the last
// transaction was being written, and runs it as the next one.
// Rule 1: completions run on the worker's thread, in the order of the operations; owners post them to their loops. They
//         must not block.
// Rule 2: every submitted operation gets exactly one completion, also at stop().
// Rule 3: the queue is bounded; a full one refuses at once, so that a stalled disk is heard at the front door.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "store/inbox_store.h"

namespace fanfare::store {

class Worker {
 public:
  /// Answers at the places of the operations submitted together; or why they did not take effect.
  using Completion = std::function<void(Result<std::vector<inbox::Answer>, StoreError>)>;
  /// Thread-safe; does not run back.
  using ClockFunction = std::function<Timestamp()>;

  struct Limits {
    std::size_t queued_max = 10'000;  ///< Operations waiting.
    std::size_t batch_max = 500;      ///< Operations of one transaction; what is submitted together stays together.
  };
  struct Totals {
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;
    std::uint64_t failed_transactions = 0;
    std::uint64_t refused = 0;  ///< Because the queue was full.
  };

  /// The worker owns the store; its thread starts at once. `clock` outlives the worker.
  Worker(std::unique_ptr<InboxStore> store, ClockFunction clock)
      : Worker(std::move(store), std::move(clock), Limits{}) {}
  Worker(std::unique_ptr<InboxStore> store, ClockFunction clock, Limits limits);
  /// As stop().
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Any thread. The operations run one after the other within one transaction (that others may share). A refusal
  /// (queue full, stopped) is reported by the completion too, before submit() returns.
  void submit(std::vector<inbox::Operation> operations, Completion completion);

  /// Runs what is queued, then ends the thread. Later submits are refused. Idempotent; not from a completion.
  void stop();

  [[nodiscard]] inbox::Epoch epoch() const { return epoch_; }
  [[nodiscard]] Totals totals() const;

 private:
  struct Job {
    std::vector<inbox::Operation> operations;
    Completion completion;
  };
  void run();

  // Constant after construction.
  std::unique_ptr<InboxStore> store_;  ///< Used by the worker's thread only.
  ClockFunction clock_;
  Limits limits_;
  inbox::Epoch epoch_;

  // Protected by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;
  std::size_t queued_operations_ = 0;
  bool stopping_ = false;
  Totals totals_;

  std::thread thread_;
};

}  // namespace fanfare::store

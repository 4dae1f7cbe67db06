#include "store/worker.h"

#include <iterator>
#include <utility>

#include "base/assert.h"

namespace fanfare::store {

Worker::Worker(std::unique_ptr<InboxStore> store, ClockFunction clock, Limits limits)
    : store_(std::move(store)), clock_(std::move(clock)), limits_(limits), epoch_(store_->epoch()), thread_([this] {
        run();
      }) {}

Worker::~Worker() { stop(); }

void Worker::submit(std::vector<inbox::Operation> operations, Completion completion) {
  {
    const std::lock_guard lock{mutex_};
    // An empty queue takes anything, so that a large submission is not refused for ever.
    if (!stopping_ && (queue_.empty() || queued_operations_ + operations.size() <= limits_.queued_max)) {
      queued_operations_ += operations.size();
      queue_.push_back({std::move(operations), std::move(completion)});
      wake_.notify_one();
      return;
    }
    ++totals_.refused;
  }
  completion(StoreError{StoreErrorKind::Unavailable, "the inbox store has too much to do, or is stopping"});
}

void Worker::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

Worker::Totals Worker::totals() const {
  const std::lock_guard lock{mutex_};
  return totals_;
}

void Worker::run() {
  for (;;) {
    std::vector<Completion> completions;
    std::vector<std::size_t> counts;
    std::vector<inbox::Operation> batch;
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      while (!queue_.empty() &&
             (batch.empty() || batch.size() + queue_.front().operations.size() <= limits_.batch_max)) {
        Job& job = queue_.front();
        counts.push_back(job.operations.size());
        completions.push_back(std::move(job.completion));
        if (batch.empty()) {
          batch = std::move(job.operations);
        } else {
          batch.insert(batch.end(), std::make_move_iterator(job.operations.begin()),
                       std::make_move_iterator(job.operations.end()));
        }
        queue_.pop_front();
      }
      queued_operations_ -= batch.size();
    }

    Result<std::vector<inbox::Answer>, StoreError> answers = store_->execute(batch, clock_());
    FANFARE_ASSERT(!answers || answers->size() == batch.size());
    {
      const std::lock_guard lock{mutex_};
      ++totals_.transactions;
      totals_.operations += batch.size();
      if (!answers) ++totals_.failed_transactions;
    }
    auto next = answers ? std::make_move_iterator(answers->begin())
                        : std::move_iterator<std::vector<inbox::Answer>::iterator>{};
    for (std::size_t i = 0; i < completions.size(); ++i) {
      if (answers) {
        const auto end = next + static_cast<std::ptrdiff_t>(counts[i]);
        completions[i](std::vector<inbox::Answer>(next, end));
        next = end;
      } else {
        completions[i](answers.error());
      }
    }
    // A failed checkpoint leaves the log longer and is tried again; what was answered is durable in the log.
    (void)store_->tidy().has_value();
  }
}

}  // namespace fanfare::store

// Receives of one FIFO queue that can be asked for again by their attempt id. [SQS ReceiveMessage, ReceiveRequestAttemptId]
//
// Rule 1: an attempt is known for five minutes from the receive that took its messages. find() and for_each() go by the time;
//         forgetting only gives memory back, two attempts for each that comes, and so about two are kept for each that still holds
//         its messages.
// Rule 2: ids are kept as 128-bit hashes, as those of deduplication are.
// Rule 3: what is changed or forgotten while a snapshot is made is kept until it is written, as it was when the snapshot began.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/engine/commands.h"
#include "core/message/deduplication.h"
#include "core/queue/queue.h"

namespace fanfare::engine {

struct Attempt {
  using Key = message::DeduplicationWindow::Key;
  Key key;
  Timestamp at{};     ///< of the receive that took the messages
  Timestamp until{};  ///< end of the lease that it gave last
  std::vector<ReceiptHandle> handles;

  static Key key_of(std::string_view id) { return message::DeduplicationWindow::key_of({}, id); }
  [[nodiscard]] bool is_old(Timestamp now) const { return at + message::kDeduplicationInterval <= now; }
  /// It is too old, or a message is not held any more as this receive holds it: was deleted, or is visible again. What is over stays so.
  [[nodiscard]] bool is_over(const queue::Queue& messages, Timestamp now) const {
    if (is_old(now) || until <= now) return true;
    for (const ReceiptHandle& handle : handles)
      if (!messages.is_leased(handle) || messages.find(handle.message)->hidden_until() <= now) return true;
    return false;
  }
  /// Each message is held as this receive holds it, and its visibility was not changed since.
  [[nodiscard]] bool is_unchanged(const queue::Queue& messages) const {
    for (const ReceiptHandle& handle : handles)
      if (!messages.is_leased(handle) || messages.find(handle.message)->hidden_until() != until) return false;
    return true;
  }
};

class Attempts {
 public:
  /// Null pointer if there is none of this id, or it is too old.
  [[nodiscard]] const Attempt* find(const Attempt::Key& key, Timestamp now) const;
  /// Takes the place of an older one of this id. `attempt.at` is not before that of earlier calls; it has messages, and they are leased.
  void note(Attempt attempt, const queue::Queue& messages);
  /// The same from a snapshot, whose entries may come later.
  void restore(Attempt attempt);
  /// The messages of this one, if there is one, were leased anew.
  void lease(const Attempt::Key& key, Timestamp until);
  /// Calls visit(attempt) for what may be asked for again, by age.
  template <class Visit>
  void for_each(const queue::Queue& messages, Timestamp now, Visit&& visit) const {
    for (const auto& [number, attempt] : rows_)
      if (!attempt.is_over(messages, now)) visit(attempt);
  }
  /// With those that are not forgotten yet.
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  // ---- For a snapshot in slices
  void begin_saving() { saved_ = 0, saving_end_ = next_; }
  [[nodiscard]] bool is_saving() const { return saved_ < saving_end_; }
  /// Calls visit(attempt) for at most `budget` of those there were at the begin, by age; is_saving() says whether there are more.
  template <class Visit>
  void save(std::size_t budget, Visit&& visit) {
    auto row = rows_.lower_bound(saved_);
    for (; budget > 0 && is_saving(); --budget) {
      const auto kept = kept_.begin();
      const std::uint64_t of_row = row == rows_.end() ? saving_end_ : row->first;
      if (kept == kept_.end() && of_row >= saving_end_) {
        saved_ = saving_end_;
      } else if (kept == kept_.end() || of_row < kept->first) {
        visit(std::as_const(row->second));
        saved_ = of_row + 1;
        ++row;
      } else {
        visit(std::as_const(kept->second));
        saved_ = kept->first + 1;
        if (of_row == kept->first) ++row;
        kept_.erase(kept);
      }
    }
  }
  /// Lets go of what was kept, at most `budget` of it; whether there is more.
  bool abandon_saving(std::size_t budget);

  // ---- Transient: which answers may have arrived
  /// These were handed out a second time: of the two answers one may arrive where the other is lost.
  void note_repeated(const std::vector<ReceiptHandle>& handles, const queue::Queue& messages);
  [[nodiscard]] bool was_repeated(const ReceiptHandle& handle) const {
    const auto found = repeated_.find(handle.message.value);
    return found != repeated_.end() && found->second == handle;
  }

 private:
  using Rows = std::map<std::uint64_t, Attempt>;
  using Halves = std::pair<std::uint64_t, std::uint64_t>;
  static Halves halves(const Attempt::Key& key) { return {key.high, key.low}; }
  [[nodiscard]] bool is_to_be_saved(std::uint64_t number) const { return number >= saved_ && number < saving_end_; }
  void forget(Rows::iterator row);

  Rows rows_;  // numbered by their age
  std::uint64_t next_ = 1;
  std::map<Halves, std::uint64_t> numbers_;
  std::uint64_t looked_at_ = 0;  // the last that was looked at, whether it can be forgotten
  Rows kept_;
  std::uint64_t saved_ = 0;
  std::uint64_t saving_end_ = 0;
  std::map<std::uint64_t, ReceiptHandle> repeated_;  // by message
  std::size_t repeated_kept_ = 0;
};

}  // namespace fanfare::engine

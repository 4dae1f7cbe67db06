// The naive model of a journal under faults: remembers what was promised and what was merely tried, and says whether what comes
// back after a crash can be explained by it. Used by tests.
#pragma once

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "journal/test_support.h"

namespace fanfare::journal {

class Witness {
 public:
  void appended(Entry entry) { tail_.push_back(std::move(entry)); }

  /// A commit succeeded. What lies below durable_end() is promised; what was discarded before can never come back once that is all.
  void committed(const Journal& journal) {
    committed_end_ = journal.next_position();
    if (journal.durable_end() != journal.next_position()) return;
    promised_.insert(promised_.end(), tail_.begin(), tail_.end());
    tail_.clear();
    discarded_.clear();
    promised_end_ = journal.durable_end();
  }

  void discarded() {
    discarded_.push_back(tail_);
    while (!tail_.empty() && tail_.back().position >= committed_end_) tail_.pop_back();
  }

  void trim_asked(LogPosition keep_from) { trim_asked_ = std::max(trim_asked_, keep_from); }
  void snapshot_tried(Entry snapshot) { snapshots_.push_back(std::move(snapshot)); }
  void snapshot_written() {
    snapshots_.erase(snapshots_.begin(), snapshots_.end() - 1);
    first_snapshot_stands_ = true;
  }

  /// All that a journal which is still open must hold, the uncommitted included.
  [[nodiscard]] Entries held(LogPosition from) const {
    Entries all = promised_;
    all.insert(all.end(), tail_.begin(), tail_.end());
    all.erase(all.begin(), std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return entry.position >= from; }));
    return all;
  }
  [[nodiscard]] LogPosition committed_end() const { return committed_end_; }

  /// Empty if what `recovered` holds is explained, and from then on that is what is promised; else what is wrong. Nullopt if the
  /// disk fails while it is read.
  std::optional<std::string> explain(Journal& recovered) {
    std::ostringstream wrong;
    Entries found;
    const auto replay = recovered.replay(recovered.first_position(), [&](LogPosition position, std::string_view record) {
      found.push_back({position, std::string(record)});
      return true;
    });
    const auto snapshot = latest_snapshot(recovered);
    if (!replay && replay.error() == JournalError::Io) return {};
    if (snapshot && snapshot->record == name_of(JournalError::Io)) return {};
    if (!replay) return "replay: " + std::string(name_of(replay.error()));
    const LogPosition first = recovered.first_position();
    if (first > std::max(trim_asked_, LogPosition{})) wrong << "begins at " << first << ", trim was asked up to " << trim_asked_ << "\n";
    Entries expected = promised_;
    expected.erase(expected.begin(), std::find_if(expected.begin(), expected.end(), [&](const Entry& e) { return e.position >= first; }));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (i < found.size() && found[i] == expected[i]) continue;
      wrong << "promised " << expected[i] << ", found ";
      i < found.size() ? wrong << found[i] : wrong << "nothing";
      wrong << "\n";
      return wrong.str();
    }
    const Entries more(found.begin() + static_cast<std::ptrdiff_t>(expected.size()), found.end());
    const auto begins_with_more = [&](const Entries& tried) {
      return tried.size() >= more.size() && std::equal(more.begin(), more.end(), tried.begin());
    };
    if (!begins_with_more(tail_) && std::none_of(discarded_.begin(), discarded_.end(), begins_with_more)) {
      wrong << "invented " << more.size() << " records after " << promised_end_ << ", the first of them " << more.front() << "\n";
    }
    const bool none_is_fine = snapshots_.empty() || !first_snapshot_stands_;
    const bool known = snapshot ? std::find(snapshots_.begin(), snapshots_.end(), *snapshot) != snapshots_.end() : none_is_fine;
    if (!known) wrong << "snapshot " << (snapshot ? "at " + std::to_string(snapshot->position.value) : "none") << " is not one that was written\n";

    promised_ = found;
    promised_end_ = committed_end_ = recovered.durable_end();
    tail_.clear();
    discarded_.clear();
    if (snapshot) {
      snapshots_ = {*snapshot};
      first_snapshot_stands_ = true;
    } else {
      snapshots_.clear();
    }
    return wrong.str();
  }

 private:
  Entries promised_;
  Entries tail_;                    // appended after them, and still in the journal
  std::vector<Entries> discarded_;  // what the tail was at each discard since the last promise
  LogPosition promised_end_;
  LogPosition committed_end_;
  LogPosition trim_asked_;
  std::vector<Entry> snapshots_;  // the one that stands, if one does, then those that were tried after it
  bool first_snapshot_stands_ = false;
};

}  // namespace fanfare::journal

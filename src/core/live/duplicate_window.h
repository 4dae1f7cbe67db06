// Remembers event ids for a while, so that a second delivery of the same message is recognised. [L8]
// Rule: bounded by time and by number, whichever comes first; an id that has left the window counts as new.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

#include "base/time.h"
#include "core/live/event.h"

namespace fanfare::live {

class DuplicateWindow {
 public:
  struct Limits {
    milliseconds age = std::chrono::minutes{5};
    std::size_t count = 100'000;
  };
  DuplicateWindow() : DuplicateWindow(Limits{}) {}
  explicit DuplicateWindow(Limits limits) : limits_(limits) {}
  DuplicateWindow(const DuplicateWindow&) = delete;  // order_ points into ids_
  DuplicateWindow& operator=(const DuplicateWindow&) = delete;
  DuplicateWindow(DuplicateWindow&&) = default;
  DuplicateWindow& operator=(DuplicateWindow&&) = default;

  /// Whether the id was remembered less than the window's age ago. An empty id never was.
  bool contains(const EventId& id, Timestamp now);
  void remember(const EventId& id, Timestamp now);
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

 private:
  struct Entry {
    Timestamp at;
    const std::string* id;  ///< Into ids_, whose nodes do not move.
  };
  void forget_old(Timestamp now);

  Limits limits_;
  std::unordered_set<std::string> ids_;
  std::deque<Entry> order_;  ///< Oldest first.
};

}  // namespace fanfare::live

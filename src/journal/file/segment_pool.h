// Keeps a spare segment file ready, so that a commit that needs a new segment does not wait for one: zeros written from front to
// back (an extent that was only allocated halves the rate of commits), or an old segment used again as it is.
//
// Rule 1: what a spare file holds means nothing; an old segment's new name is durable before the file is handed out.
// Rule 2: the work is done in slices of at most 1 MiB with rests between them, unless somebody is in a hurry: commits share the disk.
// With `background` a thread of the pool works; without, the work is done inside want() and recycle().
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "journal/file_system.h"

namespace fanfare::journal {

class SegmentPool {
 public:
  struct State {
    std::uint64_t ready = 0;        ///< spare files
    bool space_is_short = false;    ///< the last attempt to make one found the disk full
    std::uint64_t failures = 0;
    std::string last_failure;
  };

  SegmentPool(FileSystem& files, std::uint64_t segment_bytes, std::uint64_t first_spare_number, bool background);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  /// A file of full size that was found as a spare.
  void adopt(std::string name);
  /// The name of a ready spare, which is the caller's from now on; nullopt if there is none.
  std::optional<std::string> take();
  /// A name for a spare that the caller makes.
  std::string fresh_name();
  /// Asks for a spare if none is ready or being made; with `hurry`, without rests.
  void want(bool hurry);
  /// Files of the journal that are of no use any more: kept as spares while few are, else removed.
  void recycle(std::vector<std::string> names);
  /// While the disk is full, no spare is tried: what is left belongs to a snapshot, which lets old segments go.
  void hold_back(bool hold);
  /// Runs `task` in turn with the other work.
  void post(std::function<void()> task);

  [[nodiscard]] State state() const;
  [[nodiscard]] bool space_is_short() const;

 private:
  struct Making {
    std::string name;
    std::unique_ptr<File> file;
    std::uint64_t written = 0;
  };

  void run();
  void drain();
  bool step(std::unique_lock<std::mutex>& lock);
  void make_slice(std::unique_lock<std::mutex>& lock);
  void recycle_one(std::unique_lock<std::mutex>& lock);
  void note_failure(const FileError& error, const std::string& name);
  [[nodiscard]] bool has_work() const;
  [[nodiscard]] bool may_make() const;

  FileSystem& files_;
  const std::uint64_t segment_bytes_;
  const bool background_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  State state_;
  std::deque<std::string> ready_;
  std::deque<std::string> to_recycle_;
  std::deque<std::function<void()>> tasks_;
  std::uint64_t next_number_;
  bool wanted_ = false;
  bool hurry_ = false;
  bool held_back_ = false;
  bool stopping_ = false;
  std::condition_variable changed_;

  // Used by whoever works: the thread, or the caller without one.
  std::optional<Making> making_;
  std::thread thread_;
};

}  // namespace fanfare::journal

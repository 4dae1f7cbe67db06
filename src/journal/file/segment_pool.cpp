#include "journal/file/segment_pool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "journal/file/layout.h"

namespace fanfare::journal {
namespace {

constexpr std::uint64_t kSliceBytes = 1u << 20;
constexpr std::uint64_t kReadyMax = 1;
/// A rest is this many times as long as the slice before it: commits beside it kept their median (README, Measurements).
constexpr int kRestFactor = 3;
/// Each attempt on a full disk takes the last of it for a moment; so not often.
constexpr auto kRetryAfterFailure = std::chrono::seconds(2);

std::string_view zeros() {
  static const struct Zeros {
    PageMemory memory{kSliceBytes};
    Zeros() { std::memset(memory.data(), 0, memory.size()); }
  } pages;
  return {pages.memory.data(), pages.memory.size()};
}

}  // namespace

SegmentPool::SegmentPool(FileSystem& files, std::uint64_t segment_bytes, std::uint64_t first_spare_number, bool background)
    : files_(files), segment_bytes_(segment_bytes), background_(background), next_number_(first_spare_number) {
  if (background_) thread_ = std::thread([this] { run(); });
}

SegmentPool::~SegmentPool() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SegmentPool::adopt(std::string name) {
  const std::scoped_lock lock(mutex_);
  ready_.push_back(std::move(name));
}

std::optional<std::string> SegmentPool::take() {
  const std::scoped_lock lock(mutex_);
  if (ready_.empty()) return {};
  std::string name = std::move(ready_.front());
  ready_.pop_front();
  return name;
}

std::string SegmentPool::fresh_name() {
  const std::scoped_lock lock(mutex_);
  return spare_name(next_number_++);
}

void SegmentPool::want(bool hurry) {
  {
    const std::scoped_lock lock(mutex_);
    if (!ready_.empty() || (wanted_ && hurry_ >= hurry)) return;
    wanted_ = true;
    hurry_ = hurry_ || hurry;
  }
  background_ ? changed_.notify_all() : drain();
}

void SegmentPool::recycle(std::vector<std::string> names) {
  if (names.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    to_recycle_.insert(to_recycle_.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  }
  background_ ? changed_.notify_all() : drain();
}

void SegmentPool::hold_back(bool hold) {
  {
    const std::scoped_lock lock(mutex_);
    held_back_ = hold;
  }
  changed_.notify_all();
}

void SegmentPool::post(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  background_ ? changed_.notify_all() : drain();
}

SegmentPool::State SegmentPool::state() const {
  const std::scoped_lock lock(mutex_);
  State state = state_;
  state.ready = ready_.size();
  return state;
}

bool SegmentPool::space_is_short() const {
  const std::scoped_lock lock(mutex_);
  return state_.space_is_short;
}

bool SegmentPool::has_work() const { return !tasks_.empty() || !to_recycle_.empty() || may_make(); }

bool SegmentPool::may_make() const { return wanted_ && !(held_back_ && state_.space_is_short); }

void SegmentPool::note_failure(const FileError& error, const std::string& name) {
  ++state_.failures;
  state_.last_failure = error.describe(name);
}

void SegmentPool::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t failures = state_.failures;
  while (has_work() && step(lock)) {
    if (state_.failures != failures) break;
  }
  wanted_ = hurry_ = false;
}

void SegmentPool::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || has_work(); });
    // What keeps the folder tidy is finished; a spare that is half made is not.
    if (stopping_ && tasks_.empty() && to_recycle_.empty()) return;
    const auto started = std::chrono::steady_clock::now();
    const std::uint64_t failures = state_.failures;
    const bool was_making = tasks_.empty() && to_recycle_.empty();
    step(lock);
    if (state_.failures != failures) {
      if (stopping_) return;
      changed_.wait_for(lock, kRetryAfterFailure, [&] { return stopping_ || !tasks_.empty() || !to_recycle_.empty(); });
    } else if (was_making && !hurry_) {
      const auto rest = (std::chrono::steady_clock::now() - started) * kRestFactor;
      changed_.wait_for(lock, rest, [&] { return stopping_ || hurry_ || !tasks_.empty() || !to_recycle_.empty(); });
    }
  }
}

/// One slice of work, without the lock while the disk is busy. False: nothing was left to do.
bool SegmentPool::step(std::unique_lock<std::mutex>& lock) {
  if (!tasks_.empty()) {
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
    return true;
  }
  if (!to_recycle_.empty()) {
    recycle_one(lock);
    return true;
  }
  if (!may_make()) return false;
  if (!ready_.empty()) {
    wanted_ = hurry_ = false;
    return false;
  }
  make_slice(lock);
  return true;
}

void SegmentPool::recycle_one(std::unique_lock<std::mutex>& lock) {
  const std::string name = std::move(to_recycle_.front());
  to_recycle_.pop_front();
  const bool keep = ready_.size() < kReadyMax;
  const std::string spare = keep ? spare_name(next_number_++) : std::string();
  lock.unlock();
  const auto done = [&]() -> Result<bool, FileError> {
    if (!keep) {
      if (const auto removed = files_.remove(name); !removed) return removed.error();
      return false;
    }
    // Only a file of exactly the usual size is of use again: longer ones hold a record of unusual length, shorter ones were not
    // prewritten.
    std::uint64_t bytes = 0;
    {
      const auto file = files_.open(name, OpenMode::Write);
      if (!file) return file.error();
      const auto size = (*file)->size();
      if (!size) return size.error();
      bytes = *size;
    }
    if (bytes != segment_bytes_) {
      if (const auto removed = files_.remove(name); !removed) return removed.error();
      return false;
    }
    if (const auto renamed = files_.rename(name, spare); !renamed) return renamed.error();
    // Before its header is overwritten, or a power cut could bring the old name back over the new content.
    if (const auto synced = files_.sync_directory(); !synced) return synced.error();
    return true;
  }();
  lock.lock();
  if (!done) {
    note_failure(done.error(), name);
  } else if (*done) {
    state_.space_is_short = false;
    ready_.push_back(spare);
  }
}

void SegmentPool::make_slice(std::unique_lock<std::mutex>& lock) {
  std::string name = making_ ? making_->name : spare_name(next_number_++);
  lock.unlock();
  const auto made = [&]() -> Result<bool, FileError> {
    if (!making_) {
      auto file = files_.open(name, OpenMode::Create);
      if (!file) return file.error();
      making_ = Making{name, std::move(*file), 0};
    }
    const std::uint64_t part = std::min(kSliceBytes, segment_bytes_ - making_->written);
    if (const auto written = write_all_pages(*making_->file, zeros().substr(0, part), making_->written, Sync::No); !written) {
      return written.error();
    }
    if (const auto synced = making_->file->sync(); !synced) return synced.error();
    making_->written += part;
    return making_->written == segment_bytes_;
  }();
  if (!made || *made) making_.reset();
  if (!made) (void)files_.remove(name);  // gives back what it took; if that fails too, the next opening removes it
  lock.lock();
  if (!made) {
    state_.space_is_short = made.error().kind() == JournalError::NoSpace;
    note_failure(made.error(), name);
  } else if (*made) {
    state_.space_is_short = false;
    wanted_ = hurry_ = false;
    ready_.push_back(std::move(name));
  }
}

}  // namespace fanfare::journal

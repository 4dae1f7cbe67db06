// A mutex that knows whether the calling thread holds it, so that code which must run under it can insist.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace fanfare::server {

class HeldMutex {
 public:
  void lock() {
    mutex_.lock();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    holder_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  /// Relaxed is enough: a thread sees its own stores, and no other thread stores this thread's id.
  [[nodiscard]] bool is_mine() const { return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_;
};

}  // namespace fanfare::server

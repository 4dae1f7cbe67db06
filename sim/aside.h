// Upkeep of the broker that stops where its thread would rest, so that other things happen between its slices.
//
// Rule 1: it has a thread of its own for its stack alone: that one runs while go_on() waits for it, and never otherwise. So there is one
//         thread at a time, and the order of everything follows from the seed.
// Rule 2: a job whose process has died never ends: the place where it stands is left by an exception.
#pragma once

#include <functional>
#include <semaphore>
#include <thread>
#include <utility>

namespace fanfare::sim {

class Aside {
 public:
  explicit Aside(std::function<void()> job) : job_(std::move(job)) {}
  Aside(Aside&&) = delete;
  ~Aside() {
    if (!thread_.joinable()) return;
    gone_ = true;
    if (!ended_) switch_to_job();
    thread_.join();
  }

  /// Runs it up to its next rest() or its end. Returns whether there is more to do.
  bool go_on() {
    if (!thread_.joinable()) {
      thread_ = std::thread([this] {
        turn_of_job_.acquire();
        try {
          if (!gone_) job_();
        } catch (const Gone&) {
        }
        ended_ = true;
        turn_of_world_.release();
      });
    }
    switch_to_job();
    return !ended_;
  }
  [[nodiscard]] bool begun() const { return thread_.joinable(); }

  /// Called by the job: go_on() returns.
  void rest() {
    turn_of_world_.release();
    turn_of_job_.acquire();
    if (gone_) throw Gone{};
  }

 private:
  struct Gone {};

  void switch_to_job() {
    turn_of_job_.release();
    turn_of_world_.acquire();
  }

  std::function<void()> job_;
  std::thread thread_;
  std::binary_semaphore turn_of_job_{0};
  std::binary_semaphore turn_of_world_{0};
  bool gone_ = false;
  bool ended_ = false;
};

}  // namespace fanfare::sim

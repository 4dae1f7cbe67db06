// Upkeep of the broker that stops where its thread would rest, so that other things happen between its slices.
//
// Rule 1: it has a stack of its own and no thread: it runs while go_on() waits for it, and never otherwise. So there is one thread, and the
//         order of everything follows from the seed. (Threads that hand over to each other took five times as long for a seed.)
// Rule 2: a job whose process has died never ends: the place where it stands is left by an exception.
// Rule 3: it rests in no catch clause and in no destructor: what the language keeps of exceptions belongs to the thread.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/assert.h"

namespace fanfare::sim {

class Aside {
 public:
  explicit Aside(std::function<void()> job) : job_(std::move(job)) {}
  Aside(Aside&&) = delete;
  ~Aside() {
    if (!begun() || ended_) return;
    gone_ = true;
    switch_to_job();
  }

  /// Runs it up to its next rest() or its end. Returns whether there is more to do.
  bool go_on() {
    if (!begun()) {
      stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
      FANFARE_ASSERT(::getcontext(&job_context_) == 0);
      job_context_.uc_stack.ss_sp = stack_.get();
      job_context_.uc_stack.ss_size = kStackBytes;
      job_context_.uc_link = nullptr;
      const auto self = reinterpret_cast<std::uintptr_t>(this);
      ::makecontext(&job_context_, reinterpret_cast<void (*)()>(&Aside::enter), 2, static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    }
    switch_to_job();
    return !ended_;
  }
  [[nodiscard]] bool begun() const { return stack_ != nullptr; }

  /// Called by the job: go_on() returns.
  void rest() {
    switch_to_world();
    if (gone_) throw Gone{};
  }

 private:
  static constexpr std::size_t kStackBytes = 1u << 20;
  struct Gone {};

  void switch_to_job() { FANFARE_ASSERT(::swapcontext(&world_context_, &job_context_) == 0); }
  void switch_to_world() { FANFARE_ASSERT(::swapcontext(&job_context_, &world_context_) == 0); }

  /// makecontext() passes numbers, not pointers.
  static void enter(unsigned high, unsigned low) {
    reinterpret_cast<Aside*>(static_cast<std::uintptr_t>(high) << 32 | low)->run();
  }
  void run() {
    try {
      job_();
    } catch (const Gone&) {
    }
    ended_ = true;
    switch_to_world();  // for good
  }

  std::function<void()> job_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t job_context_{};
  ucontext_t world_context_{};
  bool gone_ = false;
  bool ended_ = false;
};

}  // namespace fanfare::sim

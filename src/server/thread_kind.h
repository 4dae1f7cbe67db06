// How the scheduler is to treat a thread.
#pragma once

namespace fanfare::server {

enum class ThreadKind {
  /// Somebody waits for what it does, and it sleeps often (a commit sleeps twice). It asks for short slices: since Linux 6.12 such a
  /// thread, when it wakes, runs at once and not when the background thread on its processor has used up a slice of some
  /// milliseconds.
  Loop,
  Background,  ///< long work that nobody waits for: nicer, in slices of the usual length
};

/// For the calling thread; threads that it makes later take after it. Kernels that know no slices are as before.
void run_as(ThreadKind kind);

}  // namespace fanfare::server

// What a client asks for next, from what it was told so far. It knows nothing of the oracle but the names of the queues.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/call.h"
#include "sim/plan.h"
#include "sim/protocol.h"

namespace fanfare::sim {

/// What clients tell each other.
struct Board {
  std::vector<std::string> subscriptions;               ///< ARNs, by subscription; empty: never told
  std::deque<std::pair<int, std::string>> move_tasks;   ///< source queue, handle
};

class Client {
 public:
  Client(int number, const Plan& plan, std::uint64_t seed, Tally& tally, Board& board);

  CallPtr next();
  /// The answer reached it.
  void told(const Call& call, const Answer& answer);
  /// It will never know.
  void lost(const Call& call);

 private:
  struct Held {
    int queue;
    std::string handle;
  };
  struct Asked {
    int queue;
    int max;
    std::string attempt;
  };
  struct Sent {
    int queue;
    Entry entry;
    bool accepted;  // as far as the client knows
  };
  int random_queue();
  Entry fresh_entry(int queue);
  CallPtr fresh(Action action, int queue);
  CallPtr send();
  CallPtr receive();
  void make_duplicate(Entry& entry, const Sent& before);
  CallPtr settle(bool remove);
  CallPtr publish();
  /// Null if the plan has nothing of it.
  CallPtr configure();
  CallPtr create_queue(int queue);
  CallPtr subscribe(int subscription);
  CallPtr change_subscription();
  CallPtr move();
  void remember(const Call& call, bool accepted);

  const int number_;
  const Plan& plan_;
  Rng rng_;
  Tally& tally_;
  Board& board_;
  std::uint64_t tokens_ = 0;
  std::deque<Held> held_;
  std::deque<Asked> asked_;          // receives of FIFO queues, to be asked for again
  std::deque<Sent> sent_;            // FIFO messages, to be sent again as duplicates
  std::deque<Sent> published_;       // the same of FIFO topics; `queue` is the topic
  std::deque<Call> again_;           // without an answer, to be repeated
  int favourite_ = 0;
};

}  // namespace fanfare::sim

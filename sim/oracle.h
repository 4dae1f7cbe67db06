// The naive model: what every client was told, kept in plain vectors, and what therefore must and may be true.
//
// Rule 1: it knows the documentation of SQS and SNS and nothing of the engine. What it uses of the inside is one number: up to
//         where the log was promised to be durable when the process died, which says which receives a crash may have lost.
// Rule 2: an answer counts as told when its last byte has left the broker, whether or not it reached its client.
// Rule 3: what no answer told is possible and not sure; checks speak of what is sure.
// Rule 4: turns give the order. Inside one turn, and between a long poll and the rest of its turn, order is not used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log_position.h"
#include "base/time.h"
#include "sim/call.h"
#include "sim/failure.h"
#include "sim/properties.h"
#include "sim/protocol.h"

namespace fanfare::sim {

struct QueueSpec {
  std::string name;
  bool fifo = false;
  int visibility = 30;     ///< seconds
  int delay = 0;           ///< seconds
  int retention = 345'600; ///< seconds
  int dead_letter = -1;    ///< index of its dead-letter queue
  int max_receives = 0;
};
struct SubscriptionSpec {
  int topic = -1;
  int queue = -1;
  bool raw = false;
};

/// Why a request got no answer.
enum class Unanswered : std::uint8_t {
  NotHandedIn,     ///< the broker never had all of it
  ConnectionGone,  ///< its connection ended first; what a receive took is given back
  Crash,
};

class Oracle {
 public:
  explicit Oracle(Tally& tally) : tally_(tally) {}
  /// Every event as a line of text; null: not wanted.
  void trace_to(std::function<void(std::string)> trace) { trace_ = std::move(trace); }

  /// The broker keeps no content in memory.
  void nothing_resident() { nothing_resident_ = true; }
  int add_queue(QueueSpec spec);
  int add_topic(std::string name);
  void add_subscription(SubscriptionSpec spec) { subscriptions_.push_back(spec); }
  [[nodiscard]] const std::vector<QueueSpec>& queues() const { return queues_; }
  [[nodiscard]] const std::vector<std::string>& topics() const { return topics_; }
  [[nodiscard]] std::string target_of(const Call& call) const;

  struct Moment {
    std::uint64_t turn = 0;
    Timestamp now{};
    LogPosition log_end{};     ///< of what this turn appended
    std::int64_t micros = 0;   ///< steady time
    /// No fault was there since the last commit that succeeded, so nothing excuses a refusal.
    bool disk_in_order = true;
  };
  void handled(const CallPtr& call, const Moment& moment);
  void answered(const CallPtr& call, const Answer& answer, const Moment& moment);
  /// `began`: when its answer was made, if one was; `ended`: when it was given up.
  void unanswered(Call& call, Unanswered why, const Moment& began, const Moment& ended);
  /// After all answers of a turn, and what the end of its connections or of the process left without one.
  void end_of_turn();
  /// The process died at `micros`; below `durable_end` nothing is lost.
  void crashed(LogPosition durable_end, std::int64_t micros, bool disk_in_order);
  /// From now on the broker ends long polls early.
  void draining(bool draining) { draining_ = draining; }
  void restarted_cleanly() { ++starts_; }
  /// When everything has been received and deleted.
  void check_end(const Moment& moment);

  [[noreturn]] void fail(Property property, const std::string& text) const;
  void require(Property property, bool holds, const std::function<std::string()>& text) {
    tally_.note(property);
    if (!holds) fail(property, text());
  }
  void note(Property property) { tally_.note(property); }
  /// "m17 in q0: sent ..., delivered ...", for the report of a failure.
  [[nodiscard]] std::string describe(int instance) const;

 private:
  struct Delivery {
    std::string handle;
    int queue;
    Timestamp at;
    std::uint64_t turn;
    std::int64_t count;
    Timestamp until;                  // the lease's end
    LogPosition log_end;              // durable beyond this: no crash loses the receive
    std::int64_t micros;
    bool lost = false;                // a crash may have lost its record
    Timestamp lowest;                 // of all ends that the lease ever had
    std::optional<Timestamp> before_change;
    LogPosition change_log_end{};
  };
  enum class Gone : std::uint8_t { No, Deleted, Purged };
  struct Instance {
    std::string token;
    int queue = -1;                   // where it is, or was seen last
    Entry entry;
    int publication = -1;
    bool raw = true;
    bool sure = false;
    std::uint64_t sure_turn = 0;
    std::uint64_t first_turn = 0;
    Timestamp earliest{};             // it arrived not before, and not after
    Timestamp latest{};
    std::uint64_t starts = 0;         // of the process, when it arrived
    int open_attempts = 0;            // sends without an answer yet, or for ever
    bool never = false;               // surely not there: refused, or suppressed as a duplicate
    std::string message_id;
    std::string sequence;             // in the queue where it is; FIFO only
    std::string sent_sequence;        // in the queue where it arrived
    std::vector<Delivery> deliveries;
    bool moved = false;
    int source = -1;                  // queue that it was moved away from
    int pending_deletes = 0;
    bool maybe_gone = false;
    Gone gone = Gone::No;
    std::uint64_t gone_turn = 0;
    bool purge_cleared_dedup = false;
  };
  struct Publication {
    std::vector<int> copies;
    std::string id;
    int topic;
  };
  struct LostReceive {
    int queue;
    std::uint64_t turn;
    bool crash;             // else given back
    bool late;              // given back when its lease may have been over: then it stays counted
    std::uint64_t crashes;  // when it ended
    std::uint64_t end_turn;
  };

  void handled_send(Call& call, const Moment& moment);
  void handled_publish(Call& call, const Moment& moment);
  void answered_send(Call& call, const Answer& answer, const Moment& moment);
  void answered_publish(Call& call, const Answer& answer, const Moment& moment);
  void answered_receive(Call& call, const Answer& answer, const Moment& moment);
  void answered_delete(Call& call, const Answer& answer, const Moment& moment);
  void answered_change(Call& call, const Answer& answer, const Moment& moment);
  void answered_attributes(const Call& call, const Answer& answer);
  void accepted_fifo(Call& call, std::size_t entry, int index, const EntryAnswer& answer, const Moment& moment);
  void deliver(Call& call, const ReceivedMessage& message, const Moment& moment, std::vector<int>& in_answer);
  void check_fifo(const Call& call, int index, const Moment& moment, const std::vector<int>& in_answer);
  struct Empty {
    CallPtr call;
    Moment moment;
  };
  void check_empty(const Call& call, const Moment& moment) const;
  [[nodiscard]] bool counts(const LostReceive& lost) const { return lost.crash || lost.late || lost.crashes < crashes_; }
  void check_error(const Call& call, const Answer& answer, const Moment& moment);
  /// The delivery that a handle of the call names; null if it is not one that counts.
  Delivery* delivery_of(const Call& call, std::size_t entry);
  int find(const Call& call, const ReceivedMessage& message, const std::string& token) const;
  int add_instance(Instance instance);
  void end_attempt(int index, bool applied_is_possible);
  /// Deliveries that left, and receives without an answer that may have taken it, in this queue.
  [[nodiscard]] std::int64_t possible_receives(const Instance& instance, int queue) const;
  [[nodiscard]] bool may_be_expired(const Instance& instance, Timestamp now) const;
  [[nodiscard]] bool may_be_moved(const Instance& instance) const;
  /// Sure to be in its queue, seen from a request handled at this turn.
  [[nodiscard]] bool surely_there(const Instance& instance, std::uint64_t turn, Timestamp now) const;
  [[nodiscard]] bool surely_visible(const Instance& instance, std::uint64_t turn, Timestamp now) const;
  void trace(const std::function<std::string()>& line) const {
    if (trace_) trace_(line());
  }

  Tally& tally_;
  std::function<void(std::string)> trace_;
  std::vector<QueueSpec> queues_;
  std::vector<std::string> topics_;
  std::vector<SubscriptionSpec> subscriptions_;
  std::vector<Instance> instances_;
  std::vector<std::vector<int>> by_queue_;  // instances by the queue in which they arrived; and by its dead-letter queue
  std::vector<Publication> publications_;
  std::unordered_map<std::string, std::vector<int>> by_token_;
  std::unordered_map<std::string, std::pair<int, int>> by_handle_;  // -> instance, delivery
  std::vector<LostReceive> lost_receives_;
  std::vector<CallPtr> open_receives_;  // handed in and not finished
  std::vector<Empty> empties_;          // of this turn
  std::uint64_t handled_count_ = 0;
  std::vector<std::map<std::uint64_t, std::string>> sequences_;     // by queue: call id -> sequence number
  std::vector<std::optional<Timestamp>> last_purge_;                // by queue: when one was handed in last
  std::vector<std::uint64_t> last_purge_turn_;
  std::uint64_t crashes_ = 0;
  bool draining_ = false;
  bool nothing_resident_ = false;
  std::uint64_t starts_ = 0;
};

}  // namespace fanfare::sim

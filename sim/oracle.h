// The naive model: what every client was told, kept in plain vectors, and what therefore must and may be true.
//
// Rule 1: it knows the documentation of SQS and SNS and nothing of the engine. What it uses of the inside is one number: up to
//         where the log was promised to be durable when the process died, which says which receives a crash may have lost.
// Rule 2: an answer counts as told when its last byte has left the broker, whether or not it reached its client.
// Rule 3: what no answer told is possible and not sure; checks speak of what is sure.
// Rule 4: turns give the order. Inside one turn, and between a long poll and the rest of its turn, order is not used; but of two
//         receives of one queue the one that was handed in first is served first.
// Rule 5: what a request may rest on (does the queue exist, which settings hold, who is subscribed) is a history of possible
//         values, see history.h. A check holds for all that are possible.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log_position.h"
#include "base/time.h"
#include "sim/call.h"
#include "sim/failure.h"
#include "sim/history.h"
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
  int max_bytes = 1'048'576;
  std::optional<int> wait; ///< seconds, of receives that do not say it
  Admission policy = Admission::Nobody;
  bool hashes = false;     ///< ContentBasedDeduplication
  bool by_group = false;   ///< DeduplicationScope and FifoThroughputLimit: each message group of its own
};
struct SubscriptionSpec {
  int topic = -1;
  int queue = -1;
  bool raw = false;
  int filter = 0;          ///< of kFilters
  int dead_letter = -1;    ///< queue
};

/// What a filter policy wants, next to the policy.
struct Filter {
  std::string_view policy;
  bool (*wants)(std::string_view kind);  ///< of a message with this attribute; empty: without it
};
inline constexpr std::string_view kKindName = "kind";
extern const std::array<Filter, 6> kFilters;

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
  /// A queue, topic or subscription that requests can name; nobody has made it yet.
  int add_queue(const QueueSpec& spec);
  int add_topic(std::string name, bool fifo);
  int add_subscription(int topic, int queue);
  /// The clock was set back: what a time says about another is not known.
  void clock_is_set_back() { clock_back_ = true; }
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
  /// What a queue holds that nobody receives from, in the order of its sequence numbers: a replay of this topic's archive from its
  /// beginning, and what was published since. False: something that must be there is missing yet.
  bool check_replay(int topic, const std::vector<ReceivedMessage>& messages, bool must_be_whole);
  /// When everything has been received and deleted.
  void check_end(const Moment& moment);

  [[noreturn]] void fail(Property property, const std::string& text) const;
  void require(Property property, bool holds, const std::function<std::string()>& text) {
    tally_.note(property);
    if (!holds) fail(property, text());
  }
  void note(Property property) { tally_.note(property); }
  /// "m17 in q0: sent ..., delivered ...", for the report of a failure.
  [[nodiscard]] std::string describe(int instance) const { return describe(instances_.at(static_cast<std::size_t>(instance))); }

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
    int changes = 0;                  // of visibility, asked for
    int open_changes = 0;             // of them, not told
    bool change_in_doubt = false;     // the last may have been lost by a crash, or not been told
    int attempt = -1;                 // that gave it
  };
  static constexpr int kOfAnotherLife = -2;  // a handle of before a move task
  enum class Gone : std::uint8_t { No, Deleted, Purged };
  struct Instance {
    std::string token;
    int queue = -1;                   // where it is, or was seen last
    Entry entry;
    int publication = -1;
    int subscription = -1;            // that brought it
    bool certain = true;              // a copy: each attempt surely reached this queue, if it reached any
    std::optional<bool> raw = true;   // nullopt: not known
    std::uint32_t listed = 0;         // queues in whose lists it is
    std::string first_id;             // as its sender was told; a move task gives another
    bool by_task = false;             // a move task made it anew
    bool sure = false;
    std::uint64_t sure_turn = 0;
    std::uint64_t first_turn = 0;
    Timestamp earliest{};             // it arrived not before, and not after
    Timestamp latest{};
    std::uint64_t last_turn = 0;      // of its last attempt
    std::uint64_t starts = 0;         // of the process, when it arrived
    int open_attempts = 0;            // sends without an answer yet, or for ever
    struct Repeated {
      Timestamp earliest{};
      std::uint64_t first_turn = 0;
      bool other = false;            // with other message attributes
    };
    std::optional<Repeated> repeated;  // sends of the same since it was sure
    bool never = false;               // surely not there: refused, or suppressed as a duplicate
    std::string message_id;
    std::string sequence;             // in the queue where it is; FIFO only
    std::string sent_sequence;        // in the queue where it arrived
    std::vector<Delivery> deliveries;
    bool moved = false;
    int source = -1;                  // queue that it was moved away from
    struct Left {
      std::uint32_t places;           // queues where it may have been before, as bits
      std::uint64_t turn;             // in which it was seen in another one
    };
    std::vector<Left> left;
    int pending_deletes = 0;
    bool maybe_gone = false;
    Gone gone = Gone::No;
    std::uint64_t gone_turn = 0;
    int sent_to = -1;                 // queue
    bool mixed = false;               // attempts with other attributes or another group: which one counted is not known before it is received
    std::uint64_t tried_turn = 0;     // when its last attempt was handed in
    std::vector<std::uint64_t> dedup_cleared_by;  // purges and deletions of that queue since, refused ones not
  };
  struct Publication {
    std::vector<int> copies;
    std::string id;
    int topic = -1;
    std::string token;
    std::uint32_t body_bytes = 0;
    std::string dedup;
    std::string sequence;
    Timestamp earliest{};
    Timestamp latest{};
    std::uint64_t told_turn = 0;    // 0: no answer yet
    int open_attempts = 0;
    int attempts = 0;
    bool dedup_cleared = false;     // its topic may have been deleted since
    std::uint64_t starts = 0;
  };
  /// By place: what a request for it may rest on.
  struct Queue {
    std::string name;
    bool fifo = false;
    History<bool> exists{false};
    History<int> visibility{30};
    History<int> delay{0};
    History<int> retention{345'600};
    History<int> max_bytes{1'048'576};
    History<int> wait{0};
    bool hashes = false;
    bool by_group = false;
    std::vector<std::pair<std::uint64_t, Timestamp>> delays_asked;  // turns in which a change of the delay was handed in
    History<Redrive> redrive{{}};
    History<Admission> policy{Admission::Nobody};
    int shortest_retention = 345'600;              // ever
    std::vector<int> instances;                    // that were there, or may come to be
    std::uint32_t leads_to = 0;                    // queues to which messages from here may ever be moved
    std::map<std::uint64_t, std::string> sequences;  // by order of the sends
    std::uint64_t sequences_since = 0;             // of handled_order: a deletion began them anew
    std::vector<Timestamp> purges;                 // handed in
    std::vector<Timestamp> deletions;
    std::optional<Timestamp> deleted_at;           // of the newest that was told
    std::optional<Timestamp> purged_at;            // the same
    [[nodiscard]] bool may_exist(std::uint64_t from, std::uint64_t to) const { return exists.may_be(true, from, to); }
    [[nodiscard]] bool may_be_missing(std::uint64_t from, std::uint64_t to) const { return exists.may_be(false, from, to); }
  };
  struct Topic {
    std::string name;
    bool fifo = false;
    History<bool> exists{false};
    std::map<std::uint64_t, std::string> sequences;
    std::uint64_t sequences_since = 0;
    std::uint64_t deletions = 0;
  };
  struct Subscription {
    int topic = -1;
    int queue = -1;
    std::string arn;  // of the newest that was told
    History<bool> exists{false};
    History<bool> raw{false};
    History<int> filter{0};
    History<int> dead_letter{-1};
  };
  struct MoveTask {
    std::uint64_t call = 0;
    int source = -1;
    int destination = -1;
    int rate = 0;
    std::uint64_t from = 0;                              // turns in which it may run
    std::uint64_t until = History<int>::kForever;
    Timestamp began{};
    std::string handle;                                  // empty: not told
    bool refused = false;
  };
  struct LostReceive {
    int queue;
    std::uint64_t turn;
    bool crash;             // else given back
    bool late;              // given back when its lease may have been over: it stays counted if somebody has received it since
    std::uint64_t crashes;  // when it ended
    std::uint64_t end_turn;
    int attempt = -1;
    Timestamp at{};         // when it was handed in
  };
  /// What one attempt id gave in one queue.
  struct Attempt {
    std::vector<std::string> given;  // handles
    bool sure = false;               // nothing else can be what is repeated
    Timestamp earliest{};            // when they were taken
    Timestamp latest{};
    Timestamp low{};                 // when the leases end that it gave
    Timestamp high{};
    std::uint64_t starts = 0;        // of the process, when it gave them last
    LogPosition log_end{};           // durable beyond this: no crash loses it
    int calls = 0;
    int open = 0;                    // of them, without an answer
    Timestamp earliest_lost = Timestamp::max();
    bool partial = false;            // it took more than a disk with errors let it tell
    bool may_be_earlier = false;     // a crash may have lost what it gave last, and brought back what it gave before that
  };

  [[nodiscard]] std::string describe(const Instance& instance) const;
  void handled_send(Call& call, const Moment& moment);
  void handled_publish(Call& call, const Moment& moment);
  void answered_send(Call& call, const Answer& answer, const Moment& moment);
  void answered_publish(Call& call, const Answer& answer, const Moment& moment);
  void answered_receive(Call& call, const Answer& answer, const Moment& moment);
  void answered_delete(Call& call, const Answer& answer, const Moment& moment);
  void handled_change(Call& call);
  void refused_change(const Call& call, std::size_t entry);
  void check_too_long(const Call& call, std::size_t entry);
  void answered_change(Call& call, const Answer& answer, const Moment& moment);
  static void may_change(Delivery& delivery, Timestamp low, Timestamp high);
  [[nodiscard]] std::pair<Timestamp, Timestamp> lease_of(const Call& call, Timestamp from, std::uint64_t turn) const;
  void handled_attempt(Call& call, const Moment& moment);
  void left_alone(Call& call);
  void ended_attempt(const Call& call);
  bool is_repeated(Call& call, const Answer& answer, const Moment& moment, bool whole);
  void note_attempt(const Call& call, const Answer& answer, const Moment& moment, bool whole);
  void check_delay(const Instance& instance, const Queue& queue, const Moment& moment);
  [[nodiscard]] bool is_duplicate(const Queue& queue, const Entry& one, const Entry& other) const {
    return one.dedup == other.dedup && (!queue.by_group || one.group == other.group);
  }
  void answered_attributes(const Call& call, const Answer& answer);
  void answered_moves(const Call& call, const Answer& answer, const Moment& moment);
  /// What asks for settings, or for the end of something: `told` or refused, in all histories that it is in.
  void ask_configuration(Call& call);
  void settle_configuration(const Call& call, const Answer& answer, const Moment& moment);
  void handled_removal(Call& call);
  void answered_removal(Call& call, const Moment& moment);
  void ask_settings(Queue& queue, const Call& call);
  void ask_settings(Subscription& subscription, const Call& call);
  void check_settings(const Call& call, const Answer& answer, const Moment& moment) const;
  /// Whether a queue takes a copy of this size from this topic: surely, and possibly.
  struct Verdict {
    bool must = false;
    bool can = false;
  };
  [[nodiscard]] Verdict admits(int queue, int topic, const Entry& entry, const Subscription& subscription, std::uint64_t turn) const;
  void add_copies(int publication, const Entry& entry, const Moment& moment);
  bool accepted_publication(int publication, const EntryAnswer& answer, const Call& call, std::size_t entry, const Moment& moment);
  void accepted_fifo(Call& call, std::size_t entry, int index, const EntryAnswer& answer, const Moment& moment);
  void deliver(Call& call, const ReceivedMessage& message, const Moment& moment, std::vector<int>& in_answer);
  void check_fifo(const Call& call, int index, const Moment& moment, const std::vector<int>& in_answer);
  void check_tenants(const Call& call, const Moment& moment, const std::vector<int>& in_answer) const;
  struct Empty {
    CallPtr call;
    Moment moment;
  };
  void check_empty(const Call& call, const Moment& moment) const;
  /// Whether what a receive took at `began` may have been visible again by now: if somebody has received it since, it stays counted.
  [[nodiscard]] bool lease_may_be_over(const Call& call, Timestamp began, const Moment& moment) const;
  [[nodiscard]] bool counts(const LostReceive& lost) const {
    // What was asked for again is not given back with the connection of one of the receives.
    const bool asked_again = lost.attempt >= 0 && attempts_[static_cast<std::size_t>(lost.attempt)].calls > 1;
    return lost.crash || lost.late || lost.crashes < crashes_ || asked_again;
  }
  void check_error(const Call& call, const Answer& answer, const Moment& moment);
  /// The delivery that a handle of the call names; null if it is not one that counts.
  Delivery* delivery_of(const Call& call, std::size_t entry);
  Delivery* delivery_of(const std::string& handle);
  /// -1: there is none. `others`: that it may be just as well.
  int find(const Call& call, const ReceivedMessage& message, const std::string& token, std::vector<int>& others) const;
  int add_instance(Instance instance);
  void end_attempt(int index, bool applied_is_possible);
  /// Deliveries that left, and receives without an answer that may have taken it, in this queue.
  [[nodiscard]] std::int64_t possible_receives(const Instance& instance, int queue) const;
  [[nodiscard]] bool may_be_expired(const Instance& instance, Timestamp now) const;
  [[nodiscard]] bool may_be_dead_lettered(const Instance& instance, int from, int to) const;
  /// The queues where it may be by now, as bits: without any move task, its last place included, and with one.
  struct Reach {
    std::uint32_t plain;
    std::uint32_t by_task;
  };
  [[nodiscard]] Reach reach_of(const Instance& instance) const;
  [[nodiscard]] bool may_come_from(int dead, int source) const;
  [[nodiscard]] std::uint32_t reach(const Instance& instance) const {
    const Reach reach = reach_of(instance);
    return reach.plain | reach.by_task;
  }
  [[nodiscard]] bool reached_by_task(const Instance& instance, int queue) const {
    return !tasks_.empty() && (reach_of(instance).by_task & bit(queue)) != 0;
  }
  [[nodiscard]] bool may_be_moved(const Instance& instance) const {
    const Reach reach = reach_of(instance);
    return reach.plain != bit(instance.queue) || reach.by_task != 0;
  }
  [[nodiscard]] static std::uint32_t bit(int queue) { return std::uint32_t{1} << queue; }
  void add_path(int from, int to);
  void list(int index);
  /// Sure to be in its queue, seen from a request handled at this turn.
  [[nodiscard]] bool surely_there(const Instance& instance, std::uint64_t turn, Timestamp now) const;
  /// `asking`: a receive that would be given what it took when it was handed in before.
  [[nodiscard]] bool surely_visible(const Instance& instance, std::uint64_t turn, Timestamp now, const Call* asking = nullptr) const;
  [[nodiscard]] bool surely_asks_again(const Call& call, const LostReceive& lost) const;
  void trace(const std::function<std::string()>& line) const {
    if (trace_) trace_(line());
  }

  Tally& tally_;
  std::function<void(std::string)> trace_;
  std::vector<Queue> queues_;
  std::vector<Topic> topics_;
  std::vector<Subscription> subscriptions_;
  std::vector<MoveTask> tasks_;
  std::vector<Instance> instances_;
  std::vector<Publication> publications_;
  std::unordered_map<std::string, std::vector<int>> by_token_;
  std::unordered_map<std::string, std::pair<int, int>> by_handle_;  // -> instance, delivery
  std::vector<LostReceive> lost_receives_;
  std::vector<Attempt> attempts_;
  std::map<std::pair<int, std::string>, int> attempt_by_id_;        // of a queue
  std::vector<CallPtr> open_receives_;  // handed in and not finished
  std::vector<Empty> empties_;          // of this turn
  std::uint64_t handled_count_ = 0;
  std::unordered_map<std::string, int> publication_by_token_;
  std::uint64_t turn_ = 0;
  int shortest_retention_ = 345'600;
  bool clock_back_ = false;
  std::uint64_t crashes_ = 0;
  bool draining_ = false;
  bool nothing_resident_ = false;
  std::uint64_t starts_ = 0;
};

}  // namespace fanfare::sim

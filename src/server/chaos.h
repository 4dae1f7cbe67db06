// Faults on purpose: which requests on queues go wrong and how, so that a consumer can be tried against what the real
// service may do to it.
//
// Rule 1: off unless asked for; without --chaos nobody asks here.
// Rule 2: no message is lost. A duplicate, a delay, a lost response, an empty receive are within what standard queues
//         promise.
// Rule 3: what happens to a queue's requests depends on the seed, the queue's name and the order of its requests only.
//
//   --chaos 'duplicate=5%,reorder,delay=0..2s,throttle=1%,lose-response=1%,receive-empty=3%' --chaos-seed 7
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "core/engine/commands.h"
#include "server/log.h"

namespace fanfare::server {

enum class Fault : std::uint8_t {
  Duplicate,     ///< what a receive hands out stays visible, so that it comes a second time
  Reorder,       ///< a sent message is held back for a second, so that those behind it overtake it
  Delay,         ///< a sent message is held back for some whole seconds
  Throttle,      ///< the request is refused with RequestThrottled and not carried out
  LoseResponse,  ///< the request is carried out, and the connection ends instead of an answer
  ReceiveEmpty,  ///< a receive gives nothing at once, whatever waits
};
inline constexpr std::size_t kFaults = 6;
/// "lose-response"
std::string_view text_of(Fault fault);

/// How often each fault happens. Default: never.
struct FaultPlan {
  std::array<std::uint32_t, kFaults> per_million{};
  std::int64_t delay_min_seconds = 0;
  std::int64_t delay_max_seconds = 0;

  /// "duplicate=5%,delay=0..2s,reorder". A share is 0% to 100% with up to four decimals; a fault without one happens to
  /// every second request. `delay` takes seconds, "2s" or "0..2s", up to 900, and happens to every message. "none" and
  /// "" are no faults. The error says what is accepted.
  static Result<FaultPlan, std::string> parse(std::string_view text);
  /// The same as parse() reads it; "none" for no faults.
  [[nodiscard]] std::string str() const;
  [[nodiscard]] bool any() const;
};

/// What POST /_fanfare/chaos asks for: {"queue":"orders","faults":"duplicate=5%"}
struct ChaosCommand {
  FaultPlan plan;
  std::optional<std::string> queue;  ///< nullopt: all queues that have no plan of their own

  /// The error says what is accepted; a queue's name that no queue can have is refused.
  static Result<ChaosCommand, std::string> parse(std::string_view body);
};

/// Thread-safe.
class Chaos {
 public:
  /// `log` outlives it.
  Chaos(FaultPlan everywhere, std::uint64_t seed, Log& log);

  /// What becomes of a request besides what was changed in it.
  struct Verdict {
    bool throttle = false;
    bool receive_empty = false;
    bool lose_response = false;
  };
  /// Whether any queue has a plan; then meddle() must be asked.
  [[nodiscard]] bool is_active() const { return active_.load(std::memory_order_relaxed); }
  /// Decides about a request on the messages of a queue, and counts and logs what it does. May change delays and
  /// visibility timeouts in the request; `messages` keeps those of a batch while the request is used.
  Verdict meddle(engine::Request& request, std::vector<engine::OutgoingMessage>& messages);

  /// The plan of queues of this name in every account and region; nullopt: of all queues that have none of their own.
  void set(std::optional<std::string_view> queue, const FaultPlan& plan);

  using QueueNames = std::set<std::string, std::less<>>;
  /// {"seed":7,"everywhere":"none","queues":{"ordrs":"duplicate=5%"},"injected":{"duplicate":3,...},
  ///  "warnings":["queues.ordrs: no queue of this name exists yet; its faults begin when it is made"]}
  /// A plan may come before its queue, as a test does that starts its consumer later; `existing` are those that there are.
  [[nodiscard]] std::string json(const QueueNames& existing) const;
  void append_metrics(std::string& out) const;

 private:
  struct QueueChaos {
    Rng rng;
  };
  bool happens(Fault fault, const FaultPlan& plan, Rng& rng) const;
  void note(Fault fault, const queue::QueueKeyView& queue);
  void hold_back(engine::OutgoingMessage& message, const queue::QueueKeyView& queue, const FaultPlan& plan, Rng& rng);

  const std::uint64_t seed_;
  Log& log_;
  std::atomic<bool> active_{false};
  // Protected by mutex_.
  mutable std::mutex mutex_;
  FaultPlan everywhere_;
  std::map<std::string, FaultPlan, std::less<>> by_name_;
  std::map<std::string, QueueChaos, std::less<>> queues_;  // by ARN; begins with a queue's first request
  std::array<std::uint64_t, kFaults> injected_{};
};

}  // namespace fanfare::server

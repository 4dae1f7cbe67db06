// One request of a client as the oracle sees it: what was asked, when it was handed in, what became of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace fanfare::sim {

enum class Action : std::uint8_t {
  CreateQueue,
  DeleteQueue,
  SetAttributes,
  Attributes,  ///< GetQueueAttributes: counts and settings
  Send,
  SendBatch,
  Receive,
  Delete,
  DeleteBatch,
  Change,
  ChangeBatch,
  Purge,
  StartMove,
  CancelMove,
  ListMoves,
  CreateTopic,
  DeleteTopic,
  Subscribe,
  Unsubscribe,
  SetSubscription,
  Publish,
  PublishBatch,
};

enum class Protocol : std::uint8_t { Json, Query };

/// Where a queue's messages go that were received too often.
struct Redrive {
  int queue = -1;  ///< -1: nowhere
  int max = 0;
  friend bool operator==(const Redrive&, const Redrive&) = default;
};
/// Which topics a queue's policy lets in.
enum class Admission : std::uint8_t { Everybody, FirstTopic, NotFirstTopic, Nobody };

struct QueueChange {
  std::optional<int> visibility, delay, retention;  ///< seconds
  std::optional<int> wait;  ///< seconds that a receive waits which does not say it
  std::optional<int> max_bytes;
  std::optional<Redrive> redrive;
  std::optional<Admission> policy;
};
struct SubscriptionChange {
  std::optional<bool> raw;
  std::optional<int> filter;       ///< of kFilters
  std::optional<int> dead_letter;  ///< queue; -1: none
};

struct Entry {
  std::string token;          ///< of a message: "m17.2"; names its body
  std::uint32_t body_bytes = 0;
  std::string group;
  std::string dedup;
  bool hashed = false;        ///< `dedup` is not sent: the queue takes the SHA-256 of the body
  std::optional<int> delay;   ///< seconds
  std::string handle;         ///< delete, change
  int timeout = 0;            ///< change: seconds
  bool attribute = false;     ///< carries a message attribute
  std::string kind;           ///< another one, which filters look at; empty: none
};

struct Call {
  std::uint64_t id = 0;
  Action action = Action::Send;
  Protocol protocol = Protocol::Json;
  int queue = -1;             ///< index of the oracle
  int topic = -1;
  std::vector<Entry> entries;
  int max = 1;
  std::optional<int> visibility;
  std::optional<int> wait;
  int subscription = -1;      ///< index of the oracle
  QueueChange queue_change;   ///< CreateQueue, SetAttributes
  SubscriptionChange subscription_change;
  int destination = -1;       ///< StartMove: queue; -1: each to where it came from
  int rate = 0;               ///< StartMove: messages a second; 0: no limit
  std::string task;           ///< CancelMove
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string arn;            ///< Subscribe: the queue's; Unsubscribe, SetSubscription: the subscription's; StartMove: the destination's
  std::string attempt;        ///< ReceiveRequestAttemptId
  std::string beside;         ///< of the world's own: the name of its queue or topic, of which the oracle keeps no account

  // What became of it:
  std::uint64_t handled_turn = 0;  ///< 0: not yet
  Timestamp handled_at{};
  std::uint64_t handled_order = 0; ///< over all calls
  bool waited = false;             ///< a receive that was not answered in the turn in which it was handed in
  bool stalled = false;            ///< its answer was written, and the kernel has not taken all of it
  bool finished = false;           ///< answered, or it never will be
  std::vector<std::pair<Timestamp, std::optional<Timestamp>>> leases;  ///< oracle's: as they were before a change
  std::vector<int> instances;      ///< oracle's: of each entry (or of each entry and subscription)
  int asked_as = -1;               ///< oracle's: which of its attempts
  bool must_repeat = false;        ///< oracle's: surely gives again what the attempt gave before
  bool may_repeat = false;         ///< oracle's
  bool repeat_in_doubt = false;    ///< oracle's: another receive with this id has no answer yet
  std::vector<std::string> given;  ///< oracle's: the handles that it may repeat
  std::vector<int> changes;        ///< oracle's: of each of them, how often a change was asked for before
  bool was_absent = false;         ///< oracle's, CreateQueue: surely there was none
  bool was_there = false;          ///< oracle's, Unsubscribe and SetSubscription: surely this subscription was there
};
using CallPtr = std::shared_ptr<Call>;  // shared: client, connection and oracle look at one call, whoever ends first

}  // namespace fanfare::sim

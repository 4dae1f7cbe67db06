// The engine: queues and topics as one deterministic state machine. Input in, outputs out; nothing calls back.
//
// Rule 1: no I/O, clock, lock, log or randomness here; time and fresh ids arrive in the input.
// Rule 2: deciding is const and yields events; applying an event is the only way the state changes and cannot fail.
//         Each event is one journal record, so replaying the records rebuilds the state (records.h).
// Rule 3: what time alone decides (leases and delays that end, retention, deduplication windows) is no event: it follows
//         from the state and `now`, the same live and at replay.
// Rule 4: nothing scans a queue; purged and deleted messages are freed in slices.
// Not thread-safe: one loop owns it, or one lock stands around every call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_position.h"
#include "base/result.h"
#include "base/time.h"
#include "core/engine/commands.h"

namespace fanfare::engine {

struct EngineOptions {
  /// Number of this start of the process, larger than that of every start before it (the journal's fencing epoch).
  /// Part of receipt handles and sequence numbers; at most 2^20 - 1.
  std::uint32_t epoch = 1;
  /// How the journal frames records, so that the engine can tell where a record will lie.
  FrameLayout frame;
  /// Message contents kept in memory; the oldest are dropped beyond it and read from the journal when they are received.
  /// Must be unlimited when there is no journal (memory mode).
  std::uint64_t resident_bytes_max = 256ull * 1024 * 1024;
  static constexpr std::uint64_t kUnlimited = ~0ull;
  /// Off: resource policies are stored and not evaluated (--policies off).
  bool enforce_resource_policies = true;
  /// One purge a minute. [SQS PurgeQueue]
  bool enforce_purge_interval = true;
  /// A deleted queue's name is not free for a minute. [SQS DeleteQueue]
  bool enforce_deleted_recently = true;
  /// Messages of one queue received and not deleted. [SQS quotas]
  std::uint64_t in_flight_max = 120'000;
};

/// One journal record: `bytes` of Outputs::record_bytes from `offset`; it will lie at `position` of the log.
struct RecordSpan {
  std::size_t offset;
  std::size_t bytes;
  LogPosition position;
};

/// What a call of handle() yields. Reused from call to call: clear() keeps the memory.
class Outputs {
 public:
  /// Records in the order in which they must be appended, encoded one after another.
  std::string record_bytes;
  std::vector<RecordSpan> records;
  /// Also to callers of earlier calls (long polls that end).
  std::vector<Reply> replies;

  void clear();
  [[nodiscard]] std::string_view record(const RecordSpan& span) const {
    return std::string_view{record_bytes}.substr(span.offset, span.bytes);
  }

 private:
  friend class EngineCore;
  // Messages of all MessagesReceived replies; blocks, so that spans into them stay valid while more are added.
  std::vector<std::unique_ptr<std::vector<ReceivedMessage>>> received_;
  std::size_t received_used_ = 0;
};

/// The sizes of what came since Engine::forget_size_ranges(); 0 and 0 if nothing came. In bytes.
struct SizeRange {
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  bool any = false;
  void add(std::uint64_t bytes) {
    smallest = any && smallest < bytes ? smallest : bytes;
    largest = any && largest > bytes ? largest : bytes;
    any = true;
  }
};
/// Counters of one queue since the engine was made; for metrics. [SQS CloudWatch metrics]
struct QueueCounters {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  SizeRange sent_sizes;
  std::uint64_t received = 0;
  std::uint64_t empty_receives = 0;
  std::uint64_t deleted = 0;
  std::uint64_t expired = 0;        ///< retention
  std::uint64_t purged = 0;
  std::uint64_t dead_lettered = 0;  ///< moved away to the dead-letter queue
  std::uint64_t deduplicated = 0;
};
/// Counters of one topic since the engine was made. [SNS CloudWatch metrics]
struct TopicCounters {
  std::uint64_t published = 0;
  std::uint64_t published_bytes = 0;
  SizeRange published_sizes;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;  ///< refused by the queue's policy, queue missing, too long
  std::uint64_t filtered_no_attributes = 0;
  std::uint64_t filtered_invalid_attributes = 0;
  std::uint64_t filtered_invalid_body = 0;
  std::uint64_t filtered = 0;  ///< by a policy that could be evaluated; the three above are not in it
  std::uint64_t redriven = 0;  ///< of the failed: put into the subscription's dead-letter queue
  std::uint64_t redrive_failed = 0;
};
class MetricsVisitor {
 public:
  virtual ~MetricsVisitor() = default;
  /// `oldest_sent`: of the oldest message; nullopt for an empty queue.
  virtual void queue(const QueueKey& key, const MessageCounts& counts, std::optional<Timestamp> oldest_sent,
                     const QueueCounters& counters) = 0;
  virtual void topic(const TopicKey& key, const TopicCounters& counters) = 0;
};

/// Why a publication did not reach a subscription. For the log and the console; the newest few are kept.
struct FailedDelivery {
  enum class Reason : std::uint8_t {
    QueueDoesNotExist,
    AccessDenied,       ///< the queue's policy does not admit the topic
    MessageTooLong,     ///< the copy, with its envelope, is longer than the queue takes
    TooManyAttributes,  ///< raw delivery of more than 10 message attributes
    QueueTypeMismatch,  ///< a FIFO queue behind a standard topic
    ContentUnreadable,  ///< an archived message whose record the journal could not give
    EndpointFailed,     ///< an HTTP endpoint or mail server did not take it; `why` says how
  };
  Timestamp at;
  SubscriptionId subscription;
  std::string subscription_arn;
  std::string endpoint;
  PublicationId publication;
  Reason reason;
  std::optional<policy::Decision> decision;  ///< with AccessDenied
  bool redriven = false;                     ///< went to the subscription's dead-letter queue
  /// With AccessDenied: what the policy lacks, and what to write into it. With EndpointFailed: what the last try said.
  std::string why = {};
};

/// The account of outbound queues, which nobody outside can name: accounts have digits.
constexpr std::string_view kOutboundAccount = "sns";

/// A subscription whose messages leave the process: they wait in a queue of their own, with all that queues promise, until
/// somebody receives them there, brings them to the endpoint and settles them (SettleDelivery). A message there without an
/// envelope and without a publication is the confirmation; it has the attribute "Token".
struct OutboundEndpoint {
  QueueKey queue;
  TopicKey topic;
  topic::SubscriptionUuid subscription;
  topic::DeliveryProtocol protocol = topic::DeliveryProtocol::Http;
  std::string endpoint;
  bool raw = false;
  std::uint8_t signature_version = 1;
  std::string topic_delivery_policy;
  std::string delivery_policy;
  std::string display_name;
};

/// "AccessDenied"; static text.
std::string_view name_of(FailedDelivery::Reason reason);

/// A message, as tools that look at the log need it.
struct MessagePlace {
  std::uint32_t queue = 0;  ///< its number in records; 0: it lies in a topic's archive
  std::uint32_t topic = 0;  ///< of an archived message, as `queue`
  std::uint64_t sequence = 0;
  MessageId id;             ///< an archived message has none
  std::string_view arn;     ///< of the queue or topic; valid during the call
  LogPosition position;           ///< of the record that carries its content
};

enum class ReplayError : std::uint8_t {
  UnknownVersion,  ///< written by a newer version
  Damaged,         ///< the record passed its checksum and makes no sense: a fault of ours, or of another writer
};

class EngineCore;

class Engine {
 public:
  /// An empty engine whose first record will lie at `log_end`.
  explicit Engine(const EngineOptions& options, LogPosition log_end = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// Takes one input at `now` (not before the `now` of any call before) and adds what follows to `outputs`, which the
  /// caller has cleared. Records must be appended to the journal in order, before the next call's.
  void handle(const Input& input, Timestamp now, Outputs& outputs);

  /// When time alone will change something that somebody waits for or that takes memory; nullopt: never.
  /// May be early, never late. Hand in DeadlineCame then.
  [[nodiscard]] std::optional<Timestamp> next_deadline() const;

  /// Applies a record of the log that lies at `position`. Before the first handle(), in the order of the log.
  Result<Success, ReplayError> replay(std::string_view record, LogPosition position);
  /// After the last replay(): where the next record will lie, and the state is live from `now` on.
  void start(LogPosition log_end, Timestamp now);
  /// Where the next record will lie.
  [[nodiscard]] LogPosition log_end() const;
  /// The newest time that it was told, by handle(), a record or a snapshot. Nobody's clock may show less from then on.
  [[nodiscard]] Timestamp latest() const;

  /// Begins a snapshot of the state as it is now, after all records before log_end(): O(1), but for the names that are reserved.
  /// The snapshot before it has ended.
  void begin_snapshot();
  /// Writes more of it, in sections of at most about 64 KiB (a queue or topic with long settings may take more); contents of
  /// messages stay in the journal. handle() may be called between slices and does not change what is written; relocate() may not.
  /// An entry costs 1 of `budget` and some tens of nanoseconds. A slice ends with its part of the snapshot. Returns whether there is more
  /// to do: the last slices, which clean up, write nothing.
  bool snapshot_slice(std::size_t budget, const std::function<void(std::string_view section)>& write);
  /// Nobody wants it any more: only slices that clean up are left. Nothing if none is being made.
  void abandon_snapshot();
  [[nodiscard]] bool snapshotting() const;
  /// What the next slice belongs to: "messages", "cleaning" and so on; while a snapshot is made.
  [[nodiscard]] std::string_view snapshot_part() const;
  /// All of it in one call.
  void snapshot(const std::function<void(std::string_view section)>& write);
  /// An engine from what a snapshot wrote, be it one of an older version. `next` gives one section after another, nullopt at the end. Records from the
  /// snapshot's log end on are to be replayed.
  static Result<Engine, ReplayError> load(const EngineOptions& options,
                                          const std::function<std::optional<std::string>()>& next);

  /// Records before this position are not needed by any message (it may be up to 64 KiB too low); nullopt: no message needs
  /// any. The state itself needs the records since the last snapshot.
  [[nodiscard]] std::optional<LogPosition> oldest_needed_position() const;
  /// Writes contents that lie before `before` again, so that the log before it can be freed: looks at some thousands
  /// of messages from where it stopped last time, and writes at most about `budget_bytes`. `read` gives the record at a
  /// position, or nullopt if it cannot be read (then that content stays where it is). Adds records to `outputs`.
  /// Returns whether another call can still do something.
  bool relocate(LogPosition before, std::uint64_t budget_bytes,
                const std::function<std::optional<std::string>(LogPosition)>& read, Outputs& outputs);

  /// Bytes of the log that messages still need: their contents, and about what surrounds each.
  [[nodiscard]] std::uint64_t needed_bytes() const;
  /// The same of what relocate() with this position would write again.
  [[nodiscard]] std::uint64_t needed_bytes_before(LogPosition before) const;
  /// Messages on all queues; a publication that reached three queues counts three times.
  [[nodiscard]] std::size_t message_count() const;
  /// Every message and where its content lies, by queue and age, and then what topics archive; for tools. Takes as long as there are messages.
  void visit_messages(const std::function<void(const MessagePlace&)>& visit) const;

  void visit_metrics(MetricsVisitor& visitor) const;
  /// The SizeRange of every queue and topic begins anew.
  void forget_size_ranges();
  /// The newest failed deliveries, oldest first; at most 256.
  [[nodiscard]] std::vector<FailedDelivery> failed_deliveries() const;
  /// How many there were since the engine was made.
  [[nodiscard]] std::uint64_t failed_delivery_count() const;
  /// All subscriptions with an outbound queue, by age; outbound_generation() changes whenever this does.
  [[nodiscard]] std::vector<OutboundEndpoint> outbound_endpoints() const;
  [[nodiscard]] std::uint64_t outbound_generation() const;
  /// The newest messages to phones, devices and mail boxes that were captured instead of delivered, oldest first.
  [[nodiscard]] std::vector<topic::DirectoryEntry> captured_messages() const;
  /// Contents that replays of archives need and that are not in memory: whoever owns the journal reads these records and
  /// hands them in with ContentsRead. Nothing else waits for them.
  [[nodiscard]] std::vector<LogPosition> wanted_contents() const;
  /// Long polls that wait now.
  [[nodiscard]] std::size_t waiter_count() const;
  [[nodiscard]] std::uint64_t resident_bytes() const;

  /// The whole state as text, in a fixed order; equal states give equal texts. For tests and `fanfare state`.
  [[nodiscard]] std::string debug_state() const;

 private:
  explicit Engine(std::unique_ptr<EngineCore> core);
  std::unique_ptr<EngineCore> core_;
};

}  // namespace fanfare::engine

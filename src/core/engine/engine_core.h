// The engine's state and rules behind engine.h. Which file holds what:
//   engine.cpp           inputs, deadlines, waiters, records' way into Outputs
//   engine_apply.cpp     apply() of every event, replay
//   engine_queues.cpp    commands on queues as such
//   engine_messages.cpp  send, receive, delete, change visibility
//   engine_moves.cpp     message move tasks
//   engine_topics.cpp    commands on topics and subscriptions
//   engine_publish.cpp   publish: filter, permission, delivery to queues
//   engine_archive.cpp   archives of FIFO topics and their replay
//   engine_outbound.cpp  subscriptions whose messages leave the process; the directory
//   engine_snapshot.cpp  snapshots in slices; engine_load.cpp reads them
//   engine_state.cpp     relocation, debug_state
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/entries_section.h"
#include "core/engine/payloads.h"
#include "core/engine/records.h"
#include "core/engine/saving.h"
#include "core/engine/state.h"

namespace fanfare::engine {

/// How long a deleted queue's name is not free. [SQS DeleteQueue]
constexpr seconds kNameReservedFor{60};
/// How long a token confirms a subscription, or restores one. Then the subscription is gone. [SNS ConfirmSubscription]
constexpr std::chrono::hours kTokenValidFor{48};

class EngineCore {
 public:
  EngineCore(const EngineOptions& options, LogPosition log_end);

  void handle(const Input& input, Timestamp now, Outputs& outputs);
  [[nodiscard]] std::optional<Timestamp> next_deadline() const;
  Result<Success, ReplayError> replay(std::string_view record, LogPosition position);
  void start(LogPosition log_end, Timestamp now);
  [[nodiscard]] LogPosition log_end() const { return log_end_; }
  void begin_snapshot();
  bool snapshot_slice(std::size_t budget, const std::function<void(std::string_view)>& write);
  void abandon_snapshot();
  [[nodiscard]] bool snapshotting() const { return saving_ != nullptr; }
  [[nodiscard]] std::string_view snapshot_part() const;
  Result<Success, ReplayError> load(const std::function<std::optional<std::string>()>& next);
  [[nodiscard]] std::optional<LogPosition> oldest_needed_position() const { return payloads_.oldest_position(); }
  bool relocate(LogPosition before, std::uint64_t budget_bytes,
                const std::function<std::optional<std::string>(LogPosition)>& read, Outputs& outputs);
  [[nodiscard]] std::uint64_t needed_bytes() const { return payloads_.needed_bytes(); }
  [[nodiscard]] std::uint64_t needed_bytes_before(LogPosition before) const { return payloads_.needed_bytes_before(before); }
  [[nodiscard]] std::size_t message_count() const;
  void visit_messages(const std::function<void(const MessagePlace&)>& visit) const;
  void visit_metrics(MetricsVisitor& visitor) const;
  void forget_size_ranges();
  [[nodiscard]] std::vector<FailedDelivery> failed_deliveries() const { return {failed_.begin(), failed_.end()}; }
  [[nodiscard]] std::uint64_t failed_delivery_count() const { return failed_count_; }
  [[nodiscard]] std::vector<OutboundEndpoint> outbound_endpoints() const;
  [[nodiscard]] std::vector<topic::DirectoryEntry> captured_messages() const;
  [[nodiscard]] std::uint64_t outbound_generation() const { return outbound_generation_; }
  [[nodiscard]] std::size_t waiter_count() const { return waiters_.size(); }
  [[nodiscard]] std::uint64_t resident_bytes() const { return payloads_.resident_bytes(); }
  [[nodiscard]] Timestamp latest() const { return now_; }
  [[nodiscard]] std::vector<LogPosition> wanted_contents() const;
  [[nodiscard]] std::string debug_state() const;

 private:
  // ---- Commands. Each decides, records what it decided, and replies.
  void run(const Caller& caller, const CreateQueue& command);
  void run(const Caller& caller, const FindQueue& command);
  void run(const Caller& caller, const ListQueues& command);
  void run(const Caller& caller, const DeleteQueue& command);
  void run(const Caller& caller, const DescribeQueue& command);
  void run(const Caller& caller, const ChangeQueue& command);
  void run(const Caller& caller, const ListQueueTags& command);
  void run(const Caller& caller, const TagQueue& command);
  void run(const Caller& caller, const UntagQueue& command);
  void run(const Caller& caller, const PurgeQueue& command);
  void run(const Caller& caller, const ListDeadLetterSourceQueues& command);
  void run(const Caller& caller, const AddPermission& command);
  void run(const Caller& caller, const RemovePermission& command);
  void run(const Caller& caller, const StartMoveTask& command);
  void run(const Caller& caller, const CancelMoveTask& command);
  void run(const Caller& caller, const ListMoveTasks& command);
  void run(const Caller& caller, const SendMessage& command);
  void run(const Caller& caller, const SendMessageBatch& command);
  void run(const Caller& caller, const ReceiveMessages& command);
  void run(const Caller& caller, const DeleteMessage& command);
  void run(const Caller& caller, const DeleteMessageBatch& command);
  void run(const Caller& caller, const ChangeVisibility& command);
  void run(const Caller& caller, const ChangeVisibilityBatch& command);
  void run(const Caller& caller, const CreateTopic& command);
  void run(const Caller& caller, const ListTopics& command);
  void run(const Caller& caller, const DeleteTopic& command);
  void run(const Caller& caller, const DescribeTopic& command);
  void run(const Caller& caller, const ChangeTopic& command);
  void run(const Caller& caller, const ListTopicTags& command);
  void run(const Caller& caller, const TagTopic& command);
  void run(const Caller& caller, const UntagTopic& command);
  void run(const Caller& caller, const Subscribe& command);
  void run(const Caller& caller, const ConfirmSubscription& command);
  void restore(const Caller& caller, TopicState& topic, const ConfirmSubscription& command);
  void run(const Caller& caller, const Unsubscribe& command);
  void run(const Caller& caller, const ListSubscriptions& command);
  void run(const Caller& caller, const ListSubscriptionsByTopic& command);
  void run(const Caller& caller, const DescribeSubscription& command);
  void run(const Caller& caller, const ChangeSubscription& command);
  void run(const Caller& caller, const Publish& command);
  void run(const Caller& caller, const PublishBatch& command);
  void run(const Caller& caller, const AddTopicPermission& command);
  void run(const Caller& caller, const RemoveTopicPermission& command);
  void run(const Caller& caller, const UseDirectory& command);
  void run(const Caller& caller, const SettleDelivery& command);

  void run(const Command& command);
  void run(const DeadlineCame&);
  void run(const WaiterGone& gone);
  void run(const ReceiveUndelivered& undelivered);
  void run(const StorageChanged& changed) { storage_full_ = changed.full; }
  void run(const ContentsRead& read);

  // ---- Records and replies
  /// Writes the event into the outputs, applies it; wait_for of replies is log_end() afterwards.
  template <class OneEvent>
  void record(const OneEvent& event);
  void finish_record(std::size_t start);
  void reply(CallerId caller, ReplyBody body) { outputs_->replies.push_back({caller, std::nullopt, std::move(body)}); }
  void reply_when_durable(CallerId caller, ReplyBody body) {
    outputs_->replies.push_back({caller, log_end_, std::move(body)});
  }
  std::vector<ReceivedMessage>& fresh_received();

  // ---- Permission
  /// The error reply if the caller may not do `action` on this resource of `owner`.
  [[nodiscard]] std::optional<AccessDenied> refuses(const Caller& caller, std::string_view action, std::string_view owner,
                                                    std::string_view arn, const policy::Policy* policy,
                                                    bool owner_only = false, const TagMap* tags = nullptr) const;
  /// Why the queue's policy does not let the topic deliver, and the statement that would.
  [[nodiscard]] std::string why_not_delivered(const TopicState& topic, const QueueState& queue) const;
  [[nodiscard]] bool refused(const Caller& caller, std::string_view action, const QueueState& queue, bool owner_only = false);
  [[nodiscard]] bool refused(const Caller& caller, std::string_view action, const TopicState& topic, bool owner_only = false);
  /// Whoever owns the subscription needs the right by their own policies, whoever owns the topic by its policy or theirs.
  [[nodiscard]] bool refused(const Caller& caller, std::string_view action, const SubscriptionState& subscription);
  /// Of a queue or topic that does not exist: who may not ask about the name does not learn that nobody has it.
  [[nodiscard]] bool refused_of_missing(const Caller& caller, std::string_view action, std::string_view arn);
  [[nodiscard]] bool refused_by_storage(const Caller& caller);
  /// Queues, topics and subscriptions that one journal can number in its life, the deleted ones included. A snapshot that
  /// names more is damaged.
  static constexpr std::size_t kNumbersMax = std::size_t{1} << 24;
  [[nodiscard]] bool refused_by_numbers(const Caller& caller);

  // ---- Queues
  [[nodiscard]] QueueState* find_queue(const QueueKeyView& key) const;
  /// The queue of the command, brought up to now; replies with the error and gives null if there is none or the caller
  /// may not do this.
  QueueState* queue_for(const Caller& caller, const QueueKeyView& key, std::string_view action, bool owner_only = false);
  [[nodiscard]] QueueState* queue_by_number(std::uint32_t number) const;
  void bring_up_to_date(QueueState& queue);
  /// False: bring_up_to_date() would find nothing to do, and its look at the queue's oldest message, which nothing has touched for
  /// long, is saved. Of the cost of a publication to 100 queues those looks were an eighth.
  [[nodiscard]] bool may_be_due(const QueueState& queue) const;
  void advance_due();
  /// The queue changed: messages may wait for it sooner than its registered deadline says.
  void note_deadline(QueueState& queue);
  /// The same where the change was one arrival.
  void note_deadline_of_arrival(QueueState& queue, Timestamp visible_at);
  [[nodiscard]] std::optional<QueueError> check_settings(const QueueKeyView& key, const queue::QueueSettings& before,
                                                         const queue::QueueSettings& after,
                                                         const queue::AttributeChanges& changes) const;

  // ---- Messages
  /// What a queue keeps of a content besides its payload.
  struct ContentKeys {
    std::string_view group;
    std::string_view deduplication_id;
  };
  [[nodiscard]] std::optional<QueueError> check_message(const QueueState& queue, const OutgoingMessage& message) const;
  /// `deduplication`: of a message to a FIFO queue.
  MessageSent send(QueueState& queue, const OutgoingMessage& message,
                   const std::optional<message::DeduplicationWindow::Key>& deduplication);
  /// Within what an id counts is a setting of the queue or topic. [SQS DeduplicationScope, SNS FifoThroughputScope]
  static message::DeduplicationWindow::Key deduplication_key(const QueueState& queue, const ContentKeys& keys);
  static message::DeduplicationWindow::Key deduplication_key(const QueueState& queue, const OutgoingMessage& message);
  static message::DeduplicationWindow::Key deduplication_key(const TopicState& topic, const ContentKeys& keys);
  /// The messages of an earlier receive with this attempt id, leased anew; false if it cannot be repeated.
  bool repeat_attempt(QueueState& queue, std::string_view attempt_id, seconds visibility, std::vector<ReceivedMessage>& out);
  /// What the event took can be asked for again.
  void note_attempt(QueueState& queue, const AttemptedEvent& event);
  /// Takes up to `max` messages into `out`; dead-letters those that were received too often. Returns whether the limit of
  /// messages in flight stopped it.
  bool take(QueueState& queue, std::int64_t max, seconds visibility, std::string_view attempt_id, std::vector<ReceivedMessage>& out);
  void dead_letter(QueueState& from, const queue::Entry& entry, QueueState& to);
  /// The answer to a receive. It waits for nothing but moves (and replays): until the move of a message is durable a crash can put the
  /// message back under its old handle, and whoever held the new one would delete nothing.
  void reply_received(const QueueState& queue, CallerId caller, const std::vector<ReceivedMessage>& messages);
  [[nodiscard]] ReceivedMessage describe(const QueueState& queue, const queue::Entry& entry) const;
  /// Messages of it were deleted: others may go on, and a group may be noisy since.
  void note_deleted(QueueState& queue);
  /// Begins to load what deleting these looks at.
  void prefetch_for_delete(const QueueState& queue, std::span<const ReceiptHandle> handles);
  [[nodiscard]] std::optional<QueueError> decide_delete(QueueState& queue, const ReceiptHandle& handle,
                                                        DeletedEvent& event) const;
  [[nodiscard]] std::optional<QueueError> decide_change(QueueState& queue, const ReceiptHandle& handle,
                                                        queue::VisibilityTimeout timeout, VisibilityChangedEvent& event) const;
  /// Serves the waiters of all queues that were noted by note_arrival().
  void note_arrival(QueueState& queue);
  void serve_waiters();
  void end_waiter(QueueState& queue, std::list<Waiter>::iterator waiter);
  /// Lets go of what an entry that left its queue held.
  void release(const queue::Entry& entry);
  void release_expired(QueueState& queue);
  void collect_garbage(std::size_t budget);

  // ---- Move tasks
  [[nodiscard]] bool is_dead_letter_queue(const QueueState& queue) const;
  QueueState* move_source_for(const Caller& caller, const QueueKeyView& key, std::string_view action);
  void note_move(QueueState& source, std::optional<Timestamp> at = {});
  void run_moves();
  bool move_slice(QueueState& source);
  void change_policy(const Caller& caller, QueueState& queue, std::string policy);

  // ---- Topics
  [[nodiscard]] TopicState* find_topic(const TopicKeyView& key) const;
  TopicState* topic_for(const Caller& caller, const TopicKeyView& key, std::string_view action, bool owner_only = false);
  [[nodiscard]] SubscriptionState* subscription_by_number(std::uint32_t number) const;
  [[nodiscard]] SubscriptionState* find_subscription(const SubscriptionKeyView& key) const;
  [[nodiscard]] std::optional<TopicError> check_topic_settings(const TopicKeyView& key, const topic::TopicSettings& settings,
                                                               const topic::TopicChanges& changes) const;
  [[nodiscard]] std::optional<TopicError> check_subscription(const TopicState& topic, std::string_view owner,
                                                             const topic::SubscriptionSettings& settings) const;
  [[nodiscard]] SubscriptionSummary summary_of(const SubscriptionState& subscription) const;
  [[nodiscard]] std::optional<TopicError> check_publication(const TopicState& topic, const OutgoingPublication& publication) const;
  Published publish(TopicState& topic, const OutgoingPublication& publication);
  /// Adds the delivery to `published_`, or notes why not and tries the subscription's dead-letter queue.
  void deliver(TopicState& topic, SubscriptionState& subscription, const message::Content& content);
  [[nodiscard]] QueueState* endpoint_of(const SubscriptionState& subscription) const;
  /// Why this queue cannot have the copy; nullopt: it can.
  std::optional<FailedDelivery::Reason> obstacle(const TopicState& topic, const SubscriptionState& subscription,
                                                 const QueueState* queue, const message::Content& content,
                                                 std::optional<policy::Decision>& decision) const;
  void add_delivery(SubscriptionState& subscription, QueueState& queue, bool redriven);
  /// What the policy of a queue says to a delivery for this topic.
  [[nodiscard]] policy::Decision may_deliver(const SubscriptionState& subscription, const TopicState& topic,
                                             const QueueState& queue) const;
  void note_failure(FailedDelivery failed);
  /// Keeps the publication for the phones and devices in `captures_`.
  void capture(const TopicState& topic, const message::Content& content);
  // ---- Archives and replays
  void set_archive(TopicState& topic);
  void trim_archive(TopicState& topic, std::size_t budget);
  void note_archive(TopicState& topic);
  void run_archives(std::size_t budget);
  /// Whether the subscription, of this account, can begin the replay that its settings ask for.
  [[nodiscard]] std::optional<TopicError> check_replay(const TopicState& topic, std::string_view account,
                                                       const topic::SubscriptionSettings& settings,
                                                       const SubscriptionState* replaces = nullptr) const;
  [[nodiscard]] static std::optional<ReplayStatus> replay_status(const SubscriptionState& subscription);
  void start_replay(SubscriptionState& subscription);
  /// A crash cut the log between the subscription, or its confirmation, and the beginning of its replay. It gets nothing until then.
  [[nodiscard]] bool owes_replay(const SubscriptionState& subscription) const;
  void start_owed_replays();
  void stop_replay(SubscriptionState& subscription, ReplayStatus status);
  void end_replay(SubscriptionState& subscription, ReplayStatus status);
  void forget_replay(SubscriptionState& subscription);
  static void enter_replaying(TopicArchive& archive, SubscriptionState& subscription);
  void note_replay(SubscriptionState& subscription, std::optional<Timestamp> at = {});
  void run_replays();
  /// After a start: all that waits for its time.
  void note_replays();
  /// Up to `budget` publications, with what is in memory and what was read.
  void replay_slice(SubscriptionState& subscription, std::span<const ContentsRead::Content> read, std::size_t budget);
  void replay_one(TopicState& topic, SubscriptionState& subscription, const ArchivedMessage& message,
                  const message::ContentView& view);
  void want_contents(const TopicArchive& archive, TopicArchive::Messages::const_iterator from, Replay& replay) const;
  /// The subscription as publish() finds it: in the topic's index if it has a filter; nowhere until it is confirmed.
  void put_in_index(SubscriptionState& subscription);
  void take_out_of_index(SubscriptionState& subscription);
  void create_outbound_queue(const TopicKeyView& topic, const topic::SubscriptionUuid& uuid);
  void delete_outbound_queue(const SubscriptionState& subscription);
  void send_confirmation(const SubscriptionState& subscription, const MessageId& id);
  void send_farewell(const SubscriptionState& subscription, const MessageId& id);
  /// Subscriptions that wait for their token: when they go.
  void note_pending(const SubscriptionState& subscription);
  void forget_pending(const SubscriptionState& subscription);
  void run_pending();
  void forget_endpoint(const SubscriptionState& subscription);
  void set_leaving(SubscriptionState& subscription, Timestamp at);
  void forget_names(const SubscriptionState& subscription);
  void forget_if_unused(SubscriptionState& subscription);
  void forget_if_unused(QueueState& queue);

  // ---- Events: the only places where durable state changes
  void apply(const SentEvent& event, std::string_view group,
             const std::optional<message::DeduplicationWindow::Key>& deduplication, std::uint32_t payload);
  void apply(const PublishedEvent& event, const ContentKeys& keys, const message::PublicationFields& publication,
             std::uint32_t payload);
  void apply(const ReceivedEvent& event);
  void apply(const AttemptedEvent& event);
  void apply(const RepeatedEvent& event);
  void apply(const DeletedEvent& event);
  void apply(const VisibilityChangedEvent& event);
  void apply(const DeadLetteredEvent& event);
  void apply(const MessageMovedEvent& event);
  void apply(const MoveTaskStartedEvent& event);
  void apply(const MoveTaskEndedEvent& event);
  void apply(const UndeliveredEvent& event);
  void apply(const QueueCreatedEvent& event);
  void apply(const QueueChangedEvent& event);
  void apply(const QueueDeletedEvent& event);
  void apply(const QueuePurgedEvent& event);
  void apply(const QueueTaggedEvent& event);
  void apply(const TopicCreatedEvent& event);
  void apply(const TopicChangedEvent& event);
  void apply(const TopicDeletedEvent& event);
  void apply(const TopicTaggedEvent& event);
  void apply(const SubscriptionCreatedEvent& event);
  void apply(const SubscriptionChangedEvent& event);
  void apply(const SubscriptionDeletedEvent& event);
  void apply(const SubscriptionConfirmedEvent& event);
  void apply(const RelocatedEvent& event, LogPosition position);
  void apply(const DirectoryChangedEvent& event);
  void apply(const SubscriptionLeftEvent& event);
  void apply(const SubscriptionRestoredEvent& event);
  void apply(const ReplayStartedEvent& event);
  void apply(const ReplayedEvent& event);
  void apply(const ReplayEndedEvent& event);
  void apply(const ArchiveRelocatedEvent& event, LogPosition position);
  void apply(const ArchiveForgottenEvent& event);
  bool replay_event(const DecodedRecord& record, LogPosition position);

  QueueState& insert_queue(std::unique_ptr<QueueState> queue);
  TopicState& insert_topic(std::unique_ptr<TopicState> topic);
  SubscriptionState& insert_subscription(std::unique_ptr<SubscriptionState> subscription);
  void set_settings(QueueState& queue, const queue::QueueSettings& settings);
  void set_settings(TopicState& topic, const topic::TopicSettings& settings);
  void set_settings(SubscriptionState& subscription, const topic::SubscriptionSettings& settings);
  struct Loading;
  bool load_section(std::string_view section, Loading& loading);
  void relocate_archived(TopicState& topic, const ArchivedMessage& message, std::string_view content);
  [[nodiscard]] bool is_in_log(LogPosition position) const;
  std::optional<std::uint32_t> load_content(const ContentPlace& content, Loading& loading);
  template <class Content>
  bool restore_entry(QueueState& queue, queue::Entry& entry, std::uint64_t rank, std::string_view group, SequenceNumber& last, Content&& content);

  bool restore_archive(TopicState& topic, const std::optional<Timestamp>& from);
  bool restore_archived(TopicState& topic, const ArchivedMessage& message);

  // ---- Snapshots: whoever changes something durable says so first, see saving.h
  void will_change(QueueState& queue);
  void will_change(TopicState& topic);
  void will_change(SubscriptionState& subscription);
  /// The queue, which is about to change; it exists.
  QueueState& changing_queue(std::uint32_t number) {
    QueueState& queue = *queues_[number];
    will_change(queue);
    return queue;
  }
  TopicState& changing_topic(std::uint32_t number) {
    TopicState& topic = *topics_[number];
    will_change(topic);
    return topic;
  }
  /// The subscription and its topic, whose replays hold what it archives.
  void will_change_replay(SubscriptionState& subscription) {
    will_change(subscription);
    will_change(*topics_[subscription.topic.number]);
  }
  /// The message is about to leave the topic's archive.
  void keep_archived(const TopicState& topic, const ArchivedMessage& message);
  /// These, the oldest that the topic archived, become garbage.
  void discard_archived(const TopicState& topic, TopicArchive::Messages messages);
  /// Its messages become garbage, and `fresh` takes their place.
  void discard_messages(QueueState& queue, queue::Queue fresh);
  void discard_attempts(QueueState& queue);
  std::size_t save_numbered(Saving::Numbered& things, const std::function<void(std::uint32_t)>& keep,
                            const std::function<void(std::string_view)>& write);
  std::size_t save_step(std::size_t budget, const std::function<void(std::string_view)>& write);
  std::size_t save_messages(std::size_t budget, const std::function<void(std::string_view)>& write);
  std::size_t save_attempts(std::uint32_t queue, Attempts& attempts, std::size_t budget, const std::function<void(std::string_view)>& write);
  std::size_t save_tenants(std::map<std::uint32_t, Saving::Messages>::iterator place, std::size_t budget,
                           const std::function<void(std::string_view)>& write);
  void forget_kept(std::size_t& budget);
  std::size_t save_archive(std::size_t budget, const std::function<void(std::string_view)>& write);
  void relocate_content(QueueState& queue, const queue::Entry& entry, std::string_view content);

  // Constant after construction.
  EngineOptions options_;

  // Of the call that runs now.
  Outputs* outputs_ = nullptr;
  Timestamp now_{};  ///< never runs back
  Timestamp recorded_at_{};  ///< of the last record
  bool expired_ = false;     ///< a message has expired in this call

  LogPosition log_end_;
  bool storage_full_ = false;

  // Queues. Numbers are never used again.
  std::vector<std::unique_ptr<QueueState>> queues_;  ///< by number; null: none, or forgotten
  std::unordered_map<QueueKeyView, QueueState*, KeyHash> queues_by_key_;  ///< keys are views into the states
  std::map<QueueKeyView, QueueState*> queue_names_;                       ///< the same, in order
  std::map<QueueKey, Timestamp> deleted_queues_;  ///< names that are not free yet, and since when
  std::deque<std::pair<Timestamp, QueueKey>> deletions_;  ///< by time; also those whose name was taken again since

  // Topics and subscriptions. Numbers are never used again.
  std::vector<std::unique_ptr<TopicState>> topics_;  ///< by number; null: none, or deleted
  std::unordered_map<TopicKeyView, TopicState*, KeyHash> topics_by_key_;
  std::map<TopicKeyView, TopicState*> topic_names_;
  std::vector<std::unique_ptr<SubscriptionState>> subscriptions_;  ///< by number; null: none, or forgotten
  std::unordered_map<std::string, SubscriptionState*> subscriptions_by_uuid_;      ///< live ones; the key is 16 bytes
  std::unordered_map<std::string, SubscriptionState*> subscriptions_by_endpoint_;  ///< live ones, see endpoint_key()

  topic::Directory directory_;

  PayloadStore payloads_;

  // Transient.
  std::set<std::pair<Timestamp, std::uint32_t>> due_;  ///< queues with a deadline, by QueueState::registered
  std::set<std::pair<Timestamp, std::uint32_t>> moves_due_;  ///< queues with a running move task, by QueueState::move_at
  std::set<std::pair<Timestamp, std::uint32_t>> pending_due_;   ///< subscriptions that wait for their token, by its end
  std::vector<std::uint32_t> owed_replays_;  ///< subscriptions that owed one when the log ended
  std::set<std::pair<Timestamp, std::uint32_t>> replays_due_;   ///< subscriptions with a running replay, by Replay::at
  std::set<std::pair<Timestamp, std::uint32_t>> archives_due_;  ///< topics with archived messages to drop, by TopicArchive::registered
  struct WaiterPlace {
    std::uint32_t queue;
    std::list<Waiter>::iterator waiter;
  };
  std::unordered_map<std::uint64_t, WaiterPlace> waiters_;    ///< by caller
  std::set<std::pair<Timestamp, std::uint64_t>> wait_ends_;   ///< callers by the end of their wait
  std::vector<QueueState*> arrivals_;                         ///< queues whose waiters may now be served
  std::deque<TopicArchive::Messages> archive_garbage_;        ///< of deleted topics
  std::deque<message::DeduplicationWindow> window_garbage_;   ///< of deleted topics
  std::deque<queue::Queue> garbage_;                          ///< messages of purged and deleted queues
  [[nodiscard]] bool has_garbage() const { return !garbage_.empty() || !archive_garbage_.empty() || !window_garbage_.empty(); }
  // Scratch, so that hot commands do not allocate.
  std::vector<queue::Entry> removed_;
  AttemptedEvent taken_;
  std::vector<const queue::Entry*> entries_;  ///< of the batch in hand
  std::vector<std::optional<message::DeduplicationWindow::Key>> deduplications_;
  DeletedEvent deleted_;
  PublishedEvent published_;
  ReplayedEvent replayed_;
  std::vector<std::uint32_t> passed_;
  std::vector<const SubscriptionState*> captures_;  ///< of the publication that is being decided: phones and devices
  std::uint64_t outbound_generation_ = 0;
  std::deque<FailedDelivery> failed_;
  std::uint64_t failed_count_ = 0;
  struct RelocationCursor {
    std::uint32_t queue = 0;  ///< behind the last: topics, whose archives are looked through like queues
    SequenceNumber sequence{0};
    bool moved_any = false;  ///< since it was at the start
  };
  RelocationCursor relocation_;
  std::unique_ptr<Saving> saving_;  ///< null: no snapshot is made
};

}  // namespace fanfare::engine

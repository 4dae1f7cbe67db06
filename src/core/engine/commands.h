// What the engine can be told and what it answers: all inputs, replies and errors, as values.
//
// Rule 1: inputs may hold views (string_view, span); they are valid during the call of Engine::handle and no longer.
// Rule 2: replies may hold views into the engine (resident message bytes, names); they are valid until the next call of
//         Engine::handle. Whoever needs them longer copies.
// Rule 3: ranges and spellings are checked before: a value of these types is in range. What depends on state
//         (does the queue exist, is the type of queue right) is checked here.
// A new action: a command here, its reply below, a decision in engine_*.cpp, a record if it changes state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/log_position.h"
#include "base/time.h"
#include "core/message/content.h"
#include "core/queue/names.h"
#include "core/queue/settings.h"
#include "core/topic/directory.h"
#include "core/topic/filter_policy.h"
#include "core/topic/names.h"
#include "core/topic/settings.h"
#include "policy/authorize.h"

namespace fanfare::engine {

using queue::QueueId;
using queue::QueueKey;
using queue::QueueKeyView;
using queue::ReceiptHandle;
using queue::SequenceNumber;
using topic::SubscriptionId;
using topic::SubscriptionKeyView;
using topic::TopicId;
using topic::TopicKey;
using topic::TopicKeyView;

/// The shell's token for one request; comes back in the reply. Unique among the requests that are not answered yet.
struct CallerId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const CallerId&, const CallerId&) = default;
};

/// Who asks, and what the shell already knows about the permission.
struct Caller {
  CallerId id;
  policy::Principal principal;
  /// The caller's own policies. The resource's policy is the engine's part, and so is the decision from both.
  policy::IdentityPolicies identity{.unrestricted = true};
  /// Condition keys of the request that are not derived from the principal: aws:SourceIp, aws:SecureTransport, ...
  std::span<const policy::ContextEntry> context;
};

/// {"team", "search"}
struct Tag {
  std::string_view key;
  std::string_view value;
};
using OwnedTag = std::pair<std::string, std::string>;

// ---- Commands on queues -------------------------------------------------------------------------------------------

/// Makes a queue, or finds the one of this name if nothing given differs. FIFO names need changes.fifo == true and the
/// other way round. Reply: QueueFound. Errors: QueueExistsWithOtherAttributes (attribute), QueueDeletedRecently,
/// NameAndTypeDisagree, BadPolicy, FifoAttributeOnStandardQueue, DeadLetterQueueMissing, ... [SQS CreateQueue]
struct CreateQueue {
  QueueKeyView queue;
  queue::AttributeChanges attributes;
  std::span<const Tag> tags;  ///< used only when the queue is made
};
/// Reply: QueueFound. [SQS GetQueueUrl]
struct FindQueue {
  QueueKeyView queue;
};
/// Queues of one account and region in the order of their names. Reply: QueueNames. [SQS ListQueues]
struct ListQueues {
  std::string_view account;
  std::string_view region;
  std::string_view prefix;
  std::string_view after;    ///< names behind this one; empty: from the start
  std::size_t limit = 1000;  ///< at least 1
};
/// Reply: Done. Waiting receives get QueueDoesNotExist. [SQS DeleteQueue]
struct DeleteQueue {
  QueueKeyView queue;
};
/// Reply: QueueDescription. [SQS GetQueueAttributes]
struct DescribeQueue {
  QueueKeyView queue;
};
/// Reply: Done. Nothing is changed when one of the changes is refused. [SQS SetQueueAttributes]
struct ChangeQueue {
  QueueKeyView queue;
  queue::AttributeChanges attributes;
};
/// Reply: Tags. [SQS ListQueueTags]
struct ListQueueTags {
  QueueKeyView queue;
};
/// Reply: Done; TooManyTags beyond 50. [SQS TagQueue]
struct TagQueue {
  QueueKeyView queue;
  std::span<const Tag> tags;
};
/// Reply: Done. [SQS UntagQueue]
struct UntagQueue {
  QueueKeyView queue;
  std::span<const std::string_view> keys;
};
/// Drops all messages, those in flight and delayed ones too. Reply: Done. [SQS PurgeQueue]
struct PurgeQueue {
  QueueKeyView queue;
};
/// Queues whose redrive policy names this one, in the order of their names. Reply: QueueNames. [SQS ListDeadLetterSourceQueues]
struct ListDeadLetterSourceQueues {
  QueueKeyView queue;
  std::string_view after;
  std::size_t limit = 1000;
};

/// Adds a statement to the queue's policy that allows these accounts these actions. Reply: Done. Errors: Permission*.
/// [SQS AddPermission]
struct AddPermission {
  QueueKeyView queue;
  std::string_view label;
  std::span<const std::string_view> accounts;
  std::span<const std::string_view> actions;  ///< "SendMessage", "*"
};
/// Takes the statement of this label out of the queue's policy. Reply: Done. [SQS RemovePermission]
struct RemovePermission {
  QueueKeyView queue;
  std::string_view label;
};

/// Moves the visible messages of a dead-letter queue to `destination`, or each back to the queue that it came from; they
/// arrive as new messages. Reply: MoveTaskStarted. Errors: MoveSourceMissing, MoveSourceIsNoDeadLetterQueue,
/// MoveDestinationMissing, MoveDestinationOfOtherType, MoveDestinationIsSource, MoveTaskRunning, TooManyMoveTasks.
/// [SQS StartMessageMoveTask]
struct StartMoveTask {
  QueueKeyView source;
  std::optional<QueueKeyView> destination;
  std::uint32_t per_second_max = 0;  ///< 1 to 500; 0: as fast as the engine can beside other work
  Uuid fresh_id;                     ///< randomness from the shell
};
/// Reply: MoveTaskCancelled. Errors: MoveSourceMissing, MoveTaskMissing, MoveTaskNotRunning. [SQS CancelMessageMoveTask]
struct CancelMoveTask {
  QueueKeyView source;
  Uuid task;
};
/// Reply: MoveTasks, the newest first. Errors: MoveSourceMissing. [SQS ListMessageMoveTasks]
struct ListMoveTasks {
  QueueKeyView source;
  std::size_t limit = 1;  ///< 1 to 10
};

/// A message on its way in. The id is fresh randomness from the shell.
struct OutgoingMessage {
  MessageId id;
  message::Content content;
  /// Made from the body (the hexadecimal SHA-256) for FIFO queues' names; taken where no id was given and the queue has
  /// content-based deduplication.
  std::string_view content_deduplication_id;
  std::optional<queue::DeliveryDelay> delay;  ///< absent: the queue's; refused on FIFO queues unless it is 0
};
/// Reply: MessageSent. [SQS SendMessage]
struct SendMessage {
  QueueKeyView queue;
  OutgoingMessage message;
};
/// Each entry succeeds alone. Reply: BatchSent, results in the order of the entries. [SQS SendMessageBatch]
struct SendMessageBatch {
  QueueKeyView queue;
  std::span<const OutgoingMessage> messages;
};
/// Reply: MessagesReceived, at once or when the wait ends. [SQS ReceiveMessage]
struct ReceiveMessages {
  QueueKeyView queue;
  queue::MaxMessages max_messages;
  std::optional<queue::VisibilityTimeout> visibility_timeout;  ///< absent: the queue's
  std::optional<queue::ReceiveWait> wait;                      ///< absent: the queue's
  std::string_view attempt_id;                                 ///< ReceiveRequestAttemptId; empty: none
};
/// An outdated handle succeeds and deletes nothing (FIFO: ReceiptHandleExpired). Reply: Done. [SQS DeleteMessage]
struct DeleteMessage {
  QueueKeyView queue;
  ReceiptHandle handle;
};
/// Reply: BatchDone. [SQS DeleteMessageBatch]
struct DeleteMessageBatch {
  QueueKeyView queue;
  std::span<const ReceiptHandle> handles;
};
/// The message stays hidden until now + timeout. A handle whose lease has ended, or of an earlier receive, succeeds and changes nothing.
/// Reply: Done; MessageNotAvailable, TotalVisibilityExceeded. [SQS ChangeMessageVisibility]
struct ChangeVisibility {
  QueueKeyView queue;
  ReceiptHandle handle;
  queue::VisibilityTimeout timeout;
};
/// Reply: BatchDone. [SQS ChangeMessageVisibilityBatch]
struct ChangeVisibilityBatch {
  struct Entry {
    ReceiptHandle handle;
    queue::VisibilityTimeout timeout;
  };
  QueueKeyView queue;
  std::span<const Entry> entries;
};

// ---- Commands on topics -------------------------------------------------------------------------------------------

/// Makes a topic, or finds the one of this name if nothing given differs. Reply: TopicFound.
/// Errors: TopicExistsWithOtherAttributes, TopicExistsWithOtherTags. [SNS CreateTopic]
struct CreateTopic {
  TopicKeyView topic;
  topic::TopicChanges attributes;
  std::span<const Tag> tags;
};
/// Topics of one account and region in the order of their names. Reply: TopicNames. [SNS ListTopics]
struct ListTopics {
  std::string_view account;
  std::string_view region;
  std::string_view after;
  std::size_t limit = 100;
};
/// Deletes the topic and its subscriptions; succeeds if there is none. Reply: Done. [SNS DeleteTopic]
struct DeleteTopic {
  TopicKeyView topic;
};
/// Reply: TopicDescription. [SNS GetTopicAttributes]
struct DescribeTopic {
  TopicKeyView topic;
  std::string_view action = "sns:GetTopicAttributes";  ///< what it is allowed as
};
/// Reply: Done. [SNS SetTopicAttributes]
struct ChangeTopic {
  TopicKeyView topic;
  topic::TopicChanges attributes;
  std::string_view action = "sns:SetTopicAttributes";  ///< what it is allowed as
};
/// Reply: Tags. [SNS ListTagsForResource]
struct ListTopicTags {
  TopicKeyView topic;
};
/// Reply: Done. [SNS TagResource]
struct TagTopic {
  TopicKeyView topic;
  std::span<const Tag> tags;
};
/// Reply: Done. [SNS UntagResource]
struct UntagTopic {
  TopicKeyView topic;
  std::span<const std::string_view> keys;
};
/// Makes a subscription, or finds the one of the same protocol and endpoint if nothing given differs.
/// Reply: Subscribed. [SNS Subscribe]
struct Subscribe {
  TopicKeyView topic;
  topic::DeliveryProtocol protocol = topic::DeliveryProtocol::Sqs;
  std::string_view endpoint;  ///< for sqs the ARN of the queue
  topic::SubscriptionChanges attributes;
  topic::SubscriptionUuid fresh_uuid;  ///< randomness from the shell, used when a subscription is made
  std::string_view fresh_token;        ///< for protocols that must be confirmed; unguessable
  MessageId fresh_message;             ///< of the confirmation that is sent to the endpoint
};
/// Reply: Subscribed. Errors: InvalidToken. [SNS ConfirmSubscription]
struct ConfirmSubscription {
  TopicKeyView topic;
  std::string_view token;
  bool authenticate_on_unsubscribe = false;
};
/// Succeeds if there is none. An HTTP endpoint that somebody else than its owner unsubscribes is told, with a token that
/// restores the subscription (ConfirmSubscription). Reply: Done. [SNS Unsubscribe]
struct Unsubscribe {
  SubscriptionKeyView subscription;
  std::string_view fresh_token = {};  ///< randomness from the shell; empty: nobody is told
  MessageId fresh_message = {};
  bool by_url = false;  ///< the request has no signature: whoever asks has the URL of a message
};
/// Subscriptions that an account owns in a region, by age. Reply: Subscriptions. [SNS ListSubscriptions]
struct ListSubscriptions {
  std::string_view account;
  std::string_view region;
  SubscriptionId after;  ///< from Subscriptions::next; 0: from the start
  std::size_t limit = 100;
};
/// Reply: Subscriptions. [SNS ListSubscriptionsByTopic]
struct ListSubscriptionsByTopic {
  TopicKeyView topic;
  SubscriptionId after;
  std::size_t limit = 100;
};
/// Reply: SubscriptionDescription. [SNS GetSubscriptionAttributes]
struct DescribeSubscription {
  SubscriptionKeyView subscription;
};
/// Reply: Done. [SNS SetSubscriptionAttributes]
struct ChangeSubscription {
  SubscriptionKeyView subscription;
  topic::SubscriptionChanges attributes;
};

/// A publication on its way in. `content.publication` must be set: id (fresh randomness), subject; the engine sets its
/// time. The body is what sqs subscriptions get; what others get with MessageStructure json is in `content.texts`.
struct OutgoingPublication {
  message::Content content;
  std::string_view content_deduplication_id;  ///< as in OutgoingMessage
};
/// Reply: Published. What a queue refuses is silent here. [SNS Publish]
struct Publish {
  TopicKeyView topic;
  OutgoingPublication publication;
};
/// An entry that cannot be published refuses them all. Reply: BatchPublished, results in the order of the entries.
/// Errors: as Publish. [SNS PublishBatch]
struct PublishBatch {
  TopicKeyView topic;
  std::span<const OutgoingPublication> publications;
};

/// Reply: Done. Errors: StatementExists, ActionOutOfScope, BadPolicy. [SNS AddPermission]
struct AddTopicPermission {
  TopicKeyView topic;
  std::string_view label;
  std::span<const std::string_view> accounts;
  std::span<const std::string_view> actions;
};
/// Succeeds if there is no such statement. Reply: Done. [SNS RemovePermission]
struct RemoveTopicPermission {
  TopicKeyView topic;
  std::string_view label;
};

/// Platform applications, endpoints, SMS bookkeeping and captured messages. Reply: topic::DirectoryAnswer or
/// topic::DirectoryError; Published if `publication` is there.
struct UseDirectory {
  topic::DirectoryCommand command;
  std::optional<PublicationId> publication;  ///< of a message to a phone or a device
};

/// A delivery out of an outbound queue (Engine::outbound_endpoints) has ended: it reached its endpoint, or the last try
/// failed; then it goes to the subscription's dead-letter queue, if there is one. Reply: Done.
struct SettleDelivery {
  QueueKeyView queue;
  ReceiptHandle handle;
  bool delivered = false;
  std::string_view detail;  ///< why not: "503", "timeout"
};

using Request = std::variant<
    SendMessage, ReceiveMessages, DeleteMessage, Publish, SendMessageBatch, DeleteMessageBatch, ChangeVisibility,
    ChangeVisibilityBatch, PublishBatch, CreateQueue, FindQueue, ListQueues, DeleteQueue, DescribeQueue, ChangeQueue,
    ListQueueTags, TagQueue, UntagQueue, PurgeQueue, ListDeadLetterSourceQueues, AddPermission, RemovePermission,
    StartMoveTask, CancelMoveTask, ListMoveTasks, CreateTopic, ListTopics, DeleteTopic,
    DescribeTopic, ChangeTopic, ListTopicTags, TagTopic, UntagTopic, Subscribe, ConfirmSubscription, Unsubscribe,
    ListSubscriptions, ListSubscriptionsByTopic, DescribeSubscription, ChangeSubscription, AddTopicPermission,
    RemoveTopicPermission, UseDirectory, SettleDelivery>;

// ---- Inputs -------------------------------------------------------------------------------------------------------

struct Command {
  Caller caller;
  Request request;
};
/// The deadline that the engine named has come; harmless at any other time.
struct DeadlineCame {};
/// A caller whose request waits (long poll) has left: its wait ends without a reply and takes nothing.
struct WaiterGone {
  CallerId caller;
};
/// The reply to a receive could not be written: what it took becomes visible at once, and the receive is not counted.
struct ReceiveUndelivered {
  std::span<const ReceiptHandle> handles;  ///< what was repeated by its attempt id stays leased
};
/// Whether the journal has room. While it has none, what makes the log grow for good (sends, publishes, configuration)
/// is refused with Unavailable::StorageFull; receives, deletes and visibility changes go on.
struct StorageChanged {
  bool full = false;
};

/// What Engine::wanted_contents() asked for. A record that cannot be read is empty: its message is left out of the replay for good,
/// with a FailedDelivery. One that may be readable later is not among them; it is asked for again, after a second.
struct ContentsRead {
  struct Content {
    LogPosition position;
    std::string_view record;
  };
  std::span<const Content> contents;
};
using Input = std::variant<Command, DeadlineCame, WaiterGone, ReceiveUndelivered, StorageChanged, ContentsRead>;

// ---- Errors -------------------------------------------------------------------------------------------------------

/// What a queue command is refused for. The API has the one switch to AWS's codes and texts.
struct QueueError {
  enum class Code : std::uint8_t {
    QueueDoesNotExist,
    QueueExistsWithOtherAttributes,  ///< `attribute` is the first that differs
    QueueDeletedRecently,            ///< less than 60 s ago; wait
    NameAndTypeDisagree,             ///< ".fifo" without FifoQueue true, or the other way round
    InvalidQueueName,                ///< not 1 to 80 of [A-Za-z0-9_-]
    CannotChangeQueueType,           ///< FifoQueue in SetQueueAttributes with another value
    FifoAttributeOnStandardQueue,    ///< `attribute`: ContentBasedDeduplication, DeduplicationScope, FifoThroughputLimit
    InvalidThroughputLimit,          ///< perMessageGroupId without DeduplicationScope messageGroup
    BadPolicy,                       ///< `detail` says why the access policy is refused
    DeadLetterQueueMissing,          ///< the queue that a redrive policy names does not exist
    DeadLetterQueueOfOtherType,      ///< standard and FIFO mixed
    DeadLetterQueueElsewhere,        ///< another account or region
    DeadLetterQueueIsSource,         ///< a queue cannot be its own dead-letter queue
    DeadLetterQueueRefuses,          ///< its redrive allow policy does not admit this source
    TooManyTags,                     ///< beyond 50
    PurgeInProgress,                 ///< a purge less than 60 s ago
    MessageTooLong,                  ///< `limit` bytes are the queue's maximum, `actual` were sent
    MessageGroupIdMissing,           ///< a FIFO queue needs one
    DeduplicationIdMissing,          ///< a FIFO queue without content-based deduplication needs one
    DeduplicationIdOnStandardQueue,
    DelayOnFifoQueue,                ///< a delay of one message; `actual` seconds
    AttemptIdOnStandardQueue,
    TooManyInFlight,                 ///< 120,000 received and not deleted; OverLimit
    ReceiptHandleOfOtherQueue,       ///< names a queue that is not the one of the request, or a deleted life of it
    ReceiptHandleExpired,            ///< FIFO: the lease has ended [SQS DeleteMessage]
    MessageNotAvailable,             ///< the message is gone (deleted, expired, purged, moved)
    TotalVisibilityExceeded,         ///< more than 12 hours since the receive
    PermissionLabelExists,
    PermissionLabelUnknown,
    PermissionAccountInvalid,        ///< `detail`: not twelve digits
    PermissionActionUnknown,         ///< `detail`
    PermissionActionOwnerOnly,       ///< `detail`: an action that is never another account's
    PermissionActionsTooMany,        ///< `actual` actions, `limit` are allowed
    PermissionStatementsTooMany,     ///< the policy would have more than `limit`
    MoveSourceMissing,               ///< the queue whose messages are to be moved does not exist
    MoveSourceIsNoDeadLetterQueue,   ///< no queue names it in its redrive policy
    MoveDestinationMissing,
    MoveDestinationOfOtherType,      ///< standard and FIFO mixed
    MoveDestinationIsSource,
    MoveTaskRunning,                 ///< one task at a time for a source
    TooManyMoveTasks,                ///< 100 run in this account
    MoveTaskMissing,
    MoveTaskNotRunning,              ///< it has ended already
  };
  Code code;
  std::optional<queue::QueueAttribute> attribute;
  std::string detail;
  std::uint64_t limit = 0;
  std::uint64_t actual = 0;
};

struct TopicError {
  enum class Code : std::uint8_t {
    TopicDoesNotExist,
    TopicExistsWithOtherAttributes,
    TopicExistsWithOtherTags,
    InvalidTopicName,              ///< also: ".fifo" and FifoTopic disagree
    CannotChangeTopicType,
    FifoAttributeOnStandardTopic,
    BadPolicy,                     ///< `detail`
    TooManyTags,
    InvalidEndpoint,               ///< an sqs endpoint that is no queue ARN
    ProtocolNotSupported,          ///< one that exists and is not delivered here
    FifoQueueOnStandardTopic,      ///< FIFO queues cannot be subscribed to standard topics
    ProtocolOnFifoTopic,           ///< FIFO topics deliver to sqs only
    SubscriptionExistsWithOtherAttributes,
    SubscriptionDoesNotExist,
    BadFilterPolicy,               ///< `filter` says why
    BadRedrivePolicy,              ///< the dead-letter queue is of the wrong type for this subscription
    InvalidToken,
    MessageGroupIdMissing,         ///< a FIFO topic needs one
    DeduplicationIdMissing,
    DeduplicationIdOnStandardTopic,
    StatementExists,               ///< AddPermission: the label is taken
    ActionOutOfScope,              ///< AddPermission: no action of topics
    ArchivePolicyInTheWay,         ///< DeleteTopic: the topic archives, which must be ended first
    BadReplayPolicy,               ///< `detail`
    TooManyReplays,                ///< 100 run in this account
  };
  Code code;
  std::string detail;
  std::optional<topic::FilterError> filter;
};

/// The principal may not do this. Whether the resource exists is not told to other accounts.
struct AccessDenied {
  std::string action;    ///< "sqs:SendMessage"
  std::string resource;  ///< ARN
  bool explicit_deny = false;
  std::optional<std::size_t> statement;  ///< of the resource's policy, when a Deny there decided
  policy::Source denied_by = policy::Source::ResourcePolicy;  ///< with explicit_deny
  policy::Cause cause = policy::Cause::NothingAllows;
  std::string why;  ///< `an explicit deny in resource policy, statement 1 ("OnlyStage")`
};

/// The request is fine and cannot be served now.
enum class Unavailable : std::uint8_t {
  StorageFull,  ///< the journal has no room; deletes and receives work, sends will when there is room again
};

// ---- Replies ------------------------------------------------------------------------------------------------------

struct Done {};

struct QueueFound {
  const QueueKey* key;
  QueueId id;
};
struct QueueNames {
  std::vector<QueueKey> keys;
  bool more = false;  ///< there are further ones behind the last
};

struct MessageCounts {
  std::uint64_t visible = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
};
struct QueueDescription {
  const QueueKey* key;
  const queue::QueueSettings* settings;
  MessageCounts counts;
  Timestamp created_at;
  Timestamp changed_at;
};
struct Tags {
  std::vector<OwnedTag> tags;  ///< in the order of the keys
};

struct MessageSent {
  MessageId id;  ///< of the original, if a FIFO queue suppressed a duplicate
  std::optional<SequenceNumber> sequence_number;  ///< FIFO queues only
};
struct BatchSent {
  std::vector<std::variant<MessageSent, QueueError>> results;
};

/// The envelope that a copy needs because its subscription is not raw. Views live as long as Rule 2 says.
struct EnvelopeOf {
  const TopicKey* topic;
  topic::SubscriptionUuid subscription;
  std::uint8_t signature_version = 1;
  bool fifo_topic = false;  ///< the envelope shows the content's sequence number and no signature
  bool replayed = false;    ///< it comes from the topic's archive
};

/// One message handed out.
struct ReceivedMessage {
  MessageId id;
  ReceiptHandle handle;
  std::uint32_t receive_count = 0;  ///< this delivery included
  Timestamp sent_at;
  Timestamp first_received_at;
  SequenceNumber sequence_number;                ///< shown on FIFO queues only
  const QueueKey* dead_letter_source = nullptr;  ///< the queue that it was moved away from; null: none
  /// The content as message::encode wrote it if it is in memory; empty if it must be read: then the record at
  /// `position` holds it, and content_of_record() (records.h) finds it there.
  std::string_view content;
  LogPosition position;
  std::optional<EnvelopeOf> envelope;  ///< the body is the envelope; nullopt: body and attributes as they are
};
/// Empty when nothing came until the wait ended. On FIFO queues in the order in which the messages were sent.
struct MessagesReceived {
  std::span<const ReceivedMessage> messages;  ///< into Outputs; valid until Outputs::clear() and the next handle()
};
struct BatchDone {
  std::vector<std::optional<QueueError>> errors;  ///< nullopt: that entry succeeded
};

/// One run of moving a dead-letter queue's messages. [SQS ListMessageMoveTasks]
struct MoveTask {
  enum class Status : std::uint8_t { Running, Completed, Cancelled, Failed };
  enum class Failure : std::uint8_t {
    None,
    DestinationMissing,  ///< the destination, or the queue that a message came from, was deleted
    SourceUnknown,       ///< a message came from no queue: it was sent here, or by a topic
    TimedOut,            ///< more than 36 hours
  };
  Uuid id;
  std::optional<QueueKey> destination;  ///< nullopt: each message goes back to where it came from
  std::uint32_t per_second_max = 0;     ///< 0: no limit
  Status status = Status::Running;
  Failure failure = Failure::None;
  std::uint64_t moved = 0;
  std::uint64_t to_move = 0;  ///< messages that were visible when it started
  Timestamp started_at{};
  // The pace: message number paced_moved + n is due n / per_second_max seconds after paced_from.
  Timestamp paced_from{};
  std::uint64_t paced_moved = 0;
};
struct MoveTaskStarted {
  const QueueKey* source;
  Uuid task;
};
struct MoveTaskCancelled {
  std::uint64_t moved = 0;
};
struct MoveTasks {
  const QueueKey* source;
  std::vector<MoveTask> tasks;
};

/// How a subscription's replay stands. [SNS Subscribe ReplayStatus]
enum class ReplayStatus : std::uint8_t {
  Pending,     ///< nothing was replayed yet
  InProgress,
  Completed,   ///< with an ending point the subscription gets nothing any more, else what is new
  Failed,      ///< the archive was ended meanwhile
  Stopped,     ///< the policy was taken away; what came meanwhile is still to be delivered. Not shown
};
struct TopicFound {
  const TopicKey* key;
};
struct TopicNames {
  std::vector<TopicKey> keys;
  bool more = false;
};
struct TopicDescription {
  const TopicKey* key;
  const topic::TopicSettings* settings;
  std::uint64_t subscriptions_confirmed = 0;
  std::uint64_t subscriptions_pending = 0;
  std::uint64_t subscriptions_deleted = 0;
  std::optional<Timestamp> beginning_archive_time;  ///< of a topic that archives: what was published since can be replayed
};

struct SubscriptionSummary {
  SubscriptionId id;
  TopicKey topic;
  topic::SubscriptionUuid uuid;
  topic::DeliveryProtocol protocol;
  std::string endpoint;
  AccountId owner;
  bool pending = false;  ///< not confirmed: its ARN is shown as "PendingConfirmation"
};
struct Subscriptions {
  std::vector<SubscriptionSummary> subscriptions;
  SubscriptionId next;  ///< hand it in as `after` to go on; 0: that was all
};
struct Subscribed {
  TopicKey topic;
  topic::SubscriptionUuid uuid;
  bool pending = false;
};
struct SubscriptionDescription {
  SubscriptionSummary summary;
  const topic::SubscriptionSettings* settings;
  const topic::TopicSettings* topic_settings;
  std::string principal_arn;  ///< who subscribed
  bool confirmation_was_authenticated = false;
  std::optional<ReplayStatus> replay;  ///< of a subscription with a replay policy
};

struct Published {
  PublicationId id;
  std::optional<SequenceNumber> sequence_number;  ///< FIFO topics only
  /// 1 or 2: some copy will be shown in an envelope that is signed in this version; 0: none will.
  std::uint8_t signature_version = 0;
  Timestamp published_at{};
};
struct BatchPublished {
  std::vector<std::variant<Published, TopicError>> results;
};

using ReplyBody = std::variant<Done, MessageSent, MessagesReceived, BatchSent, BatchDone, Published, BatchPublished,
                               QueueError, TopicError, AccessDenied, Unavailable, QueueFound, QueueNames, QueueDescription,
                               Tags, MoveTaskStarted, MoveTaskCancelled, MoveTasks, TopicFound, TopicNames, TopicDescription, Subscriptions, Subscribed,
                               SubscriptionDescription, topic::DirectoryAnswer, topic::DirectoryError>;

struct Reply {
  CallerId caller;
  /// The reply may leave once the journal is durable up to here (its end is at or beyond this); nullopt: at once.
  std::optional<LogPosition> wait_for;
  ReplyBody body;
};

}  // namespace fanfare::engine

#include "server/state_rebuild.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/engine/records.h"
#include "server/snapshot_sections.h"

namespace fanfare::server {
namespace {

using namespace engine;

constexpr std::string_view kAccount = "000000000000";
constexpr std::string_view kRegion = "us-east-1";
/// A number that lies further away than this is no gap but nonsense.
constexpr std::uint32_t kGapMax = 100'000;

std::string placeholder_queue(std::uint32_t number) { return fmt::format("repaired-queue-{}", number); }

class Rebuilder {
 public:
  Rebuilder(journal::SalvagedLog& log, std::uint32_t epoch) : log_(log) {
    options_.epoch = epoch;
    options_.frame = {.overhead = journal::kFrameHeaderBytes, .alignment = 8};
    options_.resident_bytes_max = 0;
  }

  Result<RebuiltState, journal::OpenError> run() {
    load_snapshot();
    bool begun = state_.engine.has_value();
    const auto walked = log_.walk([&](LogPosition position, std::string_view record) {
      RecordCount& count = state_.kinds[kind_of_record(record)];
      ++count.records;
      count.bytes += journal::frame_size(record.size());
      if (!begun) {
        begun = true;
        state_.from = position;
        state_.engine.emplace(options_, position);
      }
      if (position >= state_.from) take(position, record);
    });
    if (!walked) return walked.error();
    if (!begun) {
      state_.from = log_.end();
      state_.engine.emplace(options_, log_.end());
    }
    return std::move(state_);
  }

 private:
  void load_snapshot() {
    auto reader = log_.snapshot();
    if (!reader || *reader == nullptr) return;
    SectionReader sections{**reader};
    auto loaded = Engine::load(options_, [&] { return sections.next(); });
    if (!loaded || sections.broken()) {
      state_.snapshot_unreadable = true;
      return;
    }
    state_.engine.emplace(std::move(*loaded));
    state_.from = (*reader)->position();
  }

  void take(LogPosition position, std::string_view record) {
    if (state_.engine->replay(record, position)) return;
    const auto decoded = decode_record(record);
    std::string why;
    if (!decoded) {
      why = decoded.error() == RecordError::Damaged ? "it makes no sense although its checksum is right"
                                                    : "it was written by a newer version of Fanfare";
    } else {
      // Something before it is missing. What it names is made up where that lets the messages live on.
      position_ = position;
      std::visit([this](const auto& event) { supply(event); }, decoded->event);
      if (state_.engine->replay(record, position)) return;
      why = "it names what is not there, or what is there already: a record before it is missing";
    }
    state_.dropped.push_back({position, record.size(), kind_of_record(record), std::move(why)});
  }

  template <class OneEvent>
  void supply(const OneEvent& event) {
    if constexpr (std::is_same_v<OneEvent, PublishedEvent>) {
      need_topic(event.topic);
      for (const PublishedEvent::Delivery& delivery : event.deliveries) {
        need_queue(delivery.queue);
        need_subscription(delivery.subscription, event.topic, delivery.queue, delivery.enveloped);
      }
    } else if constexpr (std::is_same_v<OneEvent, TopicCreatedEvent>) {
      need_topic(event.topic - 1);
    } else if constexpr (std::is_same_v<OneEvent, SubscriptionCreatedEvent>) {
      need_topic(event.topic);
      need_subscription(event.subscription - 1, event.topic, 0, false);
    } else if constexpr (std::is_same_v<OneEvent, QueueCreatedEvent>) {
      need_queue(event.queue - 1);
    } else if constexpr (requires { event.topic; }) {
      need_topic(event.topic);
    } else if constexpr (requires { event.to_queue; }) {
      need_queue(event.queue);
      need_queue(event.to_queue);
    } else if constexpr (requires { event.queue; }) {
      need_queue(event.queue);
    }
  }

  template <class OneEvent>
  bool replay(const OneEvent& event) {
    std::string record;
    encode_record(event, Timestamp{}, {}, record);
    return state_.engine->replay(record, position_).has_value();
  }

  /// Numbers are given out one after another, so each that is missing gets its stand-in.
  void need_queue(std::uint32_t number) {
    if (number >= next_queue_ + kGapMax) return;
    for (; next_queue_ <= number; ++next_queue_) {
      QueueCreatedEvent event;
      event.queue = next_queue_;
      event.first_sequence = 1;
      event.key = queue::QueueKey{{kAccount, kRegion, placeholder_queue(next_queue_)}};
      if (replay(event)) state_.made_up.push_back(fmt::format("queue {} as {}", next_queue_, event.key.arn().str()));
    }
  }

  void need_topic(std::uint32_t number) {
    if (number >= next_topic_ + kGapMax) return;
    for (; next_topic_ <= number; ++next_topic_) {
      TopicCreatedEvent event;
      event.topic = next_topic_;
      const std::string name = fmt::format("repaired-topic-{}", next_topic_);
      event.key = topic::TopicKey{topic::TopicKeyView{kAccount, kRegion, name}};
      if (replay(event)) state_.made_up.push_back(fmt::format("topic {} as {}", next_topic_, event.key.arn().str()));
    }
  }

  void need_subscription(std::uint32_t number, std::uint32_t topic, std::uint32_t queue, bool enveloped) {
    if (number >= next_subscription_ + kGapMax) return;
    for (; next_subscription_ <= number; ++next_subscription_) {
      SubscriptionCreatedEvent event;
      event.subscription = next_subscription_;
      event.topic = topic;
      std::memcpy(event.uuid.bytes.data(), &next_subscription_, sizeof next_subscription_);
      event.endpoint = fmt::format("arn:aws:sqs:{}:{}:{}", kRegion, kAccount, placeholder_queue(queue));
      event.owner = kAccount;
      event.settings.raw_delivery = !enveloped;
      if (replay(event)) state_.made_up.push_back(fmt::format("subscription {} of topic {} to {}", next_subscription_, topic, event.endpoint));
    }
  }

  journal::SalvagedLog& log_;
  EngineOptions options_;
  RebuiltState state_;
  LogPosition position_;
  std::uint32_t next_queue_ = 1;
  std::uint32_t next_topic_ = 1;
  std::uint32_t next_subscription_ = 1;
};

}  // namespace

std::string kind_of_record(std::string_view record) {
  if (record.size() < engine::kRecordHeaderBytes || record[0] != 1) return "unknown";
  using engine::RecordKind;
  switch (static_cast<RecordKind>(record[1])) {
    case RecordKind::Sent: return "Sent";
    case RecordKind::Published:
    case RecordKind::FannedOut: return "Published";
    case RecordKind::Received: return "Received";
    case RecordKind::Attempted: return "Attempted";
    case RecordKind::Repeated: return "Repeated";
    case RecordKind::Deleted: return "Deleted";
    case RecordKind::VisibilityChanged: return "VisibilityChanged";
    case RecordKind::DeadLettered: return "DeadLettered";
    case RecordKind::Undelivered: return "Undelivered";
    case RecordKind::MessageMoved: return "MessageMoved";
    case RecordKind::QueueCreated: return "QueueCreated";
    case RecordKind::QueueChanged: return "QueueChanged";
    case RecordKind::QueueDeleted: return "QueueDeleted";
    case RecordKind::QueuePurged: return "QueuePurged";
    case RecordKind::QueueTagged: return "QueueTagged";
    case RecordKind::MoveTaskStarted: return "MoveTaskStarted";
    case RecordKind::MoveTaskEnded: return "MoveTaskEnded";
    case RecordKind::TopicCreated: return "TopicCreated";
    case RecordKind::TopicChanged: return "TopicChanged";
    case RecordKind::TopicDeleted: return "TopicDeleted";
    case RecordKind::TopicTagged: return "TopicTagged";
    case RecordKind::SubscriptionCreated: return "SubscriptionCreated";
    case RecordKind::SubscriptionChanged: return "SubscriptionChanged";
    case RecordKind::SubscriptionDeleted: return "SubscriptionDeleted";
    case RecordKind::SubscriptionConfirmed: return "SubscriptionConfirmed";
    case RecordKind::SubscriptionLeft: return "SubscriptionLeft";
    case RecordKind::SubscriptionRestored: return "SubscriptionRestored";
    case RecordKind::ReplayStarted: return "ReplayStarted";
    case RecordKind::Replayed: return "Replayed";
    case RecordKind::ReplayEnded: return "ReplayEnded";
    case RecordKind::Relocated: return "Relocated";
    case RecordKind::ArchiveRelocated: return "ArchiveRelocated";
    case RecordKind::ArchiveForgotten: return "ArchiveForgotten";
    case RecordKind::DirectoryChanged: return "DirectoryChanged";
  }
  return "unknown";
}

Result<RebuiltState, journal::OpenError> rebuild_state(journal::SalvagedLog& log, std::uint32_t epoch) {
  return Rebuilder(log, epoch).run();
}

std::vector<DroppedMessage> find_unreadable(const engine::Engine& engine, journal::SalvagedLog& log) {
  std::vector<DroppedMessage> found;
  std::string record;
  engine.visit_messages([&](const engine::MessagePlace& place) {
    if (log.read(place.position, record) && engine::content_of_record(record)) return;
    found.push_back({place.queue, place.topic, place.sequence, std::string{place.arn}, place.id.str(), place.position});
  });
  return found;
}

}  // namespace fanfare::server

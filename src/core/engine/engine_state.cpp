// The state as a whole, but for its snapshot: relocation of contents, and the state as text.
#include <fmt/format.h>

#include <iterator>
#include <map>

#include "base/assert.h"
#include "core/engine/archive.h"
#include "core/engine/engine_core.h"

namespace fanfare::engine {
namespace {

constexpr std::size_t kRelocationLooksAt = 4'096;  // a few tenths of a millisecond

}  // namespace

// ---- Relocation ---------------------------------------------------------------------------------------------------------

void EngineCore::relocate_archived(TopicState& topic, const ArchivedMessage& message, std::string_view content) {
  const std::size_t start = outputs_->record_bytes.size();
  const LogPosition position = log_end_;
  const ArchiveRelocatedEvent event{topic.id.number, message.sequence};
  encode_record(event, now_, content, outputs_->record_bytes);
  finish_record(start);
  apply(event, position);
}

void EngineCore::relocate_content(QueueState& queue, const queue::Entry& entry, std::string_view content) {
  const std::size_t start = outputs_->record_bytes.size();
  const LogPosition position = log_end_;
  const RelocatedEvent event{queue.id.number, entry.sequence.value};
  encode_record(event, now_, content, outputs_->record_bytes);
  finish_record(start);
  apply(event, position);
}

bool EngineCore::relocate(LogPosition before, std::uint64_t budget_bytes,
                          const std::function<std::optional<std::string>(LogPosition)>& read, Outputs& outputs) {
  // Whole regions, because the oldest position is known by region.
  const std::uint64_t mask = PayloadStore::kRegionBytes - 1;
  before = LogPosition{(before.value + mask) & ~mask};
  const auto left = [&] {
    const auto oldest = payloads_.oldest_position();
    return oldest && *oldest < before;
  };
  FANFARE_ASSERT(saving_ == nullptr, "a snapshot tells where contents lay at its begin");
  outputs_ = &outputs;
  std::size_t looked_at = 0;
  std::uint64_t written = 0;
  bool again = true;
  // False: the slice is over, and what is meant is looked at next time.
  const auto look_at = [&](std::uint32_t payload, const auto& write_again) {
    if (looked_at >= kRelocationLooksAt || written >= budget_bytes) return false;
    ++looked_at;
    const LogPosition position = payloads_.position(payload);
    if (position >= before) return true;
    std::string_view content = payloads_.content(payload);
    std::optional<std::string> record;
    if (content.empty()) {
      record = read(position);
      if (record) content = content_of_record(*record).value_or(std::string_view{});
    }
    if (content.empty()) return true;
    write_again(content);
    relocation_.moved_any = true;
    written += content.size();
    return true;
  };
  while (left() && again && looked_at < kRelocationLooksAt && written < budget_bytes) {
    if (relocation_.queue >= queues_.size() + topics_.size()) {
      again = relocation_.moved_any;
      relocation_ = {};
      continue;
    }
    bool finished = true;
    if (relocation_.queue >= queues_.size()) {
      if (TopicState* topic = topics_[relocation_.queue - queues_.size()].get()) {
        for (auto next = topic->archive.from_sequence(relocation_.sequence.value); finished && next != topic->archive.messages.end(); ++next) {
          relocation_.sequence = {next->sequence};
          finished = look_at(next->payload, [&](std::string_view content) { relocate_archived(*topic, *next, content); });
        }
      }
    } else if (const auto& queue = queues_[relocation_.queue]; queue != nullptr && !queue->deleted) {
      queue->messages.for_each(relocation_.sequence, [&](const queue::Entry& entry) {
        relocation_.sequence = entry.sequence;
        return finished = look_at(entry.payload, [&](std::string_view content) { relocate_content(*queue, entry, content); });
      });
    }
    if (finished) {
      ++looked_at;  // an empty one costs about as much as a message
      ++relocation_.queue;
      relocation_.sequence = {0};
    }
  }
  outputs_ = nullptr;
  return left() && again;
}

std::size_t EngineCore::message_count() const {
  std::size_t count = 0;
  for (const auto& queue : queues_)
    if (queue != nullptr && !queue->deleted) count += queue->messages.size();
  return count;
}

void EngineCore::visit_messages(const std::function<void(const MessagePlace&)>& visit) const {
  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->deleted) continue;
    queue->messages.for_each({0}, [&](const queue::Entry& entry) {
      visit({queue->id.number, 0, entry.sequence.value, entry.id, queue->arn, payloads_.position(entry.payload)});
      return true;
    });
  }
  for (const auto& topic : topics_) {
    if (topic == nullptr) continue;
    for (const ArchivedMessage& message : topic->archive.messages)
      visit({0, topic->id.number, message.sequence, {}, topic->arn, payloads_.position(message.payload)});
  }
}

// ---- The state as text --------------------------------------------------------------------------------------------------

std::string EngineCore::debug_state() const {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "log end {}\n", log_end_.value);
  const auto tags_of = [&](const TagMap& tags) {
    for (const auto& [key, value] : tags) fmt::format_to(out, " tag {}={}", key, value);
  };
  // Settings in the form of records: every field is in it.
  const auto settings_of = [&](const auto& settings) {
    std::string bytes;
    Writer writer(bytes);
    writer(settings);
    for (const char c : bytes) {
      if (c >= ' ' && c <= '~') {
        text.push_back(c);
      } else if (c != 0) {
        fmt::format_to(out, "\\{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.push_back('\n');
  };
  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    fmt::format_to(out, "queue {} {}{} references {} created {} changed {} purged {} next {}", queue->id.number, queue->arn,
                   queue->deleted ? " deleted" : "", queue->references, unix_ms(queue->created_at), unix_ms(queue->changed_at),
                   queue->purged_at ? unix_ms(*queue->purged_at) : 0, queue->messages.next_sequence().value);
    tags_of(queue->tags);
    text += "\n  settings ";
    settings_of(queue->settings);
    for (const MoveTask& t : queue->move_tasks)
      fmt::format_to(out, "  move task {} to {} rate {} status {} failure {} moved {} of {} started {} pace {} from {}\n", t.id.str(),
                     t.destination ? t.destination->arn().str() : "sources", t.per_second_max, static_cast<int>(t.status),
                     static_cast<int>(t.failure), t.moved, t.to_move, unix_ms(t.started_at), t.paced_moved, unix_ms(t.paced_from));
    if (queue->messages.has_tenants()) {
      const std::int64_t now = unix_ms(now_);
      const auto time_of = [&](std::string_view name, const queue::ProcessingTime& time) {
        const auto ended = time.ended(now);
        if (const std::int64_t all = time.at(now); all != 0 || !ended.empty())
          fmt::format_to(out, "  processing '{}' {} and {}, {} with what runs\n", name, ended.before, ended.here, all);
      };
      std::map<std::string_view, Timestamp> noisy;
      queue->messages.for_each_noisy_group([&](std::string_view name, Timestamp quiet_at) { noisy.emplace(name, quiet_at); });
      for (const auto& [name, quiet_at] : noisy) fmt::format_to(out, "  noisy '{}' until {}\n", name, unix_ms(quiet_at));
      time_of("", queue->messages.processing_time());
      queue->messages.for_each_group([&](std::uint32_t number, std::string_view name) { time_of(name, queue->messages.processing_time(number)); });
    }
    queue->messages.for_each({0}, [&](const queue::Entry& e) {
      constexpr std::string_view kStates[] = {"ready", "returned", "leased", "delayed"};
      fmt::format_to(out, "  message {} {} {} rank {} at {} sent {} hidden {} first {} received {} receipt {}-{} epoch {}",
                     e.sequence.value, e.id.str(), kStates[static_cast<std::size_t>(e.state)], queue->messages.rank_of(e),
                     payloads_.position(e.payload).value, unix_ms(e.sent_at), e.hidden_until_ms, e.first_received_ms,
                     e.received_ms, e.receipt, e.undelivered, e.receive_epoch);
      fmt::format_to(out, " group '{}' envelope {} source {} copies {}\n", queue->messages.group_of(e), e.envelope, e.dead_letter_source,
                     payloads_.references(e.payload));
      return true;
    });
  }
  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->deleted) continue;
    queue->attempts.for_each(queue->messages, now_, [&](const Attempt& attempt) {
      fmt::format_to(out, "  attempt {:x}{:x} of queue {} until {}", attempt.key.high, attempt.key.low, queue->id.number, unix_ms(attempt.until));
      for (const ReceiptHandle& handle : attempt.handles) fmt::format_to(out, " {}-{}-{}", handle.message.value, handle.receipt, handle.epoch);
      fmt::format_to(out, " at {}\n", unix_ms(attempt.at));
    });
  }
  const auto duplicates_of = [&](const message::DeduplicationWindow& window) {
    window.for_each(now_, [&](const auto& key, const auto& accepted) {
      fmt::format_to(out, "  duplicate {:x}{:x} {} {} {}\n", key.high, key.low, accepted.id.str(), accepted.sequence_number,
                     unix_ms(accepted.at));
    });
  };
  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->messages.deduplication().size() == 0) continue;
    fmt::format_to(out, "duplicates of queue {}\n", queue->id.number);
    duplicates_of(queue->messages.deduplication());
  }
  for (const auto& topic : topics_) {
    if (topic == nullptr) continue;
    fmt::format_to(out, "topic {} {} created {} unsubscribed {} next {}", topic->id.number, topic->arn,
                   unix_ms(topic->created_at), topic->subscriptions_deleted, topic->next_sequence.value);
    tags_of(topic->tags);
    text += "\n  settings ";
    settings_of(topic->settings);
    for (const SubscriptionState* subscription : topic->subscriptions)
      fmt::format_to(out, "  subscription {}\n", subscription->id.number);
    duplicates_of(topic->deduplication);
    const TopicArchive& archive = topic->archive;
    if (archive.is_active()) fmt::format_to(out, "  archive from {} for {} ms\n", unix_ms(archive.from), archive.retention.count());
    for (auto next = archive.first_living(now_); next != archive.messages.end(); ++next)
      fmt::format_to(out, "  archived {} published {} at {}\n", next->sequence, unix_ms(next->published_at),
                     payloads_.position(next->payload).value);
  }
  for (const auto& s : subscriptions_) {
    if (s == nullptr) continue;
    fmt::format_to(out, "subscription {} {} of topic {}{} {} {} owner {} principal {} token '{}' references {} created {}\n",
                   s->id.number, topic::subscription_arn(s->topic_key.view(), s->uuid).str(), s->topic.number,
                   s->deleted ? " deleted" : "", topic::text_of(s->protocol), s->endpoint, s->owner, s->principal, s->token,
                   s->references, unix_ms(s->created_at));
    if (s->left_at) fmt::format_to(out, "  left {}\n", unix_ms(*s->left_at));
    text += "  settings ";
    settings_of(s->settings);
    if (s->replay)
      fmt::format_to(out, "  replay {} {} from {} to {} next {} live from {}\n", static_cast<int>(s->replay->status),
                     s->replay->running ? "runs" : "ended", unix_ms(s->replay->start), s->replay->end ? unix_ms(*s->replay->end) : -1,
                     s->replay->next, s->replay->live_from);
  }
  directory_.for_each([&](const topic::DirectoryChange& entry) {
    fmt::format_to(out, "directory {} {} {}", static_cast<int>(entry.kind), entry.owner, entry.key);
    for (const auto& [name, value] : entry.attributes) fmt::format_to(out, " {}={}", name, value);
    text.push_back('\n');
  });
  for (const auto& [key, at] : deleted_queues_) fmt::format_to(out, "deleted {} at {}\n", key.arn().str(), unix_ms(at));
  return text;
}

}  // namespace fanfare::engine

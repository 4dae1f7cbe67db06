// Snapshots: what the engine held at one moment, written in slices while it goes on. saving.h has the rules, snapshot_sections.h
// the format.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/engine/archive.h"
#include "core/engine/engine_core.h"
#include "core/engine/entries_section.h"
#include "core/engine/snapshot_sections.h"

namespace fanfare::engine {
namespace {

constexpr std::size_t kEntriesPerSection = 1'024;
constexpr std::size_t kArchivedPerSection = 1'024;
constexpr std::size_t kDuplicatesPerSection = 1'024;
constexpr std::size_t kAttemptsPerSection = 512;
constexpr std::size_t kDirectoryPerSection = 64;
constexpr std::size_t kTenantsPerSection = 1'024;
// In units of a slice's budget, which is what an entry costs.
constexpr std::size_t kCostOfSection = 8;
constexpr std::size_t kBytesPerCost = 128;
constexpr std::size_t kCostOfDuplicate = 2;
constexpr std::size_t kCostOfAttempt = 4;
constexpr std::size_t kCostOfTenant = 2;
constexpr std::size_t kKeptPerCost = 2;
constexpr std::size_t kNumbersPassed = 256;

using Write = std::function<void(std::string_view)>;
using Part = Saving::Part;

template <class Image>
std::string section_of(SectionKind kind, const Image& image) {
  std::string section;
  Writer writer(section);
  writer(kSnapshotVersion);
  writer(kind);
  writer(image);
  return section;
}

template <class Map>
Tagging tagging(const Map& tags) {
  return {tags.begin(), tags.end()};
}

std::size_t cost_of(std::string_view section) { return kCostOfSection + section.size() / kBytesPerCost; }

/// Duplicates from `next` on, in one section.
std::size_t save_duplicates(DuplicatesImage image, const message::DeduplicationWindow& window, std::uint64_t& next, std::uint64_t end,
                            std::size_t budget, Timestamp now, const Write& write) {
  const std::uint64_t begin = next;
  const std::size_t most = std::clamp<std::size_t>(budget / kCostOfDuplicate, 1, kDuplicatesPerSection);
  next = window.for_some(next, end, most, now, [&](const auto& key, const auto& accepted) { image.duplicates.push_back({key, accepted}); });
  if (!image.duplicates.empty()) write(section_of(SectionKind::Duplicates, image));
  return 1 + std::min<std::uint64_t>(next - begin, most) * kCostOfDuplicate;
}

}  // namespace

// ---- What is about to change --------------------------------------------------------------------------------------------

void EngineCore::will_change(QueueState& queue) {
  const std::uint32_t number = queue.id.number;
  if (saving_ == nullptr || !saving_->queues.claim(number)) return;
  const QueueImage image{number,          queue.key,  queue.settings, queue.created_at, queue.changed_at, queue.purged_at,
                         tagging(queue.tags), queue.messages.next_sequence().value, queue.deleted, queue.move_tasks};
  saving_->queues.sections.emplace(number, section_of(SectionKind::Queue, image));
  const message::DeduplicationWindow& ids = queue.messages.deduplication();
  if (queue.messages.size() == 0 && ids.size() == 0 && !queue.messages.has_tenants()) return;
  queue.messages.begin_saving(saving_->now);
  queue.attempts.begin_saving();
  Saving::Messages messages{&queue.messages, 0, ids.end(), &queue.attempts, {}};
  if (queue.messages.has_tenants()) {
    const auto ended = queue.messages.processing_time().ended(unix_ms(saving_->now));
    messages.time = TimeImage{ended.before, ended.here};
    queue.messages.for_each_noisy_group([&](std::string_view name, Timestamp quiet_at) { messages.noisy.emplace_back(name, quiet_at); });
  }
  saving_->messages.emplace(number, std::move(messages));
}

void EngineCore::will_change(TopicState& topic) {
  const std::uint32_t number = topic.id.number;
  if (saving_ == nullptr || !saving_->topics.claim(number)) return;
  const TopicImage image{number, topic.key, topic.settings, topic.created_at, tagging(topic.tags), topic.subscriptions_deleted,
                         topic.next_sequence.value};
  saving_->topics.sections.emplace(number, section_of(SectionKind::Topic, image));
  if (topic.deduplication.size() > 0) saving_->windows.emplace(number, Saving::Window{&topic.deduplication, 0, topic.deduplication.end()});
  const TopicArchive& archive = topic.archive;
  const auto first = archive.first_living(saving_->now);
  const bool empty = first == archive.messages.end();
  if (empty && !archive.is_active()) return;
  saving_->archives.emplace(number, Saving::Archive{archive.is_active() ? std::optional{archive.from} : std::nullopt, empty ? 0 : first->sequence,
                                                    empty ? 0 : archive.messages.back().sequence + 1, {&archive.messages}, {}, false});
}

void EngineCore::will_change(SubscriptionState& s) {
  const std::uint32_t number = s.id.number;
  if (saving_ == nullptr || !saving_->subscriptions.claim(number)) return;
  const SubscriptionImage image{number, s.topic.number, s.topic_key, s.uuid, s.protocol, s.endpoint, s.owner, s.principal,
                                s.created_at, s.settings, s.token, s.authenticated, s.deleted};
  auto& sections = saving_->subscriptions.sections;
  sections.emplace(number, section_of(SectionKind::Subscription, image));
  if (s.replay) sections.emplace(number, section_of(SectionKind::Replay, ReplayImage{number, *s.replay}));
  if (!s.deleted && s.left_at) sections.emplace(number, section_of(SectionKind::Left, LeftImage{number, *s.left_at}));
}

void EngineCore::keep_archived(const TopicState& topic, const ArchivedMessage& message) {
  if (saving_ == nullptr || saving_->part == Part::Cleaning) return;
  const auto archive = saving_->archives.find(topic.id.number);
  if (archive == saving_->archives.end() || message.sequence < archive->second.next || message.sequence >= archive->second.end) return;
  archive->second.kept.emplace(message.sequence, message);
}

void EngineCore::discard_archived(const TopicState& topic, TopicArchive::Messages messages) {
  if (messages.empty()) return;
  archive_garbage_.push_back(std::move(messages));
  if (saving_ == nullptr) return;
  const auto archive = saving_->archives.find(topic.id.number);
  if (archive != saving_->archives.end()) archive->second.places.insert(archive->second.places.end() - 1, &archive_garbage_.back());
}

void EngineCore::discard_messages(QueueState& queue, queue::Queue fresh) {
  garbage_.push_back(std::exchange(queue.messages, std::move(fresh)));
  if (saving_ == nullptr) return;
  // Garbage stays where it is while a snapshot is made.
  const auto messages = saving_->messages.find(queue.id.number);
  if (messages != saving_->messages.end() && messages->second.queue == &queue.messages) messages->second.queue = &garbage_.back();
}

void EngineCore::discard_attempts(QueueState& queue) {
  if (saving_ != nullptr) {
    const auto messages = saving_->messages.find(queue.id.number);
    if (messages != saving_->messages.end() && messages->second.attempts == &queue.attempts) {
      messages->second.left = std::move(queue.attempts);
      messages->second.attempts = &messages->second.left;
    }
  }
  queue.attempts = {};
}

// ---- Slices -------------------------------------------------------------------------------------------------------------

void EngineCore::begin_snapshot() {
  FANFARE_ASSERT(saving_ == nullptr, "one snapshot at a time");
  saving_ = std::make_unique<Saving>(queues_.size(), topics_.size(), subscriptions_.size());
  HeadImage head;
  head.log_end = log_end_.value;
  head.now = now_;
  head.queues_end = saving_->queues.end;
  head.topics_end = saving_->topics.end;
  head.subscriptions_end = saving_->subscriptions.end;
  head.deleted_queues.assign(deleted_queues_.begin(), deleted_queues_.end());
  saving_->head = section_of(SectionKind::Head, head);
  saving_->now = now_;
  directory_.begin_saving();
  payloads_.hold();
}

bool EngineCore::snapshot_slice(std::size_t budget, const Write& write) {
  FANFARE_ASSERT(saving_ != nullptr);
  if (const Part part = saving_->part; part != Part::Cleaning) {
    while (budget > 0 && saving_->part == part) budget -= std::min(budget, save_step(budget, write));
    return true;
  }
  forget_kept(budget);
  if (!saving_->messages.empty() || !saving_->archives.empty() || directory_.abandon_saving((budget + kCostOfSection - 1) / kCostOfSection) || payloads_.let_go(budget)) return true;
  saving_.reset();
  return false;
}

std::string_view EngineCore::snapshot_part() const {
  FANFARE_ASSERT(saving_ != nullptr);
  switch (saving_->part) {
    case Part::Head: return "head";
    case Part::Queues: return "queues";
    case Part::Topics: return "topics";
    case Part::Subscriptions: return "subscriptions";
    case Part::Directory: return "directory";
    case Part::Messages: return "messages";
    case Part::Archives: return "archives";
    case Part::TopicDuplicates: return "topic_duplicates";
    case Part::QueueIds: return "queue_ids";
    case Part::End: return "end";
    case Part::Cleaning: return "cleaning";
  }
  return "unknown";
}

void EngineCore::abandon_snapshot() {
  if (saving_ == nullptr) return;
  directory_.abandon_saving(0);
  saving_->part = Part::Cleaning;
  // What changes from now on needs not be kept.
  for (Saving::Numbered* things : {&saving_->queues, &saving_->topics, &saving_->subscriptions}) things->end = 0;
}

// What an abandoned snapshot has not written.
void EngineCore::forget_kept(std::size_t& budget) {
  auto& messages = saving_->messages;
  for (; budget > 0 && !messages.empty(); --budget)
    if (Saving::Messages& first = messages.begin()->second; !first.queue->abandon_saving(kKeptPerCost) && !first.attempts->abandon_saving(kKeptPerCost))
      messages.erase(messages.begin());
  auto& archives = saving_->archives;
  for (; budget > 0 && !archives.empty(); --budget) {
    auto& kept = archives.begin()->second.kept;
    if (kept.empty()) archives.erase(archives.begin());
    else kept.erase(kept.begin());
  }
}

// One step of the part that is on; returns its cost.
std::size_t EngineCore::save_step(std::size_t budget, const Write& write) {
  Saving& saving = *saving_;
  const auto go_on = [&](Part part) {
    saving.part = part;
    return std::size_t{1};
  };
  switch (saving.part) {
    case Part::Head:
      write(saving.head);
      saving.part = Part::Queues;
      return cost_of(saving.head);
    case Part::Queues:
      if (saving.queues.next == saving.queues.end) return go_on(Part::Topics);
      return save_numbered(saving.queues, [this](std::uint32_t n) { if (queues_[n] != nullptr) will_change(*queues_[n]); }, write);
    case Part::Topics:
      if (saving.topics.next == saving.topics.end) return go_on(Part::Subscriptions);
      return save_numbered(saving.topics, [this](std::uint32_t n) { if (topics_[n] != nullptr) will_change(*topics_[n]); }, write);
    case Part::Subscriptions:
      if (saving.subscriptions.next == saving.subscriptions.end) return go_on(Part::Directory);
      return save_numbered(saving.subscriptions,
                           [this](std::uint32_t n) { if (subscriptions_[n] != nullptr) will_change(*subscriptions_[n]); }, write);
    case Part::Directory: {
      DirectoryImage image;
      const std::size_t most = std::clamp<std::size_t>(budget / kCostOfSection, 1, kDirectoryPerSection);
      const bool more = directory_.save(most, [&](topic::DirectoryChange entry) { image.entries.push_back(std::move(entry)); });
      if (!image.entries.empty()) write(section_of(SectionKind::Directory, image));
      if (!more) {
        directory_.end_saving();
        saving.part = Part::Messages;
      }
      return 1 + image.entries.size() * kCostOfSection;
    }
    case Part::Messages: return save_messages(budget, write);
    case Part::Archives:
      if (saving.archives.empty()) return go_on(Part::TopicDuplicates);
      return save_archive(budget, write);
    case Part::TopicDuplicates: {
      if (saving.windows.empty()) return go_on(Part::QueueIds);
      auto& [number, window] = *saving.windows.begin();
      const std::size_t cost = save_duplicates({0, number, {}}, *window.ids, window.next, window.end, budget, saving.now, write);
      if (window.next >= window.end) saving.windows.erase(saving.windows.begin());
      return cost;
    }
    case Part::QueueIds: {
      if (saving.messages.empty()) return go_on(Part::End);
      auto& [number, messages] = *saving.messages.begin();
      if (messages.next_duplicate < messages.duplicates_end)
        return save_duplicates({number, 0, {}}, messages.queue->deduplication(), messages.next_duplicate, messages.duplicates_end, budget,
                               saving.now, write);
      if (messages.attempts->is_saving()) return save_attempts(number, *messages.attempts, budget, write);
      saving.messages.erase(saving.messages.begin());
      return 1;
    }
    case Part::End:
      write(section_of(SectionKind::End, saving.entries));
      return go_on(Part::Cleaning);
    case Part::Cleaning: break;
  }
  return 1;
}

std::size_t EngineCore::save_numbered(Saving::Numbered& things, const std::function<void(std::uint32_t)>& keep, const Write& write) {
  for (std::size_t passed = 0; things.next < things.end && passed < kNumbersPassed; ++passed) {
    const std::uint32_t number = things.next++;
    if (!things.seen[number]) keep(number);
    const auto [first, last] = things.sections.equal_range(number);
    if (first == last) continue;  // forgotten before
    std::size_t cost = 0;
    for (auto section = first; section != last; ++section) {
      write(section->second);
      cost += cost_of(section->second);
    }
    things.sections.erase(first, last);
    return cost;
  }
  return kCostOfSection;
}

std::size_t EngineCore::save_messages(std::size_t budget, const Write& write) {
  const auto place = saving_->messages.lower_bound(saving_->next_messages);
  if (place == saving_->messages.end()) {
    saving_->part = Part::Archives;
    return 1;
  }
  auto& [number, messages] = *place;
  if (messages.entries_done) return save_tenants(place, budget, write);
  EntriesWriter& section = saving_->section;
  section.begin(number);
  const std::size_t most = std::clamp<std::size_t>(budget, 1, kEntriesPerSection);
  const auto prepare = [&](const queue::Entry& entry) { payloads_.prefetch(entry.payload); };
  const bool more = messages.queue->save(most, prepare, [&](const queue::Entry& entry, std::uint64_t rank, std::string_view group) {
    const std::uint32_t payload = entry.payload;
    section.add(entry, rank, group, {payloads_.position(payload), payloads_.bytes(payload), payloads_.shared(payload), payload});
  });
  const std::size_t cost = 1 + section.count();
  saving_->entries += section.count();
  if (section.count() > 0) write(section.finish());
  if (more) return cost;
  messages.entries_done = true;
  return cost;
}

std::size_t EngineCore::save_tenants(std::map<std::uint32_t, Saving::Messages>::iterator place, std::size_t budget, const Write& write) {
  auto& [number, messages] = *place;
  std::size_t cost = 1;
  if (messages.time) {
    TenantsImage image{number, *messages.time, {}, {}};
    const std::size_t most = std::clamp<std::size_t>(budget / kCostOfTenant, 1, kTenantsPerSection);
    for (; image.noisy.size() < most && !messages.noisy.empty(); messages.noisy.pop_back())
      image.noisy.push_back(std::move(messages.noisy.back()));
    const std::size_t left = most - image.noisy.size();
    const bool more = messages.queue->save_times(left, [&](std::string_view group, const queue::ProcessingTime::Ended& ended) {
      image.times.emplace_back(group, TimeImage{ended.before, ended.here});
    });
    write(section_of(SectionKind::Tenants, image));
    cost = kCostOfSection + kCostOfTenant * most;
    if (more || !messages.noisy.empty()) return cost;
  }
  messages.queue->end_saving();
  saving_->next_messages = number + 1;
  if (messages.next_duplicate >= messages.duplicates_end && !messages.attempts->is_saving()) saving_->messages.erase(place);
  return cost;
}

std::size_t EngineCore::save_attempts(std::uint32_t queue, Attempts& attempts, std::size_t budget, const Write& write) {
  AttemptsImage image{queue, {}};
  const std::size_t most = std::clamp<std::size_t>(budget / kCostOfAttempt, 1, kAttemptsPerSection);
  std::size_t looked_at = 0;
  attempts.save(most, [&](const Attempt& attempt) {
    ++looked_at;
    if (attempt.is_old(saving_->now) || attempt.until <= saving_->now) return;
    AttemptImage& one = image.attempts.emplace_back(AttemptImage{attempt.key, attempt.at, attempt.until, attempt.handles.front().epoch, {}});
    for (const ReceiptHandle& handle : attempt.handles) one.messages.emplace_back(handle.message.value, handle.receipt);
  });
  if (!image.attempts.empty()) write(section_of(SectionKind::Attempts, image));
  return 1 + looked_at * kCostOfAttempt;
}

std::size_t EngineCore::save_archive(std::size_t budget, const Write& write) {
  const std::uint32_t number = saving_->archives.begin()->first;
  Saving::Archive& archive = saving_->archives.begin()->second;
  ArchiveWriter section(number, archive.from);
  const std::size_t most = std::clamp<std::size_t>(budget, 1, kArchivedPerSection);
  const auto give = [&](const ArchivedMessage& message) {
    const std::uint32_t payload = message.payload;
    section.add(message, {payloads_.position(payload), payloads_.bytes(payload), payloads_.shared(payload), payload});
    archive.next = message.sequence + 1;
  };
  const auto give_kept = [&] {
    const auto first = archive.kept.begin();
    give(first->second);
    archive.kept.erase(first);
  };
  for (const TopicArchive::Messages* place : archive.places) {
    auto message = TopicArchive::from_sequence(*place, archive.next);
    while (section.count() < most && message != place->end() && message->sequence < archive.end) {
      if (!archive.kept.empty() && archive.kept.begin()->first < message->sequence) give_kept();
      else give(*message++);
    }
  }
  while (section.count() < most && !archive.kept.empty()) give_kept();
  if (section.count() > 0 || !archive.begun) write(section.finish());
  archive.begun = true;
  saving_->entries += section.count();
  const std::size_t cost = kCostOfSection + section.count();
  if (section.count() < most) saving_->archives.erase(saving_->archives.begin());
  return cost;
}

}  // namespace fanfare::engine

#include "core/engine/engine.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "core/engine/engine_core.h"
#include "core/engine/record.h"

namespace fanfare::engine {
namespace {

// Slices: what one call does of work that can be put off. A piece costs 50 to 150 ns.
constexpr std::size_t kAdvanceBudget = 4'096;
constexpr std::size_t kGarbagePerCall = 64;
constexpr std::size_t kGarbagePerDeadline = 1'024;  // some 0.1 ms
constexpr std::size_t kArchivePerDeadline = 4'096;

}  // namespace

// ---- The public face ----------------------------------------------------------------------------------------------------

void Outputs::clear() {
  record_bytes.clear();
  records.clear();
  replies.clear();
  received_used_ = 0;
}

Engine::Engine(const EngineOptions& options, LogPosition log_end)
    : core_(std::make_unique<EngineCore>(options, log_end)) {}
Engine::Engine(std::unique_ptr<EngineCore> core) : core_(std::move(core)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

void Engine::handle(const Input& input, Timestamp now, Outputs& outputs) { core_->handle(input, now, outputs); }
std::optional<Timestamp> Engine::next_deadline() const { return core_->next_deadline(); }
Result<Success, ReplayError> Engine::replay(std::string_view record, LogPosition position) {
  return core_->replay(record, position);
}
void Engine::start(LogPosition log_end, Timestamp now) { core_->start(log_end, now); }
LogPosition Engine::log_end() const { return core_->log_end(); }
void Engine::begin_snapshot() { core_->begin_snapshot(); }
bool Engine::snapshot_slice(std::size_t budget, const std::function<void(std::string_view)>& write) {
  return core_->snapshot_slice(budget, write);
}
void Engine::abandon_snapshot() { core_->abandon_snapshot(); }
bool Engine::snapshotting() const { return core_->snapshotting(); }
std::string_view Engine::snapshot_part() const { return core_->snapshot_part(); }
void Engine::snapshot(const std::function<void(std::string_view)>& write) {
  begin_snapshot();
  while (snapshot_slice(std::numeric_limits<std::size_t>::max(), write)) {}
}
Result<Engine, ReplayError> Engine::load(const EngineOptions& options,
                                         const std::function<std::optional<std::string>()>& next) {
  auto core = std::make_unique<EngineCore>(options, LogPosition{});
  const auto loaded = core->load(next);
  if (!loaded) return loaded.error();
  return Engine(std::move(core));
}
std::optional<LogPosition> Engine::oldest_needed_position() const { return core_->oldest_needed_position(); }
bool Engine::relocate(LogPosition before, std::uint64_t budget_bytes,
                      const std::function<std::optional<std::string>(LogPosition)>& read, Outputs& outputs) {
  return core_->relocate(before, budget_bytes, read, outputs);
}
std::uint64_t Engine::needed_bytes() const { return core_->needed_bytes(); }
std::uint64_t Engine::needed_bytes_before(LogPosition before) const { return core_->needed_bytes_before(before); }
std::size_t Engine::message_count() const { return core_->message_count(); }
void Engine::visit_messages(const std::function<void(const MessagePlace&)>& visit) const { core_->visit_messages(visit); }
void Engine::visit_metrics(MetricsVisitor& visitor) const { core_->visit_metrics(visitor); }
void Engine::forget_size_ranges() { core_->forget_size_ranges(); }
std::string_view name_of(FailedDelivery::Reason reason) {
  using Reason = FailedDelivery::Reason;
  switch (reason) {
    case Reason::QueueDoesNotExist: return "QueueDoesNotExist";
    case Reason::AccessDenied: return "AccessDenied";
    case Reason::MessageTooLong: return "MessageTooLong";
    case Reason::QueueTypeMismatch: return "QueueTypeMismatch";
    case Reason::TooManyAttributes: return "TooManyAttributes";
    case Reason::ContentUnreadable: return "ContentUnreadable";
    case Reason::EndpointFailed: return "EndpointFailed";
  }
  return "Unknown";
}

std::uint64_t Engine::failed_delivery_count() const { return core_->failed_delivery_count(); }
std::vector<FailedDelivery> Engine::failed_deliveries() const { return core_->failed_deliveries(); }
std::vector<OutboundEndpoint> Engine::outbound_endpoints() const { return core_->outbound_endpoints(); }
std::uint64_t Engine::outbound_generation() const { return core_->outbound_generation(); }
std::vector<topic::DirectoryEntry> Engine::captured_messages() const { return core_->captured_messages(); }
std::vector<LogPosition> Engine::wanted_contents() const { return core_->wanted_contents(); }
std::size_t Engine::waiter_count() const { return core_->waiter_count(); }
std::uint64_t Engine::resident_bytes() const { return core_->resident_bytes(); }
Timestamp Engine::latest() const { return core_->latest(); }
std::string Engine::debug_state() const { return core_->debug_state(); }

// ---- Inputs -------------------------------------------------------------------------------------------------------------

EngineCore::EngineCore(const EngineOptions& options, LogPosition log_end)
    : options_(options), log_end_(log_end), payloads_(options.resident_bytes_max) {
  // Number 0 means none.
  queues_.emplace_back();
  topics_.emplace_back();
  subscriptions_.emplace_back();
}

void EngineCore::handle(const Input& input, Timestamp now, Outputs& outputs) {
  outputs_ = &outputs;
  now_ = std::max(now_, now);
  payloads_.free_condemned();
  if (has_garbage()) collect_garbage(kGarbagePerCall);
  std::visit([this](const auto& one) { run(one); }, input);
  serve_waiters();
  // What expired is gone without a record of its own, and then its content is given up. So that no clock which was set back
  // brings it back after a crash, the log must say how late it was: a record that changes nothing.
  if (std::exchange(expired_, false) && recorded_at_ < now_) record(DirectoryChangedEvent{});
  outputs_ = nullptr;
}

void EngineCore::run(const Command& command) {
  std::visit([&](const auto& request) { run(command.caller, request); }, command.request);
}

void EngineCore::advance_due() {
  // Each due queue once: one with more to do than a slice is due again at once.
  std::vector<std::uint32_t> due;
  for (const auto& [at, number] : due_) {
    if (at > now_) break;
    due.push_back(number);
  }
  for (const std::uint32_t number : due) {
    QueueState& queue = *queue_by_number(number);
    bring_up_to_date(queue);
    due_.erase({*queue.registered, number});
    queue.registered.reset();
    note_deadline(queue);
  }
}

void EngineCore::run(const DeadlineCame&) {
  advance_due();
  run_moves();
  start_owed_replays();
  run_replays();
  run_pending();
  run_archives(kArchivePerDeadline);
  serve_waiters();
  while (!wait_ends_.empty() && wait_ends_.begin()->first <= now_) {
    const CallerId caller{wait_ends_.begin()->second};
    const WaiterPlace place = waiters_.at(caller.value);
    QueueState& queue = *queue_by_number(place.queue);
    end_waiter(queue, place.waiter);
    ++queue.counters.empty_receives;
    reply(caller, MessagesReceived{});
  }
  collect_garbage(kGarbagePerDeadline);
}

void EngineCore::run(const WaiterGone& gone) {
  const auto place = waiters_.find(gone.caller.value);
  if (place == waiters_.end()) return;
  end_waiter(*queue_by_number(place->second.queue), place->second.waiter);
}

std::optional<Timestamp> EngineCore::next_deadline() const {
  if (has_garbage() && saving_ == nullptr) return now_;
  if (!owed_replays_.empty() && !storage_full_) return now_;
  std::optional<Timestamp> next;
  if (!due_.empty()) next = due_.begin()->first;
  if (!moves_due_.empty()) next = std::min(next.value_or(Timestamp::max()), moves_due_.begin()->first);
  if (!pending_due_.empty()) next = std::min(next.value_or(Timestamp::max()), pending_due_.begin()->first);
  if (!replays_due_.empty()) next = std::min(next.value_or(Timestamp::max()), replays_due_.begin()->first);
  if (!archives_due_.empty()) next = std::min(next.value_or(Timestamp::max()), archives_due_.begin()->first);
  if (!wait_ends_.empty()) next = std::min(next.value_or(Timestamp::max()), wait_ends_.begin()->first);
  return next;
}

// ---- Records and replies ----------------------------------------------------------------------------------------------

void EngineCore::finish_record(std::size_t start) {
  const std::size_t bytes = outputs_->record_bytes.size() - start;
  outputs_->records.push_back({start, bytes, log_end_});
  log_end_ = options_.frame.after(log_end_, bytes);
  recorded_at_ = now_;
}

std::vector<ReceivedMessage>& EngineCore::fresh_received() {
  auto& blocks = outputs_->received_;
  if (outputs_->received_used_ == blocks.size()) blocks.push_back(std::make_unique<std::vector<ReceivedMessage>>());
  std::vector<ReceivedMessage>& block = *blocks[outputs_->received_used_++];
  block.clear();
  return block;
}

// ---- Permission ---------------------------------------------------------------------------------------------------------

std::optional<AccessDenied> EngineCore::refuses(const Caller& caller, std::string_view action, std::string_view owner,
                                                std::string_view arn, const policy::Policy* policy, bool owner_only,
                                                const TagMap* tags) const {
  const std::string_view account = caller.principal.account;
  const bool same_account = !account.empty() && account == owner;
  const policy::IdentityPolicies& identity = caller.identity;
  const bool own_limits = identity.permissions_boundary != nullptr || !identity.identity_policies.empty() ||
                          !identity.session_policies.empty() || !identity.service_control_policies.empty();
  if (!options_.enforce_resource_policies) policy = nullptr;
  if (policy == nullptr && same_account && identity.unrestricted && !own_limits) return std::nullopt;

  // SNS's default policy admits by this key; calls that a service makes for itself do not have it.
  std::vector<policy::ContextEntry> keys;
  std::vector<std::string> names;
  std::vector<std::string_view> values;
  const policy::ContextEntry source_owner{"aws:SourceOwner", {&account, 1}};
  policy::Question question;
  question.request = {caller.principal, action, arn, caller.context, {}, owner};
  if (!account.empty()) question.request.service_context = {&source_owner, 1};
  if (tags != nullptr && !tags->empty()) {
    names.reserve(tags->size());
    values.reserve(tags->size());
    if (!account.empty()) keys.push_back(source_owner);
    for (const auto& [key, value] : *tags) {
      names.push_back("aws:ResourceTag/" + key);
      values.push_back(value);
      keys.push_back({names.back(), {&values.back(), 1}});
    }
    question.request.service_context = keys;
  }
  question.resource_policy = policy;
  question.identity = identity;
  if (!options_.enforce_resource_policies && !owner_only) {
    // Then another account's resources are open to whoever may do this at home.
    if (account.empty()) return std::nullopt;
    question.request.resource_account = account;
  }
  policy::Outcome outcome = policy::authorize(question);
  if (outcome.verdict == policy::Verdict::Allow) {
    if (!owner_only || same_account) return std::nullopt;
    outcome = {policy::Verdict::ImplicitDeny, policy::Cause::OwnerOnly, std::nullopt};
  }
  AccessDenied denied{std::string{action}, std::string{arn}};
  denied.explicit_deny = outcome.verdict == policy::Verdict::ExplicitDeny;
  denied.cause = outcome.cause;
  if (outcome.decided_by) {
    denied.denied_by = outcome.decided_by->source;
    if (denied.denied_by == policy::Source::ResourcePolicy) denied.statement = outcome.decided_by->statement;
  }
  denied.why = policy::sentence(question, outcome);
  return denied;
}

bool EngineCore::refused(const Caller& caller, std::string_view action, const QueueState& queue, bool owner_only) {
  auto denied = refuses(caller, action, queue.key.account.str(), queue.arn, queue.policy ? &*queue.policy : nullptr, owner_only,
                        &queue.tags);
  if (!denied) return false;
  reply(caller.id, std::move(*denied));
  return true;
}

bool EngineCore::refused(const Caller& caller, std::string_view action, const TopicState& topic, bool owner_only) {
  auto denied = refuses(caller, action, topic.key.account.str(), topic.arn, topic.policy ? &*topic.policy : nullptr, owner_only,
                        &topic.tags);
  if (!denied) return false;
  reply(caller.id, std::move(*denied));
  return true;
}

bool EngineCore::refused_of_missing(const Caller& caller, std::string_view action, std::string_view arn) {
  auto denied = refuses(caller, action, caller.principal.account, arn, nullptr, false);
  if (!denied) return false;
  reply(caller.id, std::move(*denied));
  return true;
}

// Whose subscription it is may do with it what its own policies allow, also on another account's topic; everybody else is refused
// unless the topic is theirs. [SNS SetSubscriptionAttributes, Unsubscribe]
bool EngineCore::refused(const Caller& caller, std::string_view action, const SubscriptionState& subscription) {
  const TopicState& topic = *topics_[subscription.topic.number];
  if (caller.principal.account != subscription.owner) return refused(caller, action, topic, true);
  const bool one_account = topic.key.account.str() == subscription.owner && topic.policy;
  auto denied = refuses(caller, action, subscription.owner, topic.arn, one_account ? &*topic.policy : nullptr, true, &topic.tags);
  if (!denied) return false;
  reply(caller.id, std::move(*denied));
  return true;
}

bool EngineCore::refused_by_numbers(const Caller& caller) {
  const bool used_up = std::max({queues_.size(), topics_.size(), subscriptions_.size()}) >= kNumbersMax;
  if (used_up) reply(caller.id, Unavailable::StorageFull);
  return used_up;
}

bool EngineCore::refused_by_storage(const Caller& caller) {
  if (storage_full_) reply(caller.id, Unavailable::StorageFull);
  return storage_full_;
}

// ---- Time and waiters ---------------------------------------------------------------------------------------------------

void EngineCore::bring_up_to_date(QueueState& queue) {
  will_change(queue);
  queue.messages.advance(now_, queue.settings.retention_period, kAdvanceBudget, removed_);
  release_expired(queue);
  if (!queue.waiters.empty()) note_arrival(queue);
}

void EngineCore::release_expired(QueueState& queue) {
  if (removed_.empty()) return;
  expired_ = true;
  queue.counters.expired += removed_.size();
  for (const queue::Entry& entry : removed_) release(entry);
  removed_.clear();
}

void EngineCore::note_deadline(QueueState& queue) {
  const auto next = queue.messages.next_change(queue.settings.retention_period);
  if (!next || (queue.registered && *queue.registered <= *next)) return;
  if (queue.registered) due_.erase({*queue.registered, queue.id.number});
  queue.registered = next;
  due_.emplace(*next, queue.id.number);
}

bool EngineCore::may_be_due(const QueueState& queue) const {
  return queue.settings.fifo || !queue.waiters.empty() || !queue.registered || *queue.registered <= now_;
}

void EngineCore::note_deadline_of_arrival(QueueState& queue, Timestamp visible_at) {
  if (queue.settings.fifo || !queue.registered) return note_deadline(queue);
  Timestamp earliest = now_ + queue.settings.retention_period.value();
  if (visible_at > now_) earliest = std::min(earliest, visible_at);
  if (earliest < *queue.registered) note_deadline(queue);
}

void EngineCore::note_arrival(QueueState& queue) {
  if (!queue.waiters.empty()) arrivals_.push_back(&queue);
}

void EngineCore::serve_waiters() {
  // Taking can dead-letter into a queue that has waiters of its own: the list grows while it is worked off.
  for (std::size_t i = 0; i < arrivals_.size(); ++i) {
    QueueState& queue = *arrivals_[i];
    while (!queue.waiters.empty() && queue.messages.first_ready() != nullptr) {
      const auto waiter = queue.waiters.begin();
      std::vector<ReceivedMessage>& messages = fresh_received();
      const auto visibility = waiter->visibility_timeout.value_or(queue.settings.visibility_timeout);
      take(queue, waiter->max_messages, visibility.value(), waiter->attempt_id, messages);
      if (messages.empty()) break;
      reply_received(queue, waiter->caller, messages);
      end_waiter(queue, waiter);
    }
  }
  arrivals_.clear();
}

void EngineCore::end_waiter(QueueState& queue, std::list<Waiter>::iterator waiter) {
  wait_ends_.erase({waiter->until, waiter->caller.value});
  waiters_.erase(waiter->caller.value);
  queue.waiters.erase(waiter);
}

// ---- Memory -------------------------------------------------------------------------------------------------------------

void EngineCore::release(const queue::Entry& entry) {
  payloads_.release(entry.payload);
  if (entry.envelope != 0) {
    SubscriptionState& subscription = *subscription_by_number(subscription_of_envelope(entry.envelope));
    --subscription.references;
    forget_if_unused(subscription);
  }
  if (entry.dead_letter_source != 0) {
    QueueState& source = *queue_by_number(entry.dead_letter_source);
    --source.references;
    forget_if_unused(source);
  }
}

void EngineCore::forget_if_unused(SubscriptionState& subscription) {
  if (!subscription.deleted || subscription.references > 0) return;
  will_change(subscription);
  subscriptions_[subscription.id.number].reset();
}

void EngineCore::forget_if_unused(QueueState& queue) {
  if (!queue.deleted || queue.references > 0) return;
  will_change(queue);
  queues_[queue.id.number].reset();
}

void EngineCore::collect_garbage(std::size_t budget) {
  if (saving_ != nullptr) return;  // some of it may have to be written
  for (; budget > 0 && !archive_garbage_.empty(); --budget) {
    TopicArchive::Messages& messages = archive_garbage_.front();
    payloads_.release(messages.front().payload);
    messages.pop_front();
    if (messages.empty()) archive_garbage_.pop_front();
  }
  while (budget > 0 && !window_garbage_.empty()) {
    const std::size_t before = window_garbage_.front().size();
    const bool more = window_garbage_.front().forget_old(Timestamp::max(), budget);
    budget -= std::min(budget, before - window_garbage_.front().size());
    if (!more) window_garbage_.pop_front();
  }
  while (budget > 0 && !garbage_.empty()) {
    const std::size_t done = garbage_.front().drain(budget, removed_);
    for (const queue::Entry& entry : removed_) release(entry);
    removed_.clear();
    if (done < budget) garbage_.pop_front();
    budget -= done;
  }
}

void EngineCore::forget_size_ranges() {
  for (const auto& [key, queue] : queue_names_) queue->counters.sent_sizes = {};
  for (const auto& [key, topic] : topic_names_) topic->counters.published_sizes = {};
}

void EngineCore::visit_metrics(MetricsVisitor& visitor) const {
  for (const auto& [key, queue] : queue_names_) {
    if (key.account == kOutboundAccount) continue;
    const queue::Counts counts = queue->messages.counts();
    visitor.queue(queue->key, {counts.visible, counts.in_flight, counts.delayed}, queue->messages.oldest_sent(),
                  queue->counters);
  }
  for (const auto& [key, topic] : topic_names_) visitor.topic(topic->key, topic->counters);
}

}  // namespace fanfare::engine

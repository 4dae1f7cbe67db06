#include "core/live/pubsub.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/marks.h"
#include "wire/json/reader.h"
#include "wire/json/value.h"

namespace fanfare::live {
namespace {

struct TextHash {
  using is_transparent = void;
  // Not noexcept: libstdc++ then keeps the hash in the node, and a look-up touches no other key's memory.
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

std::optional<Scalar> scalar_of(const wire::json::Node& node) {
  switch (node.kind()) {
    case wire::json::Kind::String: return Scalar{Scalar::Type::String, std::string{*node.as_string()}};
    case wire::json::Kind::Bool: return Scalar{Scalar::Type::Boolean, *node.as_bool() ? "true" : "false"};
    case wire::json::Kind::Number: {
      std::string spelling;
      node.append_to(spelling);
      return Scalar{node.is_integer() ? Scalar::Type::Integer : Scalar::Type::Real, std::move(spelling)};
    }
    default: return std::nullopt;
  }
}

std::optional<Scalar> scalar_of(const wire::json::Value& value) {
  switch (value.kind()) {
    case wire::json::Kind::String: return Scalar{Scalar::Type::String, std::string{*value.as_string()}};
    case wire::json::Kind::Bool: return Scalar{Scalar::Type::Boolean, *value.as_bool() ? "true" : "false"};
    case wire::json::Kind::Number: {
      const std::string_view spelling = *value.number_text();
      const bool integer = spelling.find_first_not_of("-0123456789") == std::string_view::npos;
      return Scalar{integer ? Scalar::Type::Integer : Scalar::Type::Real, std::string{spelling}};
    }
    default: return std::nullopt;
  }
}

/// The first segment of "doc.id.x" and what follows it.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

std::optional<Scalar> scalar_at(const wire::json::Node& root, std::string_view path) {
  std::optional<wire::json::Node> node = root;
  while (node && !path.empty()) {
    const auto [segment, rest] = split_path(path);
    node = node->find(segment);
    path = rest;
  }
  return node ? scalar_of(*node) : std::nullopt;
}

std::optional<Scalar> scalar_at(const wire::json::Value& root, std::string_view path) {
  const wire::json::Value* value = &root;
  while (value != nullptr && !path.empty()) {
    const auto [segment, rest] = split_path(path);
    value = value->find(segment);
    path = rest;
  }
  return value != nullptr ? scalar_of(*value) : std::nullopt;
}

/// One place of a subscription in a bucket.
struct Entry {
  std::uint32_t slot;
  std::uint32_t placement;  ///< Index into the slot's placements.
};
using Buckets = TextMap<std::vector<Entry>>;

struct Column {
  std::size_t path;  ///< Index into TriggerIndex::paths.
  MatchKind kind;
  friend bool operator==(const Column&, const Column&) = default;
};

/// All subscriptions of one trigger that filter on the same members: their values, joined, are the key.
struct Shape {
  std::vector<Column> columns;
  Buckets buckets;
};

struct PathUse {
  std::string path;
  std::size_t terms = 0;  ///< How many terms of subscriptions name it; 0: free to be given another path.
};

struct TriggerIndex {
  std::vector<PathUse> paths;
  std::vector<std::unique_ptr<Shape>> shapes;  ///< Few: one for each set of arguments in use.
  std::size_t subscriptions = 0;
};
using Triggers = TextMap<TriggerIndex>;

struct Placement {
  Triggers::value_type* trigger;  ///< Nodes of unordered maps do not move.
  Shape* shape;
  Buckets::value_type* bucket;
  std::uint32_t position;  ///< Of the entry in its bucket.
};

/// Events in order, taken from the front. A subscriber that keeps up has at most one, which needs no memory of its own.
class Buffer {
 public:
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return empty() ? 0 : 1 + (more_ ? more_->size() : 0); }
  static std::size_t cost(const Event& event) { return event.payload.size() + kBufferedEventBytes; }

  void push(SharedEvent event) {
    bytes_ += cost(*event);
    if (empty()) {
      first_ = std::move(event);
      return;
    }
    if (!more_) more_ = std::make_unique<std::deque<SharedEvent>>();
    more_->push_back(std::move(event));
  }
  SharedEvent pop() {
    SharedEvent event = std::exchange(first_, nullptr);
    bytes_ -= cost(*event);
    if (more_) {
      first_ = std::move(more_->front());
      more_->pop_front();
      if (more_->empty()) more_.reset();
    }
    return event;
  }
  void clear() {
    first_.reset();
    more_.reset();
    bytes_ = 0;
  }

 private:
  SharedEvent first_;
  std::unique_ptr<std::deque<SharedEvent>> more_;
  std::size_t bytes_ = 0;
};

/// What dispatch touches of a subscription: one cache line.
struct alignas(64) Slot {
  Buffer buffer;
  std::size_t bytes_max = 0;
  std::uint64_t dropped = 0;
  std::uint32_t generation = 1;
  SlowConsumer policy = SlowConsumer::Disconnect;
  bool used = false;
  bool overflowed = false;
};
static_assert(sizeof(Slot) == 64);

void append_key_part(std::string& key, std::string_view part) { append_sized(key, part); }

}  // namespace

struct PubSub::State {
  explicit State(PubSub::Limits the_limits) : limits(the_limits), window(the_limits.duplicates) {}

  PubSub::Limits limits;
  DuplicateWindow window;
  wire::json::Reader reader;
  Counters counters;
  bool closed = false;
  Triggers triggers;
  std::vector<Slot> slots;
  std::vector<std::vector<Placement>> placements;  ///< Of the slot of the same index.
  std::vector<std::uint32_t> free_slots;
  std::size_t used_slots = 0;

  // Scratch of one publish().
  std::vector<std::optional<Scalar>> scalars;
  std::string key;

  [[nodiscard]] SubscriptionId id_of(std::uint32_t slot) const {
    return {static_cast<std::uint64_t>(slots[slot].generation) << 32 | slot};
  }
  [[nodiscard]] Slot* find(SubscriptionId id) {
    const auto index = static_cast<std::uint32_t>(id.value);
    if (index >= slots.size()) return nullptr;
    Slot& slot = slots[index];
    return slot.used && slot.generation == id.value >> 32 ? &slot : nullptr;
  }

  std::size_t use_path(TriggerIndex& trigger, const std::string& path) {
    std::size_t free_at = trigger.paths.size();
    for (std::size_t i = 0; i < trigger.paths.size(); ++i) {
      if (trigger.paths[i].terms == 0) {
        free_at = i;
      } else if (trigger.paths[i].path == path) {
        ++trigger.paths[i].terms;
        return i;
      }
    }
    if (free_at == trigger.paths.size()) trigger.paths.emplace_back();
    trigger.paths[free_at] = {path, 1};
    return free_at;
  }

  Shape& shape_for(TriggerIndex& trigger, std::vector<Column> columns) {
    for (const auto& shape : trigger.shapes)
      if (shape->columns == columns) return *shape;
    trigger.shapes.push_back(std::make_unique<Shape>(Shape{std::move(columns), {}}));
    return *trigger.shapes.back();
  }

  void place(std::uint32_t slot_index, const Trigger& name, const Filter& filter) {
    auto& trigger_node = *triggers.try_emplace(name.str()).first;
    TriggerIndex& trigger = trigger_node.second;
    // Sorted by place, so that the same arguments in another order share a shape.
    std::vector<std::pair<Column, const Term*>> terms;
    for (const Term& term : filter.terms) terms.push_back({{use_path(trigger, term.path), term.value.kind()}, &term});
    std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.path, a.first.kind) < std::pair(b.first.path, b.first.kind);
    });
    std::vector<Column> columns;
    std::string bucket_key;
    for (const auto& [column, term] : terms) {
      columns.push_back(column);
      append_key_part(bucket_key, term->value.key());
    }
    Shape& shape = shape_for(trigger, std::move(columns));
    auto& bucket = *shape.buckets.try_emplace(std::move(bucket_key)).first;
    std::vector<Placement>& places = placements[slot_index];
    places.push_back({&trigger_node, &shape, &bucket, static_cast<std::uint32_t>(bucket.second.size())});
    bucket.second.push_back({slot_index, static_cast<std::uint32_t>(places.size() - 1)});
    ++trigger.subscriptions;
  }

  void remove_placements(std::uint32_t slot) {
    for (const Placement& placement : placements[slot]) {
      std::vector<Entry>& entries = placement.bucket->second;
      const Entry moved = entries.back();
      entries[placement.position] = moved;
      placements[moved.slot][moved.placement].position = placement.position;
      entries.pop_back();

      TriggerIndex& trigger = placement.trigger->second;
      for (const Column& column : placement.shape->columns) --trigger.paths[column.path].terms;
      if (entries.empty()) placement.shape->buckets.erase(placement.shape->buckets.find(placement.bucket->first));
      if (placement.shape->buckets.empty())
        std::erase_if(trigger.shapes, [&](const auto& shape) { return shape.get() == placement.shape; });
      if (--trigger.subscriptions == 0) triggers.erase(triggers.find(placement.trigger->first));
    }
    placements[slot] = {};
  }

  Acceptance accept(Slot& slot, const SharedEvent& event) {
    const std::size_t cost = Buffer::cost(*event);
    if (slot.buffer.bytes() + cost <= slot.bytes_max) {
      slot.buffer.push(event);
      return Acceptance::Accepted;
    }
    ++counters.listener_failures;
    if (slot.policy == SlowConsumer::Disconnect) {
      slot.overflowed = true;
      slot.dropped += slot.buffer.size() + 1;
      slot.buffer.clear();
      return Acceptance::Overflowed;
    }
    while (!slot.buffer.empty() && slot.buffer.bytes() + cost > slot.bytes_max) {
      slot.buffer.pop();
      ++slot.dropped;
    }
    if (cost <= slot.bytes_max) {
      slot.buffer.push(event);
    } else {
      FANFARE_MARK(event_larger_than_buffer);
      ++slot.dropped;
    }
    return Acceptance::DroppedOldest;
  }

  /// `scalars` holds the payload's values at the trigger's paths.
  void dispatch(TriggerIndex& trigger, const SharedEvent& event, Published& published) {
    std::vector<std::uint32_t> overflowed;
    for (const auto& shape : trigger.shapes) {
      key.clear();
      bool comparable = true;
      for (const Column& column : shape->columns) {
        const std::optional<Scalar>& scalar = scalars[column.path];
        const std::optional<std::string> part = scalar ? scalar->key_as(column.kind) : std::nullopt;
        if (!part) {
          comparable = false;
          break;
        }
        append_key_part(key, *part);
      }
      if (!comparable) continue;
      const auto bucket = shape->buckets.find(std::string_view{key});
      if (bucket == shape->buckets.end()) continue;
      published.matches.reserve(published.matches.size() + bucket->second.size());
      // Slots lie all over the memory: each is asked for well before it is needed.
      constexpr std::size_t kAhead = 16;
      const std::vector<Entry>& entries = bucket->second;
      for (std::size_t i = 0; i < std::min(kAhead, entries.size()); ++i) __builtin_prefetch(&slots[entries[i].slot], 1);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i + kAhead < entries.size()) __builtin_prefetch(&slots[entries[i + kAhead].slot], 1);
        const Entry entry = entries[i];
        const Acceptance acceptance = accept(slots[entry.slot], event);
        published.matches.push_back({id_of(entry.slot), acceptance});
        if (acceptance == Acceptance::Overflowed) overflowed.push_back(entry.slot);
      }
    }
    // After the loop: this changes buckets, and may end the trigger.
    for (const std::uint32_t slot : overflowed) remove_placements(slot);
  }

  void finish(Published& published, const Event& event, Timestamp now) {
    published.outcome = published.matches.empty() ? Outcome::NoListener : Outcome::Dispatched;
    ++(published.matches.empty() ? counters.without_listener : counters.dispatched);
    window.remember(event.id, now);
  }

  /// Whether the event ends here already: closed, without a trigger, or a duplicate.
  bool refuses(const Event& event, Timestamp now, Published& published) {
    if (closed) {
      published.outcome = Outcome::Closed;
      return true;
    }
    ++counters.received;
    if (event.trigger.empty()) {
      malformed(published, EventFault::MissingTrigger);
      return true;
    }
    if (window.contains(event.id, now)) {
      FANFARE_MARK(duplicate_event);
      ++counters.duplicates;
      published.outcome = Outcome::Duplicate;
      return true;
    }
    return false;
  }

  void malformed(Published& published, EventFault fault) {
    ++counters.malformed;
    published.outcome = Outcome::Malformed;
    published.fault = fault;
  }

  template <class Root>
  void read_scalars(const TriggerIndex& trigger, const Root& root) {
    scalars.assign(trigger.paths.size(), std::nullopt);
    for (std::size_t i = 0; i < trigger.paths.size(); ++i)
      if (trigger.paths[i].terms > 0) scalars[i] = scalar_at(root, trigger.paths[i].path);
  }
};

PubSub::PubSub() : PubSub(Limits{}) {}
PubSub::PubSub(Limits limits) : state_(std::make_unique<State>(limits)) {}
PubSub::PubSub(PubSub&&) noexcept = default;
PubSub& PubSub::operator=(PubSub&&) noexcept = default;
PubSub::~PubSub() = default;

Result<SubscriptionId, SubscribeError> PubSub::subscribe(std::span<const Trigger> triggers, Filter filter,
                                                         BufferRules rules) {
  State& s = *state_;
  if (s.closed) return SubscribeError::Closed;
  if (triggers.empty()) return SubscribeError::NoTrigger;
  for (const Trigger& trigger : triggers)
    if (trigger.empty()) return SubscribeError::NoTrigger;
  if (s.used_slots >= s.limits.subscriptions_max) return SubscribeError::TooManySubscriptions;

  std::uint32_t index = 0;
  if (s.free_slots.empty()) {
    FANFARE_ASSERT(s.slots.size() < UINT32_MAX);
    index = static_cast<std::uint32_t>(s.slots.size());
    s.slots.emplace_back();
    s.placements.emplace_back();
  } else {
    index = s.free_slots.back();
    s.free_slots.pop_back();
  }
  s.slots[index].used = true;
  s.slots[index].bytes_max = rules.bytes_max;
  s.slots[index].policy = rules.policy;
  ++s.used_slots;
  for (std::size_t i = 0; i < triggers.size(); ++i)
    if (std::find(triggers.begin(), triggers.begin() + static_cast<std::ptrdiff_t>(i), triggers[i]) ==
        triggers.begin() + static_cast<std::ptrdiff_t>(i))
      s.place(index, triggers[i], filter);
  return s.id_of(index);
}

bool PubSub::unsubscribe(SubscriptionId id) {
  State& s = *state_;
  Slot* const slot = s.find(id);
  if (slot == nullptr) return false;
  s.remove_placements(static_cast<std::uint32_t>(id.value));
  const std::uint32_t next_generation = slot->generation + 1;
  *slot = Slot{};
  --s.used_slots;
  if (next_generation == 0) return true;  // every id of this slot has been used: it is retired
  slot->generation = next_generation;
  s.free_slots.push_back(static_cast<std::uint32_t>(id.value));
  return true;
}

Published PubSub::publish(SharedEvent event, Timestamp now) {
  State& s = *state_;
  FANFARE_ASSERT(event != nullptr);
  Published published;
  if (s.refuses(*event, now, published)) return published;

  const auto trigger = s.triggers.find(event->trigger.str());
  const auto root = s.reader.parse(event->payload);
  if (root) {
    if (trigger != s.triggers.end()) {
      s.read_scalars(trigger->second, *root);
      s.dispatch(trigger->second, event, published);
    }
  } else if (root.error().reason == wire::json::Reason::NumberOutOfRange) {
    // Valid JSON all the same: a number beyond 64 bits. The slower reader keeps its spelling.
    FANFARE_MARK(payload_number_out_of_range);
    const auto value = wire::json::parse(event->payload);
    if (!value) {
      s.malformed(published, EventFault::MalformedJson);
      return published;
    }
    if (trigger != s.triggers.end()) {
      s.read_scalars(trigger->second, *value);
      s.dispatch(trigger->second, event, published);
    }
  } else {
    s.malformed(published, EventFault::MalformedJson);
    return published;
  }
  s.finish(published, *event, now);
  return published;
}

Published PubSub::publish_known(SharedEvent event, std::span<const NamedScalar> members, Timestamp now) {
  State& s = *state_;
  FANFARE_ASSERT(event != nullptr);
  Published published;
  if (s.refuses(*event, now, published)) return published;
  if (const auto trigger = s.triggers.find(event->trigger.str()); trigger != s.triggers.end()) {
    s.scalars.assign(trigger->second.paths.size(), std::nullopt);
    for (std::size_t i = 0; i < s.scalars.size(); ++i)
      for (const NamedScalar& member : members)
        if (member.path == trigger->second.paths[i].path) s.scalars[i] = member.value;
    s.dispatch(trigger->second, event, published);
  }
  s.finish(published, *event, now);
  return published;
}

Taken PubSub::take(SubscriptionId id, std::size_t events_max) {
  Taken taken;
  Slot* const slot = state_->find(id);
  if (slot == nullptr) return taken;
  const std::size_t count = std::min(events_max, slot->buffer.size());
  taken.events.reserve(count);
  for (std::size_t i = 0; i < count; ++i) taken.events.push_back(slot->buffer.pop());
  taken.dropped = std::exchange(slot->dropped, 0);
  taken.overflowed = slot->overflowed;
  return taken;
}

std::vector<SubscriptionId> PubSub::close() {
  State& s = *state_;
  std::vector<SubscriptionId> ended;
  ended.reserve(s.used_slots);
  for (std::uint32_t i = 0; i < s.slots.size(); ++i)
    if (s.slots[i].used) ended.push_back(s.id_of(i));
  for (const SubscriptionId id : ended) unsubscribe(id);
  s.closed = true;
  return ended;
}

bool PubSub::closed() const { return state_->closed; }
std::size_t PubSub::subscriptions() const { return state_->used_slots; }
std::size_t PubSub::listeners(const Trigger& trigger) const {
  const auto found = state_->triggers.find(trigger.str());
  return found == state_->triggers.end() ? 0 : found->second.subscriptions;
}
const Counters& PubSub::counters() const { return state_->counters; }

}  // namespace fanfare::live

#include "store/memory_inbox_store.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/assert.h"

namespace fanfare::store {
namespace {

using namespace inbox;

struct Item {
  Notification shown;          // `seen` is not kept here: the inbox's watermark says it
  std::uint64_t serial = 0;    // of its notification
  std::uint64_t position = 0;  // in the order of creation over all inboxes
  Timestamp stored_at;
  LeaseToken token;  // while Claimed
  Timestamp lease_until;
  Timestamp not_before;  // while Pending
};

struct Inbox {
  Sequence head = 0;
  Sequence floor = 0;
  Sequence seen = 0;
  Counts counts;
  std::map<Sequence, Item> items;
  std::set<std::pair<Timestamp, Sequence>> expiring;
};

struct Stored {
  NotificationId id;
  Fingerprint fingerprint;
  std::pair<Tenant, IdempotencyKey> key;
  Timestamp stored_at;
  std::vector<std::pair<InboxKey, Sequence>> items;
};

bool countable(const Item& item) { return !item.shown.archived && item.shown.state != DeliveryState::Expired; }
bool open(const Item& item) {
  return item.shown.state == DeliveryState::Pending || item.shown.state == DeliveryState::Claimed;
}

class MemoryInboxStore final : public InboxStore {
 public:
  explicit MemoryInboxStore(Epoch epoch) : epoch_(epoch) { FANFARE_ASSERT(epoch != 0); }

  Result<std::vector<Answer>, StoreError> execute(std::span<const Operation> operations, Timestamp now) override {
    now_ = now;
    std::vector<Answer> answers;
    answers.reserve(operations.size());
    for (const Operation& operation : operations)
      answers.push_back(std::visit([this](const auto& one) -> Answer { return run(one); }, operation));
    return answers;
  }
  Epoch epoch() const override { return epoch_; }
  Result<Success, StoreError> tidy() override { return Success{}; }

 private:
  Cursor cursor_at(const InboxKey& key, Sequence sequence) const { return {epoch_, scope_of(key), sequence}; }

  Inbox& at(const InboxKey& key) {
    Inbox& inbox = inboxes_[key];
    expire_due(key, inbox);
    return inbox;
  }

  /// The inbox for reading: one that nobody has written to takes no memory, whoever asks for it.
  Inbox& look_at(const InboxKey& key) {
    if (inboxes_.contains(key)) return at(key);
    nobody_ = Inbox{};
    return nobody_;
  }

  /// The counts without this item; before it is deleted or stops to be countable.
  static void discount(Inbox& inbox, const Item& item) {
    if (!countable(item)) return;
    if (!item.shown.read) --inbox.counts.unread;
    if (item.shown.sequence > inbox.seen) --inbox.counts.unseen;
  }

  void settle(Item& item, DeliveryState state) {
    if (open(item)) open_.erase(item.position);
    item.shown.state = state;
    item.token = {};
  }

  void expire_due(const InboxKey&, Inbox& inbox) {
    bool changed = false;
    while (!inbox.expiring.empty() && inbox.expiring.begin()->first <= now_) {
      Item& item = inbox.items.at(inbox.expiring.begin()->second);
      discount(inbox, item);
      settle(item, DeliveryState::Expired);
      inbox.expiring.erase(inbox.expiring.begin());
      changed = true;
    }
    if (changed) ++inbox.counts.version;
  }
  void expire_everywhere() {
    for (auto& [key, inbox] : inboxes_) expire_due(key, inbox);
  }

  Item* find(const NotificationId& id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &inboxes_.at(found->second.first).items.at(found->second.second);
  }

  Answer run(const Create& create) {
    const Intent& intent = create.intent;
    const Fingerprint print = fingerprint(intent);
    const auto key = std::pair{intent.tenant, intent.key};
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
      const Stored& stored = notifications_.at(known->second);
      if (stored.fingerprint != print) return Refused{Refusal::KeyConflict};
      return Created{stored.id, true, {}};
    }
    const std::uint64_t serial = ++serial_;
    by_key_.emplace(key, serial);
    Stored stored{create.fresh, print, key, now_, {}};
    Created created{create.fresh, false, {}};
    for (std::size_t i = 0; i < intent.recipients.size(); ++i) {
      const InboxKey inbox_key{intent.recipients[i], intent.workspace};
      Inbox& inbox = at(inbox_key);
      const Sequence sequence = ++inbox.head;
      const NotificationId id = item_id(create.fresh, i, intent.recipients.size());
      Item item;
      item.shown = {id,
                    sequence,
                    inbox_key,
                    intent.kind,
                    intent.object_id,
                    intent.revision,
                    intent.data,
                    intent.created_at.value_or(now_),
                    intent.expires_at,
                    false,
                    false,
                    false,
                    DeliveryState::Pending};
      item.serial = serial;
      item.position = ++position_;
      item.stored_at = now_;
      item.not_before = now_;
      by_id_.emplace(id, std::pair{inbox_key, sequence});
      stored.items.emplace_back(inbox_key, sequence);
      ++inbox.counts.version;
      if (intent.expires_at && *intent.expires_at <= now_) {
        item.shown.state = DeliveryState::Expired;
      } else {
        ++inbox.counts.unread;
        ++inbox.counts.unseen;
        if (intent.expires_at) inbox.expiring.emplace(*intent.expires_at, sequence);
        open_.emplace(item.position, std::pair{inbox_key, sequence});
        created.items.push_back(
            {id, intent.recipients[i], sequence, cursor_at(inbox_key, sequence), item.shown.created_at, inbox.counts});
      }
      inbox.items.emplace(sequence, std::move(item));
    }
    notifications_.emplace(serial, std::move(stored));
    return created;
  }

  Answer run(const ListPage& list) {
    Inbox& inbox = look_at(list.inbox);
    Page page;
    Sequence begin = 0;
    const bool known = list.after && is_known(*list.after, head_of(list.inbox, inbox));
    if (known) begin = list.after->sequence;
    page.reset = list.after && !known;
    const Sequence up_to = list.up_to.value_or(inbox.head);
    for (auto next = inbox.items.upper_bound(begin); next != inbox.items.end() && next->first <= up_to; ++next) {
      Item& item = next->second;
      if (item.shown.state == DeliveryState::Expired || (item.shown.archived && !list.archived) ||
          (item.shown.read && list.unread_only) || (list.kind && item.shown.kind != *list.kind))
        continue;
      if (page.items.size() == list.limit) {
        page.more = true;
        break;
      }
      if (list.acknowledge && open(item)) {
        settle(item, DeliveryState::Delivered);
        ++page.acknowledged;
      }
      page.items.push_back(item.shown);
      page.items.back().seen = next->first <= inbox.seen;
    }
    page.cursor = !page.items.empty() ? cursor_at(list.inbox, page.items.back().sequence)
                  : known             ? *list.after
                                      : cursor_at(list.inbox, list.kind ? 0 : inbox.head);
    page.counts = inbox.counts;
    return page;
  }

  Head head_of(const InboxKey& key, const Inbox& inbox) const {
    return {cursor_at(key, inbox.head), inbox.floor, inbox.counts};
  }
  Answer run(const ReadHead& read) { return head_of(read.inbox, look_at(read.inbox)); }

  Answer run(const Mark& mark) {
    Marked marked;
    std::set<InboxKey> touched;
    for (const NotificationId& id : mark.ids) {
      const auto place = by_id_.find(id);
      if (place == by_id_.end()) continue;
      const InboxKey& key = place->second.first;
      if (key.recipient != mark.recipient ||
          std::find(mark.workspaces.begin(), mark.workspaces.end(), key.workspace) == mark.workspaces.end())
        continue;
      Inbox& inbox = at(key);
      Item& item = inbox.items.at(place->second.second);
      touched.insert(key);
      if (item.shown.state == DeliveryState::Expired) continue;
      bool changed = false;
      switch (mark.act) {
        case Mark::Act::Read:
          changed = !item.shown.read;
          if (changed && countable(item)) --inbox.counts.unread;
          item.shown.read = true;
          break;
        case Mark::Act::Archive:
          changed = !item.shown.archived;
          discount(inbox, item);
          item.shown.archived = true;
          break;
        case Mark::Act::Acknowledge: changed = open(item); break;
      }
      if (open(item)) settle(item, DeliveryState::Delivered);
      if (changed) {
        ++marked.changed;
        ++inbox.counts.version;
      }
    }
    for (const InboxKey& key : touched) marked.inboxes.push_back({key, inboxes_.at(key).counts});
    return marked;
  }

  Answer run(const MarkUpTo& mark) {
    Inbox& inbox = look_at(mark.inbox);
    Head head = head_of(mark.inbox, inbox);
    head.floor = 0;  // an old place is a good bound all the same
    if (!is_known(mark.up_to, head)) return Refused{Refusal::UnknownCursor};
    Marked marked;
    for (auto& [sequence, item] : inbox.items) {
      if (sequence > mark.up_to.sequence) break;
      if (item.shown.state == DeliveryState::Expired) continue;
      if (open(item)) settle(item, DeliveryState::Delivered);
      if (!countable(item)) continue;
      if (mark.act == MarkUpTo::Act::Read && !item.shown.read) {
        item.shown.read = true;
        --inbox.counts.unread;
        ++marked.changed;
      }
      if (mark.act == MarkUpTo::Act::Seen && sequence > inbox.seen) {
        --inbox.counts.unseen;
        ++marked.changed;
      }
    }
    if (mark.act == MarkUpTo::Act::Seen) inbox.seen = std::max(inbox.seen, mark.up_to.sequence);
    if (marked.changed > 0) ++inbox.counts.version;
    marked.inboxes.push_back({mark.inbox, inbox.counts});
    return marked;
  }

  Answer run(const Claim& claim) {
    expire_everywhere();
    Claimed claimed;
    for (const auto& [position, place] : open_) {
      Item& item = inboxes_.at(place.first).items.at(place.second);
      if (item.shown.state == DeliveryState::Claimed && item.lease_until <= now_) {
        item.shown.state = DeliveryState::Pending;
        item.token = {};
        ++claimed.leases_expired;
      }
    }
    std::vector<Item*> due;
    for (const auto& [position, place] : open_) {
      Item& item = inboxes_.at(place.first).items.at(place.second);
      if (item.shown.state != DeliveryState::Pending || item.not_before > now_) continue;
      if (!claim.inboxes.empty() &&
          std::find(claim.inboxes.begin(), claim.inboxes.end(), place.first) == claim.inboxes.end())
        continue;
      due.push_back(&item);
    }
    std::stable_sort(due.begin(), due.end(),
                     [](const Item* a, const Item* b) { return a->not_before < b->not_before; });
    if (due.size() > claim.limit) due.resize(claim.limit);
    claimed.token = {++token_};
    for (Item* const item : due) {
      item->shown.state = DeliveryState::Claimed;
      item->token = claimed.token;
      item->lease_until = now_ + claim.lease;
      claimed.items.push_back(item->shown);
      claimed.items.back().seen = item->shown.sequence <= inboxes_.at(item->shown.inbox).seen;
    }
    return claimed;
  }

  Answer run(const Renew& renew) {
    expire_everywhere();
    Fenced fenced;
    for (const auto& [position, place] : open_) {
      Item& item = inboxes_.at(place.first).items.at(place.second);
      if (item.shown.state != DeliveryState::Claimed || item.token != renew.token) continue;
      item.lease_until = now_ + renew.lease;
      ++fenced.applied;
    }
    return fenced;
  }

  template <class Act>
  Fenced fence(LeaseToken token, const std::vector<NotificationId>& ids, const Act& act) {
    expire_everywhere();
    Fenced fenced;
    for (const NotificationId& id : ids) {
      Item* const item = find(id);
      if (item != nullptr && item->shown.state == DeliveryState::Claimed && item->token == token) {
        act(*item);
        ++fenced.applied;
      } else {
        ++fenced.stale;
      }
    }
    return fenced;
  }
  Answer run(const Complete& complete) {
    return fence(complete.token, complete.ids, [this](Item& item) { settle(item, DeliveryState::Delivered); });
  }
  Answer run(const Release& release) {
    return fence(release.token, release.ids, [&](Item& item) {
      item.shown.state = DeliveryState::Pending;
      item.token = {};
      item.not_before = release.not_before;
    });
  }

  Answer run(const Retain& retain) {
    Retained retained;
    while (!notifications_.empty() && notifications_.begin()->second.stored_at < retain.before) {
      if (retained.notifications == retain.limit) {
        retained.more = true;
        break;
      }
      const Stored& stored = notifications_.begin()->second;
      for (const auto& [key, sequence] : stored.items) {
        Inbox& inbox = at(key);
        Item& item = inbox.items.at(sequence);
        if (countable(item) && !item.shown.read) inbox.floor = std::max(inbox.floor, sequence);
        discount(inbox, item);
        if (open(item)) open_.erase(item.position);
        if (item.shown.expires_at) inbox.expiring.erase({*item.shown.expires_at, sequence});
        by_id_.erase(item.shown.id);
        inbox.items.erase(sequence);
        ++inbox.counts.version;
      }
      by_key_.erase(stored.key);
      notifications_.erase(notifications_.begin());
      ++retained.notifications;
    }
    return retained;
  }

  Answer run(const ReadStats&) {
    expire_everywhere();
    Stats stats;
    for (const auto& [position, place] : open_) {
      const Item& item = inboxes_.at(place.first).items.at(place.second);
      ++(item.shown.state == DeliveryState::Pending ? stats.pending : stats.claimed);
      if (!stats.oldest_pending) stats.oldest_pending = item.stored_at;
    }
    return stats;
  }

  Epoch epoch_;
  Timestamp now_;
  Inbox nobody_;
  std::uint64_t serial_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t token_ = 0;
  std::map<InboxKey, Inbox> inboxes_;
  std::map<std::uint64_t, Stored> notifications_;  ///< By serial: oldest first.
  std::map<std::pair<Tenant, IdempotencyKey>, std::uint64_t> by_key_;
  std::map<NotificationId, std::pair<InboxKey, Sequence>> by_id_;
  std::map<std::uint64_t, std::pair<InboxKey, Sequence>> open_;  ///< Pending and claimed, by position.
};

}  // namespace

std::unique_ptr<InboxStore> make_memory_inbox_store(Epoch epoch) { return std::make_unique<MemoryInboxStore>(epoch); }

}  // namespace fanfare::store

// The inbox store as plainly as it can be said: one list of rows, everything found by looking at all of them, nothing
// counted ahead. For tests only: what the real stores answer is compared with it.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "store/inbox_store.h"

namespace fanfare::store {

class NaiveInboxStore final : public InboxStore {
 public:
  explicit NaiveInboxStore(inbox::Epoch epoch) : epoch_(epoch) {}

  Result<std::vector<inbox::Answer>, StoreError> execute(std::span<const inbox::Operation> operations,
                                                         Timestamp now) override {
    now_ = now;
    std::vector<inbox::Answer> answers;
    for (const auto& operation : operations)
      answers.push_back(std::visit([this](const auto& one) -> inbox::Answer { return run(one); }, operation));
    return answers;
  }
  [[nodiscard]] inbox::Epoch epoch() const override { return epoch_; }
  Result<Success, StoreError> tidy() override { return Success{}; }

 private:
  struct Row {
    inbox::InboxKey inbox;
    inbox::Sequence sequence;
    inbox::NotificationId id;
    std::size_t made;  // which Create
    inbox::Intent intent;
    Timestamp stored_at;
    bool read = false, archived = false, delivered = false, deleted = false;
    std::uint64_t token = 0;
    Timestamp lease_until{}, not_before{};
  };
  struct Made {
    inbox::NotificationId id;
    inbox::Intent intent;
    Timestamp stored_at;
    bool deleted = false;
  };

  bool expired(const Row& row) const { return row.intent.expires_at && *row.intent.expires_at <= now_; }
  bool visible(const Row& row) const { return !row.deleted && !expired(row); }
  bool owed(const Row& row) const { return visible(row) && !row.delivered; }
  bool held(const Row& row) const { return owed(row) && row.token != 0; }

  inbox::Counts counts(const inbox::InboxKey& key) const {
    inbox::Counts out;
    for (const Row& row : rows_) {
      if (row.inbox != key || !visible(row) || row.archived) continue;
      out.unread += row.read ? 0 : 1;
      out.unseen += row.sequence > seen(key) ? 1 : 0;
    }
    return out;
  }
  inbox::Sequence seen(const inbox::InboxKey& key) const { return seen_.contains(key) ? seen_.at(key) : 0; }
  inbox::Sequence last(const inbox::InboxKey& key) const {
    return static_cast<inbox::Sequence>(
        std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.inbox == key; }));
  }
  inbox::Head head(const inbox::InboxKey& key) const {
    return {{epoch_, inbox::scope_of(key), last(key)}, floor_.contains(key) ? floor_.at(key) : 0, counts(key)};
  }
  inbox::Notification shown(const Row& row) const {
    using inbox::DeliveryState;
    const auto state = row.delivered    ? DeliveryState::Delivered
                       : row.token != 0 ? DeliveryState::Claimed
                                        : DeliveryState::Pending;
    return {row.id,
            row.sequence,
            row.inbox,
            row.intent.kind,
            row.intent.object_id,
            row.intent.revision,
            row.intent.data,
            row.intent.created_at.value_or(row.stored_at),
            row.intent.expires_at,
            row.sequence <= seen(row.inbox),
            row.read,
            row.archived,
            state};
  }

  inbox::Answer run(const inbox::Create& create) {
    for (const Made& made : made_)
      if (!made.deleted && made.intent.tenant == create.intent.tenant && made.intent.key == create.intent.key) {
        if (made.intent == create.intent) return inbox::Created{made.id, true, {}};
        return inbox::Refused{inbox::Refusal::KeyConflict};
      }
    made_.push_back({create.fresh, create.intent, now_});
    inbox::Created created{create.fresh, false, {}};
    for (std::size_t i = 0; i < create.intent.recipients.size(); ++i) {
      Row row{{create.intent.recipients[i], create.intent.workspace},
              0,
              item_id(create.fresh, i, create.intent.recipients.size()),
              made_.size() - 1,
              create.intent,
              now_};
      row.sequence = last(row.inbox) + 1;
      row.not_before = now_;
      rows_.push_back(row);
      if (expired(row)) continue;
      created.items.push_back({row.id, row.inbox.recipient, row.sequence, head(row.inbox).cursor,
                               create.intent.created_at.value_or(now_), counts(row.inbox)});
    }
    return created;
  }
  inbox::Answer run(const inbox::ListPage& list) {
    inbox::Page page;
    const bool known = list.after && is_known(*list.after, head(list.inbox));
    page.reset = list.after && !known;
    page.counts = counts(list.inbox);
    for (Row& row : rows_) {
      if (row.inbox != list.inbox || !visible(row) || row.sequence <= (known ? list.after->sequence : 0)) continue;
      if ((list.up_to && row.sequence > *list.up_to) || (row.archived && !list.archived) ||
          (row.read && list.unread_only))
        continue;
      if (list.kind && row.intent.kind != *list.kind) continue;
      if (page.items.size() == list.limit) {
        page.more = true;
        break;
      }
      page.acknowledged += list.acknowledge && owed(row) ? 1 : 0;
      row.delivered = row.delivered || list.acknowledge;
      page.items.push_back(shown(row));
    }
    page.cursor = head(list.inbox).cursor;
    if (list.kind) page.cursor.sequence = 0;
    if (known) page.cursor = *list.after;
    if (!page.items.empty()) page.cursor.sequence = page.items.back().sequence;
    return page;
  }
  inbox::Answer run(const inbox::ReadHead& read) { return head(read.inbox); }
  inbox::Answer run(const inbox::Mark& mark) {
    inbox::Marked marked;
    std::set<inbox::InboxKey> touched;
    for (const auto& id : mark.ids)
      for (Row& row : rows_) {
        if (row.deleted || row.id != id || row.inbox.recipient != mark.recipient) continue;
        if (std::count(mark.workspaces.begin(), mark.workspaces.end(), row.inbox.workspace) == 0) continue;
        touched.insert(row.inbox);
        if (expired(row)) continue;
        bool& what = mark.act == inbox::Mark::Act::Read      ? row.read
                     : mark.act == inbox::Mark::Act::Archive ? row.archived
                                                             : row.delivered;
        marked.changed += what ? 0 : 1;
        what = true;
        row.delivered = true;
      }
    for (const auto& key : touched) marked.inboxes.push_back({key, counts(key)});
    return marked;
  }
  inbox::Answer run(const inbox::MarkUpTo& mark) {
    inbox::Head place = head(mark.inbox);
    place.floor = 0;
    if (!is_known(mark.up_to, place)) return inbox::Refused{inbox::Refusal::UnknownCursor};
    const inbox::Counts before = counts(mark.inbox);
    for (Row& row : rows_) {
      if (row.inbox != mark.inbox || !visible(row) || row.sequence > mark.up_to.sequence) continue;
      row.delivered = true;
      if (mark.act == inbox::MarkUpTo::Act::Read && !row.archived) row.read = true;
    }
    if (mark.act == inbox::MarkUpTo::Act::Seen) seen_[mark.inbox] = std::max(seen(mark.inbox), mark.up_to.sequence);
    const inbox::Counts after = counts(mark.inbox);
    return inbox::Marked{before.unread - after.unread + before.unseen - after.unseen, {{mark.inbox, after}}};
  }
  inbox::Answer run(const inbox::Claim& claim) {
    inbox::Claimed claimed;
    std::vector<Row*> due;
    for (Row& row : rows_) {
      if (!owed(row)) continue;
      if (row.token != 0 && row.lease_until <= now_) {
        row.token = 0;
        ++claimed.leases_expired;
      }
      const bool wanted =
          claim.inboxes.empty() || std::count(claim.inboxes.begin(), claim.inboxes.end(), row.inbox) > 0;
      if (wanted && row.token == 0 && row.not_before <= now_) due.push_back(&row);
    }
    std::stable_sort(due.begin(), due.end(), [](const Row* a, const Row* b) { return a->not_before < b->not_before; });
    due.resize(std::min(due.size(), claim.limit));
    claimed.token = {++token_};
    for (Row* const row : due) {
      row->token = token_;
      row->lease_until = now_ + claim.lease;
      claimed.items.push_back(shown(*row));
    }
    return claimed;
  }
  inbox::Answer run(const inbox::Renew& renew) {
    inbox::Fenced fenced;
    for (Row& row : rows_)
      if (held(row) && row.token == renew.token.value) {
        row.lease_until = now_ + renew.lease;
        ++fenced.applied;
      }
    return fenced;
  }
  template <class Act>
  inbox::Answer fence(inbox::LeaseToken token, const std::vector<inbox::NotificationId>& ids, const Act& act) {
    inbox::Fenced fenced;
    for (const auto& id : ids) {
      const auto row = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row& r) { return held(r) && r.id == id && r.token == token.value; });
      if (row != rows_.end()) act(*row);
      ++(row != rows_.end() ? fenced.applied : fenced.stale);
    }
    return fenced;
  }
  inbox::Answer run(const inbox::Complete& complete) {
    return fence(complete.token, complete.ids, [](Row& row) { row.delivered = true; });
  }
  inbox::Answer run(const inbox::Release& release) {
    return fence(release.token, release.ids, [&](Row& row) {
      row.token = 0;
      row.not_before = release.not_before;
    });
  }
  inbox::Answer run(const inbox::Retain& retain) {
    inbox::Retained retained;
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].deleted) continue;
      if (made_[i].stored_at >= retain.before) break;
      if (retained.notifications == retain.limit) {
        retained.more = true;
        break;
      }
      made_[i].deleted = true;
      ++retained.notifications;
      for (Row& row : rows_) {
        if (row.made != i || row.deleted) continue;
        if (visible(row) && !row.archived && !row.read) floor_[row.inbox] = std::max(floor_[row.inbox], row.sequence);
        row.deleted = true;
      }
    }
    return retained;
  }
  inbox::Answer run(const inbox::ReadStats&) {
    inbox::Stats stats;
    for (const Row& row : rows_) {
      if (!owed(row)) continue;
      ++(row.token != 0 ? stats.claimed : stats.pending);
      if (!stats.oldest_pending) stats.oldest_pending = row.stored_at;
    }
    return stats;
  }

  inbox::Epoch epoch_;
  Timestamp now_;
  std::uint64_t token_ = 0;
  std::vector<Row> rows_;
  std::vector<Made> made_;
  std::map<inbox::InboxKey, inbox::Sequence> seen_;
  std::map<inbox::InboxKey, inbox::Sequence> floor_;
};

}  // namespace fanfare::store

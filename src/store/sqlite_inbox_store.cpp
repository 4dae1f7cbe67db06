#include "store/sqlite_inbox_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/assert.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_schema.h"

namespace fanfare::store {
namespace {

using namespace inbox;

constexpr int kApplicationId = 0x46616e66;  // "Fanf"
/// Pages in the log after which tidy() writes them back: 16 MiB, a few tens of milliseconds of work.
constexpr int kCheckpointPages = 4096;

const std::span<const char* const> kMigrations = sqlite_migrations();
const int kSchemaVersion = static_cast<int>(kMigrations.size());

/// One row of `inbox`, kept for the transaction and written back at its end.
struct HeadRow {
  std::int64_t row = 0;
  Sequence head = 0;
  Sequence floor = 0;
  Sequence seen = 0;
  Counts counts;
  std::optional<Timestamp> next_expiry;
  Sequence settled = 0;  ///< Nothing up to it is owed: the place to begin when looking for what is.
  bool dirty = false;
};

/// Recipients of one notification have positions side by side.
constexpr std::int64_t kPositionsPerNotification = 1024;
static_assert(kRecipientsMax <= kPositionsPerNotification);

struct ItemRow {
  std::int64_t inbox = 0;
  Sequence sequence = 0;
  std::int64_t position = 0;
  bool read = false;
  bool archived = false;
  bool expired = false;
  [[nodiscard]] bool countable() const { return !archived && !expired; }
};

class SqliteInboxStore final : public InboxStore {
 public:
  SqliteInboxStore(sqlite3* handle, const SqliteOptions& options) : connection_(handle), options_(options) {}

  std::optional<StoreError> open() {
    sqlite3_busy_timeout(connection_.handle(), 0);  // only another process can be in the way, and it would stay
    sqlite3_extended_result_codes(connection_.handle(), 1);
    // Before the journal mode, so that the log's index lies in this process's memory and no other process gets in.
    connection_.run("PRAGMA locking_mode = EXCLUSIVE");
    if (const auto code = application_id(); code && *code != 0 && *code != kApplicationId)
      return StoreError{StoreErrorKind::Damaged, options_.path + ": another program's database"};
    connection_.run("PRAGMA journal_mode = WAL");
    connection_.run(options_.synchronous ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    connection_.run(
        "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; PRAGMA mmap_size = 0;"
        "PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF; PRAGMA secure_delete = "
        "OFF");
    sqlite3_wal_hook(
        connection_.handle(),
        [](void* self, sqlite3*, const char*, int pages) {
          static_cast<SqliteInboxStore*>(self)->log_pages_ = pages;
          return SQLITE_OK;
        },
        this);
    if (auto error = migrate()) return error;
    if (options_.bytes_max > 0)
      connection_.run(
          ("PRAGMA max_page_count = " + std::to_string(std::max<std::uint64_t>(1, options_.bytes_max / 4096))).c_str());
    Statement settings{connection_, "SELECT value FROM setting WHERE name = ?1"};
    if (settings.bind(std::string_view{"epoch"}).row()) epoch_ = settings.whole(0);
    settings.done();
    if (settings.bind(std::string_view{"lease_token"}).row()) token_ = settings.whole(0);
    settings.done();
    if (auto error = connection_.take_error()) return error;
    if (epoch_ == 0) return StoreError{StoreErrorKind::Damaged, options_.path + ": the setting `epoch` is missing"};
    return std::nullopt;
  }

  Result<std::vector<Answer>, StoreError> execute(std::span<const Operation> operations, Timestamp now) override {
    now_ = now;
    heads_.clear();
    token_before_ = token_;
    std::vector<Answer> answers;
    answers.reserve(operations.size());
    connection_.run("BEGIN IMMEDIATE");
    for (const Operation& operation : operations) {
      answers.push_back(std::visit([this](const auto& one) -> Answer { return run(one); }, operation));
      if (connection_.failed()) break;
    }
    write_heads();
    bool committing = false;
    if (!connection_.failed()) {
      committing = true;
      connection_.run("COMMIT");
    }
    if (!connection_.failed()) return answers;

    StoreError error = *connection_.take_error();
    token_ = token_before_;
    // The log may hold the commit although writing or syncing it reported an error.
    const int code = sqlite3_errcode(connection_.handle()) & 0xff;
    if (committing && error.kind == StoreErrorKind::Unavailable && code == SQLITE_IOERR)
      error.kind = StoreErrorKind::Unknown;
    if (sqlite3_get_autocommit(connection_.handle()) == 0) {
      connection_.run("ROLLBACK");
      (void)connection_.take_error();
    }
    return error;
  }

  Epoch epoch() const override { return epoch_; }

  Result<Success, StoreError> tidy() override {
    if (log_pages_ < kCheckpointPages) return Success{};
    const int code =
        sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if (code != SQLITE_OK) return error_of(code, "checkpoint", sqlite3_errmsg(connection_.handle()));
    log_pages_ = 0;
    return Success{};
  }

 private:
  std::optional<int> application_id() {
    Statement statement{connection_, "PRAGMA application_id"};
    if (!statement.bind().row()) return std::nullopt;
    const int id = static_cast<int>(statement.integer(0));
    statement.done();
    return id;
  }

  std::optional<StoreError> migrate() {
    int version = 0;
    bool empty = true;
    {
      Statement statement{connection_, "PRAGMA user_version"};
      if (statement.bind().row()) version = static_cast<int>(statement.integer(0));
      statement.done();
      Statement tables{connection_, "SELECT 1 FROM sqlite_schema LIMIT 1"};
      empty = !tables.bind().row();
      tables.done();
    }
    if (auto error = connection_.take_error()) return error;
    if (!empty && application_id() != kApplicationId)
      return StoreError{StoreErrorKind::Damaged, options_.path + ": another program's database"};
    if (version > kSchemaVersion)
      return StoreError{StoreErrorKind::Damaged, options_.path + ": schema version " + std::to_string(version) +
                                                     ", this program knows up to " + std::to_string(kSchemaVersion)};
    for (; version < kSchemaVersion; ++version) {
      connection_.run("BEGIN IMMEDIATE");
      connection_.run(kMigrations[static_cast<std::size_t>(version)]);
      if (version == 0) {
        FANFARE_ASSERT(options_.epoch_if_new != 0);
        Statement setting{connection_, "INSERT INTO setting (name, value) VALUES (?1, ?2)"};
        setting.bind(std::string_view{"epoch"}, options_.epoch_if_new).run();
        setting.bind(std::string_view{"lease_token"}, 0).run();
        connection_.run(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
      }
      connection_.run(("PRAGMA user_version = " + std::to_string(version + 1)).c_str());
      connection_.run("COMMIT");
      if (auto error = connection_.take_error()) return error;  // closing the connection rolls back
    }
    return std::nullopt;
  }

  Cursor cursor_at(const InboxKey& key, Sequence sequence) const { return {epoch_, scope_of(key), sequence}; }

  // ---- heads

  /// The inbox's row with everything expired that is due; null if nobody has written to it yet.
  HeadRow* find_head(const InboxKey& key) {
    const auto [at, fresh] = heads_.try_emplace(key);
    HeadRow& head = at->second;
    if (fresh) {
      Statement& select = select_head_.bind(key.recipient, key.workspace);
      if (!select.row()) {
        heads_.erase(at);
        return nullptr;
      }
      head.row = select.integer(0);
      head.head = select.whole(1);
      head.floor = select.whole(2);
      head.seen = select.whole(3);
      head.counts = {select.whole(4), select.whole(5), select.whole(6)};
      if (!select.null(7)) head.next_expiry = select.time(7);
      head.settled = select.whole(8);
      select.done();
    }
    if (head.next_expiry && *head.next_expiry <= now_) expire_due(head);
    return &head;
  }
  HeadRow& make_head(const InboxKey& key) {
    if (HeadRow* const head = find_head(key)) return *head;
    HeadRow& head = heads_[key];
    insert_head_.bind(key.recipient, key.workspace).run();
    head.row = sqlite3_last_insert_rowid(connection_.handle());
    return head;
  }
  void write_heads() {
    for (const auto& [key, head] : heads_) {
      if (!head.dirty) continue;
      update_head_
          .bind(head.row, head.head, head.floor, head.seen, head.counts.unread, head.counts.unseen, head.counts.version,
                head.next_expiry, head.settled)
          .run();
    }
  }

  static void changed(HeadRow& head) {
    ++head.counts.version;
    head.dirty = true;
  }
  /// The counts without this item; before it is deleted or stops to be countable.
  static void discount(HeadRow& head, const ItemRow& item) {
    if (!item.countable()) return;
    if (!item.read) --head.counts.unread;
    if (item.sequence > head.seen) --head.counts.unseen;
  }

  void expire_due(HeadRow& head) {
    std::vector<ItemRow> due;
    Statement& select = select_due_.bind(head.row, now_);
    while (select.row())
      due.push_back(
          {head.row, select.whole(0), select.integer(1), select.integer(2) != 0, select.integer(3) != 0, false});
    for (const ItemRow& item : due) {
      discount(head, item);
      update_expired_.bind(item.inbox, item.sequence).run();
      settle(item.position);
    }
    Statement& next = select_next_expiry_.bind(head.row);
    head.next_expiry.reset();
    if (next.row() && !next.null(0)) head.next_expiry = next.time(0);
    next.done();
    changed(head);
  }
  void expire_everywhere() {
    for (;;) {
      std::vector<InboxKey> due;
      Statement& select = select_expiring_.bind(now_);
      while (select.row()) due.push_back({Recipient{select.text(0)}, Workspace{select.text(1)}});
      // Rows that this transaction has expired already are written back here, or they would be found again.
      for (const InboxKey& key : due) find_head(key);
      write_heads();
      for (auto& [key, head] : heads_) head.dirty = false;
      if (due.size() < 1000) return;
    }
  }

  /// Ends what is owed of an item; false: nothing was.
  bool settle(std::int64_t position) { return delete_pending_.bind(position).run() > 0; }

  // ---- operations

  Answer run(const Create& create) {
    const Intent& intent = create.intent;
    const Fingerprint print = fingerprint(intent);
    const Timestamp created_at = intent.created_at.value_or(now_);
    const std::uint64_t inserted =
        insert_notification_
            .bind(create.fresh, intent.tenant, intent.key, print, intent.kind, intent.object_id, intent.revision,
                  intent.data, created_at, intent.expires_at, now_)
            .run();
    if (inserted == 0) {
      Statement& known = select_by_key_.bind(intent.tenant, intent.key);
      if (!known.row()) return Created{};  // only after an error
      const bool same = known.bytes16(1) == print;
      const NotificationId id = known.id(0);
      known.done();
      if (!same) return Refused{Refusal::KeyConflict};
      return Created{id, true, {}};
    }
    const std::int64_t row = sqlite3_last_insert_rowid(connection_.handle());
    const bool expired = intent.expires_at && *intent.expires_at <= now_;
    Created created{create.fresh, false, {}};
    for (std::size_t i = 0; i < intent.recipients.size(); ++i) {
      const InboxKey key{intent.recipients[i], intent.workspace};
      HeadRow& head = make_head(key);
      const Sequence sequence = ++head.head;
      const NotificationId id = item_id(create.fresh, i, intent.recipients.size());
      const std::int64_t position = row * kPositionsPerNotification + static_cast<std::int64_t>(i);
      insert_item_.bind(head.row, sequence, id, position, expired ? 1 : 0, intent.expires_at).run();
      changed(head);
      if (expired) continue;
      insert_pending_.bind(position, head.row, sequence, now_).run();
      ++head.counts.unread;
      ++head.counts.unseen;
      if (intent.expires_at)
        head.next_expiry = std::min(head.next_expiry.value_or(*intent.expires_at), *intent.expires_at);
      created.items.push_back({id, intent.recipients[i], sequence, cursor_at(key, sequence), created_at, head.counts});
    }
    return created;
  }

  Head head_of(const InboxKey& key, const HeadRow* head) const {
    if (head == nullptr) return {cursor_at(key, 0), 0, {}};
    return {cursor_at(key, head->head), head->floor, head->counts};
  }
  Answer run(const ReadHead& read) { return head_of(read.inbox, find_head(read.inbox)); }

  Statement& list_statement(const ListPage& list) {
    const std::size_t index = (list.unread_only ? 1u : 0u) + (list.archived ? 2u : 0u) + (list.kind ? 4u : 0u);
    std::unique_ptr<Statement>& statement = list_statements_[index];
    if (!statement) {
      std::string sql =
          "SELECT i.sequence, i.id, i.read, i.archived, i.position, n.kind, n.object_id, n.revision, n.data, "
          "n.created_at,"
          " n.expires_at, p.token FROM item i";
      if (list.unread_only && !list.archived) sql += " INDEXED BY item_unread";
      sql +=
          " JOIN notification n ON n.notification = i.position / 1024"
          " LEFT JOIN pending p ON p.position = i.position"
          " WHERE i.inbox = ?1 AND i.sequence > ?2 AND i.sequence <= ?3 AND i.expired = 0";
      if (list.unread_only) sql += " AND i.read = 0";
      if (!list.archived) sql += " AND i.archived = 0";
      if (list.kind) sql += " AND n.kind = ?5";
      sql += " ORDER BY i.sequence LIMIT ?4";
      statement = std::make_unique<Statement>(connection_, std::move(sql));
    }
    return *statement;
  }

  Answer run(const ListPage& list) {
    const HeadRow* const head = find_head(list.inbox);
    const Head place = head_of(list.inbox, head);
    Page page;
    const bool known = list.after && is_known(*list.after, place);
    page.reset = list.after && !known;
    const Sequence begin = known ? list.after->sequence : 0;
    const Sequence up_to = std::min(list.up_to.value_or(place.cursor.sequence), place.cursor.sequence);
    if (head != nullptr && begin < up_to) {
      Statement& select = list_statement(list);
      std::vector<std::int64_t> owed;
      if (list.kind) {
        select.bind(head->row, begin, up_to, list.limit + 1, *list.kind);
      } else {
        select.bind(head->row, begin, up_to, list.limit + 1);
      }
      while (select.row()) {
        if (page.items.size() == list.limit) {
          page.more = true;
          break;
        }
        page.items.push_back(read_notification(select, list.inbox, head->seen));
        if (list.acknowledge && page.items.back().state != DeliveryState::Delivered) {
          owed.push_back(select.integer(4));
          page.items.back().state = DeliveryState::Delivered;
        }
      }
      select.done();
      for (const std::int64_t position : owed) page.acknowledged += settle(position) ? 1 : 0;
    }
    page.cursor = !page.items.empty() ? cursor_at(list.inbox, page.items.back().sequence)
                  : known             ? *list.after
                                      : cursor_at(list.inbox, list.kind ? 0 : place.cursor.sequence);
    page.counts = place.counts;
    return page;
  }

  /// From the columns sequence, id, read, archived, position, kind, object_id, revision, data, created_at, expires_at,
  /// token of what is owed.
  static Notification read_notification(const Statement& row, const InboxKey& key, Sequence seen) {
    Notification item;
    item.sequence = row.whole(0);
    item.id = row.id(1);
    item.inbox = key;
    item.read = row.integer(2) != 0;
    item.archived = row.integer(3) != 0;
    item.seen = item.sequence <= seen;
    item.state = row.null(11)           ? DeliveryState::Delivered
                 : row.integer(11) == 0 ? DeliveryState::Pending
                                        : DeliveryState::Claimed;
    item.kind = Kind{row.text(5)};
    item.object_id = ObjectId{row.text(6)};
    if (!row.null(7)) item.revision = row.text(7);
    item.data = row.text(8);
    item.created_at = row.time(9);
    if (!row.null(10)) item.expires_at = row.time(10);
    return item;
  }

  /// From the columns inbox, sequence, position, read, archived, expired, recipient, workspace.
  static std::pair<ItemRow, InboxKey> item_of(const Statement& row) {
    return {
        {row.integer(0), row.whole(1), row.integer(2), row.integer(3) != 0, row.integer(4) != 0, row.integer(5) != 0},
        {Recipient{row.text(6)}, Workspace{row.text(7)}}};
  }
  /// The item of an id and the inbox it lies in.
  std::optional<std::pair<ItemRow, InboxKey>> find_item(const NotificationId& id) {
    Statement& select = select_item_.bind(id);
    if (!select.row()) return std::nullopt;
    auto found = item_of(select);
    select.done();
    return found;
  }

  Answer run(const Mark& mark) {
    Marked marked;
    std::set<InboxKey> touched;
    for (const NotificationId& id : mark.ids) {
      auto found = find_item(id);
      if (!found || found->second.recipient != mark.recipient ||
          std::find(mark.workspaces.begin(), mark.workspaces.end(), found->second.workspace) == mark.workspaces.end())
        continue;
      if (touched.insert(found->second).second) {
        find_head(found->second);  // may expire items of this inbox, this one too
        found = find_item(id);
        if (!found) continue;  // only after an error
      }
      HeadRow* const head = find_head(found->second);
      ItemRow& item = found->first;
      if (head == nullptr || item.expired) continue;
      bool change = false;
      switch (mark.act) {
        case Mark::Act::Read:
          change = !item.read;
          if (change) {
            if (item.countable()) --head->counts.unread;
            update_read_.bind(item.inbox, item.sequence).run();
          }
          break;
        case Mark::Act::Archive:
          change = !item.archived;
          if (change) {
            discount(*head, item);
            update_archived_.bind(item.inbox, item.sequence).run();
          }
          break;
        case Mark::Act::Acknowledge: break;
      }
      const bool owed = settle(item.position);
      if (mark.act == Mark::Act::Acknowledge) change = owed;
      if (change) {
        ++marked.changed;
        changed(*head);
      }
    }
    for (const InboxKey& key : touched)
      if (const HeadRow* const head = find_head(key)) marked.inboxes.push_back({key, head->counts});
    return marked;
  }

  Answer run(const MarkUpTo& mark) {
    HeadRow* const head = find_head(mark.inbox);
    Head place = head_of(mark.inbox, head);
    place.floor = 0;  // an old place is a good bound all the same
    if (!is_known(mark.up_to, place)) return Refused{Refusal::UnknownCursor};
    Marked marked;
    if (head != nullptr) {
      const Sequence up_to = mark.up_to.sequence;
      if (up_to > head->settled) {
        settle_up_to_.bind(head->row, head->settled, up_to).run();
        head->settled = up_to;
        head->dirty = true;
      }
      switch (mark.act) {
        case MarkUpTo::Act::Read:
          marked.changed = read_up_to_.bind(head->row, up_to).run();
          head->counts.unread -= marked.changed;
          break;
        case MarkUpTo::Act::Seen:
          if (up_to > head->seen) {
            Statement& count = count_unseen_.bind(head->row, head->seen, up_to);
            if (count.row()) marked.changed = count.whole(0);
            count.done();
            head->counts.unseen -= marked.changed;
            head->seen = up_to;
            head->dirty = true;
          }
          break;
      }
      if (marked.changed > 0) changed(*head);
    }
    marked.inboxes.push_back({mark.inbox, head != nullptr ? head->counts : Counts{}});
    return marked;
  }

  Answer run(const Claim& claim) {
    expire_everywhere();
    Claimed claimed;
    std::vector<std::uint64_t> run_out;
    Statement& leases = select_run_out_.bind(now_);
    while (leases.row()) run_out.push_back(leases.whole(0));
    for (const std::uint64_t token : run_out) {
      claimed.leases_expired += reclaim_.bind(token).run();
      delete_lease_.bind(token).run();
    }
    claimed.token = {++token_};
    save_token_.bind(token_).run();
    if (claim.inboxes.empty()) {
      claim_due_.bind(token_, now_, claim.limit).run();
    } else {
      std::vector<std::pair<std::int64_t, std::int64_t>> due;  // not_before, position
      for (const InboxKey& key : std::set<InboxKey>(claim.inboxes.begin(), claim.inboxes.end()))
        if (HeadRow* const head = find_head(key)) collect_due(*head, due);
      std::sort(due.begin(), due.end());
      if (due.size() > claim.limit) due.resize(claim.limit);
      for (const auto& [not_before, position] : due) claim_.bind(position, token_).run();
    }
    Statement& select = select_claimed_.bind(token_);
    while (select.row()) {
      const InboxKey key{Recipient{select.text(12)}, Workspace{select.text(13)}};
      claimed.items.push_back(read_notification(select, key, select.whole(14)));
    }
    // A head that this transaction has changed is not written back yet.
    for (Notification& item : claimed.items)
      if (const auto head = heads_.find(item.inbox); head != heads_.end())
        item.seen = item.sequence <= head->second.seen;
    if (!claimed.items.empty()) insert_lease_.bind(token_, claim.owner, now_ + claim.lease).run();
    return claimed;
  }

  /// What may be claimed of one inbox. On the way the place up to which nothing is owed moves on.
  void collect_due(HeadRow& head, std::vector<std::pair<std::int64_t, std::int64_t>>& due) {
    Sequence settled = head.head;
    Statement& select = select_owed_of_.bind(head.row, head.settled);
    while (select.row()) {
      settled = std::min(settled, select.whole(0) - 1);
      if (select.integer(1) == 0 && select.time(2) <= now_) due.emplace_back(select.integer(2), select.integer(3));
    }
    if (settled > head.settled) {
      head.settled = settled;
      head.dirty = true;
    }
  }

  Answer run(const Renew& renew) {
    expire_everywhere();
    Fenced fenced;
    if (renew_.bind(renew.token.value, now_ + renew.lease).run() == 0) return fenced;
    Statement& count = count_held_.bind(renew.token.value);
    if (count.row()) fenced.applied = count.whole(0);
    count.done();
    return fenced;
  }

  Answer run(const Complete& complete) {
    expire_everywhere();
    Fenced fenced;
    for (const NotificationId& id : complete.ids)
      ++(complete_.bind(id, complete.token.value).run() > 0 ? fenced.applied : fenced.stale);
    return fenced;
  }
  Answer run(const Release& release) {
    expire_everywhere();
    Fenced fenced;
    for (const NotificationId& id : release.ids)
      ++(release_.bind(id, release.token.value, release.not_before, release.reason).run() > 0 ? fenced.applied
                                                                                              : fenced.stale);
    return fenced;
  }

  std::vector<std::pair<ItemRow, InboxKey>> items_of(std::int64_t notification) {
    std::vector<std::pair<ItemRow, InboxKey>> items;
    Statement& select = select_items_of_.bind(notification * kPositionsPerNotification);
    while (select.row()) items.push_back(item_of(select));
    return items;
  }

  Answer run(const Retain& retain) {
    Retained retained;
    std::vector<std::int64_t> old;
    Statement& select = select_old_.bind(retain.before, retain.limit + 1);
    while (select.row()) old.push_back(select.integer(0));
    if (old.size() > retain.limit) {
      retained.more = true;
      old.resize(retain.limit);
    }
    for (const std::int64_t notification : old) {
      // Reading the heads may expire some of these items, so the items are looked at afterwards.
      for (const auto& [item, key] : items_of(notification)) find_head(key);
      for (const auto& [item, key] : items_of(notification)) {
        HeadRow* const head = find_head(key);
        if (head == nullptr) break;  // only after an error
        if (item.countable() && !item.read) head->floor = std::max(head->floor, item.sequence);
        discount(*head, item);
        settle(item.position);
        delete_item_.bind(item.inbox, item.sequence).run();
        changed(*head);
      }
      delete_notification_.bind(notification).run();
      ++retained.notifications;
    }
    return retained;
  }

  Answer run(const ReadStats&) {
    expire_everywhere();
    Stats stats;
    Statement& select = select_stats_.bind();
    if (select.row()) {
      stats.claimed = select.whole(0);
      stats.pending = select.whole(1) - stats.claimed;
    }
    select.done();
    Statement& oldest = select_oldest_.bind();
    if (oldest.row()) stats.oldest_pending = oldest.time(0);
    oldest.done();
    return stats;
  }

  Connection connection_;
  SqliteOptions options_;
  Epoch epoch_ = 0;
  int log_pages_ = 0;

  // Of one execute().
  Timestamp now_;
  std::uint64_t token_ = 0;
  std::uint64_t token_before_ = 0;
  std::map<InboxKey, HeadRow> heads_;

  // After connection_, so that they end before it.
  std::array<std::unique_ptr<Statement>, 8> list_statements_;
  Statement select_head_{connection_,
                         "SELECT inbox, head, floor, seen, unread, unseen, version, next_expiry, settled FROM inbox"
                         " WHERE recipient = ?1 AND workspace = ?2"};
  Statement insert_head_{connection_,
                         "INSERT INTO inbox (recipient, workspace, head, floor, seen, unread, unseen, version, settled)"
                         " VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0)"};
  Statement update_head_{connection_,
                         "UPDATE inbox SET head = ?2, floor = ?3, seen = ?4, unread = ?5, unseen = ?6, version = ?7,"
                         " next_expiry = ?8, settled = ?9 WHERE inbox = ?1"};
  Statement select_expiring_{connection_, "SELECT recipient, workspace FROM inbox WHERE next_expiry <= ?1 LIMIT 1000"};

  Statement insert_notification_{connection_,
                                 "INSERT INTO notification (id, tenant, idempotency_key, fingerprint, kind, object_id,"
                                 " revision, data, created_at, expires_at, stored_at)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
                                 " ON CONFLICT (tenant, idempotency_key) DO NOTHING"};
  Statement select_by_key_{connection_,
                           "SELECT id, fingerprint FROM notification WHERE tenant = ?1 AND idempotency_key = ?2"};
  Statement select_old_{connection_,
                        "SELECT notification FROM"
                        " (SELECT notification, stored_at FROM notification ORDER BY notification LIMIT ?2)"
                        " WHERE stored_at < ?1"};
  Statement delete_notification_{connection_, "DELETE FROM notification WHERE notification = ?1"};

  Statement insert_item_{connection_,
                         "INSERT INTO item (inbox, sequence, id, position, read, archived, expired, expires_at)"
                         " VALUES (?1, ?2, ?3, ?4, 0, 0, ?5, ?6)"};
  Statement select_item_{connection_,
                         "SELECT i.inbox, i.sequence, i.position, i.read, i.archived, i.expired, b.recipient,"
                         " b.workspace FROM item i JOIN inbox b ON b.inbox = i.inbox WHERE i.id = ?1"};
  Statement select_items_of_{connection_,
                             "SELECT i.inbox, i.sequence, i.position, i.read, i.archived, i.expired, b.recipient,"
                             " b.workspace FROM item i JOIN inbox b ON b.inbox = i.inbox"
                             " WHERE i.position >= ?1 AND i.position < ?1 + 1024"};
  Statement select_due_{connection_,
                        "SELECT sequence, position, read, archived FROM item"
                        " WHERE inbox = ?1 AND expires_at <= ?2 AND expires_at IS NOT NULL AND expired = 0"};
  Statement select_next_expiry_{connection_,
                                "SELECT min(expires_at) FROM item"
                                " WHERE inbox = ?1 AND expires_at IS NOT NULL AND expired = 0"};
  Statement update_expired_{connection_, "UPDATE item SET expired = 1 WHERE inbox = ?1 AND sequence = ?2"};
  Statement update_read_{connection_, "UPDATE item SET read = 1 WHERE inbox = ?1 AND sequence = ?2"};
  Statement update_archived_{connection_, "UPDATE item SET archived = 1 WHERE inbox = ?1 AND sequence = ?2"};
  Statement read_up_to_{connection_,
                        "UPDATE item INDEXED BY item_unread SET read = 1"
                        " WHERE inbox = ?1 AND sequence <= ?2 AND read = 0 AND archived = 0 AND expired = 0"};
  Statement count_unseen_{connection_,
                          "SELECT count(*) FROM item"
                          " WHERE inbox = ?1 AND sequence > ?2 AND sequence <= ?3 AND archived = 0 AND expired = 0"};
  Statement delete_item_{connection_, "DELETE FROM item WHERE inbox = ?1 AND sequence = ?2"};

  // What is owed is unread: every act that reads or archives settles. So the index of the unread finds it.
  Statement insert_pending_{connection_,
                            "INSERT INTO pending (position, inbox, sequence, token, attempts, not_before, stored_at)"
                            " VALUES (?1, ?2, ?3, 0, 0, ?4, ?4)"};
  Statement delete_pending_{connection_, "DELETE FROM pending WHERE position = ?1"};
  Statement settle_up_to_{connection_,
                          "DELETE FROM pending WHERE position IN (SELECT position FROM item INDEXED BY item_unread"
                          " WHERE inbox = ?1 AND sequence > ?2 AND sequence <= ?3"
                          " AND read = 0 AND archived = 0 AND expired = 0)"};
  Statement select_owed_of_{connection_,
                            "SELECT i.sequence, p.token, p.not_before, p.position"
                            " FROM item i INDEXED BY item_unread CROSS JOIN pending p ON p.position = i.position"
                            " WHERE i.inbox = ?1 AND i.sequence > ?2"
                            " AND i.read = 0 AND i.archived = 0 AND i.expired = 0 ORDER BY i.sequence"};
  Statement claim_{connection_,
                   "UPDATE pending SET token = ?2, attempts = attempts + 1 WHERE position = ?1 AND token = 0"};
  Statement claim_due_{connection_,
                       "UPDATE pending SET token = ?1, attempts = attempts + 1 WHERE position IN"
                       " (SELECT position FROM pending WHERE token = 0 AND not_before <= ?2"
                       " ORDER BY not_before, position LIMIT ?3)"};
  Statement select_claimed_{connection_,
                            "SELECT i.sequence, i.id, i.read, i.archived, i.position, n.kind, n.object_id, n.revision,"
                            " n.data, n.created_at, n.expires_at, p.token, b.recipient, b.workspace, b.seen"
                            " FROM pending p CROSS JOIN item i ON i.inbox = p.inbox AND i.sequence = p.sequence"
                            " CROSS JOIN notification n ON n.notification = p.position / 1024"
                            " CROSS JOIN inbox b ON b.inbox = p.inbox"
                            " WHERE p.token = ?1 ORDER BY p.not_before, p.position"};
  Statement complete_{connection_,
                      "DELETE FROM pending WHERE position = (SELECT position FROM item WHERE id = ?1)"
                      " AND token = ?2 AND token <> 0"};
  Statement release_{connection_,
                     "UPDATE pending SET token = 0, not_before = ?3, reason = ?4"
                     " WHERE position = (SELECT position FROM item WHERE id = ?1) AND token = ?2 AND token <> 0"};
  Statement select_stats_{connection_,
                          "SELECT (SELECT count(*) FROM pending WHERE token > 0), (SELECT count(*) FROM pending)"};
  Statement select_oldest_{connection_, "SELECT stored_at FROM pending ORDER BY position LIMIT 1"};

  Statement save_token_{connection_, "UPDATE setting SET value = ?1 WHERE name = 'lease_token'"};
  Statement insert_lease_{connection_, "INSERT INTO lease (token, owner, lease_until) VALUES (?1, ?2, ?3)"};
  Statement renew_{connection_, "UPDATE lease SET lease_until = ?2 WHERE token = ?1"};
  Statement count_held_{connection_, "SELECT count(*) FROM pending WHERE token = ?1 AND token <> 0"};
  Statement select_run_out_{connection_, "SELECT token FROM lease WHERE lease_until <= ?1"};
  Statement reclaim_{connection_, "UPDATE pending SET token = 0 WHERE token = ?1"};
  Statement delete_lease_{connection_, "DELETE FROM lease WHERE token = ?1"};
};

}  // namespace

Result<std::unique_ptr<InboxStore>, StoreError> open_sqlite_inbox_store(const SqliteOptions& options) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      options.path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) {
    StoreError error = error_of(code, options.path, sqlite3_errmsg(handle));
    sqlite3_close_v2(handle);
    return error;
  }
  auto store = std::make_unique<SqliteInboxStore>(handle, options);
  if (auto error = store->open()) {
    error->detail = options.path + ": " + error->detail;
    return *std::move(error);
  }
  return std::unique_ptr<InboxStore>{std::move(store)};
}

}  // namespace fanfare::store

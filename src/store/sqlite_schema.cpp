#include "store/sqlite_schema.h"

#include <string>

#include "store/sqlite_inbox_store.h"

namespace fanfare::store {
namespace {

// One entry a schema version; what was released is never changed, only added to.
constexpr const char* kAll[] = {
    R"(-- Names and values of the store itself: epoch, lease_token.
CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- One person's inbox in one workspace. Counts are exact for the moment of `next_expiry` at the latest.
CREATE TABLE inbox (
  inbox       INTEGER PRIMARY KEY,
  recipient   TEXT NOT NULL,
  workspace   TEXT NOT NULL,
  head        INTEGER NOT NULL,            -- sequence of the newest item, 0 before the first
  floor       INTEGER NOT NULL,            -- cursors before it have missed unread items that retention deleted
  seen        INTEGER NOT NULL,            -- watermark
  unread      INTEGER NOT NULL,
  unseen      INTEGER NOT NULL,
  version     INTEGER NOT NULL,            -- grows with every change
  next_expiry INTEGER,                     -- unix ms; null: no item will expire
  settled     INTEGER NOT NULL,            -- nothing up to it is owed
  UNIQUE (recipient, workspace)
);
CREATE INDEX inbox_expiry ON inbox (next_expiry) WHERE next_expiry IS NOT NULL;

-- What was created, once for all its recipients.
CREATE TABLE notification (
  notification    INTEGER PRIMARY KEY,     -- in the order of creation
  id              BLOB NOT NULL,           -- 16 bytes
  tenant          TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  fingerprint     BLOB NOT NULL,           -- 16 bytes over the other members
  kind            TEXT NOT NULL,
  object_id       TEXT NOT NULL,
  revision        TEXT,
  data            TEXT NOT NULL,           -- compact JSON, or empty
  created_at      INTEGER NOT NULL,        -- unix ms
  expires_at      INTEGER,                 -- unix ms
  stored_at       INTEGER NOT NULL,        -- unix ms
  UNIQUE (tenant, idempotency_key)
);

-- Its place in one inbox. Small and in the order of the inbox, so that a page of a list lies together. `position` is unique over
-- all inboxes and in the order of creation: notification * 1024 + number of the recipient.
CREATE TABLE item (
  inbox      INTEGER NOT NULL,
  sequence   INTEGER NOT NULL,             -- dense in its inbox, in commit order
  id         BLOB NOT NULL,                -- 16 bytes; in the order of time, so that their index grows at its end
  position   INTEGER NOT NULL,
  read       INTEGER NOT NULL,             -- 0, 1
  archived   INTEGER NOT NULL,             -- 0, 1
  expired    INTEGER NOT NULL,             -- 0, 1
  expires_at INTEGER,                      -- unix ms
  PRIMARY KEY (inbox, sequence)
) WITHOUT ROWID;
CREATE UNIQUE INDEX item_id ON item (id);
CREATE INDEX item_position ON item (position);
CREATE INDEX item_unread ON item (inbox, sequence) WHERE read = 0 AND archived = 0 AND expired = 0;
CREATE INDEX item_expiry ON item (inbox, expires_at) WHERE expires_at IS NOT NULL AND expired = 0;

-- What is owed: an item has a row from its creation to its delivery or expiry. Delivered is what has none.
CREATE TABLE pending (
  position   INTEGER PRIMARY KEY,          -- of the item
  inbox      INTEGER NOT NULL,
  sequence   INTEGER NOT NULL,
  token      INTEGER NOT NULL,             -- the claim that holds it; 0: none
  attempts   INTEGER NOT NULL,
  not_before INTEGER NOT NULL,             -- unix ms
  reason     TEXT,                         -- why it was released last
  stored_at  INTEGER NOT NULL              -- unix ms
);
CREATE INDEX pending_token ON pending (token, not_before);

-- Claims that have neither run out nor been noticed to.
CREATE TABLE lease (
  token       INTEGER PRIMARY KEY,
  owner       TEXT NOT NULL,
  lease_until INTEGER NOT NULL             -- unix ms
);
)",
};

}  // namespace

std::span<const char* const> sqlite_migrations() { return kAll; }

std::string_view sqlite_inbox_schema() {
  static const std::string schema = [] {
    std::string all;
    for (const char* const migration : kAll) all += migration;
    return all;
  }();
  return schema;
}

}  // namespace fanfare::store

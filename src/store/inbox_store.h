// The inbox store's port. Adapters: memory (tests, --memory), SQLite; PostgreSQL stands behind the same contract suite.
// Rule 1: execute() answers only what is durable: after it returned, a crash or power cut loses nothing of it. [N2]
// Rule 2: a refusal (a conflict, an unknown cursor) is an answer and concerns its own operation; an error concerns the
//         batch.
// Rule 3: sequences of an inbox are dense and in commit order; a page shows a consistent point.
// Rule 4: synchronous, and used by one thread at a time: store/worker.h makes it asynchronous, with group commit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/inbox/operations.h"

namespace fanfare::store {

enum class StoreErrorKind : std::uint8_t {
  /// The batch did not take effect: disk full, I/O error, database locked. Say so to the caller; try again later.
  Unavailable,
  Damaged,  ///< The data are not what this program wrote, or from a newer version. Stop.
  /// The commit may or may not have taken effect. Retry creates with the same key; everything else is idempotent.
  Unknown,
};

struct StoreError {
  StoreErrorKind kind;
  std::string detail;  ///< "COMMIT: database or disk is full"
};

class InboxStore {
 public:
  virtual ~InboxStore() = default;

  /// Runs the operations in their order, in one transaction. The answers stand at the places of their operations:
  /// Create -> Created or Refused; ListPage -> Page; ReadHead -> Head; Mark -> Marked; MarkUpTo -> Marked or Refused;
  /// Claim -> Claimed; Renew, Complete, Release -> Fenced; Retain -> Retained; ReadStats -> Stats.
  /// `now` does not run back between calls.
  virtual Result<std::vector<inbox::Answer>, StoreError> execute(std::span<const inbox::Operation> operations,
                                                                 Timestamp now) = 0;

  /// Identity of this store's history; constant while it is open.
  [[nodiscard]] virtual inbox::Epoch epoch() const = 0;

  /// Housekeeping that nobody need wait for (SQLite: a checkpoint when one is due); cheap when there is nothing to do.
  /// The owner calls it when it has passed on the answers of an execute().
  virtual Result<Success, StoreError> tidy() = 0;
};

}  // namespace fanfare::store

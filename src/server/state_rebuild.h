// The engine's state from what can be read of a journal folder that may be damaged: snapshot, then record after record. Unlike recovery
// it goes on where something is missing, and says what it left out and what it made up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/engine/engine.h"
#include "journal/file/salvage.h"

namespace fanfare::server {

/// A record that is whole and that the state could not take.
struct DroppedRecord {
  LogPosition position;
  std::uint64_t bytes = 0;
  std::string kind;  ///< "Sent"
  std::string why;
};

/// A message that is known and whose content cannot be read.
struct DroppedMessage {
  std::uint32_t queue = 0;  ///< 0: archived by the topic
  std::uint32_t topic = 0;
  std::uint64_t sequence = 0;
  std::string queue_arn;  ///< or the topic's
  std::string message_id;
  LogPosition position;
};

struct RecordCount {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  ///< with their frames
};

struct RebuiltState {
  std::optional<engine::Engine> engine;
  LogPosition from;                          ///< replay began here: the snapshot's position, or the log's
  bool snapshot_unreadable = false;          ///< there is one, its sums hold, and the engine does not understand it
  std::vector<DroppedRecord> dropped;
  std::vector<std::string> made_up;          ///< "queue 7 as arn:aws:sqs:us-east-1:000000000000:repaired-queue-7"
  std::map<std::string, RecordCount> kinds;  ///< of all records, the ones below `from` too
};

/// What a record is called in reports: "Sent", "QueueCreated"; "unknown" for what is no record of this program.
std::string kind_of_record(std::string_view record);

/// Reads everything. `epoch` is that of the engine, above the journal's. Errors: as SalvagedLog::walk.
Result<RebuiltState, journal::OpenError> rebuild_state(journal::SalvagedLog& log, std::uint32_t epoch);

/// Messages whose content cannot be read in `log`.
std::vector<DroppedMessage> find_unreadable(const engine::Engine& engine, journal::SalvagedLog& log);

}  // namespace fanfare::server

// A client's half of the wire: calls to HTTP requests in JSON or Query, responses to values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/call.h"

namespace fanfare::sim {

inline constexpr std::string_view kAccount = "000000000000";
std::string queue_url(std::string_view name);
std::string queue_arn(std::string_view name);
std::string topic_arn(std::string_view name);

/// What a message of this token carries: the token, a bar, and so many pieces of text that needs escapes in every format.
std::string body_of(std::string_view token, std::uint32_t pieces);
inline constexpr std::string_view kAttributeName = "token";

std::string_view name_of(Action action);
/// The bytes that a client sends. `target`: the name of the queue or topic.
std::string encode(const Call& call, std::string_view target);

struct ReceivedMessage {
  std::string id;
  std::string handle;
  std::string body;
  std::string md5;
  std::int64_t receive_count = 0;
  std::int64_t sent_ms = 0;
  std::string sequence;            ///< 20 digits; FIFO only
  std::string group;
  std::string dedup;
  std::string dead_letter_source;  ///< ARN
  std::string attribute;           ///< of the message attribute kAttributeName; empty: none
  std::string kind;                ///< of kKindName
};

struct EntryAnswer {
  bool ok = false;
  std::string code;
  std::string message_id;
  std::string sequence;
};

/// One entry of ListMessageMoveTasks.
struct MoveTold {
  std::string status;
  std::int64_t moved = 0;
  std::int64_t rate = 0;
  std::int64_t started_ms = 0;
};

struct Answer {
  int status = 0;
  std::string code;                     ///< of an error
  std::string text;                     ///< URL, ARN; of an error its message
  std::vector<EntryAnswer> entries;     ///< in the order of the call's
  std::vector<ReceivedMessage> messages;
  std::vector<MoveTold> moves;
  std::vector<std::pair<std::string, std::string>> attributes;  ///< of a queue
  std::int64_t visible = -1, in_flight = -1, delayed = -1;
  std::string broken;                   ///< not empty: what cannot be understood about it
  [[nodiscard]] bool ok() const { return status == 200; }
};

/// `response`: one whole HTTP response.
Answer decode(const Call& call, std::string_view response);

/// Bytes of the first whole response of `stream`; 0 if it is not whole yet.
std::size_t response_bytes(std::string_view stream);

}  // namespace fanfare::sim

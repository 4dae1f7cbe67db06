// Requests of SQS and SNS as bytes, in both protocols, signed or not.
//
//   std::string body;
//   Body{Protocol::Json, Action::SendMessage, body}.text("QueueUrl", url).text("MessageBody", "m").finish();
//   writer.append(out, Action::SendMessage, body, now);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bench/endpoint.h"

namespace fanfare::bench {

enum class Action : std::uint8_t {
  CreateQueue,
  DeleteQueue,
  GetQueueAttributes,
  SendMessage,
  SendMessageBatch,
  ReceiveMessage,
  DeleteMessage,
  DeleteMessageBatch,
  CreateTopic,
  DeleteTopic,
  Subscribe,
  Publish,
};
std::string_view name_of(Action action);
/// SNS, else SQS.
bool is_of_sns(Action action);

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Appends the body of one call. Names are those of the JSON protocol; where Query has another, it is given beside.
class Body {
 public:
  /// SNS knows only Query: `protocol` holds for SQS.
  Body(Protocol protocol, Action action, std::string& out);

  Body& text(std::string_view name, std::string_view value);
  Body& number(std::string_view name, std::int64_t value);
  /// Queue attributes and the like: map("Attributes", "Attribute", {{"DelaySeconds", "0"}}).
  Body& map(std::string_view name, std::string_view query_name, const Pairs& pairs);
  /// A list of texts: list("AttributeNames", "AttributeName", {"All"}).
  Body& list(std::string_view name, std::string_view query_name, const std::vector<std::string_view>& items);
  /// A list of structures: entries(...) then entry() before the members of each; ended by finish().
  Body& entries(std::string_view name, std::string_view query_name);
  Body& entry();
  void finish();

 private:
  void name(std::string_view name);
  std::string& out_;
  bool json_;
  bool sns_;
  bool comma_ = false;
  std::string prefix_;  // Query: `SendMessageBatchRequestEntry.3.`
  std::string_view entries_;
  std::uint32_t entry_count_ = 0;
  bool in_entries_ = false;
};

/// Makes whole HTTP requests. Keeps its signing key between calls: one a thread.
class CallWriter {
 public:
  explicit CallWriter(const Endpoint& endpoint);
  /// Appends head and body to `out`.
  void append(std::string& out, Action action, std::string_view body, Timestamp now);
  [[nodiscard]] Protocol protocol() const { return endpoint_.protocol; }

 private:
  const Endpoint endpoint_;
  const std::string host_;
  wire::sigv4::SigningKeyCache keys_;
};

}  // namespace fanfare::bench

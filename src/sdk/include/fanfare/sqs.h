// Amazon SQS as a C++ interface. The same interface talks to AWS, to Fanfare over HTTP, and to a broker in this process.
// URLs, receipt handles and ids are the service's own texts, handed back as they came.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fanfare/credentials.h"
#include "fanfare/error.h"
#include "fanfare/transport.h"

namespace fanfare::sdk {

/// One message attribute. `type` is String, Number or Binary, with an optional suffix ("Number.float");
/// `value` holds the bytes themselves for Binary, not their base64.
struct MessageAttribute {
  std::string name;
  std::string type = "String";
  std::string value;
};

/// Bytes that AWS counts against the limits: body, and each attribute's name, type and value.
std::size_t counted_bytes(const std::string& body, const std::vector<MessageAttribute>& attributes);

struct SendEntry {
  std::string body;
  std::vector<MessageAttribute> attributes;
  std::optional<seconds> delay;              ///< 0 to 900; standard queues only
  std::optional<std::string> group_id;
  std::optional<std::string> deduplication_id;
};

struct SendReceipt {
  std::string message_id;
  std::string sequence_number;  ///< FIFO only, else empty
};

/// Per entry of a batch call, in the order of the request. An entry that the service named in neither list is a failure.
template <class T>
using BatchResults = std::vector<Result<T, Error>>;

struct ReceivedMessage {
  std::string message_id;
  std::string receipt_handle;
  std::string body;
  std::vector<MessageAttribute> attributes;
  std::map<std::string, std::string> system_attributes;  ///< "ApproximateReceiveCount": "1", ...

  /// 1 at the first delivery; 0 when the service did not say.
  [[nodiscard]] int receive_count() const;
  [[nodiscard]] std::string group_id() const;
};

struct ReceiveOptions {
  int max_messages = 10;                      ///< 1 to 10
  seconds wait{20};                           ///< 0 to 20: long poll
  std::optional<seconds> visibility_timeout;  ///< absent: the queue's own
};

struct VisibilityChange {
  std::string receipt_handle;
  seconds timeout{0};  ///< 0 to 43,200 from now
};

class SqsClient {
 public:
  virtual ~SqsClient() = default;

  /// The queue's URL. [SQS CreateQueue]
  virtual Awaitable<Result<std::string, Error>> create_queue(std::string name, std::map<std::string, std::string> attributes) = 0;
  virtual Awaitable<Result<std::string, Error>> get_queue_url(std::string name) = 0;
  virtual Awaitable<Result<Success, Error>> delete_queue(std::string queue_url) = 0;
  virtual Awaitable<Result<std::map<std::string, std::string>, Error>> get_queue_attributes(std::string queue_url,
                                                                                            std::vector<std::string> names) = 0;
  virtual Awaitable<Result<Success, Error>> set_queue_attributes(std::string queue_url,
                                                                 std::map<std::string, std::string> attributes) = 0;
  virtual Awaitable<Result<SendReceipt, Error>> send_message(std::string queue_url, SendEntry entry) = 0;
  /// 1 to 10 entries. [SQS SendMessageBatch]
  virtual Awaitable<Result<BatchResults<SendReceipt>, Error>> send_message_batch(std::string queue_url,
                                                                                 std::vector<SendEntry> entries) = 0;
  /// Empty when nothing arrived within the wait. [SQS ReceiveMessage]
  virtual Awaitable<Result<std::vector<ReceivedMessage>, Error>> receive_message(std::string queue_url, ReceiveOptions options) = 0;
  virtual Awaitable<Result<BatchResults<Success>, Error>> delete_message_batch(std::string queue_url,
                                                                               std::vector<std::string> receipt_handles) = 0;
  virtual Awaitable<Result<BatchResults<Success>, Error>> change_message_visibility_batch(
      std::string queue_url, std::vector<VisibilityChange> changes) = 0;
};

struct ClientOptions {
  std::string endpoint_url;  ///< "http://127.0.0.1:4566"; also the Host header
  std::string region = "us-east-1";
  milliseconds timeout{10'000};  ///< per call; a long poll adds its wait
};

/// AWS JSON 1.0, signed with Signature Version 4.
std::shared_ptr<SqsClient> make_sqs_client(ClientOptions options, std::shared_ptr<CredentialsProvider> credentials,
                                           std::shared_ptr<Transport> transport);

}  // namespace fanfare::sdk

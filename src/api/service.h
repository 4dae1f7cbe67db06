// The broker's HTTP surface: a request in, an engine command or an answer out; later the engine's reply in, an answer
// out.
//
// Rule 1: PURE: time, randomness and the server's secret come from outside; no sockets.
// Rule 2: every request gets an answer, whatever its bytes are; no input makes this code throw or abort.
// Rule 3: a command's views live until the next decode() of the same Service. Whoever parks a long poll keeps only its
//         ReplyContext.
//
//   ReplyContext context;
//   const auto decoded = service.decode(request, info, context, out);
//   if (decoded.command == nullptr) return send(out);               // answered already
//   engine.handle(*decoded.command, now, outputs);                  // its reply carries info.caller
//   ...
//   service.encode(context, reply, payloads, out);                  // now, or when a long poll ends
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/aws/authenticator.h"
#include "api/aws/payloads.h"
#include "api/aws/reply_context.h"
#include "api/cloudwatch/metrics_source.h"
#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/engine/commands.h"
#include "wire/http/request.h"

namespace fanfare::api {

struct ServiceOptions {
  AccountId account{"000000000000"};  ///< of requests that name none
  Region region{"us-east-1"};         ///< of requests that name none
  /// Authenticates receipt handles: the same over restarts, or handles given out before are refused. At least 16 bytes.
  std::string receipt_secret;
  /// The certificate that envelopes are verified with, in PEM, and where it is served without a signature; empty: nowhere.
  std::string certificate;
  std::string certificate_path;
  /// Bodies beyond this are refused with 413. A message of 1 MiB can need six times that in JSON escapes.
  std::size_t body_bytes_max = std::size_t{8} << 20;
  /// Whether AccessDenied tells the caller which statement decided, and what the others miss. Development only: policies
  /// are not for everybody to read.
  bool explains_refusals = true;
  /// For CloudWatch's actions; null: they answer that they are not here. Outlives the service.
  cloudwatch::MetricsSource* metrics = nullptr;
};

/// What the shell knows about one request.
struct RequestInfo {
  engine::CallerId caller;
  std::string_view peer_ip;  ///< "127.0.0.1"; empty: not known
  bool secure = false;       ///< came over TLS
  Timestamp now;         ///< the broker's clock
  Timestamp system_now;  ///< the system's, which clients sign by
  Secrets& secrets;  ///< for message ids, request ids and tokens
};

/// How a request ended, for metrics and the log. Static texts.
struct Outcome {
  std::string_view service;     ///< "sqs"; empty if it could not be told
  std::string_view action;      ///< "SendMessage"; empty if it could not be told
  std::string_view error_code;  ///< Query code: "AWS.SimpleQueueService.NonExistentQueue"; empty: success
  int status = 200;
};

struct Decoded {
  const engine::Command* command = nullptr;  ///< null: the answer is in `out`, and `outcome` is valid
  Outcome outcome;
};

struct Encoded {
  Outcome outcome;
  /// Of a refused request: which statement decided, for the log. Empty for all others.
  std::string refusal;
  /// Messages whose content could not be read; they are not in the answer. Hand them back with ReceiveUndelivered, and not at
  /// once: who asks again would get nothing else, while others wait behind them.
  std::vector<engine::ReceiptHandle> unreadable;
  /// What stands behind one of them and must not pass it; not in the answer either. Hand it back at once.
  std::vector<engine::ReceiptHandle> held;
};

/// One a loop; not thread-safe. Keeps the memory of one request for the next.
class Service {
 public:
  /// The authenticator outlives the service.
  Service(ServiceOptions options, aws::Authenticator& authenticator);
  ~Service();
  Service(Service&&) noexcept;
  Service& operator=(Service&&) noexcept;

  /// Either fills `context` and gives a command, or appends a whole HTTP response to `out`.
  Decoded decode(const wire::http::Request& request, const RequestInfo& info, ReplyContext& context, std::string& out);

  /// Appends a whole HTTP response. `reply` is one to the command that came with this context.
  Encoded encode(const ReplyContext& context, const engine::Reply& reply, Payloads& payloads, std::string& out);

  /// A response in the context's protocol for a request that the shell itself must refuse: the engine is stopping, the
  /// long poll was cut off, a limit is reached.
  Outcome refuse(const ReplyContext& context, aws::CommonError error, std::string_view message, std::string& out);

  /// The answer to a request that will not become whole: too long, too slow, or no HTTP. In the protocol that its head asks for, with
  /// `Connection: close`. `status` and `reason` as in http::RequestError. [SQS, SNS Common Errors]
  Outcome refuse_broken(const wire::http::Request& head, const RequestInfo& info, int status, std::string_view reason, std::string& out);

  /// The answer to a request on a queue that comes too fast: RequestThrottled. [SQS Common Errors]
  Outcome throttle(const ReplyContext& context, std::string& out);

  /// The value of the Date field, from now on; call it once a second. Empty: no Date field. By the system's clock: clients that find
  /// theirs differing from it sign by it.
  void set_date(std::string_view http_date);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fanfare::api

// What can go wrong between a program and SNS, SQS or STS, as one value.
#pragma once

#include <string>
#include <string_view>

namespace fanfare::sdk {

enum class ErrorKind {
  Service,      ///< the service answered with an error: see code; the request was not carried out
  Throttled,    ///< the service asked to slow down: retry with backoff
  Unreachable,  ///< no connection, or lost before the answer: the request may or may not have been carried out
  Timeout,      ///< no answer within the deadline: the request may or may not have been carried out
  Cancelled,    ///< the caller gave up (stop, shutdown)
  Credentials,  ///< no credentials could be had: see message
  Malformed,    ///< the answer could not be understood: a proxy in between, or not the service at all
  Invalid,      ///< refused here, before anything was sent: see message
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::Service;
  std::string code;        ///< the service's own, e.g. "AWS.SimpleQueueService.NonExistentQueue"; empty for other kinds
  std::string message;     ///< for people
  std::string request_id;  ///< the service's id of the failed call, if it gave one
  int status = 0;          ///< HTTP status, 0 without an answer

  /// Whether the same request may succeed later without a change.
  [[nodiscard]] bool retryable() const {
    return kind == ErrorKind::Throttled || kind == ErrorKind::Unreachable || kind == ErrorKind::Timeout ||
           (kind == ErrorKind::Service && status >= 500);
  }
  /// "AWS.SimpleQueueService.NonExistentQueue (400): The specified queue does not exist."
  [[nodiscard]] std::string describe() const;
};

}  // namespace fanfare::sdk

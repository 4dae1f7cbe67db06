// One signed exchange with SQS, SNS or STS, retried where that is safe and useful.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fanfare/sqs.h"

namespace fanfare::sdk {

/// Signs and sends; kept by each client. Thread-safe as its transport is.
class SignedCaller {
 public:
  SignedCaller(ClientOptions options, std::string service, std::shared_ptr<CredentialsProvider> credentials,
               std::shared_ptr<Transport> transport);

  /// A POST to `/`. Any HTTP answer is a result; errors are those of credentials and transport.
  Awaitable<Result<TransportResponse, Error>> post(std::vector<std::pair<std::string, std::string>> headers, std::string body,
                                                   milliseconds extra_time = milliseconds{0});

 private:
  ClientOptions options_;
  std::string service_;
  std::string host_;
  std::shared_ptr<CredentialsProvider> credentials_;
  std::shared_ptr<Transport> transport_;
};

/// Kind and retryability of an answer that is no 200: throttling codes are Throttled, the rest Service.
Error service_error(int status, std::string code, std::string message, std::string request_id);

}  // namespace fanfare::sdk

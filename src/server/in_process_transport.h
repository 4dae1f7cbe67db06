// The SDK's way into the broker of the same process: the same requests and answers, without sockets and signatures.
// Rule: a request takes the same path as one that came over HTTP (api::Service, engine, journal); only the transport differs.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "api/service.h"
#include "fanfare/transport.h"
#include "server/broker.h"
#include "server/data_plane.h"
#include "server/os_secrets.h"
#include "server/request_counters.h"

namespace fanfare::server {

/// Thread-safe. Cancelling a waiting receive ends it in the engine at once: it takes nothing.
class InProcessTransport final : public sdk::Transport, public ReplyTarget {
 public:
  ~InProcessTransport() override;
  InProcessTransport(api::ServiceOptions options, Broker& broker, Clock& clock, api::aws::Authenticator& authenticator);

  sdk::Awaitable<Result<sdk::TransportResponse, sdk::Error>> send(sdk::TransportRequest request, milliseconds deadline) override;
  void on_reply(const engine::Reply& reply) override;

  /// Under the broker's lock.
  [[nodiscard]] const RequestCounters& counters() const { return counters_; }

 private:
  /// One exchange; shared by the caller's coroutine, the cancellation and whoever answers.
  struct Exchange {
    std::string response;  ///< HTTP bytes; empty until answered
    std::optional<LogPosition> wait_for;
    std::function<void()> resume;  ///< posts the caller's continuation; set while it waits
    api::ReplyContext context;
    std::vector<engine::ReceiptHandle> handles;     ///< handed out by this answer
    std::vector<engine::ReceiptHandle> held;  ///< not in this answer, to be given back; what is unreadable waits for its visibility's end
    bool answered = false;
  };

  sdk::Awaitable<bool> wait_for_answer(std::shared_ptr<Exchange> exchange, std::uint64_t number);
  void give_back(std::span<const engine::ReceiptHandle> handles);
  Result<sdk::TransportResponse, sdk::Error> finish(const Exchange& exchange);

  Broker& broker_;
  Clock& clock_;
  std::uint8_t target_;
  // Protected by the broker's lock.
  api::Service service_;
  BrokerPayloads payloads_;
  OsSecrets secrets_;
  RequestCounters counters_;
  std::uint64_t next_number_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Exchange>> waiting_;
};

}  // namespace fanfare::server

// The queues that feed this process: inbox sources (messages become notifications) and live sources (events for streams).
//
// Rule 1: one poller a queue and process, however many people listen. [L1]
// Rule 2: a message is deleted only after what it says is durable (inbox), or was accepted into each matching stream's
//         buffer, or concerns nobody (live). [L5, L7]
// Rule 3: a message that cannot be understood stays undeleted, so that its queue's redrive policy decides. [L6]
// Rule 4: a queue that does not exist yet is taken up when it appears, or made with `create`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fanfare/consumer.h"
#include "fanfare/sqs.h"
#include "server/edge_plane.h"
#include "server/log.h"
#include "server/options.h"

namespace fanfare::server {

class Sources {
 public:
  /// `edge` outlives this. `make_client` gives an SQS client for the executor of this object's thread.
  Sources(const ServeOptions& options, EdgePlane& edge,
          const std::function<std::shared_ptr<sdk::SqsClient>(boost::asio::any_io_executor)>& make_client, Log& log);
  ~Sources();  ///< as stop()

  void start();
  /// Polls no more, finishes what is in hand, within `limit`.
  void stop(milliseconds limit);

 private:
  struct Source {
    std::string queue;
    bool create = false;
    bool is_inbox = false;
    std::unique_ptr<sdk::Consumer> consumer;
  };
  sdk::Awaitable<void> take_up(Source& source);
  sdk::Awaitable<sdk::HandlerResult> to_inbox(const sdk::Delivery& delivery);
  sdk::Awaitable<sdk::HandlerResult> to_streams(const sdk::Delivery& delivery);

  EdgePlane& edge_;
  Log& log_;
  boost::asio::io_context io_{1};
  std::shared_ptr<sdk::SqsClient> sqs_;
  std::vector<std::unique_ptr<Source>> sources_;
  // Owned by io_'s thread.
  OsSecrets secrets_;
  wire::json::Reader reader_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fanfare::server

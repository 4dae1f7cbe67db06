// Brings the messages of http, https, email and email-json subscriptions to their endpoints. Without a mail server, mails are
// captured.
//
// Rule 1: every subscription has a queue of its own in the engine, and at most kConcurrency messages under way (a mailbox one): an endpoint
//         that hangs or fails holds up nobody else. What was not settled comes back from the queue, also after a restart.
// Rule 2: a message is settled when its endpoint answered 2xx, when it refused for good (3xx, 4xx but 429), or when the
//         delivery policy allows no further try; until then its visibility timeout is the pause before the next try.
//         Mail: when the server took it, or refused the recipient or the message for good (5xx).
//         An endpoint's status decides, whatever body it has or how that ends.
// Rule 3: redirects are not followed; certificates are verified; addresses that are not public are connected to only in
//         development mode or if they are listed.
// Source: [SNS HTTP/S endpoints, message delivery retries, e-mail notifications].
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/topic/delivery_policy.h"
#include "net/http_client.h"
#include "server/broker.h"
#include "server/envelope_signer.h"
#include "server/mail_sender.h"

namespace fanfare::server {

struct HttpDeliveryOptions {
  bool any_address = false;               ///< development mode: private and loopback addresses, too
  std::vector<net::IpBlock> permitted;    ///< addresses that are not public and may be connected to all the same
  std::string public_url;                 ///< "http://127.0.0.1:4566": where SubscribeURL and UnsubscribeURL point
  std::string signing_url;                ///< where SigningCertURL points; empty: to public_url
  std::string ca_file;                    ///< certificates to trust instead of the system's
  milliseconds attempt_timeout{15'000};   ///< [SNS SendMessageToHttp]
  std::optional<MailOptions> mail;        ///< nullopt: mails are captured
};

class HttpDelivery final : public ReplyTarget {
 public:
  static constexpr std::size_t kConcurrency = 4;

  HttpDelivery(HttpDeliveryOptions options, Broker& broker, Clock& clock, EnvelopeSigner& signer);
  ~HttpDelivery() override;
  void start();
  /// Attempts under way are given up; their messages are visible again at once.
  void stop();

  void on_reply(const engine::Reply& reply) override;

  struct Counters {
    std::atomic<std::uint64_t> attempts{0};
    std::atomic<std::uint64_t> delivered{0};
    std::atomic<std::uint64_t> retried{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> captured{0};
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Counters& mail_counters() const { return mail_counters_; }
  void append_metrics(std::string& out) const;

 private:
  struct Endpoint {
    engine::OutboundEndpoint about;
    topic::DeliveryPolicy policy;
    std::size_t concurrency = kConcurrency;
    std::size_t under_way = 0;
    bool asking = false;
    bool gone = false;
    Instant next_ask{};  ///< of a throttled one
    std::unique_ptr<boost::asio::steady_timer> pause;
  };
  /// A message that was taken, with what outlives the engine's reply.
  struct Taken {
    engine::ReceiptHandle handle;
    std::uint32_t receive_count = 0;
    MessageId id;
    Timestamp sent_at{};
    std::string content;  ///< message::encode's bytes; empty: it could not be read
  };
  struct Mail {
    std::uint64_t number;
    bool gone = false;
    std::vector<Taken> messages;
  };
  struct Outgoing {
    std::string type;  ///< "Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"
    std::string message_id;
    std::string body;
    std::string subject;
    std::string text;  ///< for people: the message itself
    std::string link;  ///< confirms or unsubscribes
    bool confirmation = false;
  };
  /// How one try ended.
  struct Attempt {
    std::string failure;      ///< empty: delivered
    bool for_good = false;    ///< no further try can help
    bool given_back = false;  ///< it was none: the receive does not count
  };

  void refresh();
  void schedule_refresh();
  void ask(const std::shared_ptr<Endpoint>& endpoint);
  void take_mail();
  void end_when_idle(Instant at_the_latest);
  net::Awaitable<void> deliver(std::shared_ptr<Endpoint> endpoint, Taken taken);
  net::Awaitable<Attempt> post(const Endpoint& endpoint, const Outgoing& message);
  net::Awaitable<Attempt> mail(const Endpoint& endpoint, const Taken& taken, const Outgoing& message);
  Outgoing outgoing(const Endpoint& endpoint, const Taken& taken) const;
  /// Sends a command to the engine and forgets it.
  void tell(engine::Request request);
  void capture_mail(const Endpoint& endpoint, const Taken& taken, const Outgoing& message);
  void settle(const Endpoint& endpoint, const Taken& taken, bool delivered, std::string_view detail);

  const HttpDeliveryOptions options_;
  Broker& broker_;
  Clock& clock_;
  EnvelopeSigner& signer_;
  std::uint8_t target_;
  Counters counters_;
  Counters mail_counters_;

  // Owned by the thread.
  boost::asio::io_context io_{1};
  std::unique_ptr<net::HttpClient> client_;
  std::unique_ptr<MailSender> mail_sender_;  ///< nullptr: mails are captured
  boost::asio::steady_timer refresh_timer_{io_};
  std::map<std::string, std::shared_ptr<Endpoint>> endpoints_;  ///< by the queue's name
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::uint64_t next_number_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<Endpoint>> asked_;
  std::uint32_t random_ = 1;
  std::size_t under_way_ = 0;  ///< attempts, of all endpoints
  bool stopping_ = false;
  // Protected by the broker's lock.
  std::vector<Mail> mail_;

  std::thread thread_;
};

}  // namespace fanfare::server

// Makes mails of a topic's messages and hands them to the mail server.
// Rule: one for each HttpDelivery, on whose thread all but the SMTP dialogue happens; that has a thread of its own.
#pragma once

#include <boost/asio/io_context.hpp>

#include <string>
#include <string_view>

#include "core/topic/names.h"
#include "net/http_client.h"
#include "net/smtp_client.h"

namespace fanfare::server {

struct MailOptions {
  net::SmtpOptions smtp;
  std::string from;  ///< the address that mails come from
};

class MailSender {
 public:
  MailSender(MailOptions options, boost::asio::io_context& io);

  struct Letter {
    std::string recipient;
    std::string from_name;  ///< the topic's display name
    std::string subject;
    std::string body;
    std::string message_id;
    std::string subscription;     ///< its uuid: two subscriptions of one mailbox get mails of their own
    std::string subscription_arn;  ///< empty: of a confirmation
    std::string unsubscribe_url;   ///< the same
    Timestamp date{};
  };
  /// Awaited on io's thread.
  net::Awaitable<net::SmtpOutcome> send(Letter letter);

  /// Mails under way end as Cancelled. On io's thread.
  void stop() { client_.stop(); }

 private:
  const std::string from_;
  boost::asio::io_context& io_;
  net::SmtpClient client_;
};

}  // namespace fanfare::server

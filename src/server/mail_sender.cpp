#include "server/mail_sender.h"

#include <fmt/format.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <vector>

#include "wire/mail/mail.h"

namespace fanfare::server {
namespace asio = boost::asio;
namespace {

std::string text_of(const std::string& from, const MailSender::Letter& letter) {
  wire::mail::Message message;
  const std::string id = letter.message_id + '.' + letter.subscription;
  const std::string unsubscribe = '<' + letter.unsubscribe_url + '>';
  std::vector<wire::mail::Field> fields{{"Auto-Submitted", "auto-generated"}, {"x-amz-sns-message-id", letter.message_id}};
  if (!letter.subscription_arn.empty()) {
    fields.push_back({"x-amz-sns-subscription-arn", letter.subscription_arn});
    fields.push_back({"List-Unsubscribe", unsubscribe});
  }
  message.from = from;
  message.from_name = letter.from_name;
  message.to = letter.recipient;
  message.subject = letter.subject;
  message.id = id;
  message.date = letter.date;
  message.fields = fields;
  message.body = letter.body;
  std::string text;
  wire::mail::append_message(message, text);
  return text;
}

}  // namespace

MailSender::MailSender(MailOptions options, asio::io_context& io) : from_(std::move(options.from)), io_(io), client_(std::move(options.smtp)) {}

net::Awaitable<net::SmtpOutcome> MailSender::send(Letter letter) {
  if (!wire::mail::is_address(letter.recipient)) {
    // Subscribed by a version that looked less closely.
    net::SmtpOutcome refused{net::SmtpOutcome::Kind::Refused, "the endpoint is no e-mail address"};
    co_return refused;
  }
  net::SmtpMail mail{from_, letter.recipient, text_of(from_, letter)};
  auto initiation = [](auto handler, MailSender* self, net::SmtpMail given) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));  // shared: a std::function is copied
    self->client_.send(std::move(given), [shared, &io = self->io_](net::SmtpOutcome outcome) {
      asio::post(io, [shared, outcome = std::move(outcome)]() mutable { (*shared)(std::move(outcome)); });
    });
  };
  auto waiting = asio::async_initiate<const asio::use_awaitable_t<>, void(net::SmtpOutcome)>(std::move(initiation), asio::use_awaitable, this, std::move(mail));
  net::SmtpOutcome outcome = co_await std::move(waiting);
  co_return outcome;
}

}  // namespace fanfare::server

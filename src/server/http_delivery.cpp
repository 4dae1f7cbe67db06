#include "server/http_delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "core/engine/records.h"
#include "core/message/content.h"
#include "core/topic/envelope_confirmation.h"
#include "core/topic/mail_texts.h"

namespace fanfare::server {
namespace asio = boost::asio;
namespace {

constexpr std::uint64_t kNumberMask = 0x00ff'ffff'ffff'ffffULL;
// Longer than an attempt: whoever still holds the message is at work on it.
constexpr std::int64_t kLease_s = 60;
constexpr milliseconds kRefreshEvery{50};
/// Of an answer's body, which nobody reads.
constexpr std::size_t kBodyBytesMax = std::size_t{64} << 10;
constexpr milliseconds kBodySilenceMax{2'000};
constexpr std::string_view kContentType = "text/plain; charset=UTF-8";
constexpr std::string_view kAgent = "Amazon Simple Notification Service Agent";

/// What only the engine's own hands are: the owner of outbound queues.
engine::Caller own_caller(engine::CallerId id) {
  engine::Caller caller;
  caller.id = id;
  caller.principal.kind = policy::Principal::Kind::Account;
  caller.principal.account = engine::kOutboundAccount;
  return caller;
}

bool is_mail(topic::DeliveryProtocol protocol) {
  return protocol == topic::DeliveryProtocol::Email || protocol == topic::DeliveryProtocol::EmailJson;
}

std::string attribute_of(const message::ContentView& content, std::string_view name) {
  for (auto reader = content.attributes(); const auto attribute = reader.next();)
    if (attribute->name == name) return std::string{attribute->value};
  return {};
}

}  // namespace

HttpDelivery::HttpDelivery(HttpDeliveryOptions options, Broker& broker, Clock& clock, EnvelopeSigner& signer)
    : options_(std::move(options)), broker_(broker), clock_(clock), signer_(signer), target_(broker.add_target(*this)) {
  net::HttpClientOptions client;
  client.connections_per_origin = 1'024;  // the bound is that of each subscription
  client.idle_connections = 1'024;        // a topic of many subscriptions at one server finds its connections again
  client.ca_file = options_.ca_file;
  if (!options_.any_address) {
    client.permit = [permitted = options_.permitted](const net::SocketAddress& address) {
      return address.ip.is_public() || std::any_of(permitted.begin(), permitted.end(),
                                                   [&](const net::IpBlock& block) { return block.contains(address.ip); });
    };
  }
  client_ = std::make_unique<net::HttpClient>(io_.get_executor(), std::move(client));
  if (options_.mail) mail_sender_ = std::make_unique<MailSender>(*options_.mail, io_);
}

HttpDelivery::~HttpDelivery() { stop(); }

void HttpDelivery::start() {
  thread_ = std::thread([this] {
    const auto work = asio::make_work_guard(io_);
    refresh();
    io_.run();
  });
}

void HttpDelivery::stop() {
  if (!thread_.joinable()) return;
  asio::post(io_, [this] {
    stopping_ = true;
    refresh_timer_.cancel();
    for (auto& [name, endpoint] : endpoints_)
      if (endpoint->pause) endpoint->pause->cancel();
    for (const auto& [number, endpoint] : asked_) broker_.handle(engine::WaiterGone{Broker::caller_id(target_, number)}, clock_.now());
    if (mail_sender_) mail_sender_->stop();
    client_->close();  // attempts under way end as cancelled, and give their messages back
    end_when_idle(std::chrono::steady_clock::now() + seconds{2});
  });
  thread_.join();
  // What was taken in the meantime.
  std::vector<Mail> mail;
  {
    const auto lock = broker_.lock();
    mail.swap(mail_);
  }
  for (const Mail& one : mail)
    for (const Taken& taken : one.messages) broker_.handle(engine::ReceiveUndelivered{{&taken.handle, 1}}, clock_.now());
}

void HttpDelivery::end_when_idle(Instant at_the_latest) {
  if (under_way_ == 0 || std::chrono::steady_clock::now() >= at_the_latest) return io_.stop();
  refresh_timer_.expires_after(milliseconds{5});
  refresh_timer_.async_wait([this, at_the_latest](boost::system::error_code) { end_when_idle(at_the_latest); });
}

// ---- Endpoints ------------------------------------------------------------------------------------------------------

void HttpDelivery::schedule_refresh() {
  refresh_timer_.expires_after(kRefreshEvery);
  refresh_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopping_) refresh();
  });
}

void HttpDelivery::refresh() {
  std::optional<std::vector<engine::OutboundEndpoint>> listed;
  broker_.locked([&](const engine::Engine& engine, const journal::Journal&) {
    if (engine.outbound_generation() == generation_) return;
    generation_ = engine.outbound_generation();
    listed = engine.outbound_endpoints();
  });
  if (listed) {
    std::map<std::string, std::shared_ptr<Endpoint>> kept;
    for (engine::OutboundEndpoint& about : *listed) {
      std::string name = about.queue.name.str();
      const auto known = endpoints_.find(name);
      auto endpoint = known == endpoints_.end() ? std::make_shared<Endpoint>() : known->second;
      if (is_mail(about.protocol)) {
        endpoint->policy = {};
        endpoint->policy.retry = topic::mail_retry_policy();
        endpoint->concurrency = 1;  // mails of a subscription stay in order, and a mailbox that hangs takes one turn at the server
      } else {
        endpoint->policy = topic::effective_policy(about.topic_delivery_policy, about.delivery_policy);
      }
      endpoint->about = std::move(about);
      kept.emplace(std::move(name), std::move(endpoint));
    }
    for (auto& [name, endpoint] : endpoints_)
      if (!kept.contains(name)) endpoint->gone = true;
    endpoints_ = std::move(kept);
    for (auto& [name, endpoint] : endpoints_) ask(endpoint);
  }
  schedule_refresh();
}

void HttpDelivery::ask(const std::shared_ptr<Endpoint>& endpoint) {
  if (stopping_ || endpoint->gone || endpoint->asking || endpoint->under_way >= endpoint->concurrency) return;
  std::size_t wanted = endpoint->concurrency - endpoint->under_way;
  if (endpoint->policy.receives_per_second) {
    // One at a time, spaced: the bound holds over any second.
    wanted = 1;
    const Instant now = std::chrono::steady_clock::now();
    if (now < endpoint->next_ask) {
      if (endpoint->pause) return;
      endpoint->pause = std::make_unique<asio::steady_timer>(io_, endpoint->next_ask);
      endpoint->pause->async_wait([this, endpoint](boost::system::error_code error) {
        endpoint->pause.reset();
        if (!error) ask(endpoint);
      });
      return;
    }
  }
  engine::ReceiveMessages receive;
  receive.queue = endpoint->about.queue.view();
  receive.max_messages = *queue::MaxMessages::of(static_cast<std::int64_t>(wanted));
  receive.wait = *queue::ReceiveWait::of(20);
  receive.visibility_timeout = *queue::VisibilityTimeout::of(kLease_s);
  const std::uint64_t number = next_number_++;
  asked_.emplace(number, endpoint);
  endpoint->asking = true;
  broker_.handle(engine::Command{own_caller(Broker::caller_id(target_, number)), receive}, clock_.now());
}

void HttpDelivery::on_reply(const engine::Reply& reply) {
  Mail mail{reply.caller.value & kNumberMask, false, {}};
  if (const auto* received = std::get_if<engine::MessagesReceived>(&reply.body)) {
    for (const engine::ReceivedMessage& message : received->messages) {
      Taken taken{message.handle, message.receive_count, message.id, message.sent_at, {}};
      if (!message.content.empty()) {
        taken.content = message.content;
      } else if (std::string record; broker_.read_record(message.position, record)) {
        if (const auto content = engine::content_of_record(record)) taken.content = *content;
      }
      mail.messages.push_back(std::move(taken));
    }
  } else if (std::holds_alternative<engine::QueueError>(reply.body)) {
    mail.gone = true;
  } else {
    return;  // what was told and forgotten
  }
  const bool first = mail_.empty();
  mail_.push_back(std::move(mail));
  if (first) asio::post(io_, [this] { take_mail(); });
}

void HttpDelivery::take_mail() {
  std::vector<Mail> mail;
  {
    const auto lock = broker_.lock();
    mail.swap(mail_);
  }
  for (Mail& one : mail) {
    const auto found = asked_.find(one.number);
    if (found == asked_.end()) continue;
    const std::shared_ptr<Endpoint> endpoint = found->second;
    asked_.erase(found);
    endpoint->asking = false;
    if (one.gone) continue;
    if (!one.messages.empty() && endpoint->policy.receives_per_second)
      endpoint->next_ask = std::chrono::steady_clock::now() + milliseconds{1'000 / *endpoint->policy.receives_per_second};
    for (Taken& taken : one.messages) {
      ++endpoint->under_way;
      ++under_way_;
      asio::co_spawn(io_, deliver(endpoint, std::move(taken)), asio::detached);
    }
    ask(endpoint);
  }
}

// ---- One message ----------------------------------------------------------------------------------------------------

HttpDelivery::Outgoing HttpDelivery::outgoing(const Endpoint& endpoint, const Taken& taken) const {
  auto content = message::ContentView::decode(taken.content);
  Outgoing out;
  if (!content) return out;
  const std::string_view text = content->text_for(topic::text_of(endpoint.about.protocol));
  const bool as_published = text == content->body();
  if (!as_published) content = content->with_body(text);
  out.text = content->body();
  const std::string topic_arn = endpoint.about.topic.arn().str();
  const std::string certificate_url =
      (options_.signing_url.empty() ? options_.public_url : options_.signing_url) + signer_.certificate_path();
  const std::uint8_t version = endpoint.about.signature_version;
  if (!content->publication()) {
    out.confirmation = true;
    out.type = attribute_of(*content, "Type");
    if (out.type.empty()) out.type = topic::kSubscriptionConfirmation;
    out.message_id = taken.id.str();
    const std::string token = attribute_of(*content, "Token");
    const std::string& url = out.link =
        fmt::format("{}/?Action=ConfirmSubscription&TopicArn={}&Token={}", options_.public_url, topic_arn, token);
    const std::string at = iso8601(taken.sent_at);
    const topic::Confirmation confirmation{out.message_id, token, topic_arn, content->body(), url, at, out.type};
    const std::string signature = signer_.sign(version, topic::string_to_sign(confirmation));
    topic::append_confirmation(confirmation, {version == 2 ? "2" : "1", signature, certificate_url, {}}, out.body);
    return out;
  }
  out.type = "Notification";
  out.message_id = content->publication()->id.str();
  out.subject = content->publication()->subject;
  if (endpoint.about.raw && !is_mail(endpoint.about.protocol)) {
    out.body = content->body();
    return out;
  }
  const std::string to_sign = topic::string_to_sign(*content, topic_arn);
  // Kept signatures are those of the body.
  const std::string signature = as_published ? signer_.sign(content->publication()->id, version, to_sign) : signer_.sign(version, to_sign);
  const std::string& unsubscribe = out.link =
      fmt::format("{}/?Action=Unsubscribe&SubscriptionArn={}", options_.public_url,
                  topic::subscription_arn(endpoint.about.topic.view(), endpoint.about.subscription).str());
  topic::append_envelope(*content,
                         {topic_arn, {}, topic::EnvelopeSignature{version == 2 ? "2" : "1", signature, certificate_url, unsubscribe}},
                         out.body);
  return out;
}

net::Awaitable<void> HttpDelivery::deliver(std::shared_ptr<Endpoint> endpoint, Taken taken) {
  const engine::OutboundEndpoint& about = endpoint->about;
  const Outgoing message = outgoing(*endpoint, taken);
  const bool by_mail = is_mail(about.protocol);
  const bool readable = !message.type.empty();
  if (readable && by_mail && !mail_sender_) {
    capture_mail(*endpoint, taken, message);
  } else {
    Counters& counters = by_mail ? mail_counters_ : counters_;
    ++counters.attempts;
    Attempt attempt;
    if (readable) {
      auto trying = by_mail ? mail(*endpoint, taken, message) : post(*endpoint, message);
      attempt = co_await std::move(trying);
    } else {
      attempt.failure = "the message's content cannot be read";  // now; a disk may have recovered before the next try
    }
    if (attempt.given_back) {
      broker_.handle(engine::ReceiveUndelivered{{&taken.handle, 1}}, clock_.now());
    } else if (attempt.failure.empty()) {
      ++counters.delivered;
      settle(*endpoint, taken, true, {});
    } else {
      const auto pause = attempt.for_good ? std::nullopt
                                          : topic::delay_before_retry(endpoint->policy.retry, static_cast<std::int64_t>(taken.receive_count));
      if (pause) {
        ++counters.retried;
        random_ = random_ * 1'664'525u + 1'013'904'223u;
        const milliseconds with_jitter = topic::with_jitter(*pause, random_ >> 8);
        engine::ChangeVisibility change;
        change.queue = about.queue.view();
        change.handle = taken.handle;
        change.timeout = *queue::VisibilityTimeout::of((with_jitter.count() + 999) / 1'000);
        tell(change);
      } else {
        ++counters.failed;
        settle(*endpoint, taken, false, fmt::format("{} at attempt {}", attempt.failure, taken.receive_count));
      }
    }
  }
  --endpoint->under_way;
  --under_way_;
  ask(endpoint);
}

net::Awaitable<HttpDelivery::Attempt> HttpDelivery::post(const Endpoint& endpoint, const Outgoing& message) {
  const engine::OutboundEndpoint& about = endpoint.about;
  Attempt attempt;
  auto request = net::HttpRequest::to("POST", about.endpoint);
  if (!request) {
    attempt.failure = "the endpoint is no URL";
    attempt.for_good = true;
    co_return attempt;
  }
  const std::string& type = endpoint.policy.content_type;
  request->headers = {{"Content-Type", type.empty() ? std::string{kContentType} : type},
                      {"User-Agent", std::string{kAgent}},
                      {"Accept-Encoding", "gzip,deflate"},
                      {"x-amz-sns-message-type", message.type},
                      {"x-amz-sns-message-id", message.message_id},
                      {"x-amz-sns-topic-arn", about.topic.arn().str()}};
  if (message.type != topic::kSubscriptionConfirmation)
    request->headers.push_back({"x-amz-sns-subscription-arn", topic::subscription_arn(about.topic.view(), about.subscription).str()});
  if (about.raw && !message.confirmation) request->headers.push_back({"x-amz-sns-rawdelivery", "true"});
  request->body = message.body;
  // The status decides; a body is read so that the connection can be used again, and not for long.
  const Instant deadline = std::chrono::steady_clock::now() + options_.attempt_timeout;
  int status = 0;
  std::size_t bytes = 0;
  net::HttpStream stream;
  stream.head_deadline = deadline;
  stream.silence_max = std::min(kBodySilenceMax, options_.attempt_timeout);
  stream.on_head = [&status](const net::HttpResponse& head) {
    status = head.status;
    return true;
  };
  stream.on_body = [&bytes, deadline](std::string_view piece) {
    bytes += piece.size();
    return bytes <= kBodyBytesMax && std::chrono::steady_clock::now() < deadline;
  };
  auto waiting = client_->stream(std::move(*request), std::move(stream));
  const auto response = co_await std::move(waiting);
  if (status != 0) {
    if (status < 200 || status >= 300) attempt.failure = fmt::format("HTTP status {}", status);
    attempt.for_good = status >= 300 && status < 500 && status != 429;
  } else {
    attempt.failure = fmt::format("{}: {}", net::describe(response.error().error), response.error().detail);
    attempt.for_good = response.error().error == net::HttpError::Forbidden;
    attempt.given_back = response.error().error == net::HttpError::Cancelled;
  }
  co_return attempt;
}

net::Awaitable<HttpDelivery::Attempt> HttpDelivery::mail(const Endpoint& endpoint, const Taken& taken, const Outgoing& message) {
  const engine::OutboundEndpoint& about = endpoint.about;
  const bool as_json = about.protocol == topic::DeliveryProtocol::EmailJson;
  MailSender::Letter letter;
  letter.recipient = about.endpoint;
  letter.from_name = about.display_name;
  letter.message_id = message.message_id;
  letter.subscription = about.subscription.str();
  letter.date = taken.sent_at;
  if (message.confirmation) {
    letter.subject = topic::confirmation_subject();
    letter.body = as_json ? message.body : topic::confirmation_body(about.topic.arn().str(), message.link);
  } else {
    letter.subject = topic::notification_subject(message.subject);
    letter.body = as_json ? message.body : topic::notification_body(message.text, message.link);
    letter.subscription_arn = topic::subscription_arn(about.topic.view(), about.subscription).str();
    letter.unsubscribe_url = message.link;
  }
  auto sending = mail_sender_->send(std::move(letter));
  const net::SmtpOutcome outcome = co_await std::move(sending);
  Attempt attempt;
  using Kind = net::SmtpOutcome::Kind;
  attempt.given_back = outcome.kind == Kind::NotTried || outcome.kind == Kind::Cancelled;
  attempt.for_good = outcome.kind == Kind::Refused;
  if (outcome.kind != Kind::Accepted) attempt.failure = outcome.detail.empty() ? "the mail server did not take it" : outcome.detail;
  co_return attempt;
}

void HttpDelivery::tell(engine::Request request) {
  broker_.handle(engine::Command{own_caller(Broker::caller_id(target_, next_number_++)), std::move(request)}, clock_.now());
}

void HttpDelivery::settle(const Endpoint& endpoint, const Taken& taken, bool delivered, std::string_view detail) {
  engine::SettleDelivery settled;
  settled.queue = endpoint.about.queue.view();
  settled.handle = taken.handle;
  settled.delivered = delivered;
  settled.detail = detail;
  tell(settled);
}

void HttpDelivery::capture_mail(const Endpoint& endpoint, const Taken& taken, const Outgoing& message) {
  const engine::OutboundEndpoint& about = endpoint.about;
  const bool as_json = about.protocol == topic::DeliveryProtocol::EmailJson || message.confirmation;
  const std::string account = about.topic.account.str();
  const std::pair<std::string_view, std::string_view> attributes[] = {
      {"kind", topic::text_of(about.protocol)}, {"message", as_json ? message.body : message.text},
      {"id", message.message_id}, {"type", message.type}, {"subject", message.subject}};
  engine::UseDirectory use;
  use.command.action = topic::DirectoryCommand::Action::Capture;
  use.command.operation = "sns:Publish";
  use.command.account = engine::kOutboundAccount;
  use.command.region = about.topic.region.str();
  use.command.target = about.endpoint;
  use.command.attributes = std::span(attributes).first(message.subject.empty() ? 4 : 5);
  tell(use);
  engine::DeleteMessage remove;
  remove.queue = about.queue.view();
  remove.handle = taken.handle;
  tell(remove);
  ++counters_.captured;
}

void HttpDelivery::append_metrics(std::string& out) const {
  const auto append = [&out](std::string_view name, std::string_view help, const Counters& counters) {
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} counter\n", name, help);
    for (const auto& [outcome, count] : {std::pair<std::string_view, std::uint64_t>{"delivered", counters.delivered.load()},
                                         {"retried", counters.retried.load()},
                                         {"failed", counters.failed.load()}})
      out += fmt::format("{}{{outcome=\"{}\"}} {}\n", name, outcome, count);
  };
  append("fanfare_sns_http_attempts_total", "Attempts to deliver to HTTP endpoints by how they ended.", counters_);
  append("fanfare_sns_mail_attempts_total", "Attempts to hand mails to the mail server by how they ended.", mail_counters_);
}

}  // namespace fanfare::server

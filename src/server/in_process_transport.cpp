#include "server/in_process_transport.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "wire/http/request.h"
#include "wire/http/response.h"

namespace fanfare::server {
namespace asio = boost::asio;
namespace http = wire::http;

InProcessTransport::InProcessTransport(api::ServiceOptions options, Broker& broker, Clock& clock, api::aws::Authenticator& authenticator)
    : broker_(broker), clock_(clock), target_(broker.add_target(*this)), service_(std::move(options), authenticator), payloads_(broker) {}

InProcessTransport::~InProcessTransport() {
  for (auto& [number, exchange] : waiting_) exchange->resume = {};  // it holds the coroutine that holds the exchange
}

sdk::Awaitable<Result<sdk::TransportResponse, sdk::Error>> InProcessTransport::send(sdk::TransportRequest request, milliseconds) {
  // The engine ends every wait by itself; a deadline of the caller's could only cut an answer off.
  auto exchange = std::make_shared<Exchange>();
  std::uint64_t number = 0;
  {
    std::vector<http::Header> headers;
    for (const auto& [name, value] : request.headers) headers.push_back({name, value});
    http::Request view;
    view.method = request.method;
    view.target = request.target;
    view.path = std::string_view{request.target}.substr(0, request.target.find('?'));
    if (const std::size_t mark = request.target.find('?'); mark != std::string::npos) view.query = std::string_view{request.target}.substr(mark + 1);
    view.headers = http::Headers{headers};
    view.authority = view.headers.get("Host");
    view.body = request.body;
    const auto lock = broker_.lock();
    number = next_number_++;
    const Timestamp now = clock_.now();
    const api::RequestInfo info{.caller = Broker::caller_id(target_, number), .peer_ip = "127.0.0.1", .secure = true, .now = now, .system_now = clock_.system_now(), .secrets = secrets_};
    const api::Decoded decoded = service_.decode(view, info, exchange->context, exchange->response);
    if (decoded.command == nullptr) {
      counters_.add(decoded.outcome);
      exchange->answered = true;
    } else {
      waiting_.emplace(number, exchange);
      broker_.handle(lock, *decoded.command, now);
    }
  }
  auto waiting = wait_for_answer(exchange, number);
  const bool answered = co_await std::move(waiting);
  if (!answered) co_return sdk::Error{.kind = sdk::ErrorKind::Cancelled, .message = "the caller gave up"};
  give_back(exchange->held);
  if (exchange->wait_for && broker_.commit(*exchange->wait_for) == CommitState::Failed) {
    give_back(exchange->handles);
    co_return sdk::Error{.kind = sdk::ErrorKind::Unreachable, .message = "the journal cannot be written; the request may or may not have been carried out"};
  }
  co_return finish(*exchange);
}

void InProcessTransport::give_back(std::span<const engine::ReceiptHandle> handles) {
  if (!handles.empty()) broker_.handle(engine::ReceiveUndelivered{handles}, clock_.now());
}

sdk::Awaitable<bool> InProcessTransport::wait_for_answer(std::shared_ptr<Exchange> exchange, std::uint64_t number) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto initiate = [this, exchange, number, executor](auto handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));  // std::function wants something that can be copied
    const auto lock = broker_.lock();
    exchange->resume = [shared, exchange, executor] {
      asio::post(executor, [shared, exchange] { std::move (*shared)(exchange->answered); });
    };
    if (exchange->answered) {
      std::exchange(exchange->resume, {})();
      return;
    }
    if (slot.is_connected())
      slot.assign([this, exchange, number](asio::cancellation_type) {
        const auto held = broker_.lock();
        if (exchange->answered || !exchange->resume) return;
        waiting_.erase(number);
        broker_.handle(held, engine::WaiterGone{Broker::caller_id(target_, number)}, clock_.now());
        std::exchange(exchange->resume, {})();
      });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(initiate, asio::use_awaitable);
}

void InProcessTransport::on_reply(const engine::Reply& reply) {
  const auto found = waiting_.find(reply.caller.value & 0x00ff'ffff'ffff'ffffULL);
  if (found == waiting_.end()) return;
  const std::shared_ptr<Exchange> exchange = found->second;
  waiting_.erase(found);
  const api::Encoded encoded = service_.encode(exchange->context, reply, payloads_, exchange->response);
  counters_.add(encoded.outcome);
  exchange->held = encoded.held;
  if (const auto* received = std::get_if<engine::MessagesReceived>(&reply.body))
    for (const engine::ReceivedMessage& message : received->messages) exchange->handles.push_back(message.handle);
  exchange->wait_for = reply.wait_for;
  exchange->answered = true;
  if (exchange->resume) std::exchange(exchange->resume, {})();
}

Result<sdk::TransportResponse, sdk::Error> InProcessTransport::finish(const Exchange& exchange) {
  http::ResponseParser parser{{.body_bytes_max = 64ull << 20}};
  if (parser.parse(exchange.response) != http::ResponseParser::State::Complete)
    return sdk::Error{.kind = sdk::ErrorKind::Malformed, .message = "the broker's own answer could not be read"};
  sdk::TransportResponse response;
  response.status = parser.response().status;
  for (const http::Header& header : parser.response().headers) response.headers.emplace_back(header.name, header.value);
  response.body = parser.response().body;
  return response;
}

}  // namespace fanfare::server

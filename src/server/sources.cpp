#include "server/sources.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>

#include "edge/notification_body.h"

namespace fanfare::server {
namespace asio = boost::asio;
namespace {

/// Waits for a value that another thread gives: `start` gets a function to call once with it.
template <class T, class Start>
sdk::Awaitable<T> wait_for(Start start) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto initiate = [executor, start = std::move(start)](auto handler) mutable {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));  // std::function wants something that can be copied
    start([shared, executor](T value) {
      asio::post(executor, [shared, value = std::move(value)]() mutable { std::move (*shared)(std::move(value)); });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(T)>(std::move(initiate), asio::use_awaitable);
}

}  // namespace

Sources::Sources(const ServeOptions& options, EdgePlane& edge,
                 const std::function<std::shared_ptr<sdk::SqsClient>(asio::any_io_executor)>& make_client, Log& log)
    : edge_(edge), log_(log), sqs_(make_client(io_.get_executor())) {
  const auto add = [this](const SourceOptions& source, bool is_inbox) {
    sources_.push_back(std::make_unique<Source>(Source{.queue = source.queue, .create = source.create, .is_inbox = is_inbox}));
  };
  if (options.has_role("inbox"))
    for (const SourceOptions& source : options.inbox_sources) add(source, true);
  if (options.has_role("live"))
    for (const SourceOptions& source : options.live_sources) add(source, false);
}

Sources::~Sources() { stop(milliseconds{1000}); }

void Sources::start() {
  if (sources_.empty()) return;
  for (auto& source : sources_) asio::co_spawn(io_, take_up(*source), asio::detached);
  thread_ = std::thread([this] {
    const auto work = asio::make_work_guard(io_);
    io_.run();
  });
}

sdk::Awaitable<void> Sources::take_up(Source& source) {
  milliseconds pause{50};
  while (!stopping_) {
    auto asking = source.create ? sqs_->create_queue(source.queue, {}) : sqs_->get_queue_url(source.queue);
    const Result<std::string, sdk::Error> url = co_await std::move(asking);
    if (stopping_) co_return;
    if (url) {
      sdk::HandlerTable handlers;
      if (source.is_inbox) handlers.otherwise([this](const sdk::Delivery& delivery) { return to_inbox(delivery); });
      else handlers.otherwise([this](const sdk::Delivery& delivery) { return to_streams(delivery); });
      sdk::ConsumerOptions options;
      options.envelope = sdk::EnvelopeMode::Raw;  // edge and core/live open envelopes by their own rules
      options.concurrency = 10;
      options.give_back_after.reset();
      options.on_failure = [this, queue = source.queue](const sdk::Delivery& delivery, const std::vector<std::string>& reasons) {
        log_.warn("source.message_refused", {{"queue", queue}, {"message_id", delivery.message_id}, {"reason", reasons.front()}});
      };
      options.on_error = [this, queue = source.queue](const sdk::Error& error) {
        log_.warn("source.call_failed", {{"queue", queue}, {"error", error.describe()}});
      };
      source.consumer = std::make_unique<sdk::Consumer>(io_.get_executor(), sqs_, *url, std::move(handlers), std::move(options));
      source.consumer->start();
      log_.info("source.polling", {{"queue", source.queue}, {"feeds", source.is_inbox ? "inbox" : "live"}});
      co_return;
    }
    asio::steady_timer timer{io_, pause};
    pause = std::min(pause * 2, milliseconds{1000});
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

sdk::Awaitable<sdk::HandlerResult> Sources::to_inbox(const sdk::Delivery& delivery) {
  auto intent = edge::parse_notification_message(delivery.body);
  if (!intent) co_return sdk::HandlerResult::failed(intent.error().detail);
  std::vector<inbox::Create> creates;
  creates.push_back({std::move(*intent), inbox::NotificationId{Uuid::from_random(secrets_.bytes16())}});
  auto waiting = wait_for<std::string>([this, creates = std::move(creates)](std::function<void(std::string)> done) mutable {
    edge_.create(std::move(creates), [done](Result<std::vector<inbox::Answer>, store::StoreError> outcome) {
      if (!outcome) return done("the inbox store failed: " + outcome.error().detail);
      done(std::holds_alternative<inbox::Refused>(outcome->front()) ? "the idempotency key was used with another body" : "");
    });
  });
  std::string failure = co_await std::move(waiting);
  co_return failure.empty() ? sdk::HandlerResult::done() : sdk::HandlerResult::failed(std::move(failure));
}

sdk::Awaitable<sdk::HandlerResult> Sources::to_streams(const sdk::Delivery& delivery) {
  std::vector<live::MessageAttribute> attributes;
  for (const sdk::MessageAttribute& one : delivery.attributes) attributes.push_back({one.name, one.value});
  auto opened = live::read_event({delivery.body, attributes, delivery.message_id}, live::EventRules{}, reader_);
  if (!opened) co_return sdk::HandlerResult::failed(std::string{live::name(opened.error())});
  auto event = std::make_shared<const live::Event>(std::move(*opened));
  auto waiting = wait_for<live::Published>([this, event](std::function<void(live::Published)> done) { edge_.publish_live(event, std::move(done)); });
  const live::Published published = co_await std::move(waiting);
  if (published.deletable()) co_return sdk::HandlerResult::done();
  co_return sdk::HandlerResult::failed(std::string{published.fault ? live::name(*published.fault) : "closed"});
}

void Sources::stop(milliseconds limit) {
  if (!thread_.joinable()) return;
  std::promise<void> stopped;
  asio::post(io_, [this, limit, &stopped] {
    stopping_ = true;
    auto left = std::make_shared<std::size_t>(1);
    const auto one_less = [left, &stopped] {
      if (--*left == 0) stopped.set_value();
    };
    for (auto& source : sources_) {
      if (!source->consumer) continue;
      ++*left;
      asio::co_spawn(io_, source->consumer->stop(limit, milliseconds{0}), [one_less](std::exception_ptr, const sdk::ConsumerCounters&) { one_less(); });
    }
    one_less();
  });
  stopped.get_future().wait();
  io_.stop();
  thread_.join();
}

}  // namespace fanfare::server

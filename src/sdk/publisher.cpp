// The publisher's shell: one mutex around the Batcher, a coroutine a batch in flight, one timer.
#include "fanfare/publisher.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "base/ids.h"
#include "sdk/batcher.h"

namespace fanfare::sdk {
namespace asio = boost::asio;
namespace {

BatcherLimits limits_of(const Destination& destination, const PublisherOptions& options) {
  return BatcherLimits{
      .batch_bytes = destination.max_bytes,
      .max_buffered = options.max_buffered_events,
      .when_full = options.when_full,
      .flush_interval = options.flush_interval,
      .max_in_flight = options.max_batches_in_flight,
      .max_attempts = options.max_attempts,
      .backoff_first = options.backoff_first,
      .backoff_max = options.backoff_max,
      .fifo = destination.name.ends_with(".fifo"),
  };
}

std::string fresh_id() {
  thread_local std::random_device device;  // event ids must not repeat over processes; no secret depends on them
  std::array<std::uint8_t, 16> random;
  for (std::size_t i = 0; i < random.size(); i += 4) {
    const std::uint32_t word = device();
    std::memcpy(random.data() + i, &word, 4);
  }
  return Uuid::from_random(random).str();
}

}  // namespace

class Publisher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  using Waiter = std::function<void(Result<PublishReceipt, Error>)>;

  Impl(asio::any_io_executor executor, Destination destination, PublisherOptions options)
      : strand_(asio::make_strand(std::move(executor))),
        timer_(strand_),
        settled_(strand_),
        destination_(std::move(destination)),
        options_(std::move(options)),
        batcher_(limits_of(destination_, options_), std::random_device{}()) {
    settled_.expires_at(Instant::max());
  }

  void publish(Event event, Waiter waiter) {
    if (event.id.empty()) event.id = fresh_id();
    Batcher::Added added;
    Waiter dropped;
    {
      const std::lock_guard lock{mutex_};
      added = batcher_.add(std::move(event), std::chrono::steady_clock::now());
      if (added.ticket && waiter) waiters_.emplace(*added.ticket, std::move(waiter));
      if (added.refused) ++failed_;
      if (added.refused_ticket) dropped = take_waiter(*added.refused_ticket);
    }
    if (added.refused) {
      if (options_.on_error) options_.on_error(added.refused->event, added.refused->error);
      Waiter& told = added.ticket ? dropped : waiter;
      if (told) told(added.refused->error);
    }
    if (added.ticket) wake();
  }

  void flush() {
    {
      const std::lock_guard lock{mutex_};
      batcher_.flush();
    }
    wake();
  }

  /// Coalesced: many publish() calls post one pump.
  void wake() {
    if (wake_posted_.exchange(true)) return;
    asio::post(strand_, [self = shared_from_this()] {
      self->wake_posted_ = false;
      self->pump();
    });
  }

  /// Runs on the strand.
  asio::awaitable<DrainReport> drain(milliseconds limit) {
    {
      const std::lock_guard lock{mutex_};
      batcher_.close();
    }
    pump();
    const Instant deadline = std::chrono::steady_clock::now() + limit;
    asio::steady_timer limit_timer{strand_, deadline};
    limit_timer.async_wait([self = shared_from_this()](boost::system::error_code) { self->settled_.cancel(); });
    for (;;) {
      bool idle = false;
      {
        const std::lock_guard lock{mutex_};
        idle = batcher_.idle();
      }
      if (idle || report_ || std::chrono::steady_clock::now() >= deadline) break;
      co_await settled_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    limit_timer.cancel();
    if (!report_) {
      DrainReport report;
      std::vector<Waiter> left;
      {
        const std::lock_guard lock{mutex_};
        report.abandoned = batcher_.abandon();
        for (auto& [ticket, event] : in_flight_) report.abandoned.push_back(event);
        in_flight_.clear();
        for (auto& [ticket, waiter] : waiters_) left.push_back(std::move(waiter));
        waiters_.clear();
        report.sent = sent_;
        report.failed = failed_;
      }
      for (Waiter& waiter : left)
        waiter(Error{.kind = ErrorKind::Cancelled, .message = "the publisher was drained before the service answered"});
      report_ = std::move(report);
      settled_.cancel();  // another drain() may be waiting
    }
    co_return *report_;
  }

  const asio::strand<asio::any_io_executor>& strand() const { return strand_; }

  PublisherCounters counters() const {
    const std::lock_guard lock{mutex_};
    return PublisherCounters{batcher_.buffered(), batcher_.sending(), sent_, failed_};
  }

 private:
  Waiter take_waiter(Batcher::Ticket ticket) {
    auto node = waiters_.extract(ticket);
    return node ? std::move(node.mapped()) : Waiter{};
  }

  /// On the strand: starts every batch that may go out, and arms the timer for the next one.
  void pump() {
    for (;;) {
      std::optional<Batcher::Batch> batch;
      std::optional<Instant> wake_at;
      {
        const std::lock_guard lock{mutex_};
        batch = batcher_.take_batch(std::chrono::steady_clock::now());
        if (batch)
          for (const Batcher::Entry& entry : batch->entries) in_flight_.emplace(entry.ticket, entry.event);
        else
          wake_at = batcher_.next_wake();
      }
      if (!batch) {
        if (wake_at) arm(*wake_at);
        return;
      }
      asio::co_spawn(strand_, send_batch(shared_from_this(), std::move(*batch)), asio::detached);
    }
  }

  void arm(Instant at) {
    if (armed_for_ && *armed_for_ <= at && *armed_for_ > std::chrono::steady_clock::now()) return;
    armed_for_ = at;
    timer_.expires_at(at);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
      if (!error) {
        self->armed_for_.reset();
        self->pump();
      }
    });
  }

  static asio::awaitable<void> send_batch(std::shared_ptr<Impl> self, Batcher::Batch batch) {
    std::vector<Event> events;
    events.reserve(batch.entries.size());
    for (const Batcher::Entry& entry : batch.entries) events.push_back(entry.event);
    Result<BatchResults<SendReceipt>, Error> results = Error{.kind = ErrorKind::Unreachable, .message = "the call was interrupted"};
    try {  // a destination is foreign code: what it throws fails its batch, which must not stay in flight for ever
      auto sending = self->destination_.send(events);
      results = co_await std::move(sending);
    } catch (const std::exception& thrown) {
      results = Error{.kind = ErrorKind::Unreachable, .message = thrown.what()};
    }
    std::vector<Batcher::Settled> settled;
    std::vector<Waiter> waiters;
    {
      const std::lock_guard lock{self->mutex_};
      for (const Batcher::Entry& entry : batch.entries) self->in_flight_.erase(entry.ticket);
      settled = self->batcher_.settle(std::move(batch), std::move(results), std::chrono::steady_clock::now());
      for (const Batcher::Settled& one : settled) {
        ++(one.outcome ? self->sent_ : self->failed_);
        waiters.push_back(self->take_waiter(one.ticket));
      }
    }
    for (std::size_t i = 0; i < settled.size(); ++i) {
      Batcher::Settled& one = settled[i];
      if (one.outcome && self->options_.on_published) self->options_.on_published(one.event, *one.outcome);
      if (!one.outcome && self->options_.on_error) self->options_.on_error(one.event, one.outcome.error());
      if (waiters[i]) waiters[i](std::move(one.outcome));
    }
    self->settled_.cancel();
    self->pump();
  }

  // Constant after construction.
  asio::strand<asio::any_io_executor> strand_;
  // Owned by the strand.
  asio::steady_timer timer_;
  asio::steady_timer settled_;  // never expires; cancelled whenever something was settled
  std::optional<Instant> armed_for_;
  std::optional<DrainReport> report_;
  const Destination destination_;
  const PublisherOptions options_;
  std::atomic<bool> wake_posted_{false};
  // Protected by mutex_.
  mutable std::mutex mutex_;
  Batcher batcher_;
  std::map<Batcher::Ticket, Waiter> waiters_;
  std::map<Batcher::Ticket, Event> in_flight_;
  std::uint64_t sent_ = 0;
  std::uint64_t failed_ = 0;
};

Publisher::Publisher(asio::any_io_executor executor, Destination destination, PublisherOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(destination), std::move(options))) {}

Publisher::~Publisher() = default;

void Publisher::publish(Event event) { impl_->publish(std::move(event), {}); }
void Publisher::flush() { impl_->flush(); }
PublisherCounters Publisher::counters() const { return impl_->counters(); }

Awaitable<DrainReport> Publisher::drain(milliseconds limit) {
  auto impl = impl_;
  auto draining = impl->drain(limit);
  co_return co_await asio::co_spawn(impl->strand(), std::move(draining), asio::use_awaitable);
}

Awaitable<Result<PublishReceipt, Error>> Publisher::publish_confirmed(Event event) {
  auto impl = impl_;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto initiate = [impl, executor](auto handler, Event what) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    impl->publish(std::move(what), [shared, executor](Result<PublishReceipt, Error> outcome) {
      asio::post(executor, [shared, outcome = std::move(outcome)]() mutable { std::move (*shared)(std::move(outcome)); });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<PublishReceipt, Error>)>(
      initiate, asio::use_awaitable, std::move(event));
}

}  // namespace fanfare::sdk

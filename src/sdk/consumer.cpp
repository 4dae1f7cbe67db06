// The consumer's poll loop. Order within one receive: run handlers, give back the failed, delete the done. [S10]
#include "fanfare/consumer.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <unordered_set>

#include "base/rng.h"

namespace fanfare::sdk {
namespace asio = boost::asio;

HandlerTable& HandlerTable::on(std::string type, Handler handler) {
  handlers_[std::move(type)].push_back(std::move(handler));
  return *this;
}

HandlerTable& HandlerTable::on_sync(std::string type, std::function<HandlerResult(const Delivery&)> handler) {
  return on(std::move(type), [handler = std::move(handler)](const Delivery& delivery) -> Awaitable<HandlerResult> {
    co_return handler(delivery);
  });
}

HandlerTable& HandlerTable::otherwise(Handler handler) {
  otherwise_.push_back(std::move(handler));
  return *this;
}

const std::vector<Handler>* HandlerTable::find(const std::string& type) const {
  const auto found = handlers_.find(type);
  if (found != handlers_.end()) return &found->second;
  return otherwise_.empty() ? nullptr : &otherwise_;
}

namespace {

/// Remembers the last messages that were done, so that one whose delete was lost is deleted and not run again.
class DoneWindow {
 public:
  void add(const std::string& message_id) {
    if (!known_.insert(message_id).second) return;
    order_.push_back(message_id);
    if (order_.size() > kSize) {
      known_.erase(order_.front());
      order_.pop_front();
    }
  }
  [[nodiscard]] bool contains(const std::string& message_id) const { return known_.contains(message_id); }

 private:
  static constexpr std::size_t kSize = 10'000;  // some minutes of a busy queue; a lost delete comes back within its visibility
  std::deque<std::string> order_;
  std::unordered_set<std::string> known_;
};

}  // namespace

class Consumer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::any_io_executor executor, std::shared_ptr<SqsClient> sqs, std::string queue_url, HandlerTable handlers,
       ConsumerOptions options)
      : strand_(asio::make_strand(std::move(executor))),
        sqs_(std::move(sqs)),
        queue_url_(std::move(queue_url)),
        handlers_(std::move(handlers)),
        options_(std::move(options)),
        pause_(strand_),
        ended_(strand_),
        rng_(std::random_device{}()) {
    ended_.expires_at(Instant::max());
  }

  void start() {
    asio::post(strand_, [self = shared_from_this()] {
      if (self->started_) return;
      self->started_ = true;
      asio::co_spawn(self->strand_, poll_loop(self), asio::detached);
    });
  }

  /// Runs on the strand.
  asio::awaitable<ConsumerCounters> stop(milliseconds limit, milliseconds poll_grace) {
    stopping_ = true;
    pause_.cancel();
    if (started_ && !ended_flag_) {
      const Instant now = std::chrono::steady_clock::now();
      deadline_ = now + limit;
      asio::steady_timer grace{strand_, std::min(now + poll_grace, *deadline_)};
      grace.async_wait([self = shared_from_this()](boost::system::error_code error) {
        if (!error && self->polling_) self->poll_cancel_.emit(asio::cancellation_type::terminal);
      });
      asio::steady_timer last{strand_, *deadline_};
      last.async_wait([self = shared_from_this()](boost::system::error_code error) {
        if (!error) self->ended_.cancel();
      });
      while (!ended_flag_ && std::chrono::steady_clock::now() < *deadline_)
        co_await ended_.async_wait(asio::as_tuple(asio::use_awaitable));
      grace.cancel();
      last.cancel();
    }
    co_return counters();
  }

  const asio::strand<asio::any_io_executor>& strand() const { return strand_; }

  ConsumerCounters counters() const {
    const std::lock_guard lock{mutex_};
    return counters_;
  }

 private:
  static asio::awaitable<void> poll_loop(std::shared_ptr<Impl> self) {
    milliseconds backoff = self->options_.backoff_first;
    while (!self->stopping_) {
      self->polling_ = true;
      auto receive = self->sqs_->receive_message(self->queue_url_, self->options_.receive);
      auto outcome = co_await asio::co_spawn(
          self->strand_, std::move(receive),
          asio::bind_cancellation_slot(self->poll_cancel_.slot(), asio::as_tuple(asio::use_awaitable)));
      self->polling_ = false;
      const std::exception_ptr thrown = std::get<0>(outcome);
      Result<std::vector<ReceivedMessage>, Error>& received = std::get<1>(outcome);
      if (thrown || !received) {
        if (self->stopping_) break;
        const Error error = thrown ? Error{.kind = ErrorKind::Unreachable, .message = "the receive was interrupted"} : received.error();
        self->count([](ConsumerCounters& c) { ++c.consecutive_errors; });
        self->report(error);
        self->pause_.expires_after(milliseconds{self->rng_.between(backoff.count() / 2, backoff.count())});
        backoff = std::min(backoff * 2, self->options_.backoff_max);
        co_await self->pause_.async_wait(asio::as_tuple(asio::use_awaitable));
        continue;
      }
      backoff = self->options_.backoff_first;
      self->count([&](ConsumerCounters& c) {
        c.consecutive_errors = 0;
        c.received += received->size();
      });
      if (received->empty()) continue;
      auto handling = self->handle_all(std::move(*received));
      co_await std::move(handling);
    }
    self->ended_flag_ = true;
    self->ended_.cancel();
  }

  /// What one receive comes to.
  struct Round {
    std::vector<VisibilityChange> give_back;
    std::vector<std::string> done_receipts;
  };
  /// Messages that must be handled one after another.
  using Lane = std::vector<ReceivedMessage>;

  asio::awaitable<void> handle_all(std::vector<ReceivedMessage> messages) {
    std::vector<Lane> lanes;
    if (options_.concurrency <= 1) {
      lanes.push_back(std::move(messages));
    } else {
      std::map<std::string, std::size_t> lane_of_group;
      for (ReceivedMessage& message : messages) {
        const std::string group = message.group_id();
        const auto [known, is_new] = group.empty() ? std::pair{lane_of_group.end(), true} : lane_of_group.emplace(group, lanes.size());
        if (is_new) lanes.emplace_back();
        lanes[group.empty() ? lanes.size() - 1 : known->second].push_back(std::move(message));
      }
    }
    Round round;
    if (lanes.size() == 1) {
      auto handling = handle_lane(std::move(lanes.front()), round);
      co_await std::move(handling);
    } else {
      std::size_t next = 0;
      std::size_t running = 0;
      asio::steady_timer lane_ended{strand_, Instant::max()};
      while (next < lanes.size() || running > 0) {
        while (next < lanes.size() && running < static_cast<std::size_t>(options_.concurrency)) {
          ++running;
          asio::co_spawn(strand_, handle_lane(std::move(lanes[next++]), round), [&](std::exception_ptr) {
            --running;
            lane_ended.cancel();
          });
        }
        if (running > 0) co_await lane_ended.async_wait(asio::as_tuple(asio::use_awaitable));
      }
    }
    if (!round.give_back.empty()) {
      auto changing = sqs_->change_message_visibility_batch(queue_url_, std::move(round.give_back));
      const Result<BatchResults<Success>, Error> changed = co_await std::move(changing);
      if (!changed) report(changed.error());  // they come back by themselves when their visibility ends
      else
        for (const auto& entry : *changed)
          if (!entry) report(entry.error());
    }
    if (!round.done_receipts.empty()) {
      auto deleting = delete_done(std::move(round.done_receipts));
      co_await std::move(deleting);
    }
  }

  asio::awaitable<void> handle_lane(Lane lane, Round& round) {
    std::set<std::string> failed_groups;  // FIFO: after a failure the rest of its group is given back, not run
    for (const ReceivedMessage& message : lane) {
      const std::string group = message.group_id();
      const bool out_of_time = deadline_ && std::chrono::steady_clock::now() >= *deadline_;
      if (out_of_time || (!group.empty() && failed_groups.contains(group))) {
        round.give_back.push_back(VisibilityChange{message.receipt_handle, seconds{0}});
        continue;
      }
      if (done_.contains(message.message_id)) {
        count([](ConsumerCounters& c) { ++c.redelivered_done; });
        round.done_receipts.push_back(message.receipt_handle);
        continue;
      }
      auto running = run_handlers(message);
      const bool ok = co_await std::move(running);
      if (ok) {
        done_.add(message.message_id);
        round.done_receipts.push_back(message.receipt_handle);
      } else {
        if (!group.empty()) failed_groups.insert(group);
        if (options_.give_back_after) round.give_back.push_back(VisibilityChange{message.receipt_handle, *options_.give_back_after});
      }
    }
  }

  /// Partial failures of the delete are retried; what still fails is remembered by done_ and deleted on redelivery.
  asio::awaitable<void> delete_done(std::vector<std::string> receipts) {
    for (int attempt = 1; attempt <= 3 && !receipts.empty(); ++attempt) {
      auto deleting = sqs_->delete_message_batch(queue_url_, receipts);
      const Result<BatchResults<Success>, Error> outcome = co_await std::move(deleting);
      if (!outcome) {
        report(outcome.error());
        if (!outcome.error().retryable()) co_return;
        continue;
      }
      std::vector<std::string> again;
      std::uint64_t deleted = 0;
      for (std::size_t i = 0; i < receipts.size(); ++i) {
        if (i < outcome->size() && (*outcome)[i]) {
          ++deleted;
          continue;
        }
        const Error error = i < outcome->size() ? (*outcome)[i].error()
                                                : Error{.kind = ErrorKind::Malformed, .message = "a delete was not answered"};
        report(error);
        if (error.retryable() || error.kind == ErrorKind::Malformed) again.push_back(receipts[i]);
      }
      count([&](ConsumerCounters& c) { c.deleted += deleted; });
      receipts = std::move(again);
    }
  }

  asio::awaitable<bool> run_handlers(const ReceivedMessage& message) {
    const Result<Delivery, Error> opened = open_message(message, options_.envelope);
    if (!opened) {
      Delivery unopened;
      unopened.message_id = message.message_id;
      fail(unopened, {opened.error().message});
      co_return false;
    }
    const Delivery& delivery = *opened;
    const std::vector<Handler>* handlers = handlers_.find(delivery.type);
    if (handlers == nullptr) {
      count([](ConsumerCounters& c) { ++c.unhandled; });
      co_return true;
    }
    std::vector<std::string> reasons;
    for (const Handler& handler : *handlers) {
      HandlerResult result;
      try {
        auto handling = handler(delivery);
        result = co_await std::move(handling);
      } catch (const std::exception& thrown) {  // a handler is foreign code: what it throws fails its message, not the loop
        result = HandlerResult::failed(thrown.what());
      } catch (...) {
        result = HandlerResult::failed("the handler threw something that is no std::exception");
      }
      if (result.failure) reasons.push_back(std::move(*result.failure));
    }
    if (!reasons.empty()) {
      fail(delivery, reasons);
      co_return false;
    }
    count([](ConsumerCounters& c) { ++c.done; });
    co_return true;
  }

  void fail(const Delivery& delivery, const std::vector<std::string>& reasons) {
    count([](ConsumerCounters& c) { ++c.failed; });
    guarded([&] {
      if (options_.on_failure) options_.on_failure(delivery, reasons);
    });
  }

  void report(const Error& error) {
    guarded([&] {
      if (options_.on_error) options_.on_error(error);
    });
  }

  /// An observer is foreign code: what it throws must not end the poll loop.
  template <class Call>
  static void guarded(Call call) {
    try {
      call();
    } catch (...) {  // it has no one to be told to
    }
  }

  template <class Change>
  void count(Change change) {
    const std::lock_guard lock{mutex_};
    change(counters_);
  }

  // Constant after construction.
  asio::strand<asio::any_io_executor> strand_;
  const std::shared_ptr<SqsClient> sqs_;
  const std::string queue_url_;
  const HandlerTable handlers_;
  const ConsumerOptions options_;
  // Owned by the strand.
  asio::steady_timer pause_;
  asio::steady_timer ended_;  // never expires; cancelled when the loop has ended
  asio::cancellation_signal poll_cancel_;
  DoneWindow done_;
  Rng rng_;
  std::optional<Instant> deadline_;
  bool started_ = false;
  bool stopping_ = false;
  bool polling_ = false;
  bool ended_flag_ = false;
  // Protected by mutex_.
  mutable std::mutex mutex_;
  ConsumerCounters counters_;
};

Consumer::Consumer(asio::any_io_executor executor, std::shared_ptr<SqsClient> sqs, std::string queue_url, HandlerTable handlers,
                   ConsumerOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(sqs), std::move(queue_url), std::move(handlers),
                                   std::move(options))) {}

Consumer::~Consumer() = default;

void Consumer::start() { impl_->start(); }
ConsumerCounters Consumer::counters() const { return impl_->counters(); }

Awaitable<ConsumerCounters> Consumer::stop(milliseconds limit, milliseconds poll_grace) {
  auto impl = impl_;
  auto stopping = impl->stop(limit, poll_grace);
  co_return co_await asio::co_spawn(impl->strand(), std::move(stopping), asio::use_awaitable);
}

}  // namespace fanfare::sdk

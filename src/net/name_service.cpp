#include "net/name_service.h"

#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace fanfare::net {

struct NameService::State {
  using Waiting = std::map<std::uint64_t, std::function<void(const Answer&)>>;

  State(boost::asio::any_io_executor to, Resolve how) : executor(std::move(to)), resolve(std::move(how)) {}

  static void work(const std::shared_ptr<State>& state) {
    std::unique_lock lock{state->mutex};
    while (!state->queue.empty() && !state->closed) {
      const HostPort host = std::move(state->queue.front());
      state->queue.pop_front();
      lock.unlock();
      Answer answer = state->resolve(host);
      lock.lock();
      const auto found = state->waiting.find(host.str());
      if (found == state->waiting.end()) continue;
      // While somebody waits, the executor is there.
      if (!state->closed && !found->second.empty()) {
        boost::asio::post(state->executor, [waiting = std::move(found->second), answer = std::move(answer)] {
          for (const auto& [number, done] : waiting) done(answer);
        });
      }
      state->waiting.erase(found);
    }
    --state->threads;
  }

  // Constant after construction.
  const boost::asio::any_io_executor executor;
  const Resolve resolve;
  // Protected by mutex.
  std::mutex mutex;
  bool closed = false;
  std::size_t threads = 0;
  std::uint64_t next_number = 0;
  std::deque<HostPort> queue;
  std::map<std::string, Waiting> waiting;  ///< by HostPort::str(); what is looked up stands here, also when nobody waits any more
};

NameService::NameService(boost::asio::any_io_executor executor, Resolve resolve)
    : state_(std::make_shared<State>(std::move(executor), std::move(resolve))) {}

NameService::~NameService() { close(); }

NameService::Asked NameService::lookup(const HostPort& host, std::function<void(const Answer&)> done) {
  const std::lock_guard lock{state_->mutex};
  const std::uint64_t number = state_->next_number++;
  if (!state_->closed) {
    const auto [found, fresh] = state_->waiting.try_emplace(host.str());
    found->second.emplace(number, std::move(done));
    if (fresh) {
      state_->queue.push_back(host);
      if (state_->threads < kThreads) {
        ++state_->threads;
        std::thread{[state = state_] { State::work(state); }}.detach();  // nothing can end a lookup, so nobody waits for it
      }
    }
  }
  return {state_, host.str(), number};
}

NameService::Asked::~Asked() {
  std::function<void(const Answer&)> forgotten;  // goes after the lock
  const std::lock_guard lock{state_->mutex};
  const auto found = state_->waiting.find(host_);
  if (found == state_->waiting.end()) return;
  const auto own = found->second.find(number_);
  if (own == found->second.end()) return;
  forgotten = std::move(own->second);
  found->second.erase(own);
}

void NameService::close() {
  std::map<std::string, State::Waiting> dropped;  // goes after the lock
  const std::lock_guard lock{state_->mutex};
  state_->closed = true;
  state_->queue.clear();
  dropped.swap(state_->waiting);
}

}  // namespace fanfare::net

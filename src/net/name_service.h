// Host names as addresses without blocking a loop.
//
// Rule 1: names are looked up on threads of their own, each name once at a time: one whose name servers do not answer holds up
//         no other, until kThreads of them do.
// Rule 2: nothing waits for a lookup that nobody wants any more, neither close() nor the end of the process.
// Asio's own resolver has one thread for a whole io_context, and joins it.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace fanfare::net {

class NameService {
  struct State;

 public:
  static constexpr std::size_t kThreads = 32;
  using Answer = Result<std::vector<SocketAddress>, ResolveError>;
  /// Blocks; called on several threads at once.
  using Resolve = std::function<Answer(const HostPort&)>;

  NameService(boost::asio::any_io_executor executor, Resolve resolve);
  /// As close().
  ~NameService();
  NameService(const NameService&) = delete;
  NameService& operator=(const NameService&) = delete;

  /// A lookup that somebody waits for; when it goes, `done` is forgotten. It goes before its executor's context does, as a
  /// coroutine's frame and what lies in it do.
  class Asked {
   public:
    Asked(std::shared_ptr<State> state, std::string host, std::uint64_t number) : state_(std::move(state)), host_(std::move(host)), number_(number) {}
    ~Asked();
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;

   private:
    std::shared_ptr<State> state_;
    std::string host_;
    std::uint64_t number_;
  };
  /// `done` is called on the executor, later; never after close().
  [[nodiscard]] Asked lookup(const HostPort& host, std::function<void(const Answer&)> done);
  void close();

 private:
  std::shared_ptr<State> state_;  // shared with the threads, which may outlive this
};

}  // namespace fanfare::net

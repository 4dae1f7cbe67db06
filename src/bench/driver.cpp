#include "bench/driver.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <thread>

#include "bench/connection.h"
#include "bench/pacer.h"
#include "wire/http/response.h"

namespace fanfare::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t kConnectingMost = 64;  // at once; more would overflow a listener's queue and wait for a second
constexpr int kEventsMost = 256;
constexpr std::size_t kBufferBytes = 256 * 1024;
constexpr std::uint64_t kErrorsMost = 10'000;  // without one success: then the load ends
constexpr int kConnectAttempts = 20;
constexpr milliseconds kLongestSleep{20};

enum class Counting : int { NotYet, Now, Over };

struct Shared {
  const PhaseOptions& options;
  const CallerFactory& make_caller;
  std::atomic<Counting> counting{Counting::NotYet};
  std::atomic<std::uint32_t> established{0};  // connections that were, at least once
  std::atomic<std::uint32_t> running{0};      // threads
  std::atomic<bool> failed{false};
};

class Worker {
 public:
  Worker(Shared& shared, std::uint32_t number)
      : shared_(shared),
        options_(shared.options),
        number_(number),
        bench_(options_.endpoint, std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()),
               steady_clock::now()),
        tally_(options_.steps.size()),
        buffer_(std::make_unique<char[]>(kBufferBytes)) {
    if (options_.endpoint.url.secure) tls_ = make_tls_context();
    for (std::uint32_t i = number; i < options_.connections; i += options_.threads)
      lines_.emplace_back().caller = shared.make_caller(bench_, i);
  }
  ~Worker() {
    if (epoll_ >= 0) ::close(epoll_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    while (!over()) {
      connect_more();
      wait();
      if (pacer_) send_due();
    }
    for (Line& line : lines_) line.connection.close();
    --shared_.running;
  }

  const Tally& tally() const { return tally_; }
  const std::string& failure() const { return failure_; }

 private:
  /// One connection and what goes on there.
  struct Line {
    Connection connection;
    std::unique_ptr<Caller> caller;
    wire::http::ResponseParser parser;
    std::string partial;  // the beginning of an answer
    Caller::Call call{};
    std::size_t sent = 0;
    Instant begun{};
    int connects = 0;   // attempts since the last success
    bool busy = false;  // a request is to be sent or answered
    bool used = false;  // this connection has carried an answer
    bool counted = false;
    bool done = false;
    bool waits_for_turn = false;  // in idle_
  };

  bool over() {
    if (shared_.failed || shared_.counting.load(std::memory_order_relaxed) == Counting::Over) return true;
    return done_ == lines_.size();
  }

  void fail(std::string text) {
    failure_ = std::move(text);
    shared_.failed = true;
  }

  void connect_more() {
    while (connecting_ < kConnectingMost && next_to_connect_ < lines_.size()) connect(next_to_connect_++);
  }

  void connect(std::size_t index) {
    Line& line = lines_[index];
    const auto& addresses = options_.endpoint.addresses;
    const net::SocketAddress& address = addresses[index % addresses.size()];
    line.used = false;
    line.sent = 0;
    line.partial.clear();
    line.parser = wire::http::ResponseParser{};
    if (++line.connects > kConnectAttempts || !line.connection.open(address, tls_.get(), options_.endpoint.url.host))
      return fail(fmt::format("cannot connect to {}: {}", address.str(), line.connection.error()));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = index;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, line.connection.fd(), &event);
    ++connecting_;
  }

  void wait() {
    nanoseconds sleep = kLongestSleep;
    if (pacer_ && !idle_.empty())
      sleep = std::clamp<nanoseconds>(pacer_->next() - steady_clock::now(), nanoseconds{0}, kLongestSleep);
    const timespec until{0, static_cast<long>(sleep.count())};
    const int count = epoll_pwait2(epoll_, events_.data(), kEventsMost, &until, nullptr);
    if (shared_.counting.load(std::memory_order_relaxed) == Counting::Now) tally_.measure(true);
    for (int i = 0; i < count; ++i) on_event(events_[static_cast<std::size_t>(i)]);
  }

  void on_event(const epoll_event& event) {
    const auto index = static_cast<std::size_t>(event.data.u64);
    Line& line = lines_[index];
    if (!line.connection.is_open()) return;
    if (!line.connection.is_established()) {
      switch (line.connection.establish()) {
        case Progress::Again: return;
        case Progress::Failed: --connecting_; return connect(index);
        case Progress::Done: break;
      }
      --connecting_;
      line.connects = 0;
      if (!std::exchange(line.counted, true)) ++shared_.established;
      if (line.busy) {
        send(index);
      } else {
        ready(index, steady_clock::now());
      }
      return;
    }
    if (line.busy && line.sent < line.call.bytes.size() && (event.events & EPOLLOUT) != 0) send(index);
    if ((event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) receive(index);
  }

  /// The line can take a request.
  void ready(std::size_t index, Instant now) {
    Line& line = lines_[index];
    if (options_.per_second) {
      if (!pacer_) pacer_.emplace(*options_.per_second, now, number_, options_.threads);
      if (!std::exchange(line.waits_for_turn, true)) idle_.push_back(index);
      return;
    }
    begin(index, now, now);
  }

  void begin(std::size_t index, Instant due, Instant now) {
    Line& line = lines_[index];
    const auto call = line.caller->next(now);
    if (!call) {
      line.done = true;
      ++done_;
      return;
    }
    line.call = *call;
    line.sent = 0;
    line.begun = due;
    line.busy = true;
    if (line.connection.is_established()) {
      send(index);
    } else if (!line.connection.is_open()) {
      connect(index);
    }
  }

  void send_due() {
    const Instant now = steady_clock::now();
    while (!idle_.empty()) {
      const auto due = pacer_->take(now);
      if (!due) return;
      const std::size_t index = idle_.front();
      idle_.pop_front();
      lines_[index].waits_for_turn = false;
      begin(index, *due, now);
    }
  }

  void send(std::size_t index) {
    Line& line = lines_[index];
    while (line.sent < line.call.bytes.size()) {
      const std::ptrdiff_t taken = line.connection.send(line.call.bytes.substr(line.sent));
      if (taken == 0) return;
      if (taken < 0) return ended(index);
      line.sent += static_cast<std::size_t>(taken);
    }
  }

  void receive(std::size_t index) {
    Line& line = lines_[index];
    while (line.connection.is_established()) {
      const std::ptrdiff_t got = line.connection.receive(buffer_.get(), kBufferBytes);
      if (got == 0) return;
      if (got < 0) return ended(index);
      std::string_view bytes{buffer_.get(), static_cast<std::size_t>(got)};
      const bool more = tls_ != nullptr || bytes.size() == kBufferBytes;
      if (!line.partial.empty()) {
        line.partial.append(bytes);
        bytes = line.partial;
      }
      switch (line.parser.parse(bytes)) {
        case wire::http::ResponseParser::State::Complete: complete(index); break;
        case wire::http::ResponseParser::State::Error:
          tally_.error(fmt::format("not HTTP: {}", line.parser.error()));
          return broken(index);
        case wire::http::ResponseParser::State::NeedMore:
        case wire::http::ResponseParser::State::HeadComplete:
          if (line.partial.empty()) line.partial.assign(bytes);
          break;
      }
      if (!more) return;  // a short read has emptied the socket; more makes another event
    }
  }

  /// The peer has closed.
  void ended(std::size_t index) {
    Line& line = lines_[index];
    if (!line.busy) return line.connection.close();
    if (!line.partial.empty() && line.parser.close(line.partial) == wire::http::ResponseParser::State::Complete)
      return complete(index);
    if (line.partial.empty() &&
        line.used) {  // it was closed while the request was on its way: that is for us to repeat
      line.connection.close();
      return connect(index);
    }
    tally_.error("the server closed the connection without an answer");
    broken(index);
  }

  /// The request is lost; the next one goes over a new connection.
  void broken(std::size_t index) {
    Line& line = lines_[index];
    line.connection.close();
    line.partial.clear();
    line.busy = false;
    line.caller->failed();
    if (give_up()) return;
    ready(index, steady_clock::now());
  }

  bool give_up() {
    if (successes_ > 0 || tally_.errors() < kErrorsMost) return false;
    fail(tally_.first_error());
    return true;
  }

  void complete(std::size_t index) {
    Line& line = lines_[index];
    const wire::http::Response& response = line.parser.response();
    const Instant now = steady_clock::now();
    line.busy = false;
    line.used = true;
    if (response.status == 200) {
      ++successes_;
      line.caller->answered({response.body, line.begun, now}, tally_);
    } else {
      tally_.error(fmt::format("status {}: {}", response.status, response.body.substr(0, 300)));
      line.caller->failed();
      if (give_up()) return;
    }
    if (!response.keep_alive) line.connection.close();
    if (!line.partial.empty()) line.partial.clear();
    if (!line.connection.is_open()) line.parser = wire::http::ResponseParser{};
    ready(index, now);
  }

  Shared& shared_;
  const PhaseOptions& options_;
  const std::uint32_t number_;
  Workbench bench_;
  Tally tally_;
  std::unique_ptr<char[]> buffer_;
  TlsContext tls_;
  int epoll_ = -1;
  std::deque<Line> lines_;
  std::deque<std::size_t> idle_;  // open loop: lines without a request, the longest idle first
  std::optional<Pacer> pacer_;
  std::array<epoll_event, kEventsMost> events_{};
  std::uint32_t connecting_ = 0;
  std::size_t next_to_connect_ = 0;
  std::size_t done_ = 0;
  std::uint64_t successes_ = 0;
  std::string failure_;
};

}  // namespace

PhaseResult run_phase(const PhaseOptions& options, const CallerFactory& make_caller) {
  PhaseOptions used = options;
  used.threads = std::clamp<std::uint32_t>(used.threads, 1, std::max<std::uint32_t>(1, used.connections));
  Shared shared{used, make_caller};
  const bool until_done = used.duration == nanoseconds{0};
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < used.threads; ++i) workers.push_back(std::make_unique<Worker>(shared, i));
  shared.running = used.threads;

  PhaseResult result;
  Instant begin{};
  nanoseconds cpu_before{};
  const auto start_counting = [&] {
    if (!used.processes.empty()) result.before = usage_of(used.processes);
    cpu_before = own_cpu();
    begin = steady_clock::now();
    shared.counting = Counting::Now;
  };
  if (until_done) start_counting();
  std::vector<std::thread> threads;
  for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });
  const auto sleep_until = [&](auto condition, Instant until) {
    while (shared.running > 0 && !shared.failed && steady_clock::now() < until && !condition())
      std::this_thread::sleep_for(std::min<nanoseconds>(milliseconds{5}, until - steady_clock::now()));
  };
  const auto never = [] { return false; };
  if (!until_done) {
    sleep_until([&] { return shared.established >= used.connections; }, steady_clock::now() + std::chrono::minutes{2});
    sleep_until(never, steady_clock::now() + used.warm_up);
    start_counting();
    sleep_until(never, steady_clock::now() + used.duration);
    result.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
    if (!used.processes.empty()) result.after = usage_of(used.processes);
    shared.counting = Counting::Over;
  }
  for (std::thread& thread : threads) thread.join();
  if (until_done) {
    result.seconds = std::chrono::duration<double>(steady_clock::now() - begin).count();
    if (!used.processes.empty()) result.after = usage_of(used.processes);
  }
  result.own_cpu = own_cpu() - cpu_before;
  for (const std::string& name : used.steps) result.steps.push_back({name, {}});
  for (const auto& worker : workers) {
    for (std::size_t i = 0; i < result.steps.size(); ++i) {
      StepTally& sum = result.steps[i].tally;
      const StepTally& one = worker->tally().steps()[i];
      sum.latency.add(one.latency);
      sum.requests += one.requests;
      sum.messages += one.messages;
    }
    result.errors += worker->tally().errors();
    if (result.first_error.empty()) result.first_error = worker->tally().first_error();
    if (result.failure.empty()) result.failure = worker->failure();
  }
  return result;
}

namespace {

class OnceCaller final : public Caller {
 public:
  OnceCaller(std::string bytes, std::optional<std::string>& answer) : bytes_(std::move(bytes)), answer_(answer) {}
  std::optional<Call> next(Instant) override {
    if (std::exchange(asked_, true)) return std::nullopt;
    return Call{0, bytes_};
  }
  void answered(const Answer& answer, Tally&) override { answer_ = std::string{answer.body}; }

 private:
  std::string bytes_;
  std::optional<std::string>& answer_;
  bool asked_ = false;
};

}  // namespace

Result<std::string, Trouble> call_once(const Endpoint& endpoint, Action action, std::string_view body) {
  std::optional<std::string> answer;
  const PhaseResult result = run_phase({.endpoint = endpoint, .steps = {"call"}}, [&](Workbench& bench, std::uint32_t) {
    std::string bytes;
    bench.writer.append(bytes, action, body, bench.wall(steady_clock::now()));
    return std::make_unique<OnceCaller>(std::move(bytes), answer);
  });
  if (answer) return {boost::system::in_place_value, std::move(*answer)};
  return Trouble{fmt::format("{}: {}", name_of(action), result.failure.empty() ? result.first_error : result.failure)};
}

}  // namespace fanfare::bench

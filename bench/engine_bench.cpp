// What one message costs in the engine, records and replies included: send, receive in tens, delete in tens, publish.
//
//   cmake --preset release -DFANFARE_BENCH=ON && cmake --build --preset release --target bench_engine
//   build/release/bench/bench_engine
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/engine/engine.h"

namespace fanfare::engine {
namespace {

constexpr std::string_view kAccount = "000000000000";
constexpr std::string_view kRegion = "us-east-1";
constexpr QueueKeyView kQueue{kAccount, kRegion, "summarise"};
constexpr QueueKeyView kFifoQueue{kAccount, kRegion, "summarise.fifo"};
constexpr TopicKeyView kTopic{kAccount, kRegion, "doc-events"};

class World {
 public:
  World() : engine_(options()) {
    ask(CreateQueue{kQueue, {}, {}});
    CreateQueue fifo{kFifoQueue, {}, {}};
    fifo.attributes.fifo = true;
    ask(fifo);
  }

  static EngineOptions options() {
    EngineOptions options;
    options.frame = {16, 8};
    return options;
  }

  template <class Request>
  const Reply& ask(const Request& request) {
    // The shell clears once a turn; a turn holds some tens of requests.
    if (++asked_ % 32 == 0) outputs_.clear();
    now_ += milliseconds{asked_ % 16 == 0 ? 1 : 0};
    command_.caller.id = {++callers_};
    command_.caller.principal = {policy::Principal::Kind::Account, kAccount, "arn:aws:iam::000000000000:root", {}, {}};
    command_.request = request;
    input_ = command_;
    engine_.handle(input_, now_, outputs_);
    return outputs_.replies.back();
  }

  SendMessage send_request() {
    SendMessage request;
    request.queue = kQueue;
    request.message.id = MessageId{Uuid::from_random(ids_.bytes16())};
    request.message.content.body = body_;
    request.message.content.sender = "AIDAEXAMPLE";
    return request;
  }

  /// To one of 1,000 groups, by turns.
  void send_fifo() {
    SendMessage request = send_request();
    request.queue = kFifoQueue;
    const std::string group = "group-" + std::to_string(++sent_ % 1'000);
    const std::string id = std::to_string(sent_);
    request.message.content.group_id = group;
    request.message.content.deduplication_id = id;
    ask(request);
  }

  std::vector<ReceiptHandle> receive(std::int64_t max, const QueueKeyView& queue = kQueue) {
    ReceiveMessages request;
    request.queue = queue;
    request.max_messages = *queue::MaxMessages::of(max);
    std::vector<ReceiptHandle> handles;
    for (const ReceivedMessage& message : std::get<MessagesReceived>(ask(request).body).messages)
      handles.push_back(message.handle);
    return handles;
  }

  std::string body_ = std::string(400, 'x');

 private:
  Engine engine_;
  Outputs outputs_;
  Command command_;
  Input input_;
  Timestamp now_ = timestamp_from_unix_ms(1'764'500'000'000);
  std::uint64_t callers_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t sent_ = 0;
  SeededSecrets ids_{1};
};

void send(benchmark::State& state) {
  World world;
  for (auto _ : state) {
    benchmark::DoNotOptimize(world.ask(world.send_request()));
  }
}
BENCHMARK(send);

// The backlog stays at about `range` messages.
void send_receive_delete_in_tens(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) world.ask(world.send_request());
  for (auto _ : state) {
    for (int i = 0; i < 10; ++i) world.ask(world.send_request());
    const auto handles = world.receive(10);
    world.ask(DeleteMessageBatch{kQueue, handles});
  }
  state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(send_receive_delete_in_tens)->Arg(0)->Arg(1'000)->Arg(1'000'000);

void receive_in_tens(benchmark::State& state) {
  World world;
  std::vector<std::vector<ReceiptHandle>> held;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 1'000; ++i) world.ask(world.send_request());
    state.ResumeTiming();
    for (int i = 0; i < 100; ++i) held.push_back(world.receive(10));
    state.PauseTiming();
    for (const auto& handles : held) world.ask(DeleteMessageBatch{kQueue, handles});
    held.clear();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(receive_in_tens);

void delete_in_tens(benchmark::State& state) {
  World world;
  std::vector<std::vector<ReceiptHandle>> held;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 1'000; ++i) world.ask(world.send_request());
    for (int i = 0; i < 100; ++i) held.push_back(world.receive(10));
    state.ResumeTiming();
    for (const auto& handles : held) world.ask(DeleteMessageBatch{kQueue, handles});
    held.clear();
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(delete_in_tens);

void delete_one(benchmark::State& state) {
  World world;
  std::vector<std::vector<ReceiptHandle>> held;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 1'000; ++i) world.ask(world.send_request());
    for (int i = 0; i < 100; ++i) held.push_back(world.receive(10));
    state.ResumeTiming();
    for (const auto& handles : held)
      for (const ReceiptHandle& handle : handles) world.ask(DeleteMessage{kQueue, handle});
    held.clear();
  }
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(delete_one);

// A FIFO queue of 1,000 groups with a backlog of about `range` messages: receive and delete only.
void fifo_receive_delete_in_tens(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) world.send_fifo();
  std::int64_t received = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 1'000; ++i) world.send_fifo();
    state.ResumeTiming();
    for (int i = 0; i < 100; ++i) {
      const auto handles = world.receive(10, kFifoQueue);
      received += static_cast<std::int64_t>(handles.size());
      world.ask(DeleteMessageBatch{kFifoQueue, handles});
    }
  }
  state.SetItemsProcessed(received);
}
BENCHMARK(fifo_receive_delete_in_tens)->Arg(0)->Arg(10'000)->Arg(216'000);

void fifo_send(benchmark::State& state) {
  World world;
  for (auto _ : state) world.send_fifo();
}
BENCHMARK(fifo_send);

// One publication to `range` raw queues, each with the usual delivery policy.
void publish(benchmark::State& state) {
  World world;
  world.ask(CreateTopic{kTopic, {}, {}});
  SeededSecrets ids{2};
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const std::string name = "queue-" + std::to_string(i);
    const QueueKeyView key{kAccount, kRegion, name};
    CreateQueue create{key, {}, {}};
    create.attributes.policy =
        R"({"Statement":{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage",)"
        R"("Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:sns:us-east-1:000000000000:doc-events"}}}})";
    world.ask(create);
    const std::string endpoint = QueueKey{key}.arn().str();
    Subscribe subscribe;
    subscribe.topic = kTopic;
    subscribe.endpoint = endpoint;
    subscribe.attributes.raw_delivery = true;
    subscribe.fresh_uuid = {Uuid::from_random(ids.bytes16())};
    world.ask(subscribe);
  }
  Publish request;
  request.topic = kTopic;
  request.publication.content.body = world.body_;
  request.publication.content.publication.emplace();
  for (auto _ : state) {
    request.publication.content.publication->id = PublicationId{Uuid::from_random(ids.bytes16())};
    benchmark::DoNotOptimize(world.ask(request));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(publish)->Arg(1)->Arg(4)->Arg(100);

}  // namespace
}  // namespace fanfare::engine

BENCHMARK_MAIN();

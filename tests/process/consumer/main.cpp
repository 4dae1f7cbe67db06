// Makes a queue at the endpoint that the first argument names, and prints its URL.
#include <fanfare/publisher.h>
#include <fanfare/sqs.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <string>

using namespace fanfare::sdk;

namespace {

Awaitable<void> make_queue(std::shared_ptr<SqsClient> sqs, int& exit_code) {
  const auto queue = co_await sqs->create_queue("greetings", {});
  exit_code = queue ? 0 : 1;
  std::printf("%s\n", queue ? queue->c_str() : queue.error().describe().c_str());
}

}  // namespace

int main(int, char** arguments) {
  const std::string endpoint = arguments[1];
  boost::asio::io_context io;
  const auto sqs = make_sqs_client({.endpoint_url = endpoint}, static_credentials("test", "test"), http_transport(io.get_executor(), endpoint));
  int exit_code = 2;
  boost::asio::co_spawn(io, make_queue(sqs, exit_code), boost::asio::detached);
  io.run();
  return exit_code;
}

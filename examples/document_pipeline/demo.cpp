// document_pipeline_demo: the main job, all of it: a server, the topology, three workers, and real documents.
// Shows progress, checks that the totals agree, and keeps everything running for the page until Ctrl-C.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"
#include "documents.h"
#include "wire/json/value.h"

namespace {

namespace sdk = fanfare::sdk;
namespace json = fanfare::wire::json;
using namespace pipeline;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const std::vector<std::string> kWorkers{"summarise", "embed", "moderate"};

volatile sig_atomic_t stop_asked = 0;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "document_pipeline_demo: %s\n", why.c_str());
  std::exit(1);
}

// --- Processes --------------------------------------------------------------------------------------------------------

struct Child {
  pid_t pid = -1;
  int output = -1;  // read end of its standard output
};

Child start(const std::vector<std::string>& command, const std::string& log_file) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) fail("no pipe");
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) fail("no process");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // the demo's end is theirs, also when it is killed
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);  // Ctrl-C goes to the demo, which stops the others in order
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (log >= 0) ::dup2(log, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  return {pid, pipe_ends[0]};
}

std::string read_line(const Child& child, Clock::time_point deadline) {
  std::string line;
  while (Clock::now() < deadline) {
    pollfd wait{child.output, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (::poll(&wait, 1, static_cast<int>(left)) <= 0) continue;
    char c = 0;
    if (::read(child.output, &c, 1) != 1) break;
    if (c == '\n') return line;
    line.push_back(c);
  }
  return line;
}

bool has_ended(Child& child, int& status) {
  if (child.pid < 0 || ::waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
  child.pid = -1;
  return true;
}

void stop(Child& child, Clock::duration limit) {
  if (child.pid < 0) return;
  ::kill(child.pid, SIGTERM);
  const auto deadline = Clock::now() + limit;
  int status = 0;
  while (!has_ended(child, status) && Clock::now() < deadline) std::this_thread::sleep_for(20ms);
  if (child.pid >= 0) {
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, &status, 0);
    child.pid = -1;
  }
}

// --- The broker -------------------------------------------------------------------------------------------------------

template <class T>
T run(boost::asio::io_context& io, sdk::Awaitable<fanfare::Result<T, sdk::Error>> work, const std::string& what) {
  std::optional<fanfare::Result<T, sdk::Error>> outcome;
  boost::asio::co_spawn(io, std::move(work), [&](std::exception_ptr thrown, fanfare::Result<T, sdk::Error> result) {
    if (thrown) std::rethrow_exception(thrown);
    outcome = std::move(result);
  });
  io.restart();
  while (!outcome) io.run_one();
  if (!*outcome) fail(what + ": " + outcome->error().describe());
  return std::move(**outcome);
}

std::string queue_arn(const std::string& name) { return "arn:aws:sqs:us-east-1:000000000000:" + name; }

/// In the safe order: dead-letter queue, queue with its policy, then the subscription.
std::string make_topology(const std::string& endpoint) {
  boost::asio::io_context io{1};
  const Clients clients = make_clients(io, endpoint);
  const std::string topic = run(io, clients.sns->create_topic("doc-events", {}), "create topic");
  const auto add = [&](const std::string& name, const std::string& filter) {
    run(io, clients.sqs->create_queue(name + "-dlq", {}), "create queue " + name + "-dlq");
    run(io,
        clients.sqs->create_queue(
            name, {{"VisibilityTimeout", "60"},
                   {"RedrivePolicy", fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":"5"}})", queue_arn(name + "-dlq"))},
                   {"Policy", fmt::format(R"({{"Version":"2012-10-17","Statement":[{{"Sid":"doc-events","Effect":"Allow",)"
                                          R"("Principal":{{"Service":"sns.amazonaws.com"}},"Action":"sqs:SendMessage","Resource":"{}",)"
                                          R"("Condition":{{"ArnEquals":{{"aws:SourceArn":"{}"}}}}}}]}})",
                                          queue_arn(name), topic)}}),
        "create queue " + name);
    run(io, clients.sns->subscribe(topic, "sqs", queue_arn(name), {{"RawMessageDelivery", "true"}, {"FilterPolicy", filter}}), "subscribe " + name);
  };
  add("summarise", R"({"type":["document.uploaded"]})");
  add("embed", R"({"type":["document.uploaded"]})");
  add("moderate", R"({"type":["document.uploaded"],"user_generated":["true"]})");
  add("notifications", R"({"type":["document.summarised","document.embedded","document.moderated"]})");
  return topic;
}

/// GETs one JSON document; null when there is none.
class Reader {
 public:
  explicit Reader(const std::string& base) : transport_(sdk::http_transport(io_.get_executor(), base)), host_(base.substr(base.rfind('/') + 1)) {}

  json::Value get(const std::string& target, const std::string& token = {}) {
    sdk::TransportRequest request{.method = "GET", .target = target, .headers = {{"Host", host_}}, .body = {}};
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
    std::optional<fanfare::Result<sdk::TransportResponse, sdk::Error>> outcome;
    boost::asio::co_spawn(io_, transport_->send(std::move(request), 5s), [&](std::exception_ptr, fanfare::Result<sdk::TransportResponse, sdk::Error> response) {
      outcome = std::move(response);
    });
    io_.restart();
    while (!outcome) io_.run_one();
    if (!*outcome || (*outcome)->status != 200) return {};
    auto value = json::parse((*outcome)->body);
    return value ? std::move(*value) : json::Value{};
  }

 private:
  boost::asio::io_context io_{1};
  std::shared_ptr<sdk::Transport> transport_;
  std::string host_;
};

struct Counts {
  std::int64_t sent = 0, received = 0, deleted = 0, waiting = 0, dead = 0;
};
struct Snapshot {
  std::map<std::string, Counts> queues;
  std::int64_t published = 0;
  std::int64_t unread_alice = 0, unread_bob = 0;
};

std::int64_t member(const json::Value& object, std::string_view name) {
  const json::Value* value = object.find(name);
  return value ? value->as_int64().value_or(0) : 0;
}

Snapshot look(Reader& admin, Reader& edge) {
  Snapshot snapshot;
  const json::Value state = admin.get("/_fanfare/state");
  if (const json::Value* queues = state.find("queues"))
    for (const json::Value& queue : queues->items())
      snapshot.queues[std::string{queue.find_string("name").value_or("")}] = {
          member(queue, "sent"), member(queue, "received"), member(queue, "deleted"), member(queue, "visible") + member(queue, "in_flight"),
          member(queue, "dead_lettered")};
  if (const json::Value* topics = state.find("topics"))
    for (const json::Value& topic : topics->items()) snapshot.published += member(topic, "published");
  const std::string counts = "/v1/inbox/counts?workspace=documents";
  snapshot.unread_alice = member(edge.get(counts, "dev:alice:documents"), "unread");
  snapshot.unread_bob = member(edge.get(counts, "dev:bob:documents"), "unread");
  return snapshot;
}

std::int64_t results(const Snapshot& s) {
  std::int64_t sum = 0;
  for (const std::string& worker : kWorkers) sum += s.queues.count(worker) ? s.queues.at(worker).deleted : 0;
  return sum;
}

void show(const Snapshot& s, bool terminal) {
  std::string line = fmt::format("documents {:>6}", s.queues.count("summarise") ? s.queues.at("summarise").sent : 0);
  for (const std::string& worker : kWorkers)
    if (s.queues.count(worker)) line += fmt::format("   {} {}/{}", worker, s.queues.at(worker).deleted, s.queues.at(worker).sent);
  line += fmt::format("   notifications {}   alice {}   bob (away) {}", s.queues.count("notifications") ? s.queues.at("notifications").deleted : 0,
                      s.unread_alice, s.unread_bob);
  std::printf(terminal ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stdout);
}

/// Everything that must be equal at the end; what is not, in words.
std::vector<std::string> disagreements(const Snapshot& s, const json::Value& published) {
  std::vector<std::string> found;
  const auto expect = [&](const std::string& what, std::int64_t left, std::int64_t right) {
    if (left != right) found.push_back(fmt::format("{}: {} is not {}", what, left, right));
  };
  const std::int64_t documents = member(published, "published");
  const std::int64_t moderated = member(published, "user_generated");
  for (const std::string& worker : kWorkers) {
    const Counts counts = s.queues.count(worker) ? s.queues.at(worker) : Counts{};
    expect(worker + ": copies by its filter policy", counts.sent, worker == "moderate" ? moderated : documents);
    expect(worker + ": received", counts.received, counts.sent);
    expect(worker + ": deleted", counts.deleted, counts.sent);
    expect(worker + ": dead letters", counts.dead, 0);
  }
  const Counts notifications = s.queues.count("notifications") ? s.queues.at("notifications") : Counts{};
  expect("events of the topic: documents and results", s.published, documents + results(s));
  expect("notifications queue: results", notifications.sent, results(s));
  expect("notifications queue: deleted", notifications.deleted, notifications.sent);
  expect("Alice's inbox", s.unread_alice, results(s));
  expect("Bob's inbox", s.unread_bob, results(s));
  return found;
}

}  // namespace

constexpr const char* kUsage = R"(Usage: document_pipeline_demo [FOLDER...] [OPTION...]

Publishes the text documents of the folders (/usr/share/doc and /usr/share/man) once each; three workers summarise, embed
and moderate them; two people get the results, one live on a page, one later from the inbox.

  --at-most N      documents (2500)
  --once           leave when the totals agree (exit code 0) or nothing moves any more (1); otherwise Ctrl-C ends it
  --data DIR       keep data and logs there; without it a temporary folder, removed when all went well
  --listen, --edge, --admin HOST:PORT   addresses of the server (127.0.0.1:4566, :4580, :4590)
  --fanfare FILE, --programs DIR, --page DIR   where the programs and the page are
)";

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view{argv[i]} == "--help" || std::string_view{argv[i]} == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
  const Arguments arguments = Arguments::parse(argc, argv, {"fanfare", "programs", "page", "data", "at-most", "listen", "edge", "admin"}, {"once"});
  namespace fs = std::filesystem;
  const fs::path own = fs::canonical("/proc/self/exe").parent_path();
  const std::string programs = arguments.get("programs", own.string());
  const std::string fanfare = arguments.get("fanfare", (own.parent_path() / "fanfare").string());
  const bool once = arguments.flags.contains("once");
  std::vector<std::string> folders = arguments.rest;
  if (folders.empty()) folders = {"/usr/share/doc", "/usr/share/man"};
  for (const std::string& program : {fanfare, programs + "/document_worker", programs + "/publish_documents"})
    if (!fs::exists(program)) fail(program + " is missing: build first, or say --fanfare and --programs");

  fs::path data = arguments.get("data", "");
  const bool own_data = data.empty();
  if (own_data) data = fs::temp_directory_path() / fmt::format("fanfare-demo-{}", ::getpid());
  fs::create_directories(data);
  struct sigaction action{};
  action.sa_handler = [](int) { stop_asked = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);

  const std::string config = (data / "demo.yaml").string();
  if (std::FILE* file = std::fopen(config.c_str(), "w")) {
    std::fprintf(file, "inbox:\n  sources: [{queue: notifications}]\nedge:\n  files: %s\n", arguments.get("page", PIPELINE_PAGE).c_str());
    std::fclose(file);
  } else {
    fail(config + " cannot be written");
  }
  Child server = start({fanfare, "serve", "--config", config, "--data", (data / "server").string(), "--listen", arguments.get("listen", "127.0.0.1:4566"),
                        "--edge", arguments.get("edge", "127.0.0.1:4580"), "--admin", arguments.get("admin", "127.0.0.1:4590")},
                       (data / "server.log").string());
  const auto ready = json::parse(read_line(server, Clock::now() + 20s));
  if (!ready || ready->find_string("event") != "ready") {
    stop(server, 1s);
    std::string log;
    if (std::FILE* file = std::fopen((data / "server.log").c_str(), "r")) {
      char buffer[4096];
      const std::size_t got = std::fread(buffer, 1, sizeof buffer, file);
      log.assign(buffer, got);
      std::fclose(file);
    }
    fail("the server did not get ready:\n" + log);
  }
  const std::string endpoint{ready->find_string("aws").value_or("")};
  const std::string edge{ready->find_string("edge").value_or("")};
  const std::string admin{ready->find_string("admin").value_or("")};
  const std::string topic = make_topology(endpoint);
  std::vector<Child> workers;
  for (const std::string& worker : kWorkers)
    workers.push_back(start({programs + "/document_worker", worker, "--endpoint", endpoint, "--topic-arn", topic}, (data / (worker + ".log")).string()));
  std::printf("{\"event\":\"ready\",\"page\":\"%s/?admin=%s\",\"aws\":\"%s\",\"data\":\"%s\"}\n", edge.c_str(), admin.c_str(), endpoint.c_str(), data.c_str());
  std::printf("Open %s/?admin=%s : counts move, Alice gets results live, Bob is away.\n", edge.c_str(), admin.c_str());
  std::fflush(stdout);

  std::vector<std::string> publish{programs + "/publish_documents"};
  publish.insert(publish.end(), folders.begin(), folders.end());
  for (const std::string& word : {std::string{"--endpoint"}, endpoint, std::string{"--topic-arn"}, topic, std::string{"--at-most"}, arguments.get("at-most", "2500")})
    publish.push_back(word);
  const auto begin = Clock::now();
  Child publisher = start(publish, (data / "publish.log").string());

  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  Reader admin_port{admin};
  Reader edge_port{edge};
  std::optional<json::Value> published;
  std::vector<std::string> wrong{"nothing was published"};
  auto last_change = Clock::now();
  std::int64_t last_progress = -1;
  std::int64_t result_count = 0;
  int exit_code = 1;
  while (stop_asked == 0) {
    int status = 0;
    if (!published && has_ended(publisher, status)) {
      const auto totals = json::parse(read_line(publisher, Clock::now() + 1s));
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !totals) {
        wrong = {"publish_documents failed; see " + (data / "publish.log").string()};
        break;
      }
      published = std::move(*totals);
    }
    const Snapshot snapshot = look(admin_port, edge_port);
    show(snapshot, terminal);
    const std::int64_t progress = snapshot.published + results(snapshot) + snapshot.unread_alice + snapshot.unread_bob;
    if (progress != last_progress) last_change = Clock::now();
    last_progress = progress;
    result_count = results(snapshot);
    if (published) {
      wrong = disagreements(snapshot, *published);
      if (wrong.empty()) {
        exit_code = 0;
        break;
      }
      if (Clock::now() - last_change > 30s) break;  // nothing moves any more
    }
    std::this_thread::sleep_for(terminal ? 200ms : 1000ms);
  }
  if (terminal) std::printf("\n");
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  if (exit_code == 0)
    std::printf("All totals agree: %lld documents, %lld results = notifications for each of two people, in %.1f s.\n",
                static_cast<long long>(member(*published, "published")), static_cast<long long>(result_count), elapsed);
  else if (stop_asked == 0)
    for (const std::string& one : wrong) std::printf("does not agree: %s\n", one.c_str());
  std::fflush(stdout);
  if (!once && exit_code == 0 && stop_asked == 0) {
    std::printf("Everything keeps running for the page; Ctrl-C stops it.\n");
    std::fflush(stdout);
    while (stop_asked == 0) std::this_thread::sleep_for(200ms);
  }
  stop(publisher, 5s);
  for (Child& worker : workers) stop(worker, 10s);
  stop(server, 10s);
  std::error_code ignored;
  if (own_data && exit_code == 0) fs::remove_all(data, ignored);
  return stop_asked != 0 && exit_code != 0 ? 130 : exit_code;
}

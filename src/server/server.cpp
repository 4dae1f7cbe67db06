#include "server/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "api/aws/authenticator.h"
#include "journal/file/file_journal.h"
#include "journal/memory/memory_journal.h"
#include "net/tls_loop.h"
#include "server/admin_plane.h"
#include "server/data_plane.h"
#include "server/edge_plane.h"
#include "server/identities_file.h"
#include "server/http_delivery.h"
#include "server/in_process_transport.h"
#include "server/metrics.h"
#include "server/sources.h"
#include "server/thread_kind.h"
#include "server/tls_files.h"
#include "store/memory_inbox_store.h"
#include "store/sqlite_inbox_store.h"
#include "wire/json/writer.h"

namespace fanfare::server {
namespace {

enum ExitCode { kClean = 0, kElse = 1, kConfiguration = 2, kPort = 3, kDamaged = 4, kSecondSignal = 130 };

/// Thrown while starting only: what is wrong and the exit code that says so.
struct StartFailure {
  int exit_code;
  std::string reason;
};

constexpr std::size_t kUnfinishedBytesMin = std::size_t{32} << 20;  // of requests that are not whole, a loop: some of the longest
constexpr milliseconds kDrainLimit{5'000};  // answers on their way; nothing here waits longer for itself

/// Reads the secret that authenticates receipt handles, or makes it.
std::string receipt_secret(const ServeOptions& options, Secrets& secrets) {
  std::string secret(32, '\0');
  secrets.fill({reinterpret_cast<std::uint8_t*>(secret.data()), secret.size()});
  if (options.memory) return secret;
  const std::string path = options.data + "/receipt.key";
  const int existing = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (existing >= 0) {
    std::string stored(33, '\0');
    const ssize_t got = ::read(existing, stored.data(), stored.size());
    ::close(existing);
    if (got != 32) throw StartFailure{kDamaged, fmt::format("{} must hold 32 bytes; restore it, or remove it (receipt handles given out before become invalid)", path)};
    stored.resize(32);
    return stored;
  }
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int folder = ::open(options.data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool written = file >= 0 && folder >= 0 && ::write(file, secret.data(), secret.size()) == 32 && ::fsync(file) == 0 &&
                       ::rename(fresh.c_str(), path.c_str()) == 0 && ::fsync(folder) == 0;
  if (file >= 0) ::close(file);
  if (folder >= 0) ::close(folder);
  if (!written) throw StartFailure{kElse, fmt::format("{} cannot be written: {}", path, std::strerror(errno))};
  return secret;
}

/// Of the disk that the folder is or will be on; 0 if that cannot be told.
std::uint64_t disk_bytes(const std::filesystem::path& folder) {
  std::error_code failed;
  for (auto place = std::filesystem::absolute(folder, failed); !failed && !place.empty(); place = place.parent_path()) {
    const auto space = std::filesystem::space(place, failed);
    if (!failed) return space.capacity;
    if (place == place.root_path()) break;
    failed.clear();
  }
  return 0;
}

std::unique_ptr<journal::Journal> open_journal(const ServeOptions& options, Secrets& secrets, Log& log) {
  if (options.memory) return journal::make_memory_journal();
  const std::uint64_t segment_bytes = fitting_segment_bytes(options.segment_bytes, disk_bytes(options.data));
  if (segment_bytes != options.segment_bytes) log.info("journal.small_disk", {{"segment_bytes", segment_bytes}});
  auto opened = journal::open_file_journal(options.data + "/journal", secrets, {.segment_bytes = segment_bytes});
  if (!opened) {
    const journal::OpenError& error = opened.error();
    using Kind = journal::OpenError::Kind;
    throw StartFailure{error.kind == Kind::Damaged || error.kind == Kind::Version ? kDamaged : kElse, fmt::format("--data {}: {}", options.data, error.message)};
  }
  const journal::RecoveryReport& report = opened->report;
  log.info("journal.opened", {{"first", report.first.value}, {"end", report.end.value}, {"records", report.records},
                              {"torn_tail", report.tail_was_torn}, {"records_cut", report.records_cut}});
  for (const journal::Damage& damage : report.set_aside)
    log.warn("journal.set_aside", {{"file", damage.file}, {"offset", damage.byte_offset}, {"expected", damage.expected}});
  return std::move(opened->journal);
}

net::SocketAddress address_of(std::string_view flag, const std::string& text) {
  const auto host = net::HostPort::parse(text);
  if (!host) throw StartFailure{kConfiguration, fmt::format("--{} {}: {}", flag, text, net::describe(host.error()))};
  const auto resolved = net::resolve(*host);
  if (!resolved || resolved->empty())
    throw StartFailure{kPort, fmt::format("--{} {}: {}", flag, text, resolved ? "no address" : net::describe(resolved.error()))};
  return resolved->front();
}

net::LoopKind loop_kind(const ServeOptions& options) {
  return options.loop == "io_uring" ? net::LoopKind::IoUring : options.loop == "epoll" ? net::LoopKind::Epoll : net::LoopKind::Auto;
}

std::unique_ptr<net::Loop> make_loop(const ServeOptions& options, net::LoopOptions loop_options) {
  auto loop = net::make_loop(loop_kind(options), std::move(loop_options));
  if (!loop) throw StartFailure{loop.error().code == net::NetError::Code::Unsupported ? kConfiguration : kElse, loop.error().text};
  return std::move(*loop);
}

std::string refusal_text() {
  std::string text;
  const wire::http::Header headers[] = {{"Content-Type", "text/plain; charset=utf-8"}, {"Retry-After", "1"}};
  wire::http::append_response(text, 503, headers, "too many connections\n", {.keep_alive = false});
  return text;
}

/// What a plain HTTP request to a port with TLS reads.
std::string plain_reply_text() {
  std::string text;
  const wire::http::Header headers[] = {{"Content-Type", "text/plain; charset=utf-8"}};
  wire::http::append_response(text, 400, headers, "this port speaks TLS: use https://\n", {.keep_alive = false});
  return text;
}

/// Connections beyond a port's limit, or for which the system has no descriptor.
struct RefusedConnections {
  std::atomic<std::uint64_t> aws{0};
  std::atomic<std::uint64_t> edge{0};
  std::atomic<std::uint64_t> admin{0};

  void append_metrics(std::string& out) const {
    MetricsWriter writer{out};
    writer.describe("fanfare_connections_refused_total", "counter", "Connections beyond the limit of a port or of the process.");
    for (const auto& [port, count] : {std::pair{"aws", &aws}, {"edge", &edge}, {"admin", &admin}})
      writer.sample("fanfare_connections_refused_total", {{"port", port}}, count->load(std::memory_order_relaxed));
  }
};

/// A loop of a port that speaks TLS if it is configured.
std::unique_ptr<net::Loop> make_public_loop(const ServeOptions& options, const TlsFiles* tls, std::atomic<std::uint64_t>& refused) {
  auto loop = make_loop(options, {.refusal = tls == nullptr ? refusal_text() : std::string{net::kTlsRefusal}, .refused = &refused});
  if (tls == nullptr) return loop;
  return net::make_tls_loop(std::move(loop), tls->certificate(), {.plain_reply = plain_reply_text()});
}

net::Listening listen(net::Loop& loop, std::string_view flag, const net::SocketAddress& address, bool reuse_port) {
  const auto listening = loop.listen(address, {.reuse_port = reuse_port});
  if (!listening) throw StartFailure{kPort, fmt::format("--{}: {}", flag, listening.error().text)};
  return *listening;
}

/// A thread that runs a loop, and says when it has ended.
class LoopThreads {
 public:
  void start(net::Loop& loop, net::LoopHandler& handler) {
    {
      const std::lock_guard lock{mutex_};
      ++running_;
    }
    loops_.push_back(&loop);
    threads_.emplace_back([this, &loop, &handler] {
      run_as(ThreadKind::Loop);
      loop.run(handler);
      const std::lock_guard lock{mutex_};
      --running_;
      ended_.notify_all();
    });
  }
  /// False if some still run at the deadline.
  bool wait_until(Instant deadline) {
    std::unique_lock lock{mutex_};
    return ended_.wait_until(lock, deadline, [this] { return running_ == 0; });
  }
  void stop_and_join() {
    for (net::Loop* loop : loops_) loop->stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    loops_.clear();
  }
  ~LoopThreads() { stop_and_join(); }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
  std::vector<net::Loop*> loops_;
  std::vector<std::thread> threads_;
};

/// SIGTERM, SIGINT and, where it means something, SIGHUP go to the thread that waits for them; SIGPIPE to nobody.
sigset_t block_signals(const ServeOptions& options) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (options.has_tls()) sigaddset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

std::unique_ptr<store::InboxStore> open_inbox_store(const ServeOptions& options, Secrets& secrets) {
  std::uint64_t epoch = 0;
  for (const std::uint8_t byte : secrets.bytes16()) epoch = epoch << 8 ^ byte;
  epoch |= 1;  // not 0
  if (options.memory) return store::make_memory_inbox_store(epoch);
  auto opened = store::open_sqlite_inbox_store({.path = options.data + "/inbox.sqlite", .epoch_if_new = epoch, .synchronous = options.durability != "relaxed"});
  if (!opened) throw StartFailure{opened.error().kind == store::StoreErrorKind::Damaged ? kDamaged : kElse, "the inbox: " + opened.error().detail};
  return std::move(*opened);
}

struct DataLoop {
  std::unique_ptr<net::Loop> loop;
  std::unique_ptr<api::aws::Authenticator> authenticator;
  std::unique_ptr<DataPlane> plane;
};

/// Where development tokens must not work, and no other kind is configured.
class NoTokens final : public edge::TokenVerifier {
 public:
  Result<edge::Caller, edge::TokenError> verify(std::string_view, Timestamp) const override { return edge::TokenError::Unreadable; }
};

std::unique_ptr<Identities> open_identities(const ServeOptions& options, Log& log) {
  if (options.identities.empty()) return std::make_unique<Identities>();
  auto opened = Identities::open(options.identities, log);
  if (!opened) throw StartFailure{kConfiguration, "--identities " + opened.error().message};
  return std::move(*opened);
}

/// What --smtp and its companions say; nullopt without --smtp.
std::optional<MailOptions> mail_options(const ServeOptions& options) {
  if (options.smtp.empty()) return std::nullopt;
  MailOptions mail;
  mail.from = options.smtp_from;
  net::SmtpOptions& smtp = mail.smtp;
  smtp.url = options.smtp;
  smtp.name = mail.from.substr(mail.from.rfind('@') + 1);
  smtp.ca_file = options.smtp_ca_file;
  if (!options.smtp_login_file.empty()) {
    std::ifstream file{options.smtp_login_file};
    if (!std::getline(file, smtp.user) || !std::getline(file, smtp.password) || smtp.user.empty())
      throw StartFailure{kConfiguration, fmt::format("--smtp-login-file {}: expected the user on the first line and the password on the second", options.smtp_login_file)};
  } else if (const char* user = std::getenv("FANFARE_SMTP_USER"); user != nullptr && *user != '\0') {
    const char* password = std::getenv("FANFARE_SMTP_PASSWORD");
    if (password == nullptr) throw StartFailure{kConfiguration, "FANFARE_SMTP_USER is set and FANFARE_SMTP_PASSWORD is not"};
    smtp.user = user;
    smtp.password = password;
  }
  using Tls = net::SmtpOptions::Tls;
  // Development takes what a local mail catcher offers; a password goes over TLS all the same.
  smtp.tls = options.smtp_plain ? Tls::Never : options.auth == "development" && smtp.user.empty() ? Tls::IfOffered : Tls::Required;
  return mail;
}

std::unique_ptr<api::aws::Authenticator> make_authenticator(const ServeOptions& options, const api::aws::DirectorySource& directory,
                                                            const std::string& secret) {
  if (options.auth == "enforced") return std::make_unique<api::aws::EnforcedAuthenticator>(directory, secret);
  return std::make_unique<api::aws::DevelopmentAuthenticator>(api::aws::DevelopmentAuthenticator::Options{
      .account = AccountId{options.account},
      .verify_known_keys = !options.access_keys.empty(),
      .secrets = {options.access_keys.begin(), options.access_keys.end()},
      .directory = directory,
      .token_secret = secret});
}

int run(const ServeOptions& options, const sigset_t& signals, Log& log) {
  if (const auto fine = check(options); !fine) throw StartFailure{kConfiguration, fine.error()};
  const net::SocketAddress aws = address_of("listen", options.listen);
  const net::SocketAddress edge = address_of("edge", options.edge);
  const net::SocketAddress admin = address_of("admin", options.admin);
  if (options.auth == "development" && !options.allow_public_development)
    for (const auto& [flag, address] : {std::pair{"listen", aws}, {"edge", edge}, {"admin", admin}})
      if (!address.ip.is_loopback())
        throw StartFailure{kConfiguration, fmt::format("--{} {}: in development mode everybody who reaches this address is trusted; "
                                                       "listen on 127.0.0.1, or say --allow-public-development", flag, address.str())};
  if (options.allow_public_development) log.warn("server.public_development");
  if (options.policies == "off") log.warn("server.policies_off", {{"meaning", "resource policies are stored and not enforced"}});
  raise_file_limit();
  std::unique_ptr<TlsFiles> tls;  // null: plain HTTP
  if (options.has_tls()) {
    auto opened = TlsFiles::open(options.tls_certificate, options.tls_key, log);
    if (!opened) throw StartFailure{kConfiguration, opened.error()};
    tls = std::move(*opened);
  }
  const std::string scheme = tls != nullptr ? "https://" : "http://";

  OsSecrets secrets;
  if (!options.memory) {
    std::error_code error;
    std::filesystem::create_directories(options.data, error);
    if (error) throw StartFailure{kElse, fmt::format("--data {}: {}", options.data, error.message())};
  }
  Clock clock;
  BrokerOptions broker_options;
  broker_options.memory = options.memory;
  broker_options.relaxed = options.durability == "relaxed" || options.memory;
  broker_options.snapshot_bytes = options.snapshot_bytes;
  broker_options.engine.resident_bytes_max = options.memory ? engine::EngineOptions::kUnlimited : options.resident_bytes;
  broker_options.engine.enforce_resource_policies = options.policies == "full";
  auto recovered = Broker::recover(broker_options, open_journal(options, secrets, log), clock, log);
  if (!recovered) throw StartFailure{kDamaged, recovered.error()};
  Broker& broker = **recovered;

  DataPlaneOptions plane_options;
  plane_options.secure = tls != nullptr;
  plane_options.api.account = AccountId{options.account};
  plane_options.api.region = Region{options.region};
  plane_options.api.receipt_secret = receipt_secret(options, secrets);
  plane_options.on_refused = [&log, root = "arn:aws:iam::" + options.account + ":root"](const api::ReplyContext& context, std::string_view why) {
    const std::string_view who = context.principal.empty() ? std::string_view{root} : context.principal;
    log.info("request.refused", {{"service", api::aws::model_of(context.service).name},
                                 {"action", context.operation->name},
                                 {"principal", context.anonymous ? std::string_view{"anonymous"} : who},
                                 {"why", why}});
  };
  plane_options.on_unreadable = [&log](std::size_t messages) {
    log.error("journal.content_unreadable",
              {{"messages", messages}, {"meaning", "they are left out and tried again later; fanfare journal verify names them"}});
  };
  plane_options.api.explains_refusals = options.auth == "development";
  const std::unique_ptr<const Identities> identities = open_identities(options, log);
  const auto directory = [&identities] { return identities->now(); };

  auto opened_signer = EnvelopeSigner::open(options.memory ? std::string{} : options.data + "/certificates");
  if (!opened_signer) throw StartFailure{kDamaged, opened_signer.error()};
  EnvelopeSigner& signer = **opened_signer;
  plane_options.api.certificate = signer.certificate();  // alone: validators refuse a file with more than one
  plane_options.api.certificate_path = signer.certificate_path();
  plane_options.signer = &signer;
  plane_options.signing_url = options.sns_signing_url;

  std::optional<Chaos> chaos;
  if (const auto plan = FaultPlan::parse(options.chaos); plan && !options.chaos.empty()) {
    chaos.emplace(*plan, static_cast<std::uint64_t>(options.chaos_seed), log);
    plane_options.chaos = &*chaos;
    log.warn("server.chaos", {{"faults", plan->str()}, {"seed", options.chaos_seed}});
  }

  const int threads = options.threads.value_or(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 256u)));
  plane_options.unfinished_bytes_max = std::max(plane_options.unfinished_bytes_max / static_cast<std::size_t>(threads), kUnfinishedBytesMin);
  RefusedConnections refused;
  std::vector<DataLoop> data_loops;
  MetricsSampler sampler{broker};
  plane_options.sampler = &sampler;
  plane_options.api.metrics = &sampler;
  BrokerReport report{broker, clock};
  net::SocketAddress aws_bound = aws;
  for (int i = 0; i < threads; ++i) {
    DataLoop one;
    one.loop = make_public_loop(options, tls.get(), refused.aws);
    // Loops share the port, and the kernel would let another process of this user share it, too: the first one asks whether
    // it is free before it does.
    if (i == 0 && threads > 1 && aws.port != 0) one.loop->close_listener(listen(*one.loop, "listen", aws, false).id);
    const net::Listening listening = listen(*one.loop, "listen", aws_bound, threads > 1);
    aws_bound = listening.address;
    one.authenticator = make_authenticator(options, directory, plane_options.api.receipt_secret);
    one.plane = std::make_unique<DataPlane>(plane_options, broker, clock, *one.loop, *one.authenticator, i == 0);
    one.plane->set_listener(listening.id);
    report.add_counters(one.plane->counters());
    data_loops.push_back(std::move(one));
  }
  DataPlane& driver = *data_loops.front().plane;
  broker.on_nearer_deadline([&driver] { driver.look_at_deadline(); });
  log.info("server.loops", {{"count", threads}, {"kind", data_loops.front().loop->choice()}});

  std::unique_ptr<net::Loop> admin_loop = make_loop(options, {.max_connections = 1000, .refusal = refusal_text(), .refused = &refused.admin});
  const net::SocketAddress admin_bound = listen(*admin_loop, "admin", admin, false).address;
  AdminOptions admin_options;
  admin_options.development = options.auth == "development";
  admin_options.loopback = admin.ip.is_loopback();
  if (!admin_options.development && !admin_options.loopback)
    log.warn("server.public_admin", {{"address", admin.str()}, {"meaning", "whoever reaches the admin port may read metrics, state and captured messages"}});
  admin_options.movable_clock = options.clock == "manual";
  if (chaos) {
    admin_options.chaos = &*chaos;
    admin_options.queue_names = [&report] { return report.queue_names(); };
    admin_options.more_metrics.push_back([&chaos](std::string& text) { chaos->append_metrics(text); });
  }
  admin_options.clock_moves = [&sampler, &clock] { sampler.read(clock.now(), [](const metrics::History&) {}); };
  admin_options.clock_moved = [&driver] { driver.look_at_deadline(); };
  admin_options.not_ready = [&broker] { return broker.writable() ? std::string{} : std::string{"the journal cannot be written"}; };

  // The edge and what feeds it.
  store::Worker worker{open_inbox_store(options, secrets), [&clock] { return clock.now(); }};
  std::unique_ptr<net::Loop> edge_loop = make_public_loop(options, tls.get(), refused.edge);
  const net::Listening edge_listening = listen(*edge_loop, "edge", edge, false);
  EdgeOptions edge_options;
  edge_options.rules.development = options.auth == "development";
  edge_options.rules.allowed_origins = options.allowed_origins;
  edge_options.files = options.edge_files;
  const edge::DevelopmentTokens development_tokens;
  const NoTokens no_tokens;
  const edge::TokenVerifier& tokens =
      options.auth == "development" ? static_cast<const edge::TokenVerifier&>(development_tokens) : no_tokens;
  EdgePlane edge_plane{edge_options, worker, tokens, clock, *edge_loop, log};
  admin_options.more_metrics.push_back([&edge_plane](std::string& text) { edge_plane.append_metrics(text); });
  api::aws::DevelopmentAuthenticator own_authenticator{{.account = AccountId{options.account}}};
  api::ServiceOptions in_process_api = plane_options.api;
  in_process_api.metrics = nullptr;  // its requests are decoded under the broker's lock
  auto in_process = std::make_shared<InProcessTransport>(in_process_api, broker, clock, own_authenticator);
  report.add_counters(in_process->counters());
  Sources sources{options, edge_plane,
                  [&](boost::asio::any_io_executor) {
                    return sdk::make_sqs_client({.endpoint_url = "http://localhost", .region = options.region}, sdk::static_credentials("fanfare", "fanfare"), in_process);
                  },
                  log};

  HttpDeliveryOptions delivery_options;
  delivery_options.any_address = options.auth == "development";
  for (const std::string& block : options.sns_permitted) delivery_options.permitted.push_back(*net::IpBlock::parse(block));
  delivery_options.public_url = options.sns_public_url.empty() ? scheme + aws_bound.str() : options.sns_public_url;
  delivery_options.signing_url = options.sns_signing_url;
  delivery_options.ca_file = options.sns_ca_file;
  delivery_options.mail = mail_options(options);
  HttpDelivery http_delivery{delivery_options, broker, clock, signer};
  admin_options.more_metrics.push_back([&http_delivery](std::string& text) { http_delivery.append_metrics(text); });
  admin_options.more_metrics.push_back([&refused](std::string& text) { refused.append_metrics(text); });
  if (tls != nullptr) admin_options.more_metrics.push_back([&tls](std::string& text) { tls->append_metrics(text); });
  admin_options.captured = [&broker] {
    return broker.locked([](const engine::Engine& engine, const journal::Journal&) { return engine.captured_messages(); });
  };

  AdminPlane admin_plane{admin_options, &report, clock, *admin_loop};
  LoopThreads loop_threads;
  for (DataLoop& one : data_loops) loop_threads.start(*one.loop, *one.plane);
  LoopThreads side_threads;
  side_threads.start(*admin_loop, admin_plane);
  LoopThreads edge_thread;
  edge_thread.start(*edge_loop, edge_plane);
  sources.start();
  http_delivery.start();

  std::string ready;
  wire::json::Writer out{ready};
  out.begin_object().key("event").string("ready").key("aws").string(scheme + aws_bound.str());
  out.key("edge").string(scheme + edge_listening.address.str()).key("admin").string("http://" + admin_bound.str());
  out.key("pid").integer(::getpid()).end_object();
  std::printf("%s\n", ready.c_str());
  std::fflush(stdout);
  log.info("server.ready", {{"aws", aws_bound.str()}, {"edge", edge_listening.address.str()}, {"admin", admin_bound.str()}});

  int signal_number = 0;
  while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP) tls->reload();
  log.info("server.stopping", {{"signal", signal_number}});
  std::thread second_signal{[&signals] {
    int number = 0;
    while (sigwait(&signals, &number) == 0 && number == SIGHUP) {
    }
    std::_Exit(kSecondSignal);
  }};
  second_signal.detach();  // ends with the process: either here or at the end of main
  sources.stop(kDrainLimit);
  http_delivery.stop();
  edge_plane.drain();
  for (DataLoop& one : data_loops) one.plane->drain();
  const Instant drained_by = std::chrono::steady_clock::now() + kDrainLimit;
  const bool data_drained = loop_threads.wait_until(drained_by);
  const bool edge_drained = edge_thread.wait_until(drained_by);
  if (!data_drained || !edge_drained) log.warn("server.drain_incomplete");
  loop_threads.stop_and_join();
  edge_thread.stop_and_join();
  side_threads.stop_and_join();
  worker.stop();
  broker.close();
  return kClean;
}

/// One heap for all threads, which grows by the MiB. In the C library's heaps of single threads, growth is one call of
/// mprotect a page: measured, 15 in a hundred messages that stay. What is large comes from the heap, too, instead of being
/// mapped and unmapped for each request. [mallopt(3)]
void set_up_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

}  // namespace

int serve(const ServeOptions& options) {
  set_up_memory();
  const sigset_t signals = block_signals(options);
  Log log;
  try {
    return run(options, signals, log);
  } catch (const StartFailure& failure) {
    std::fprintf(stderr, "fanfare: %s\n", failure.reason.c_str());
    return failure.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fanfare: %s\n", error.what());
    return kElse;
  }
}

}  // namespace fanfare::server

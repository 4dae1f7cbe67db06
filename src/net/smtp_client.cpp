#include "net/smtp_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/assert.h"
#include "net/address.h"

namespace fanfare::net {
namespace {

constexpr milliseconds kConnectTimeout{10'000};
/// libcurl waits for the answer to the QUIT that follows a refused mail, and lets the other mails wait meanwhile.
constexpr long kQuitTimeout_s = 1;
/// Idle connections older than this are not used again: servers close them without a word.
constexpr long kIdle_s = 10;
constexpr int kPoll_ms = 1'000;

void init_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  FANFARE_ASSERT(done == CURLE_OK, curl_easy_strerror(done));
}

}  // namespace

Result<Success, std::string> check_smtp_url(std::string_view url) {
  std::string_view rest = url;
  if (rest.starts_with("smtp://")) rest.remove_prefix(7);
  else if (rest.starts_with("smtps://")) rest.remove_prefix(8);
  else return fmt::format("'{}' is no mail server; write smtp://HOST:PORT or smtps://HOST:PORT", url);
  if (rest.find('@') != std::string_view::npos)
    return std::string{"user and password do not belong into the URL, where everybody sees them"};
  if (const auto server = HostPort::parse(rest, 25); server && server->port != 0) return Success{};
  return fmt::format("'{}' is no mail server; write smtp://HOST:PORT or smtps://HOST:PORT", url);
}

class SmtpClient::Impl {
 public:
  explicit Impl(SmtpOptions options) : options_(std::move(options)) {
    init_once();
    multi_ = curl_multi_init();
    FANFARE_ASSERT(multi_ != nullptr);
    // More than are ever open, so that none has to be closed, and its QUIT waited for, to make room.
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(4 * options_.concurrency));
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() {
    stop();
    curl_multi_cleanup(multi_);
  }

  void send(SmtpMail mail, std::function<void(SmtpOutcome)> done) {
    {
      const std::lock_guard lock{mutex_};
      if (!stopping_) {
        waiting_.push_back({std::move(mail), std::move(done), std::chrono::steady_clock::now() + options_.wait_timeout});
        curl_multi_wakeup(multi_);
        return;
      }
    }
    done({SmtpOutcome::Kind::NotTried, "the client was stopped"});
  }

  void stop() {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
      // The thread may stand inside libcurl, waiting for an answer: it gets an end instead.
      for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    curl_multi_wakeup(multi_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Waiting {
    SmtpMail mail;
    std::function<void(SmtpOutcome)> done;
    Instant until;
  };
  /// What the dialogue has come to: who refuses is told by the command that was answered.
  enum class Step : std::uint8_t { Connect, Login, Sender, Recipient, Content };
  struct Attempt {
    Impl* owner = nullptr;
    CURL* easy = nullptr;
    curl_slist* recipients = nullptr;
    SmtpMail mail;
    std::function<void(SmtpOutcome)> done;
    std::size_t sent = 0;
    Step step = Step::Connect;
    bool answered = false;    ///< the server answered to the mail, not to what came before it
    bool fresh = false;       ///< not on a connection that was used before
    std::string last_answer;  ///< "550 5.1.1 no such user"
    std::array<char, CURL_ERROR_SIZE> error{};

    ~Attempt() {
      if (easy != nullptr) curl_easy_cleanup(easy);
      curl_slist_free_all(recipients);
    }
  };

  void run() {
    // libcurl's writes to a closed TLS connection must not end the process.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    while (true) {
      const bool go_on = begin_waiting();
      if (!go_on) break;
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      bool finished = false;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        finish(message->easy_handle, message->data.result);
        finished = true;
      }
      if (finished) continue;  // there is room for others
      curl_multi_poll(multi_, nullptr, 0, kPoll_ms, nullptr);
    }
    for (auto& [easy, attempt] : under_way_) {
      curl_multi_remove_handle(multi_, easy);
      attempt->done({SmtpOutcome::Kind::Cancelled, "the client was stopped"});
    }
    under_way_.clear();
    std::deque<Waiting> never;
    {
      const std::lock_guard lock{mutex_};
      never.swap(waiting_);
    }
    for (const Waiting& one : never) one.done({SmtpOutcome::Kind::NotTried, "the client was stopped"});
  }

  /// False when the client is to stop.
  bool begin_waiting() {
    std::deque<Waiting> late;
    std::deque<Waiting> next;
    {
      const std::lock_guard lock{mutex_};
      if (stopping_) return false;
      while (!waiting_.empty() && under_way_.size() + next.size() < options_.concurrency) {
        next.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
      const Instant now = std::chrono::steady_clock::now();
      while (!waiting_.empty() && waiting_.front().until <= now) {
        late.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
    }
    for (const Waiting& one : late) one.done({SmtpOutcome::Kind::NotTried, "the mail server is busy with other mails"});
    for (Waiting& one : next) begin(std::move(one));
    return true;
  }

  void begin(Waiting&& next) {
    auto attempt = std::make_unique<Attempt>();
    attempt->owner = this;
    attempt->mail = std::move(next.mail);
    attempt->done = std::move(next.done);
    start(std::move(attempt), false);
  }

  void start(std::unique_ptr<Attempt> attempt, bool on_fresh_connection) {
    attempt->easy = curl_easy_init();
    FANFARE_ASSERT(attempt->easy != nullptr);
    CURL* const easy = attempt->easy;
    attempt->recipients = curl_slist_append(nullptr, fmt::format("<{}>", attempt->mail.recipient).c_str());
    const auto set = [easy](CURLoption option, auto value) {
      const CURLcode code = curl_easy_setopt(easy, option, value);
      FANFARE_ASSERT(code == CURLE_OK, curl_easy_strerror(code));
    };
    set(CURLOPT_URL, fmt::format("{}/{}", options_.url, options_.name).c_str());
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    set(CURLOPT_PROXY, "");  // whatever the environment says
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // a name that is being resolved is not waited for
    set(CURLOPT_MAIL_FROM, fmt::format("<{}>", attempt->mail.sender).c_str());
    set(CURLOPT_MAIL_RCPT, attempt->recipients);
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(attempt->mail.content.size()));
    set(CURLOPT_READFUNCTION, &Impl::read);
    set(CURLOPT_READDATA, attempt.get());
    set(CURLOPT_WRITEFUNCTION, &Impl::ignore);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(kConnectTimeout, options_.attempt_timeout).count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.attempt_timeout.count()));
    set(CURLOPT_MAXAGE_CONN, kIdle_s);
    set(CURLOPT_FRESH_CONNECT, on_fresh_connection ? 1L : 0L);
    set(CURLOPT_ERRORBUFFER, attempt->error.data());
    set(CURLOPT_VERBOSE, 1L);  // shows the dialogue to the function
    set(CURLOPT_DEBUGFUNCTION, &Impl::listen);
    set(CURLOPT_DEBUGDATA, attempt.get());
    set(CURLOPT_OPENSOCKETFUNCTION, &Impl::open_socket);
    set(CURLOPT_OPENSOCKETDATA, this);
    set(CURLOPT_CLOSESOCKETFUNCTION, &Impl::close_socket);
    set(CURLOPT_CLOSESOCKETDATA, this);
    set(CURLOPT_PRIVATE, attempt.get());
    const bool implicit = options_.url.starts_with("smtps:");
    if (!implicit) {
      using Tls = SmtpOptions::Tls;
      set(CURLOPT_USE_SSL, static_cast<long>(options_.tls == Tls::Required ? CURLUSESSL_ALL : options_.tls == Tls::Never ? CURLUSESSL_NONE : CURLUSESSL_TRY));
    }
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    if (!options_.ca_file.empty()) {
      set(CURLOPT_CAINFO, options_.ca_file.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (!options_.user.empty()) {
      set(CURLOPT_USERNAME, options_.user.c_str());
      set(CURLOPT_PASSWORD, options_.password.c_str());
    }
    const CURLMcode added = curl_multi_add_handle(multi_, easy);
    FANFARE_ASSERT(added == CURLM_OK, curl_multi_strerror(added));
    under_way_.emplace(easy, std::move(attempt));
  }

  void finish(CURL* easy, CURLcode code) {
    const auto found = under_way_.find(easy);
    FANFARE_ASSERT(found != under_way_.end());
    std::unique_ptr<Attempt> attempt = std::move(found->second);
    under_way_.erase(found);
    long new_connections = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &new_connections);
    curl_multi_remove_handle(multi_, easy);
    bool stopping = false;
    {
      const std::lock_guard lock{mutex_};
      stopping = stopping_;
    }
    if (code == CURLE_OK) return attempt->done({SmtpOutcome::Kind::Accepted, {}});
    if (stopping) return attempt->done({SmtpOutcome::Kind::Cancelled, "the client was stopped"});
    // A kept connection that turned out to be closed before the server said anything about this mail.
    if (new_connections == 0 && !attempt->answered && !attempt->fresh && code != CURLE_OPERATION_TIMEDOUT) {
      auto again = std::make_unique<Attempt>();
      again->owner = this;
      again->mail = std::move(attempt->mail);
      again->done = std::move(attempt->done);
      again->fresh = true;
      return start(std::move(again), true);
    }
    attempt->done(outcome_of(*attempt, code));
  }

  static SmtpOutcome outcome_of(const Attempt& attempt, CURLcode code) {
    const std::string_view text = attempt.error[0] != '\0' ? std::string_view{attempt.error.data()} : std::string_view{curl_easy_strerror(code)};
    const std::string& answer = attempt.last_answer;
    const bool refusal = answer.size() >= 3 && (answer[0] == '4' || answer[0] == '5');
    if (code == CURLE_OPERATION_TIMEDOUT || !refusal) return {SmtpOutcome::Kind::Failed, std::string{text}};
    // 530, 535, 538: it wants a login or TLS first. 552: the message is too large, also when that is said to the sender.
    const bool settings = answer.starts_with("53");
    const bool about_mail = attempt.step == Step::Recipient || attempt.step == Step::Content || (attempt.step == Step::Sender && answer.starts_with("552"));
    return {answer[0] == '5' && about_mail && !settings ? SmtpOutcome::Kind::Refused : SmtpOutcome::Kind::Failed, answer};
  }

  // ---- Called by libcurl

  static std::size_t read(char* to, std::size_t size, std::size_t count, void* data) {
    auto& attempt = *static_cast<Attempt*>(data);
    const std::size_t some = std::min(size * count, attempt.mail.content.size() - attempt.sent);
    std::memcpy(to, attempt.mail.content.data() + attempt.sent, some);
    attempt.sent += some;
    return some;
  }

  static std::size_t ignore(char*, std::size_t size, std::size_t count, void*) { return size * count; }

  static int listen(CURL* easy, curl_infotype type, char* text, std::size_t size, void* data) {
    auto& attempt = *static_cast<Attempt*>(data);
    const std::string_view line{text, size};
    if (type == CURLINFO_HEADER_OUT) {
      if (line.starts_with("MAIL FROM")) attempt.step = Step::Sender;
      else if (line.starts_with("RCPT TO")) attempt.step = Step::Recipient;
      else if (line.starts_with("DATA")) attempt.step = Step::Content;
      else if (line.starts_with("QUIT")) return curl_easy_setopt(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, kQuitTimeout_s) == CURLE_OK ? 0 : 1;
      else attempt.step = Step::Login;
      attempt.last_answer.clear();
    } else if (type == CURLINFO_HEADER_IN && line.size() >= 3) {
      attempt.answered |= attempt.step >= Step::Sender;
      // The last line of several has a space behind the code; what was refused stays the answer, whatever QUIT gets.
      const bool bad = attempt.last_answer.starts_with('4') || attempt.last_answer.starts_with('5');
      if (!bad) attempt.last_answer = on_one_line(line);
    }
    return 0;
  }

  static std::string on_one_line(std::string_view line) {
    std::string text;
    for (const char c : line.substr(0, 200))
      if (c != '\r' && c != '\n') text += c >= ' ' && c <= '~' ? c : '?';
    return text;
  }

  static curl_socket_t open_socket(void* data, curlsocktype, curl_sockaddr* address) {
    auto& self = *static_cast<Impl*>(data);
    const std::lock_guard lock{self.mutex_};
    if (self.stopping_) return CURL_SOCKET_BAD;
    const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (socket >= 0) self.sockets_.insert(socket);
    return socket < 0 ? CURL_SOCKET_BAD : socket;
  }

  static int close_socket(void* data, curl_socket_t socket) {
    auto& self = *static_cast<Impl*>(data);
    const std::lock_guard lock{self.mutex_};
    self.sockets_.erase(socket);
    return ::close(socket);
  }

  // Constant after construction.
  const SmtpOptions options_;
  CURLM* multi_ = nullptr;
  // Protected by mutex_.
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  std::set<int> sockets_;
  bool stopping_ = false;
  // Owned by the thread.
  std::unordered_map<CURL*, std::unique_ptr<Attempt>> under_way_;

  std::thread thread_;
};

SmtpClient::SmtpClient(SmtpOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SmtpClient::~SmtpClient() = default;
void SmtpClient::send(SmtpMail mail, std::function<void(SmtpOutcome)> done) { impl_->send(std::move(mail), std::move(done)); }
void SmtpClient::stop() { impl_->stop(); }

}  // namespace fanfare::net

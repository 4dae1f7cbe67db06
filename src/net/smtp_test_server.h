// For tests of what sends mail: an SMTP server on blocking sockets that answers as it is told.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fanfare::net::testing {

class SmtpTestServer {
 public:
  struct Mail {
    std::string sender, recipient, content;  // content as it came, dots unstuffed
  };
  static constexpr std::string_view kHangUp = "hang up";

  /// What a command gets: "250 fine"; empty: no answer, ever; kHangUp. "CONNECT" asks for the greeting, "." for the answer to
  /// a content. Called on the connections' threads, under no lock.
  using Answer = std::function<std::string(std::string_view command)>;

  explicit SmtpTestServer(Answer answer = &SmtpTestServer::fine) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "smtp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    accepting_ = std::thread([this] { accept(); });
  }
  ~SmtpTestServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();  // after it no thread comes any more
    {
      const std::lock_guard lock{mutex_};
      for (const int peer : peers_) ::shutdown(peer, SHUT_RDWR);
    }
    for (std::thread& connection : connection_threads_) connection.join();
    ::close(listener_);
  }
  SmtpTestServer(const SmtpTestServer&) = delete;
  SmtpTestServer& operator=(const SmtpTestServer&) = delete;

  static std::string fine(std::string_view command) {
    if (command == "CONNECT") return "220 test";
    if (command == "DATA") return "354 go on";
    if (command == "QUIT") return "221 bye";
    return "250 fine";
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::vector<Mail> mails() {
    const std::lock_guard lock{mutex_};
    return mails_;
  }
  [[nodiscard]] std::vector<std::string> commands() {
    const std::lock_guard lock{mutex_};
    return commands_;
  }
  [[nodiscard]] int connections() {
    const std::lock_guard lock{mutex_};
    return connections_;
  }

 private:
  void accept() {
    for (int peer = -1; (peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const std::lock_guard lock{mutex_};
      peers_.insert(peer);
      ++connections_;
      connection_threads_.emplace_back([this, peer] {
        serve(peer);
        const std::lock_guard ended{mutex_};
        peers_.erase(peer);
        ::close(peer);
      });
    }
  }

  enum class Said { Fine, GoOn, Nothing, NoMore };
  static Said say(int peer, std::string text) {
    if (text == kHangUp) return Said::NoMore;
    if (!text.empty()) text += "\r\n";
    const bool sent = ::send(peer, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    return !sent ? Said::NoMore : text.empty() ? Said::Nothing : text.starts_with("354") ? Said::GoOn : Said::Fine;
  }

  void serve(int peer) {
    if (say(peer, answer_("CONNECT")) == Said::NoMore) return;
    std::string buffer;
    Mail mail;
    bool content = false;
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(peer, piece, sizeof piece)) > 0;) {
      buffer.append(piece, static_cast<std::size_t>(got));
      for (std::size_t end = 0; (end = buffer.find("\r\n")) != std::string::npos;) {
        std::string line = buffer.substr(0, end);
        buffer.erase(0, end + 2);
        if (content && line != ".") {
          mail.content += (line.starts_with('.') ? line.substr(1) : line) + "\r\n";
          continue;
        }
        {
          const std::lock_guard lock{mutex_};
          commands_.push_back(line);
        }
        const bool is_address = line.starts_with("MAIL FROM:") || line.starts_with("RCPT TO:");
        const std::size_t open = std::min(line.find('<'), line.size());
        if (is_address) (line[0] == 'M' ? mail.sender : mail.recipient) = line.substr(open + 1, line.find('>') - open - 1);
        const std::string answer = answer_(content ? "." : line);
        if (content && answer.starts_with('2')) {  // before the client hears of it
          const std::lock_guard lock{mutex_};
          mails_.push_back(std::exchange(mail, {}));
        }
        const Said said = say(peer, answer);
        if (said == Said::NoMore) return;
        content = said == Said::GoOn;
        if (line == "QUIT" && said != Said::Nothing) return;
      }
    }
  }

  const Answer answer_;
  std::string url_;
  int listener_ = -1;
  std::mutex mutex_;
  std::vector<Mail> mails_;
  std::vector<std::string> commands_;
  int connections_ = 0;
  std::set<int> peers_;
  std::vector<std::thread> connection_threads_;  // the accepting thread's own until it has ended
  std::thread accepting_;
};

}  // namespace fanfare::net::testing

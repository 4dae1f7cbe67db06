// The mail client against a server on the loopback interface that answers as it is told. TLS is part of the conformance tests.
#include "net/smtp_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "net/smtp_test_server.h"

namespace fanfare::net {
namespace {

using testing::SmtpTestServer;
using Kind = SmtpOutcome::Kind;

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::Accepted: return "accepted";
    case Kind::Refused: return "refused";
    case Kind::Failed: return "failed";
    case Kind::NotTried: return "not tried";
    case Kind::Cancelled: return "cancelled";
  }
  return {};
}

SmtpOptions options_for(const std::string& url) {
  SmtpOptions options;
  options.url = url;
  options.name = "client.example";
  options.tls = SmtpOptions::Tls::IfOffered;
  return options;
}

SmtpMail mail_to(std::string recipient, std::string content = "Subject: x\r\n\r\nhello\r\n") {
  return {"news@example.com", std::move(recipient), std::move(content)};
}

std::future<SmtpOutcome> send(SmtpClient& client, SmtpMail mail) {
  auto promise = std::make_shared<std::promise<SmtpOutcome>>();  // shared: a std::function is copied
  auto outcome = promise->get_future();
  client.send(std::move(mail), [promise](SmtpOutcome result) { promise->set_value(std::move(result)); });
  return outcome;
}

/// "refused: 550 no such user"
std::string sent(SmtpClient& client, SmtpMail mail) {
  const SmtpOutcome outcome = send(client, std::move(mail)).get();
  return outcome.detail.empty() ? name_of(outcome.kind) : name_of(outcome.kind) + ": " + outcome.detail;
}

/// A server that answers one command, named by its beginning, in its own way.
SmtpTestServer::Answer but(std::string command, std::string answer) {
  return [command = std::move(command), answer = std::move(answer)](std::string_view line) {
    return line.starts_with(command) ? answer : SmtpTestServer::fine(line);
  };
}

TEST(SmtpClient, HandsAMailOver) {
  SmtpTestServer server;
  SmtpClient client{options_for(server.url())};
  EXPECT_EQ(sent(client, mail_to("box@example.org", "Subject: x\r\n\r\n.\r\n..two\r\nlast\r\n")), "accepted");
  ASSERT_EQ(server.mails().size(), 1u);
  const SmtpTestServer::Mail mail = server.mails().front();
  EXPECT_EQ(mail.sender, "news@example.com");
  EXPECT_EQ(mail.recipient, "box@example.org");
  EXPECT_EQ(mail.content, "Subject: x\r\n\r\n.\r\n..two\r\nlast\r\n") << "dots are stuffed on the way";
  EXPECT_EQ(server.commands().front(), "EHLO client.example");
}

TEST(SmtpClient, KeepsItsConnection) {
  SmtpTestServer server;
  SmtpClient client{options_for(server.url())};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sent(client, mail_to("box@example.org")), "accepted");
  EXPECT_EQ(server.mails().size(), 5u);
  EXPECT_EQ(server.connections(), 1);
}

TEST(SmtpClient, AConnectionThatTheServerClosedMeanwhileIsNoFailure) {
  std::atomic<int> mails{0};
  SmtpTestServer server{[&](std::string_view line) {
    if (line.starts_with("MAIL FROM") && ++mails == 2) return std::string{SmtpTestServer::kHangUp};
    return SmtpTestServer::fine(line);
  }};
  SmtpClient client{options_for(server.url())};
  EXPECT_EQ(sent(client, mail_to("box@example.org")), "accepted");
  EXPECT_EQ(sent(client, mail_to("box@example.org")), "accepted");
  EXPECT_EQ(server.mails().size(), 2u);
  EXPECT_EQ(server.connections(), 2);
}

TEST(SmtpClient, WhatTheServerSaysOfRecipientAndMessageIsForGood) {
  for (const auto& [command, answer] : {std::pair{"RCPT TO", "550 5.1.1 no such user"}, {"RCPT TO", "552 mailbox full"}, {"DATA", "554 no"},
                                        {".", "554 5.7.1 looks like spam"}, {"MAIL FROM", "552 too large"}}) {
    SmtpTestServer server{but(command, answer)};
    SmtpClient client{options_for(server.url())};
    EXPECT_EQ(sent(client, mail_to("box@example.org")), std::string{"refused: "} + answer) << command;
  }
}

TEST(SmtpClient, WhatHindersEveryMailIsWorthAnotherTry) {
  for (const auto& [command, answer] :
       {std::pair{"CONNECT", "554 no service here"}, {"CONNECT", "421 too busy"}, {"MAIL FROM", "530 5.7.0 log in first"}, {"MAIL FROM", "550 sender unknown"},
        {"MAIL FROM", "451 later"}, {"RCPT TO", "450 4.2.0 greylisted"}, {"RCPT TO", "530 log in first"}, {".", "452 no space"}}) {
    SmtpTestServer server{but(command, answer)};
    SmtpClient client{options_for(server.url())};
    EXPECT_EQ(sent(client, mail_to("box@example.org")), std::string{"failed: "} + answer) << command;
  }
}

TEST(SmtpClient, AServerThatIsNotThereOrHangsUpIsWorthAnotherTry) {
  {
    SmtpClient client{options_for("smtp://127.0.0.1:1")};
    EXPECT_TRUE(sent(client, mail_to("box@example.org")).starts_with("failed: "));
  }
  for (const char* command : {"CONNECT", "EHLO", "MAIL FROM", "RCPT TO", "DATA", "."}) {
    SmtpTestServer server{but(command, std::string{SmtpTestServer::kHangUp})};
    SmtpClient client{options_for(server.url())};
    EXPECT_TRUE(sent(client, mail_to("box@example.org")).starts_with("failed: ")) << command;
  }
}

TEST(SmtpClient, TlsIsRequiredWhereItIsAskedFor) {
  SmtpTestServer server;
  SmtpOptions options = options_for(server.url());
  options.tls = SmtpOptions::Tls::Required;
  options.user = "me";
  options.password = "secret";
  SmtpClient client{options};
  EXPECT_TRUE(sent(client, mail_to("box@example.org")).starts_with("failed: "));
  for (const std::string& line : server.commands()) EXPECT_TRUE(line.starts_with("EHLO") || line == "QUIT") << line;
}

TEST(SmtpClient, LogsInWithItsPassword) {
  SmtpTestServer server{[](std::string_view line) -> std::string {
    if (line.starts_with("EHLO")) return "250-test\r\n250 AUTH PLAIN";
    if (line.starts_with("AUTH PLAIN")) return line == "AUTH PLAIN AG1lAHNlY3JldA==" ? "235 welcome" : line == "AUTH PLAIN" ? "334 " : "535 no";
    return line == "AG1lAHNlY3JldA==" ? "235 welcome" : SmtpTestServer::fine(line);
  }};
  SmtpOptions options = options_for(server.url());
  options.user = "me";
  options.password = "secret";
  {
    SmtpClient client{options};
    EXPECT_EQ(sent(client, mail_to("box@example.org")), "accepted");
  }
  options.password = "wrong";
  SmtpClient client{options};
  const std::string outcome = sent(client, mail_to("box@example.org"));
  EXPECT_TRUE(outcome.starts_with("failed: ")) << outcome;
  EXPECT_EQ(outcome.find("wrong"), std::string::npos) << "no password in a text for people";
}

TEST(SmtpClient, AHungServerEndsWithTheAttempt) {
  for (const char* command : {"CONNECT", "RCPT TO", "."}) {
    SmtpTestServer server{but(command, "")};
    SmtpOptions options = options_for(server.url());
    options.attempt_timeout = milliseconds{200};
    SmtpClient client{options};
    EXPECT_TRUE(sent(client, mail_to("box@example.org")).starts_with("failed: ")) << command;
  }
}

TEST(SmtpClient, AMailThatHangsHoldsUpNoOther) {
  SmtpTestServer server{but("RCPT TO:<hung@", "")};
  SmtpClient client{options_for(server.url())};
  auto hung = send(client, mail_to("hung@example.org"));
  EXPECT_EQ(sent(client, mail_to("well@example.org")), "accepted");
  client.stop();
  EXPECT_EQ(name_of(hung.get().kind), "cancelled");
}

TEST(SmtpClient, AServerThatDoesNotAnswerQuitHoldsUpNobodyForLong) {
  SmtpTestServer server{[](std::string_view line) -> std::string { return line == "QUIT" ? "" : but("RCPT TO:<bad@", "550 no")(line); }};
  SmtpOptions options = options_for(server.url());
  options.attempt_timeout = milliseconds{60'000};
  SmtpClient client{options};
  const Instant begin = std::chrono::steady_clock::now();
  EXPECT_EQ(sent(client, mail_to("bad@example.org")), "refused: 550 no");
  EXPECT_EQ(sent(client, mail_to("well@example.org")), "accepted");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{20}) << "it would be 120 s";
}

TEST(SmtpClient, MailsThatGetNoTurnAreNotTried) {
  SmtpTestServer server{but("RCPT TO:<hung@", "")};
  SmtpOptions options = options_for(server.url());
  options.concurrency = 1;
  options.wait_timeout = milliseconds{100};
  SmtpClient client{options};
  auto hung = send(client, mail_to("hung@example.org"));
  EXPECT_TRUE(sent(client, mail_to("late@example.org")).starts_with("not tried: "));
  EXPECT_TRUE(server.mails().empty());
}

TEST(SmtpClient, StopsAtOnceWhateverTheServerDoes) {
  for (const char* command : {"CONNECT", "EHLO", "DATA", ".", "QUIT"}) {
    SmtpTestServer server{but(command, "")};
    SmtpClient client{options_for(server.url())};
    auto outcome = send(client, mail_to("box@example.org"));
    if (command == std::string{"QUIT"}) outcome.wait();  // a connection that is kept, whose QUIT nobody will answer
    const Instant begin = std::chrono::steady_clock::now();
    client.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{5}) << command << ": far from the 15 s that an answer is waited for";
    EXPECT_NE(name_of(outcome.get().kind), "failed") << command;
  }
  SmtpClient client{options_for("smtp://127.0.0.1:1")};
  client.stop();
  EXPECT_TRUE(sent(client, mail_to("box@example.org")).starts_with("not tried: "));
}

TEST(SmtpUrl, NamesAServerAndNothingElse) {
  for (const std::string_view good : {"smtp://mail.example.com", "smtp://mail.example.com:587", "smtps://127.0.0.1:465", "smtp://[::1]:25"})
    EXPECT_TRUE(check_smtp_url(good)) << good;
  for (const std::string_view bad : {"", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://:25", "smtp://h:0", "smtp://h:99999", "smtp://h/path",
                                     "smtp://user:password@h", "smtp://h h", "smtp://h?x", "smtp://h\r\n"})
    EXPECT_FALSE(check_smtp_url(bad)) << bad;
}

}  // namespace
}  // namespace fanfare::net

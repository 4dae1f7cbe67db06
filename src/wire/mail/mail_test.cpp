#include "wire/mail/mail.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "wire/digest/encoding.h"

namespace fanfare::wire::mail {
namespace {

const Timestamp kAt{milliseconds{1'796'060'799'123}};

Message plain() {
  Message message;
  message.from = "news@example.com";
  message.to = "box@example.org";
  message.subject = "About";
  message.id = "7";
  message.date = kAt;
  message.body = "hello\n";
  return message;
}

std::string written(const Message& message) {
  std::string out;
  append_message(message, out);
  return out;
}

std::string value_of(const std::string& text, std::string_view name) {
  const std::size_t begin = text.find("\r\n" + std::string{name} + ": ");
  if (begin == std::string::npos) return "absent";
  std::string value;
  for (std::size_t i = begin + name.size() + 4; i < text.size(); ++i) {
    if (text.compare(i, 2, "\r\n") == 0) {
      if (text[i + 2] != ' ') break;
      ++i;
      continue;
    }
    value += text[i];
  }
  return value;
}

std::string body_of(const std::string& text) { return text.substr(text.find("\r\n\r\n") + 4); }

/// What a reader of mail sees. [RFC 2045 6.7]
std::string unquoted(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') out += text[i];
    else if (text.compare(i, 3, "=\r\n") == 0) i += 2;
    else if (i + 2 < text.size()) out += static_cast<char>(digest::hex_value(text[i + 1]) * 16 + digest::hex_value(text[i + 2])), i += 2;
  }
  return out;
}

std::string decoded_body(const std::string& text) {
  if (value_of(text, "Content-Transfer-Encoding") == "quoted-printable") return unquoted(body_of(text));
  std::string joined;
  for (const char c : body_of(text))
    if (c != '\r' && c != '\n') joined += c;
  return digest::decode_base64(joined).value_or("no base64");
}

std::string decoded_words(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t begin = text.find("=?UTF-8?B?");
    const std::size_t end = text.find("?=", begin + 10);
    out += digest::decode_base64(text.substr(begin + 10, end - begin - 10)).value_or("no base64");
    text.remove_prefix(end + 2);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return out;
}

/// Lines end in CRLF, are short enough, and are ASCII.
void expect_carried_by_smtp(const std::string& text) {
  std::size_t line = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_LT(static_cast<unsigned char>(text[i]), 0x80) << i;
    EXPECT_NE(text[i], '\0');
    EXPECT_TRUE(text[i] != '\n' || (i > 0 && text[i - 1] == '\r')) << i;
    EXPECT_TRUE(text[i] != '\r' || (i + 1 < text.size() && text[i + 1] == '\n')) << i;
    line = text[i] == '\n' ? 0 : line + 1;
    EXPECT_LE(line, 999u) << i;
  }
  EXPECT_TRUE(text.ends_with("\r\n"));
}

TEST(MailMessage, IsWrittenWithItsHeaderInOrder) {
  Message message = plain();
  message.from_name = "Orders \"EU\"";
  const Field fields[] = {{"x-id", "9"}};
  message.fields = fields;
  EXPECT_EQ(written(message),
            "Date: Mon, 30 Nov 2026 17:46:39 +0000\r\nFrom: \"Orders \\\"EU\\\"\" <news@example.com>\r\nTo: <box@example.org>\r\n"
            "Subject: About\r\nMessage-ID: <7@example.com>\r\nx-id: 9\r\nMIME-Version: 1.0\r\n"
            "Content-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nhello\r\n");
}

TEST(MailMessage, DatesAreThoseOfTheCalendar) {
  EXPECT_EQ(date_time(Timestamp{}), "Thu, 1 Jan 1970 00:00:00 +0000");
  EXPECT_EQ(date_time(Timestamp{milliseconds{951'827'696'999}}), "Tue, 29 Feb 2000 12:34:56 +0000");
}

TEST(MailMessage, SubjectsOfOtherAlphabetsAreEncodedWords) {
  Message message = plain();
  const std::string subject = "Grüße an alle, die heute länger wach sind: \xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80 und mehr";
  message.subject = subject;
  const std::string text = written(message);
  expect_carried_by_smtp(text);
  EXPECT_EQ(decoded_words(value_of(text, "Subject")), subject);
  const std::string only = value_of(text, "Subject");
  EXPECT_NE(only.find("?= =?UTF-8?B?"), std::string::npos) << "it is longer than one word: " << only;
}

TEST(MailMessage, NoValueBeginsALineOfItsOwn) {
  for (const std::string& evil : std::vector<std::string>{"a\r\nBcc: all@example.com", "a\nBcc: all@example.com", "a\rBcc: x", "a\r\n\r\nbody", std::string("a\0b", 3)}) {
    Message message = plain();
    message.subject = message.from_name = message.to = message.id = evil;
    const Field fields[] = {{"x-id", evil}};
    message.fields = fields;
    const std::string text = written(message);
    expect_carried_by_smtp(text);
    EXPECT_EQ(text.find("\nBcc"), std::string::npos) << text;
    EXPECT_EQ(body_of(text), "hello\r\n") << text;
  }
}

TEST(MailMessage, AnEncodedWordThatSomebodyGaveIsShownAsItIs) {
  Message message = plain();
  message.subject = "=?UTF-8?B?aGk=?=";
  EXPECT_EQ(decoded_words(value_of(written(message), "Subject")), "=?UTF-8?B?aGk=?=");
}

TEST(MailMessage, QuotedPrintableKeepsEveryLine) {
  Message message = plain();
  const std::string body = "a=b\r\n.\r\n.. dots \n\ttab\t\nlone \r carriage return\n" + std::string(300, 'x') + "\nü\n \nlast without end";
  message.body = body;
  const std::string text = written(message);
  expect_carried_by_smtp(text);
  EXPECT_EQ(unquoted(body_of(text)), "a=b\r\n.\r\n.. dots \r\n\ttab\t\r\nlone \r carriage return\r\n" + std::string(300, 'x') + "\r\nü\r\n \r\nlast without end\r\n");
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find("\r\n", begin)) != std::string::npos; begin = end + 2) {
    EXPECT_LE(end - begin, 76u);
    EXPECT_FALSE(end > begin && text[end - 1] == ' ') << "trailing white space is lost on the way";
  }
}

TEST(MailMessage, OtherAlphabetsTravelAsBase64) {
  Message message = plain();
  message.body = "Добрый день\nещё строка";
  const std::string text = written(message);
  expect_carried_by_smtp(text);
  EXPECT_EQ(value_of(text, "Content-Transfer-Encoding"), "base64");
  EXPECT_EQ(decoded_body(text), "Добрый день\r\nещё строка");
}

TEST(MailMessage, AnEmptyBodyIsAnEmptyBody) {
  Message message = plain();
  message.body = {};
  EXPECT_EQ(body_of(written(message)), "");
}

RC_GTEST_PROP(MailMessage, WhateverIsGivenArrives, (const std::string& subject, const std::string& name, const std::string& body)) {
  Message message = plain();
  message.subject = subject;
  message.from_name = name;
  message.body = body;
  const std::string text = written(message);
  expect_carried_by_smtp(text);
  std::string canonical;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '\n' && (i == 0 || body[i - 1] != '\r')) canonical += '\r';
    canonical += body[i];
  }
  std::string got = decoded_body(text);
  if (got.ends_with("\r\n") && !canonical.ends_with("\r\n")) got.resize(got.size() - 2);  // a text ends with its last line
  RC_ASSERT(got == canonical);
}

TEST(MailAddress, AcceptsWhatServersTake) {
  for (const std::string_view good : {"box@example.com", "a.b+tag@x-1.example", "o'neil@localhost", "!#$%&'*+-/=?^_`{|}~@e.org", "1@2.3"})
    EXPECT_TRUE(is_address(good)) << good;
  EXPECT_TRUE(is_address(std::string(64, 'a') + "@b"));
}

TEST(MailAddress, RefusesWhatIsNone) {
  for (const std::string_view bad :
       {"", "@", "a", "a@", "@b", "a@b@c", "a..b@c", ".a@c", "a.@c", "a@b..c", "a@.b", "a@b.", "a@-b", "a@b-", "a b@c", "a@b c", "a@b\r\nBcc: x@y",
        "a\n@b", "\"a b\"@c", "a@[127.0.0.1]", "ä@b", "a@ä.example", "<a@b>", "a@b,c@d", "a@b>", "a(x)@b", "a@b_c"})
    EXPECT_FALSE(is_address(bad)) << bad;
  EXPECT_FALSE(is_address(std::string_view{"a\0@b", 4}));
  EXPECT_FALSE(is_address(std::string(65, 'a') + "@b"));
  EXPECT_FALSE(is_address("a@" + std::string(64, 'b')));
  std::string long_one = "a@";
  while (long_one.size() < 260) long_one += "b.";
  EXPECT_FALSE(is_address(long_one + "b"));
}

}  // namespace
}  // namespace fanfare::wire::mail

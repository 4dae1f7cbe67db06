// URLs and form fields: parts, refusals, and texts that read back as the same.
#include "wire/http/url.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace fanfare::wire::http {

std::ostream& operator<<(std::ostream& out, UrlError error) { return out << describe(error); }

namespace {

Url url(std::string_view text) {
  const auto parsed = parse_url(text);
  if (!parsed) {
    ADD_FAILURE() << text << ": " << parsed.error();
    return {};
  }
  return *parsed;
}

TEST(ParseUrl, TakesAllPartsApart) {
  const auto all = url("HTTPS://user:pw@Example.COM:8443/a%20b/c?x=1&y=/?#top?");
  EXPECT_TRUE(all.secure);
  EXPECT_EQ(all.userinfo, "user:pw");
  EXPECT_EQ(all.host, "example.com");
  EXPECT_EQ(all.port, 8443);
  EXPECT_EQ(all.path, "/a%20b/c");
  EXPECT_EQ(all.query, "x=1&y=/?");
  EXPECT_EQ(all.target(), "/a%20b/c?x=1&y=/?");
  EXPECT_EQ(all.authority(), "example.com:8443");
  EXPECT_EQ(all.text(), "https://example.com:8443/a%20b/c?x=1&y=/?");
}

TEST(ParseUrl, FillsInWhatIsLeftOut) {
  EXPECT_EQ(url("http://h").text(), "http://h/");
  EXPECT_EQ(url("http://h").port, 80);
  EXPECT_EQ(url("https://h").port, 443);
  EXPECT_EQ(url("https://h:443/").authority(), "h");
  EXPECT_EQ(url("http://h:443/").authority(), "h:443");
  EXPECT_EQ(url("http://h:/").port, 80);
  EXPECT_EQ(url("http://h?x").target(), "/?x");
  EXPECT_EQ(url("http://h?").target(), "/?");
  EXPECT_EQ(url("http://h#f").target(), "/");
  EXPECT_EQ(url("http://a@b@h/").userinfo, "a@b");
}

TEST(ParseUrl, Ipv6StandsInBrackets) {
  const auto loopback = url("http://[::1]:4566/q");
  EXPECT_EQ(loopback.host, "::1");
  EXPECT_EQ(loopback.authority(), "[::1]:4566");
  for (const auto* host :
       {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "fe80::1:2", "::ffff:127.0.0.1", "1:2:3:4:5:6:1.2.3.4", "ABCD::"}) {
    EXPECT_TRUE(parse_url("http://[" + std::string(host) + "]/").has_value()) << host;
  }
  for (const auto* host : {"", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
                           "12345::", "g::", "::1.2.3", "::1.2.3.256", "::1.2.3.4.5", "1:2:3:4:5:6:7:1.2.3.4",
                           "1:", ":1", "1:2:3:4:5:6:7:8::", "::1%eth0", "127.0.0.1"}) {
    const auto parsed = parse_url("http://[" + std::string(host) + "]/");
    ASSERT_FALSE(parsed.has_value()) << host;
    EXPECT_EQ(parsed.error(), UrlError::BadHost) << host;
  }
}

TEST(ParseUrl, RefusesByName) {
  const std::pair<std::string_view, UrlError> cases[] = {
      {"", UrlError::NotHttp},
      {"h", UrlError::NotHttp},
      {"//h", UrlError::NotHttp},
      {"http:/h", UrlError::NotHttp},
      {"ftp://h", UrlError::NotHttp},
      {"http://", UrlError::NoHost},
      {"http:///p", UrlError::NoHost},
      {"http://:80", UrlError::NoHost},
      {"http://u@/", UrlError::NoHost},
      {"http://h\\x", UrlError::BadHost},
      {"http://a\\@h/", UrlError::BadHost},
      {"http://a,b/", UrlError::BadHost},
      {"http://a<b/", UrlError::BadHost},
      {"http://[::1/", UrlError::BadHost},
      {"http://[::1]x/", UrlError::BadHost},
      {"http://h:x/", UrlError::BadPort},
      {"http://h:0/", UrlError::BadPort},
      {"http://h:65536/", UrlError::BadPort},
      {"http://h:-1/", UrlError::BadPort},
      {"http://h:80:80/", UrlError::BadPort},
      {"http://h:99999999999999999999/", UrlError::BadPort},
      {"http://h/ ", UrlError::BadCharacter},
      {"http://h/\r\nX: y", UrlError::BadCharacter},
      {"http://h/\xc3\xa9", UrlError::BadCharacter},
      {"http://h/\x7f", UrlError::BadCharacter},
  };
  for (const auto& [text, error] : cases) {
    const auto parsed = parse_url(text);
    ASSERT_FALSE(parsed.has_value()) << text << " -> " << parsed->text();
    EXPECT_EQ(parsed.error(), error) << text;
    EXPECT_FALSE(describe(parsed.error()).empty());
  }
  EXPECT_EQ(url("http://h:65535/").port, 65535);
}

TEST(IsLoopbackHost, KnowsTheLoopbackInAllItsSpellings) {
  for (const auto* host :
       {"localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.255.0.1", "::1", "[::1]"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const auto* host :
       {"", ".", "example.com", "localhost.example.com", "notlocalhost", "128.0.0.1", "127.0.0", "127.0.0.1.1",
        "127.0.0.256", "127.0.0.1.example.com", "1.127.0.0", "::2", "127", "0127.0.0.1", "127..0.1", "-127.0.0.1"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(Form, DecodesFieldsInOrder) {
  Form form;
  const std::string text = "Action=SendMessage&MessageBody=a+b%21%26%3d&empty=&bare&&a%20b=1&=x&Action=2&q=a=b";
  ASSERT_EQ(form.parse(text), std::nullopt);
  const std::pair<std::string_view, std::string_view> expected[] = {{"Action", "SendMessage"},
                                                                    {"MessageBody", "a b!&="},
                                                                    {"empty", ""},
                                                                    {"bare", ""},
                                                                    {"a b", "1"},
                                                                    {"", "x"},
                                                                    {"Action", "2"},
                                                                    {"q", "a=b"}};
  ASSERT_EQ(form.fields().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(form.fields()[i].name, expected[i].first);
    EXPECT_EQ(form.fields()[i].value, expected[i].second);
  }
  EXPECT_EQ(form.find("Action"), "SendMessage");
  EXPECT_EQ(form.find("action"), std::nullopt);
  ASSERT_EQ(form.parse(""), std::nullopt);
  EXPECT_TRUE(form.fields().empty());
}

TEST(Form, SaysWhereAPercentSignIsBroken) {
  Form form;
  EXPECT_EQ(form.parse("a=1&b=%4"), 6u);
  EXPECT_EQ(form.parse("a=1&b=%"), 6u);
  EXPECT_EQ(form.parse("a%zz=1"), 1u);
  EXPECT_EQ(form.parse("a=%4&b=1"), 2u) << "an escape does not reach over the field's end";
  EXPECT_TRUE(form.fields().empty());
  EXPECT_EQ(form.parse("a=%41"), std::nullopt);
  EXPECT_EQ(form.find("a"), "A");
}

TEST(Form, ReadsBackWhatIsWritten) {
  EXPECT_TRUE(rc::check("round trip", [](const std::vector<std::pair<std::string, std::string>>& fields) {
    std::string text;
    for (const auto& [name, value] : fields) append_form_field(text, name, value);
    Form form;
    RC_ASSERT(form.parse(text) == std::nullopt);
    RC_ASSERT(form.fields().size() == fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      RC_ASSERT(form.fields()[i].name == fields[i].first);
      RC_ASSERT(form.fields()[i].value == fields[i].second);
    }
  }));
}

}  // namespace
}  // namespace fanfare::wire::http

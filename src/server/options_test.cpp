// What the configuration file may say and how it is refused; the clock; the metrics text.
#include "server/options.h"

#include <gtest/gtest.h>

#include <fstream>

#include "journal/test_support.h"
#include "server/clock.h"
#include "server/metrics.h"

namespace fanfare::server {
namespace {

class ConfigFile : public ::testing::Test {
 protected:
  std::string read(const std::string& text) {
    const std::string path = folder_.path() + "/fanfare.yaml";
    std::ofstream{path} << text;
    const auto read = read_config_file(path, options_);
    if (!read) return read.error().substr(path.size());
    const auto fine = check(options_);
    return fine ? "" : fine.error();
  }
  journal::TemporaryFolder folder_;
  ServeOptions options_;
};

TEST_F(ConfigFile, EveryKeyIsRead) {
  ASSERT_EQ(read(R"(
data: /tmp/x
memory: true
listen: 127.0.0.1:1
edge: {listen: "127.0.0.1:2", files: /tmp, allowed_origins: [https://app.example.com]}
admin: 127.0.0.1:3
roles: broker,live
auth: {mode: development, access_keys: {AKID: secret}}
policies: "off"
region: eu-west-1
account: "123456789012"
durability: relaxed
inbox-store: sqlite
clock: manual
loop: epoll
threads: 2
allow-public-development: true
live: {sources: [{queue: events}]}
inbox: {sources: [{queue: notices, create: true}]}
smtp: {server: "smtp://mail.example.com:587", from: news@example.com, login_file: /etc/login, ca_file: /etc/passwd, plain: true}
tls: {certificate: /etc/server.pem, key: /etc/server.key}
journal: {resident_bytes: 512KiB, segment_bytes: 2MiB, snapshot_bytes: 1GiB}
)"), "");
  EXPECT_EQ(options_.smtp, "smtp://mail.example.com:587");
  EXPECT_EQ(options_.smtp_from, "news@example.com");
  EXPECT_EQ(options_.smtp_login_file, "/etc/login");
  EXPECT_EQ(options_.smtp_ca_file, "/etc/passwd");
  EXPECT_TRUE(options_.smtp_plain);
  EXPECT_EQ(options_.tls_certificate, "/etc/server.pem");
  EXPECT_EQ(options_.tls_key, "/etc/server.key");
  EXPECT_TRUE(options_.has_tls());
  EXPECT_EQ(options_.data, "/tmp/x");
  EXPECT_TRUE(options_.memory);
  EXPECT_EQ(options_.listen, "127.0.0.1:1");
  EXPECT_EQ(options_.edge, "127.0.0.1:2");
  EXPECT_EQ(options_.edge_files, "/tmp");
  EXPECT_EQ(options_.allowed_origins, std::vector<std::string>{"https://app.example.com"});
  EXPECT_EQ(options_.admin, "127.0.0.1:3");
  EXPECT_TRUE(options_.has_role("live"));
  EXPECT_FALSE(options_.has_role("inbox"));
  EXPECT_EQ(options_.access_keys.at("AKID"), "secret");
  EXPECT_EQ(options_.policies, "off");
  EXPECT_EQ(options_.region, "eu-west-1");
  EXPECT_EQ(options_.account, "123456789012");
  EXPECT_EQ(options_.durability, "relaxed");
  EXPECT_EQ(options_.clock, "manual");
  EXPECT_EQ(options_.loop, "epoll");
  EXPECT_EQ(options_.threads, std::optional{2});
  EXPECT_TRUE(options_.allow_public_development);
  ASSERT_EQ(options_.live_sources.size(), 1u);
  EXPECT_EQ(options_.live_sources[0].queue, "events");
  ASSERT_EQ(options_.inbox_sources.size(), 1u);
  EXPECT_TRUE(options_.inbox_sources[0].create);
  EXPECT_EQ(options_.resident_bytes, 512u << 10);
  EXPECT_EQ(options_.segment_bytes, 2u << 20);
  EXPECT_EQ(options_.snapshot_bytes, 1u << 30);
}

TEST_F(ConfigFile, WhatIsNoFileIsRefused) {
  for (const auto& [path, why] : {std::pair{folder_.path(), "Is a directory"}, {folder_.path() + "/missing", "No such file or directory"}}) {
    const auto read = read_config_file(path, options_);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error(), path + ": cannot be read: " + why);
  }
}

TEST_F(ConfigFile, MailNeedsAServerAndAnAddress) {
  EXPECT_NE(read("smtp: {from: news@example.com}\n").find("--smtp: names the mail server"), std::string::npos);
  options_ = {};
  EXPECT_NE(read("smtp: smtp://mail.example.com\n").find("--smtp-from: '' is no e-mail address"), std::string::npos);
  options_ = {};
  EXPECT_NE(read("smtp: {server: \"smtp://me:secret@mail.example.com\", from: a@b}\n").find("do not belong into the URL"), std::string::npos);
  options_ = {};
  EXPECT_NE(read("smtp: {server: \"smtps://mail.example.com\", from: a@b, plain: true}\n").find("--smtp-plain"), std::string::npos);
  options_ = {};
  EXPECT_EQ(read("smtp: {server: \"smtps://mail.example.com\", from: a@b}\n"), "");
}

TEST_F(ConfigFile, AnEmptyFileAndTheShortFormsOfSectionsAreFine) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("edge: 127.0.0.1:9\nauth: development\n"), "");
  EXPECT_EQ(options_.edge, "127.0.0.1:9");
}

struct Refusal {
  const char* text;
  const char* says;
};

TEST_F(ConfigFile, WhatIsRefusedNamesLineKeyAndWhatIsAccepted) {
  const Refusal cases[] = {
      {"region: a\nreggion: b\n", ": line 2: reggion: unknown; accepted are account, admin"},
      {"journal: {bytes: 1}\n", ": line 1: journal.bytes: unknown; accepted are journal.resident_bytes"},
      {"memory: maybe\n", ": line 1: memory: 'maybe' is neither true nor false"},
      {"threads: -1\n", ": line 1: threads: '-1' is no whole number from 0 to 999999999"},
      {"threads: 1000\n", "--threads: 1000 is out of range; accepted are 1 to 256"},
      {"threads: 0\n", "--threads: 0 is out of range; accepted are 1 to 256, and without the option there is one a core"},
      {"data: ''\n", "--data: '' is no folder"},
      {"tls: {certificate: '', key: ''}\n", "line 1: tls.certificate: '' is no value; write one, or leave the key out"},
      {"identities: ''\n", "line 1: identities: '' is no value"},
      {"chaos: ''\n", "line 1: chaos: '' is no value"},
      {"sns: {ca_file: /no/such.pem}\n", "sns.ca_file /no/such.pem: expected a file of certificates in PEM"},
      {"smtp: {server: \"smtp://mail.example.com\", from: a@b, ca_file: /tmp}\n", "--smtp-ca-file /tmp: expected a file of certificates"},
      {"sns: {public_url: example.com}\n", "sns.public_url: 'example.com': "},
      {"sns: {signing_url: \"https://sns.example.com/path\"}\n", "sns.signing_url: 'https://sns.example.com/path' has more than scheme, host and port"},
      {"edge: {allowed_origins: [\"https://app.example.com/\"]}\n", "edge.allowed_origins: 'https://app.example.com/' has more"},
      {"journal:\n  segment_bytes: 64MB\n", ": line 2: journal.segment_bytes: '64MB' is no size; write 4096, 512KiB"},
      {"journal: {snapshot_bytes: 999999999999GiB}\n", "'999999999999GiB' is more than"},
      {"journal: {snapshot_bytes: 0}\n", "journal.snapshot_bytes: 0 bytes are out of range; accepted are 64KiB and more"},
      {"journal: {segment_bytes: 1}\n", "journal.segment_bytes: 1 bytes are out of range; accepted are 1MiB to 4GiB"},
      {"live: {sources: [{topic: a, queue: b}]}\n", "name either a topic or a queue"},
      {"live: {sources: [{qeue: b}]}\n", "live.sources.qeue: unknown; accepted are topic, queue, create"},
      {"live: {sources: nothing}\n", "expected a list of"},
      {"policies: some\n", "--policies: 'some' is unknown; accepted are full, off"},
      {"roles: broker,cook\n", "--roles: 'cook' is unknown; accepted are broker, live, inbox, console"},
      {"account: \"12\"\n", "accepted are 12 digits"},
      {"listen: 127.0.0.1:99999\n", "--listen 127.0.0.1:99999: "},
      {"- a\n", ": expected a map of settings"},
      {"region: [\n", ": line 2: "},
      {"region: {a: b}\n", ": line 1: region: expected one value"},
      {"region: ''\n", "--region: '' is no region; accepted are 1 to 64"},
      {"region: us east\n", "--region: 'us east' is no region; accepted are 1 to 64"},
      {"edge: {files: /no/such/folder}\n", "--edge-files: /no/such/folder is no folder"},
  };
  for (const Refusal& one : cases) {
    options_ = {};
    EXPECT_NE(read(one.text).find(one.says), std::string::npos) << one.text << "says: " << read(one.text);
  }
  options_ = {};
  EXPECT_EQ(read("roles: cook\nthreads: 0\naccount: 1\nmemory: true\n"),
            "--roles: 'cook' is unknown; accepted are broker, live, inbox, console; also --account: '1' is no account; accepted are 12 digits; also "
            "--threads: 0 is out of range; accepted are 1 to 256, and without the option there is one a core") << "all at once";
  EXPECT_NE(read_config_file(folder_.path() + "/none.yaml", options_).error().find("cannot be read"), std::string::npos);
}

TEST(SegmentBytes, AreAtMostASixteenthOfTheDisk) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(fitting_segment_bytes(64 * kMiB, 0), 64 * kMiB) << "not known";
  EXPECT_EQ(fitting_segment_bytes(64 * kMiB, 1'000'000 * kMiB), 64 * kMiB);
  EXPECT_EQ(fitting_segment_bytes(64 * kMiB, 1024 * kMiB), 64 * kMiB);
  EXPECT_EQ(fitting_segment_bytes(64 * kMiB, 1023 * kMiB), 32 * kMiB);
  EXPECT_EQ(fitting_segment_bytes(64 * kMiB, 100 * kMiB), 4 * kMiB);
  EXPECT_EQ(fitting_segment_bytes(64 * kMiB, 3 * kMiB), kMiB) << "the least that a segment has";
  EXPECT_EQ(fitting_segment_bytes(2 * kMiB, 100 * kMiB), 2 * kMiB) << "a smaller one was asked for";
}

TEST(Clock, NeverRunsBackAndNeverStandsStill) {
  Clock clock;
  const Instant start{};
  const auto ms = [&](std::int64_t system, int steady) { return unix_ms(clock.at(system, start + milliseconds{steady})); };
  EXPECT_EQ(ms(1'000'000, 0), 1'000'000);
  EXPECT_EQ(ms(1'001'000, 1'000), 1'001'000);
  EXPECT_EQ(ms(900'000, 1'000), 1'001'000) << "the system's clock was set back";
  EXPECT_EQ(ms(901'600, 2'600), 1'002'400) << "it goes on, an eighth slower";
  EXPECT_EQ(ms(1'700'000, 801'000), 1'701'000) << "until the system's clock has nearly caught up";
  EXPECT_EQ(ms(1'708'000, 809'000), 1'708'000);
  EXPECT_EQ(ms(1'709'000, 810'000), 1'709'000);
}

TEST(Clock, GoesOnBehindTheNewestTimeOfTheJournal) {
  Clock clock;
  clock.not_before(timestamp_from_unix_ms(5'000'000));
  const Instant start{};
  EXPECT_EQ(unix_ms(clock.at(1'000'000, start)), 5'000'000);
  EXPECT_EQ(unix_ms(clock.at(1'008'000, start + seconds{8})), 5'007'000);
  clock.advance(seconds{100});
  EXPECT_EQ(unix_ms(clock.at(1'008'000, start + seconds{8})), 5'107'000);
  clock.advance(seconds{10'000});
  EXPECT_EQ(unix_ms(clock.at(1'008'000, start + seconds{8})), 15'107'000);
}

TEST(Clock, IsNotMovedBeyondWhatTheJournalCanHold) {
  Clock clock;
  const milliseconds century = std::chrono::hours{24 * 36'500};
  int steps = 0;
  while (clock.advance(century)) ASSERT_LT(++steps, 100);
  EXPECT_GT(steps, 70);
  const Timestamp before = clock.now();
  EXPECT_LE(before, Clock::kEnd);
  EXPECT_FALSE(clock.advance(century));
  EXPECT_LT(clock.now(), before + century) << "nothing has happened";
  EXPECT_TRUE(clock.advance(std::chrono::seconds{1}));
}

TEST(Metrics, TextEscapesLabels) {
  std::string text;
  MetricsWriter writer{text};
  writer.describe("a_total", "counter", "Something.");
  writer.sample("a_total", {{"queue", "a\"b\\c\nd"}}, std::uint64_t{3});
  writer.sample("a_total", {}, 0.5);
  EXPECT_EQ(text, "# HELP a_total Something.\n# TYPE a_total counter\na_total{queue=\"a\\\"b\\\\c\\nd\"} 3\na_total 0.5\n");
}

}  // namespace
}  // namespace fanfare::server

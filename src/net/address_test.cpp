#include "net/address.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace fanfare::net {
namespace {

TEST(SocketAddress, ReadsWhatItWrites) {
  for (const char* text : {"127.0.0.1:4566", "[::1]:0", "0.0.0.0:65535", "[2001:db8::1]:80", "[::]:1"}) {
    const auto address = SocketAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->str(), text);
    sockaddr_storage storage{};
    EXPECT_GT(address->to_sockaddr(&storage), 0u);
    EXPECT_EQ(SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)), *address) << text;
  }
}

TEST(SocketAddress, OfAnotherFamilyIsNone) {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)), std::nullopt);
}

TEST(SocketAddress, RefusesNamesAndNonsense) {
  for (const char* bad : {"", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                          "127.0.0.1:+1", "127.0.0.1:000080", "127.1:80", "256.0.0.1:80", "01.2.3.4:80", "::1:80",
                          "[::1]", "[::1]80", "[::1", "[1.2.3.4]:80", "[::1%lo]:80", "1.2.3.4:8 ", " 1.2.3.4:8"})
    EXPECT_EQ(SocketAddress::parse(bad), std::nullopt) << bad;
}

TEST(HostPort, AcceptsNamesAndADefaultPort) {
  EXPECT_EQ(*HostPort::parse("localhost:4566"), (HostPort{"localhost", 4566}));
  EXPECT_EQ(*HostPort::parse("queue.internal", 443), (HostPort{"queue.internal", 443}));
  EXPECT_EQ(*HostPort::parse("[::1]", 443), (HostPort{"::1", 443}));
  EXPECT_EQ(HostPort::parse("[fd00::1]:80")->str(), "[fd00::1]:80");
}

TEST(HostPort, NamesWhatIsWrong) {
  const auto error_of = [](std::string_view text) { return HostPort::parse(text).error(); };
  EXPECT_EQ(error_of("localhost"), AddressError::MissingPort);
  EXPECT_EQ(error_of("localhost:http"), AddressError::BadPort);
  EXPECT_EQ(error_of("localhost:"), AddressError::BadPort);
  EXPECT_EQ(error_of(":80"), AddressError::EmptyHost);
  EXPECT_EQ(error_of("a/b:80"), AddressError::BadHost);
  EXPECT_EQ(error_of("::1"), AddressError::EmptyHost);
  EXPECT_EQ(error_of("fe80::1:80"), AddressError::BadHost);
  EXPECT_EQ(error_of(std::string(300, 'a') + ":80"), AddressError::BadHost);
  EXPECT_EQ(error_of(std::string_view{"a\0b:80", 6}), AddressError::BadHost);
  for (auto error : {AddressError::MissingPort, AddressError::BadPort, AddressError::EmptyHost, AddressError::BadHost})
    EXPECT_FALSE(describe(error).empty());
}

TEST(IpAddress, KnowsLoopbackAndUnspecified) {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(IpAddress::parse(text)->is_loopback()) << text;
  for (const char* text : {"128.0.0.1", "::2", "0.0.0.0", "::"})
    EXPECT_FALSE(IpAddress::parse(text)->is_loopback()) << text;
  for (const char* text : {"0.0.0.0", "::"}) EXPECT_TRUE(IpAddress::parse(text)->is_unspecified()) << text;
  EXPECT_FALSE(IpAddress::parse("0.0.0.1")->is_unspecified());
}

TEST(IpAddress, PublicMeansReachableOnTheInternet) {
  for (const char* text :
       {"8.8.8.8",         "1.1.1.1",        "9.255.255.255",    "11.0.0.0",       "100.63.255.255",  "100.128.0.0",
        "126.255.255.255", "128.0.0.0",      "169.253.0.1",      "169.255.0.1",    "172.15.255.255",  "172.32.0.0",
        "192.167.255.255", "192.169.0.0",    "198.17.255.255",   "198.20.0.0",     "223.255.255.255", "2606:4700::1111",
        "2a00:1450::1",    "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"})
    EXPECT_TRUE(IpAddress::parse(text)->is_public()) << text;
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "10.255.255.255",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "169.254.169.254",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:10.0.0.1",
                           "::10.0.0.1",
                           "64:ff9b::a00:1",
                           "64:ff9b:1::808:808",
                           "2002:a00:1::1",
                           "2001::1",
                           "2001:db8::1",
                           "3fff::1",
                           "fc00::1",
                           "fdff::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "100::1"})
    EXPECT_FALSE(IpAddress::parse(text)->is_public()) << text;
}

TEST(IpBlock, ContainsByPrefix) {
  const auto contains = [](const char* block, const char* address) {
    return IpBlock::parse(block)->contains(*IpAddress::parse(address));
  };
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.0.1"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("172.16.0.0/12", "172.31.255.255"));
  EXPECT_FALSE(contains("172.16.0.0/12", "172.32.0.0"));
  EXPECT_TRUE(contains("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(contains("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(contains("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
  EXPECT_TRUE(contains("fd00::/8", "fdab::1"));
  for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "fd00::/129", "localhost/8"})
    EXPECT_FALSE(IpBlock::parse(bad)) << bad;
}

TEST(Resolve, FindsLiteralsAndLocalhostAndReportsTheRest) {
  EXPECT_EQ(*resolve({"::1", 7}), (std::vector<SocketAddress>{*SocketAddress::parse("[::1]:7")}));
  const auto local = resolve({"localhost", 80});
  ASSERT_TRUE(local);
  for (const auto& address : *local) {
    EXPECT_TRUE(address.ip.is_loopback()) << address.str();
    EXPECT_EQ(address.port, 80);
  }
  EXPECT_FALSE(resolve({std::string(300, 'a'), 80}));  // longer than any name: fails without asking a name server
  for (auto error : {ResolveError::NotFound, ResolveError::Temporary, ResolveError::Failed})
    EXPECT_FALSE(describe(error).empty());
}

}  // namespace
}  // namespace fanfare::net

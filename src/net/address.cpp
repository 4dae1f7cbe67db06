#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/core.h>

namespace fanfare::net {
namespace {

constexpr std::size_t kLongestAddressText = INET6_ADDRSTRLEN;

bool in_v4(const std::uint8_t* bytes, std::uint8_t a, std::uint8_t b, std::uint8_t c, int prefix_bits) {
  const auto address =
      (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) | (std::uint32_t{bytes[2]} << 8) | bytes[3];
  const auto base = (std::uint32_t{a} << 24) | (std::uint32_t{b} << 16) | (std::uint32_t{c} << 8);
  return ((address ^ base) >> (32 - prefix_bits)) == 0;
}

// [IANA IPv4 special-purpose address registry], plus multicast.
bool is_public_v4(const std::uint8_t* bytes) {
  struct Block {
    std::uint8_t a, b, c;
    int prefix_bits;
  };
  static constexpr Block kSpecial[] = {
      {0, 0, 0, 8},     {10, 0, 0, 8},      {100, 64, 0, 10},  {127, 0, 0, 8},    {169, 254, 0, 16},
      {172, 16, 0, 12}, {192, 0, 0, 24},    {192, 0, 2, 24},   {192, 88, 99, 24}, {192, 168, 0, 16},
      {198, 18, 0, 15}, {198, 51, 100, 24}, {203, 0, 113, 24}, {224, 0, 0, 4},    {240, 0, 0, 4},
  };
  return std::none_of(std::begin(kSpecial), std::end(kSpecial), [bytes](const Block& block) {
    return in_v4(bytes, block.a, block.b, block.c, block.prefix_bits);
  });
}

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 12> kNat64Prefix = {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};

template <std::size_t N>
bool starts_with(const std::array<std::uint8_t, 16>& bytes, const std::array<std::uint8_t, N>& prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

bool is_public_v6(const std::array<std::uint8_t, 16>& bytes) {
  if (starts_with(bytes, kMappedPrefix) || starts_with(bytes, kNat64Prefix)) return is_public_v4(&bytes[12]);
  if ((bytes[0] & 0xe0) != 0x20) return false;                                // only 2000::/3 is global unicast
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return is_public_v4(&bytes[2]);   // 2002::/16, 6to4
  if (bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] < 0x02) return false;  // 2001::/23, Teredo and others
  if (bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0x0d && bytes[3] == 0xb8) return false;  // 2001:db8::/32
  return !(bytes[0] == 0x3f && bytes[1] == 0xff && (bytes[2] & 0xf0) == 0);  // 3fff::/20, documentation
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() > 5 || port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

bool is_host_name(std::string_view host) {
  if (host.size() > 253) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.empty() || text.size() >= kLongestAddressText || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  char terminated[kLongestAddressText] = {};
  std::memcpy(terminated, text.data(), text.size());
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, terminated, bytes.data()) == 1) return v4(bytes[0], bytes[1], bytes[2], bytes[3]);
  if (inet_pton(AF_INET6, terminated, bytes.data()) == 1) return v6(bytes);
  return std::nullopt;
}

bool IpAddress::is_loopback() const {
  if (!is_v6_) return bytes_[0] == 127;
  if (starts_with(bytes_, kMappedPrefix)) return bytes_[12] == 127;
  return std::all_of(bytes_.begin(), bytes_.end() - 1, [](std::uint8_t b) { return b == 0; }) && bytes_[15] == 1;
}

bool IpAddress::is_unspecified() const {
  return std::all_of(bytes_.begin(), bytes_.end(), [](std::uint8_t b) { return b == 0; });
}

bool IpAddress::is_public() const { return is_v6_ ? is_public_v6(bytes_) : is_public_v4(bytes_.data()); }

std::string IpAddress::str() const {
  char text[kLongestAddressText] = {};
  inet_ntop(is_v6_ ? AF_INET6 : AF_INET, bytes_.data(), text, sizeof text);
  return text;
}

std::optional<IpBlock> IpBlock::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto base = IpAddress::parse(text.substr(0, slash));
  if (!base) return std::nullopt;
  const int most = base->is_v6() ? 128 : 32;
  if (slash == std::string_view::npos) return IpBlock{*base, most};
  const auto bits = parse_port(text.substr(slash + 1));
  if (!bits || *bits > most) return std::nullopt;
  return IpBlock{*base, *bits};
}

bool IpBlock::contains(const IpAddress& address) const {
  if (address.is_v6() != base.is_v6()) return false;
  const auto& left = address.bytes();
  const auto& right = base.bytes();
  for (int bit = 0; bit < prefix_bits; bit += 8) {
    const auto index = static_cast<std::size_t>(bit / 8);
    const int rest = std::min(8, prefix_bits - bit);
    if (((left[index] ^ right[index]) >> (8 - rest)) != 0) return false;
  }
  return true;
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view text) {
  const auto parsed = HostPort::parse(text);
  if (!parsed) return std::nullopt;
  const auto ip = IpAddress::parse(parsed->host);
  if (!ip) return std::nullopt;
  return SocketAddress{*ip, parsed->port};
}

std::optional<SocketAddress> SocketAddress::from_sockaddr(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::uint8_t bytes[4];
    std::memcpy(bytes, &in.sin_addr, sizeof bytes);
    return SocketAddress{IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(in.sin_port)};
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return SocketAddress{IpAddress::v6(bytes), ntohs(in.sin6_port)};
  }
  return std::nullopt;
}

unsigned SocketAddress::to_sockaddr(void* storage) const {
  if (ip.is_v6()) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, ip.bytes().data(), 16);
    std::memcpy(storage, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  std::memcpy(&in.sin_addr, ip.bytes().data(), 4);
  std::memcpy(storage, &in, sizeof in);
  return sizeof in;
}

std::string SocketAddress::str() const { return HostPort{ip.str(), port}.str(); }

std::string_view describe(AddressError error) {
  switch (error) {
    case AddressError::MissingPort:
      return "the port is missing; write HOST:PORT, for example 127.0.0.1:4566 or [::1]:4566";
    case AddressError::BadPort: return "the port is not a number from 0 to 65535";
    case AddressError::EmptyHost: return "the host is missing; write HOST:PORT, for example 127.0.0.1:4566";
    case AddressError::BadHost:
      return "the host is neither a name of letters, digits, '-', '.' and '_', nor an IPv4 address, nor an IPv6 "
             "address in "
             "brackets";
  }
  return {};
}

Result<HostPort, AddressError> HostPort::parse(std::string_view text, std::optional<std::uint16_t> default_port) {
  std::string_view host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto closing = text.find(']');
    if (closing == std::string_view::npos) return AddressError::BadHost;
    host = text.substr(1, closing - 1);
    rest = text.substr(closing + 1);
    const auto ip = IpAddress::parse(host);
    if (!ip || !ip->is_v6()) return AddressError::BadHost;
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
    if (host.empty()) return AddressError::EmptyHost;
    if (!is_host_name(host) || rest.find(':', 1) != std::string_view::npos) return AddressError::BadHost;
  }
  if (rest.empty()) {
    if (!default_port) return AddressError::MissingPort;
    return HostPort{std::string{host}, *default_port};
  }
  if (rest.front() != ':') return AddressError::BadHost;
  const auto port = parse_port(rest.substr(1));
  if (!port) return AddressError::BadPort;
  return HostPort{std::string{host}, *port};
}

std::string HostPort::str() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string_view describe(ResolveError error) {
  switch (error) {
    case ResolveError::NotFound: return "the host name has no address";
    case ResolveError::Temporary: return "the name service did not answer; try again later";
    case ResolveError::Failed: return "the host name could not be resolved";
  }
  return {};
}

Result<std::vector<SocketAddress>, ResolveError> resolve(const HostPort& host) {
  if (const auto ip = IpAddress::parse(host.host)) return std::vector<SocketAddress>{{*ip, host.port}};
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  switch (getaddrinfo(host.host.c_str(), nullptr, &hints, &found)) {
    case 0: break;
    case EAI_AGAIN: return ResolveError::Temporary;
    case EAI_NONAME:
    case EAI_NODATA: return ResolveError::NotFound;
    default: return ResolveError::Failed;
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    auto address = SocketAddress::from_sockaddr(*each->ai_addr);
    if (!address) continue;
    address->port = host.port;
    addresses.push_back(*address);
  }
  freeaddrinfo(found);
  if (addresses.empty()) return ResolveError::NotFound;
  return addresses;
}

}  // namespace fanfare::net

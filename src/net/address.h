// Network addresses: HOST:PORT texts, IP addresses, and which of them are private.
// Rule 1: parsing and classification touch nothing outside; only resolve() asks the system.
// Sources: [RFC 3986 3.2.2] for brackets, [RFC 6890] and IANA's special-purpose registries for is_public().
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sockaddr;

namespace fanfare::net {

/// An IPv4 or IPv6 address. Zone ids (`%eth0`) are not kept.
class IpAddress {
 public:
  /// 0.0.0.0
  constexpr IpAddress() = default;
  static constexpr IpAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    IpAddress address;
    address.bytes_ = {a, b, c, d};
    return address;
  }
  static constexpr IpAddress v6(const std::array<std::uint8_t, 16>& bytes) {
    IpAddress address;
    address.is_v6_ = true;
    address.bytes_ = bytes;
    return address;
  }
  /// `127.0.0.1`, `::1`; without brackets. Nullopt for anything else, also for names and for `127.1`.
  static std::optional<IpAddress> parse(std::string_view text);

  [[nodiscard]] constexpr bool is_v6() const { return is_v6_; }
  /// 16 bytes in network order; an IPv4 address fills the first 4.
  [[nodiscard]] constexpr const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

  /// 127.0.0.0/8, ::1, and IPv4-mapped forms of the former.
  [[nodiscard]] bool is_loopback() const;
  /// 0.0.0.0 or ::, "every interface" when listening.
  [[nodiscard]] bool is_unspecified() const;
  /// False for everything that is not a destination on the public internet: loopback, private (10/8, 172.16/12,
  /// 192.168/16, fc00::/7), link-local (169.254/16 with the clouds' metadata services, fe80::/10), shared (100.64/10),
  /// unspecified, multicast, documentation, benchmarking and reserved blocks. IPv6 forms that lead to an IPv4 address
  /// (mapped, NAT64, 6to4) are judged by that address. The rule against server-side request forgery lets outbound
  /// requests go to public addresses only, unless configuration lists others.
  [[nodiscard]] bool is_public() const;

  /// `127.0.0.1`, `2001:db8::1` [RFC 5952].
  [[nodiscard]] std::string str() const;

  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
  bool is_v6_ = false;
  std::array<std::uint8_t, 16> bytes_{};
};

/// A block of addresses, as in a list of permitted private networks: `10.0.0.0/8`, `fd00::/8`, or one address.
struct IpBlock {
  IpAddress base;
  int prefix_bits = 0;

  static std::optional<IpBlock> parse(std::string_view text);
  [[nodiscard]] bool contains(const IpAddress& address) const;
};

/// An IP address and a TCP port.
struct SocketAddress {
  IpAddress ip;
  std::uint16_t port = 0;

  /// `127.0.0.1:4566`, `[::1]:0`. Nullopt for names; see HostPort.
  static std::optional<SocketAddress> parse(std::string_view text);
  /// Of an AF_INET or AF_INET6 address; nullopt for other families.
  static std::optional<SocketAddress> from_sockaddr(const sockaddr& address);
  /// Fills `storage` (at least a sockaddr_storage) and gives the length to pass to the system.
  unsigned to_sockaddr(void* storage) const;
  /// What parse() reads.
  [[nodiscard]] std::string str() const;

  friend constexpr auto operator<=>(const SocketAddress&, const SocketAddress&) = default;
};

enum class AddressError {
  MissingPort,  ///< No `:PORT` at the end, and no default was given.
  BadPort,      ///< The port is not a number from 0 to 65535.
  EmptyHost,    ///< Nothing before the port.
  BadHost,      ///< Not a host name of letters, digits, `-`, `.` and `_`, nor an IPv4 address, nor `[IPv6]`.
};
/// One sentence for people: what is wrong and what is accepted.
std::string_view describe(AddressError error);

/// A host name or address literal with a port, as users write it: `localhost:4566`, `[::1]:4566`, `queue.internal:80`.
struct HostPort {
  std::string host;  ///< Without brackets.
  std::uint16_t port = 0;

  /// `default_port` stands where the text has none; without it the port is required.
  static Result<HostPort, AddressError> parse(std::string_view text, std::optional<std::uint16_t> default_port = {});
  /// With brackets around an IPv6 address: `[::1]:4566`.
  [[nodiscard]] std::string str() const;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

enum class ResolveError {
  NotFound,   ///< The name has no address.
  Temporary,  ///< The name service did not answer; try again later.
  Failed,     ///< Anything else that the resolver reports.
};
std::string_view describe(ResolveError error);

/// The addresses of a host, in the order in which they should be tried. Blocks (an address literal does not): never on
/// a data-plane loop. Thread-safe.
Result<std::vector<SocketAddress>, ResolveError> resolve(const HostPort& host);

}  // namespace fanfare::net

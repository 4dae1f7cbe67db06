// The values of condition operators that are no texts: numbers, times, addresses, bytes.
// Source: [IAM condition operators].
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fanfare::policy {

/// "10", "-1.5", "1e3"; nullopt for anything else, also for NaN and infinity.
std::optional<double> parse_number(std::string_view text);

/// Milliseconds since 1970 of a time as W3C writes ISO 8601 ("2026-11", "2026-11-30", "2026-11-30T10:59Z",
/// "2026-11-30T10:59:45.5+02:00") or of seconds since 1970 ("1796036385"). Without a zone it is UTC.
std::optional<std::int64_t> parse_date(std::string_view text);

/// An address; IPv4 stands in the first four bytes. ::ffff:10.0.0.1 counts as the IPv4 address.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  bool v6 = false;
};
/// "203.0.113.7", "2001:db8::1"
std::optional<Address> parse_address(std::string_view text);

/// The addresses whose first `bits` bits are those of `address`.
struct Network {
  Address address;
  int bits = 0;
  [[nodiscard]] bool contains(const Address& other) const;
};
/// "203.0.113.0/24", "2001:db8::/32"; without a slash just that address.
std::optional<Network> parse_network(std::string_view text);

/// Base64 with its padding; nullopt if it is not that.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace fanfare::policy

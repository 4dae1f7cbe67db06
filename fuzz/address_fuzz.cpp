// Addresses from flags and configuration: whatever is accepted reads back as the same value.

#include <string_view>

#include "base/assert.h"
#include "net/address.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace fanfare::net;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto parsed = HostPort::parse(text, 80)) {
    const auto again = HostPort::parse(parsed->str());
    FANFARE_ASSERT(again.has_value() && *again == *parsed, parsed->str());
  }
  if (const auto address = SocketAddress::parse(text)) {
    FANFARE_ASSERT(SocketAddress::parse(address->str()) == *address, address->str());
    FANFARE_ASSERT(!(address->ip.is_loopback() && address->ip.is_public()), address->str());
  }
  if (const auto ip = IpAddress::parse(text)) FANFARE_ASSERT(IpAddress::parse(ip->str()) == *ip, ip->str());
  if (const auto block = IpBlock::parse(text)) FANFARE_ASSERT(block->contains(block->base), block->base.str());
  return 0;
}

// TLS in front of a data-plane loop: a Loop around another, whose listeners all speak TLS; the handler sends and receives
// plain bytes, and what loop.h promises holds but for its rule 5: an established session keeps about 14 KiB.
//
// Rule 1: plain output of a turn is encrypted once, after on_turn_end, into as few records as possible.
// Rule 2: on_accept comes before the handshake. What is sent before its end waits for it; a peer that has not finished it
//         within handshake_timeout, or needs more than 64 KiB for it, has gone (PeerReset).
// Rule 3: a failed handshake or a broken record is an abort by the peer (PeerReset); its alert is sent first.
// Rule 4: pending_bytes() and the unsent bytes of on_closed() count plain bytes, and as waiting all of what a turn wrote
//         until the kernel has taken the last of it: never too few, and never more than were queued.
// Rule 5: bytes that give no plain byte (half a record, requests for new keys) are no activity: last_activity() stays
//         where they began, and what they make us send is limited.
// Rule 6: a session that After::Flush ends, ends with close_notify. A peer's close_notify is its end of input, and so is
//         the end of its TCP stream without one: what is transported says itself where it ends.
// Source: [RFC 8446], [RFC 5246], OpenSSL 3.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/server_certificate.h"

namespace fanfare::net {

struct TlsLoopOptions {
  /// As LoopOptions::output_limit, for plain bytes.
  std::size_t output_limit = std::size_t{64} << 20;
  seconds handshake_timeout{10};
  /// What a peer reads that begins with the letter of a plain HTTP request, for example a complete `HTTP/1.1 400 ...`
  /// response; empty: the connection just ends.
  std::string plain_reply;
};

/// LoopOptions::refusal for a loop that speaks TLS: the fatal alert internal_error, which a peer reads instead of a ServerHello, so that
/// it knows of a refusal and not of a connection that broke. It is the alert for want of resources. [RFC 8446 5.1, 6.2]
inline constexpr std::string_view kTlsRefusal{"\x15\x03\x03\x00\x02\x02\x50", 7};

/// `inner` has not run yet and is used only through the result from now on. Its LoopOptions::refusal is kTlsRefusal or empty: nothing else
/// can be read by a TLS peer.
std::unique_ptr<Loop> make_tls_loop(std::unique_ptr<Loop> inner, std::shared_ptr<const ServerCertificate> certificate,
                                    TlsLoopOptions options = {});

}  // namespace fanfare::net

// Mail messages as SMTP carries them: the writer, and the check of addresses.
//
// Rule 1: no value begins a line of its own. Line ends and other control characters in names and subjects become spaces; what
//         is not printable ASCII, or looks like an encoded word, is written as encoded words.
// Rule 2: what is written is ASCII in lines of at most 998 bytes that end in CRLF, whatever the body holds.
// Source: [RFC 5321 4.1.2], [RFC 5322], [RFC 2045 6.7 and 6.8], [RFC 2047].
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace fanfare::wire::mail {

/// `box@example.com`: a dot-string of at most 64 characters and a domain of letters, digits and hyphens, 254 in all. Quoted
/// local parts, address literals and other alphabets (SMTPUTF8) are refused: few servers take them.
bool is_address(std::string_view text);

struct Field {
  std::string_view name;   ///< "x-amz-sns-message-id"; a token
  std::string_view value;
};

struct Message {
  std::string_view from;       ///< an address
  std::string_view from_name;  ///< for people; empty: none
  std::string_view to;         ///< an address
  std::string_view subject;
  std::string_view id;         ///< unique without its domain, such as a UUID; the domain is that of `from`
  Timestamp date{};
  std::span<const Field> fields;  ///< further ones
  std::string_view body;          ///< text/plain in UTF-8; its lines end in LF or CRLF
};

/// Appends header, empty line and body. Dots at the beginning of lines are left to the client.
///
///   Date: Mon, 30 Nov 2026 17:46:39 +0000
///   From: "Orders" <news@example.com>
///   To: <box@example.com>
///   Subject: =?UTF-8?B?R3LDvMOfZQ==?=
///   Message-ID: <0b9d9c0e-...@example.com>
///   MIME-Version: 1.0
///   Content-Type: text/plain; charset=UTF-8
///   Content-Transfer-Encoding: quoted-printable
void append_message(const Message& message, std::string& out);

/// "Mon, 30 Nov 2026 17:46:39 +0000" [RFC 5322 3.3]
std::string date_time(Timestamp at);

}  // namespace fanfare::wire::mail

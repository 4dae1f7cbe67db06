// What to say when a server's certificate was not accepted.
#pragma once

#include <string>

namespace fanfare::net {

/// For the end of an error's text; `verdict` as SSL_get_verify_result() gives it, empty for X509_V_OK. Where nobody vouches for the
/// certificate and the trusted ones are OpenSSL's own (`default_trust`), it also says how to name others:
/// ` (self-signed certificate; if it is to be trusted, name a PEM file with it in the environment variable SSL_CERT_FILE)`
std::string describe_untrusted(long verdict, bool default_trust);

}  // namespace fanfare::net

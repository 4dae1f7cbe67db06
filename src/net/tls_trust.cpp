#include "net/tls_trust.h"

#include <fmt/format.h>
#include <openssl/x509_vfy.h>

namespace fanfare::net {

std::string describe_untrusted(long verdict, bool default_trust) {
  if (verdict == X509_V_OK) return {};
  const bool is_unknown = verdict == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT || verdict == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
                          verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT || verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
                          verdict == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
  const char* hint = is_unknown && default_trust ? "; if it is to be trusted, name a PEM file with it in the environment variable SSL_CERT_FILE" : "";
  return fmt::format(" ({}{})", X509_verify_cert_error_string(verdict), hint);
}

}  // namespace fanfare::net

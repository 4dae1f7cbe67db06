// Steps that signer and verifier share, in the form that allocates nothing. For the files beside it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/time.h"
#include "wire/digest/digest.h"

namespace fanfare::wire::sigv4 {

using AmzDate = std::array<char, 16>;

/// amz_date without a string.
AmzDate amz_date_array(Timestamp time);

/// string_to_sign for a canonical request that is hashed already.
void append_string_to_sign(std::string& out, const digest::Sha256& canonical_hash, Timestamp time,
                           std::string_view region, std::string_view service);

}  // namespace fanfare::wire::sigv4

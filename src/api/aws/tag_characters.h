// Which characters the keys and values of tags may have. [SQS quotas: queue tag]
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fanfare::api::aws {

/// The first character that is no Unicode letter, digit or white space and none of _ . : / = + - @; nullopt: all are.
/// Bytes that are no UTF-8 count as such a character.
std::optional<std::string_view> forbidden_in_tag(std::string_view text);

}  // namespace fanfare::api::aws

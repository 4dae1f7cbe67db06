// Rules about message attributes and texts that SQS and SNS share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "wire/aws_shape/shape.h"

namespace fanfare::api::aws {

/// Whether the type is String, Number or Binary, alone or followed by a dot and a name of the caller's own.
bool is_attribute_type(std::string_view type);
inline bool is_binary_type(std::string_view type) { return type == "Binary" || type.starts_with("Binary."); }
inline bool is_number_type(std::string_view type) { return type == "Number" || type.starts_with("Number."); }

/// Whether the text is a decimal number with at most 38 significant digits, from 10^-128 to 10^126 in magnitude.
/// "17", "-1.5e10", "+.5"   [SQS message metadata]
bool is_attribute_number(std::string_view text);

/// What is wrong with an attribute's name, in AWS's words; nullopt if nothing is. At most 256 of [A-Za-z0-9_.-], no dot
/// at either end, no two in a row.
std::optional<std::string> attribute_name_fault(std::string_view name);

/// Characters, not bytes, of a text that is UTF-8.
std::size_t character_count(std::string_view text);

/// The first character that no message may hold, as AWS spells it: "#xB"; nullopt if there is none. `text` is UTF-8.
std::optional<std::string> forbidden_character(std::string_view text);

/// The deduplication id that stands for a body: its SHA-256 in lower-case hexadecimal digits, in the arena.
/// [SQS ContentBasedDeduplication]
std::string_view content_deduplication_id(std::string_view body, wire::aws::Arena& arena);

}  // namespace fanfare::api::aws

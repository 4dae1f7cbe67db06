// What a load needs to know of an answer's body, found without reading all of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/endpoint.h"

namespace fanfare::bench {

/// Appends every value of this name, wherever it stands: `"ReceiptHandle": "a\/b"`,
/// `<ReceiptHandle>a/b</ReceiptHandle>`. Only for names that no message body contains.
void find_texts(std::string_view body, Protocol protocol, std::string_view name, std::vector<std::string>& out);
std::optional<std::string> find_text(std::string_view body, Protocol protocol, std::string_view name);

/// How often the name occurs.
std::size_t count_texts(std::string_view body, Protocol protocol, std::string_view name);

/// Entries of a batch that were refused, in an answer with status 200.
std::size_t count_refused(std::string_view body, Protocol protocol);

}  // namespace fanfare::bench

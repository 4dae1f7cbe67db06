// Counts every allocation of a test program, for tests of what must not allocate.
#pragma once

#include <cstddef>

namespace fanfare::graphql {

/// Calls of operator new since the program began.
std::size_t allocation_count();

}  // namespace fanfare::graphql

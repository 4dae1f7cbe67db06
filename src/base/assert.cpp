#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace fanfare {

void assertion_failed(const char* expression, const char* file, int line, std::string_view detail) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s%s%.*s%s\n", file, line, expression, detail.empty() ? "" : " (",
               static_cast<int>(detail.size()), detail.data(), detail.empty() ? "" : ")");
  std::abort();
}

}  // namespace fanfare

// Alone in its file: a compiler that sees these beside their uses takes the pairs of new and free for mistakes.
#include "graphql/allocation_count_test.h"

#include <cstdlib>
#include <new>

namespace {
[[maybe_unused]] std::size_t allocations = 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers bring their own, and pair them
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace fanfare::graphql {

std::size_t allocation_count() { return allocations; }

}  // namespace fanfare::graphql

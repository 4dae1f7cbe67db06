// Marks lead from a branch of the code to the one test that explains it.
//
//   code:  FANFARE_MARK(outdated_receipt);            // counts that this line was reached
//   test:  EXPECT_MARKED(outdated_receipt, remove(r1));
//
// A mark costs one relaxed atomic increment; put them on rare branches only.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace fanfare::marks {

struct Mark {
  explicit Mark(const char* mark_name);
  const char* name;
  std::atomic<std::uint64_t> count{0};
  Mark* next;
};

/// How often the mark of this name was reached, over all places that carry it.
std::uint64_t count(std::string_view name);

}  // namespace fanfare::marks

#define FANFARE_MARK(mark_name)                                  \
  do {                                                           \
    static ::fanfare::marks::Mark mark_here{#mark_name};         \
    mark_here.count.fetch_add(1, std::memory_order_relaxed);     \
  } while (false)

#define EXPECT_MARKED(mark_name, ...)                                                             \
  do {                                                                                            \
    const auto marked_before = ::fanfare::marks::count(#mark_name);                               \
    __VA_ARGS__;                                                                                  \
    EXPECT_GT(::fanfare::marks::count(#mark_name), marked_before) << "not reached: " #mark_name;  \
  } while (false)

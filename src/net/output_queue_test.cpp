#include "net/output_queue.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace fanfare::net {
namespace {

std::string text_of(const iovec* pieces, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  return text;
}

TEST(OutputQueue, GathersShortPiecesIntoOne) {
  OutputQueue queue;
  queue.append("a");
  queue.adopt("b");
  queue.share(std::make_shared<std::string>("c"));
  queue.tail().append("d");
  EXPECT_EQ(queue.pending(), 4u);
  iovec pieces[8];
  ASSERT_EQ(queue.begin_write(pieces, 8), 1u);
  EXPECT_EQ(text_of(pieces, 1), "abcd");
  queue.end_write(4);
  EXPECT_EQ(queue.pending(), 0u);
  EXPECT_EQ(queue.begin_write(pieces, 8), 0u);
}

TEST(OutputQueue, LongPiecesAreNotCopied) {
  OutputQueue queue;
  const auto shared = std::make_shared<const std::string>(5000, 's');
  std::string owned(6000, 'o');
  const char* const owned_bytes = owned.data();
  queue.share(shared);
  queue.adopt(std::move(owned));
  iovec pieces[8];
  ASSERT_EQ(queue.begin_write(pieces, 8), 2u);
  EXPECT_EQ(pieces[0].iov_base, shared->data());
  EXPECT_EQ(pieces[1].iov_base, owned_bytes);
  EXPECT_EQ(shared.use_count(), 2);
  queue.end_write(5000);
  EXPECT_EQ(shared.use_count(), 1) << "a written piece is let go at once";
  EXPECT_EQ(queue.pending(), 6000u);
}

TEST(OutputQueue, PinnedBytesStayWhereTheyAre) {
  OutputQueue queue;
  queue.append("short");
  iovec pieces[1];
  ASSERT_EQ(queue.begin_write(pieces, 1), 1u);
  for (int i = 0; i < 200; ++i) {
    queue.append("more");
    queue.adopt(std::string(2000, 'x'));
  }
  EXPECT_EQ(text_of(pieces, 1), "short");
  EXPECT_EQ(queue.pending(), 5u + 200u * 2004u);
  queue.end_write(3);
  ASSERT_EQ(queue.begin_write(pieces, 1), 1u);
  EXPECT_EQ(text_of(pieces, 1), "rt");
}

TEST(OutputQueue, KeepsOneModerateBufferForTheNextUse) {
  OutputQueue queue;
  queue.append(std::string(3000, 'x'));
  const char* const bytes = queue.tail().data();
  queue.reset();
  EXPECT_EQ(queue.pending(), 0u);
  EXPECT_EQ(queue.tail().data(), bytes);
  queue.reset();
  for (int i = 0; i < 100; ++i) queue.append(std::string(100'000, 'x'));
  queue.reset();
  EXPECT_LT(queue.footprint(), 80'000u);
}

// The naive model is one string: what was appended and not yet written.
TEST(OutputQueue, EqualsOneStringUnderRandomUse) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng{seed};
    OutputQueue queue;
    std::string model;
    char next = 'a';
    for (int step = 0; step < 300; ++step) {
      const auto size = static_cast<std::size_t>(rng.between(0, rng.between(0, 3) == 0 ? 5000 : 60));
      const std::string bytes(size, next);
      next = next == 'z' ? 'a' : static_cast<char>(next + 1);
      switch (rng.between(0, 5)) {
        case 0:
          queue.append(bytes);
          model += bytes;
          break;
        case 1:
          queue.adopt(std::string{bytes});
          model += bytes;
          break;
        case 2:
          queue.share(std::make_shared<std::string>(bytes));
          model += bytes;
          break;
        case 3:
          queue.tail() += bytes;
          model += bytes;
          break;
        default: {
          iovec pieces[5];
          const auto most = static_cast<std::size_t>(rng.between(1, 5));
          const std::string pinned = text_of(pieces, queue.begin_write(pieces, most));
          ASSERT_TRUE(model.starts_with(pinned)) << "seed " << seed << " step " << step;
          ASSERT_EQ(pinned.empty(), model.empty()) << "seed " << seed << " step " << step;
          queue.append("+");
          model += '+';
          const auto written = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(pinned.size())));
          queue.end_write(written);
          model.erase(0, written);
        }
      }
      ASSERT_EQ(queue.pending(), model.size()) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace fanfare::net

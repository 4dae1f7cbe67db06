#include "core/engine/engine.h"

#include <gtest/gtest.h>

#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

using namespace std::chrono_literals;

TEST(Engine, ASentMessageIsReceivedAndDeleted) {
  EngineFixture e;
  e.create_queue("q");
  e.send("q", "hello");
  const auto got = e.receive("q");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].body, "hello");
  EXPECT_EQ(got[0].message.receive_count, 1u);
  EXPECT_EQ(got[0].message.sent_at, kStart);
  e.remove("q", got[0]);
  e.pass(1min);
  EXPECT_EQ(e.bodies("q"), "");
}

TEST(Engine, APublicationReachesItsQueues) {
  EngineFixture e;
  e.create_topic("t");
  e.create_queue_for("a", "t");
  e.create_queue_for("b", "t");
  topic::SubscriptionChanges raw;
  raw.raw_delivery = true;
  e.subscribe("t", "a", raw);
  e.subscribe("t", "b");
  const Published published = e.publish("t", "hello");
  const auto a = e.receive("a");
  const auto b = e.receive("b");
  ASSERT_EQ(a.size(), 1u);
  ASSERT_EQ(b.size(), 1u);
  EXPECT_EQ(a[0].body, "hello");
  EXPECT_FALSE(a[0].message.envelope.has_value());
  EXPECT_TRUE(b[0].message.envelope.has_value());
  EXPECT_NE(a[0].message.id, b[0].message.id);
  EXPECT_EQ(a[0].message.position, b[0].message.position) << "one content for both";
  const auto view = message::ContentView::decode(a[0].content);
  ASSERT_TRUE(view && view->publication());
  EXPECT_EQ(view->publication()->id, published.id);
}

TEST(Engine, AReplayedLogGivesTheSameMessages) {
  EngineFixture e;
  e.create_queue("q");
  e.send("q", "one");
  e.send("q", "two");
  EXPECT_EQ(e.bodies("q", 1), "one");
  EngineFixture other = e.replayed(2);
  EXPECT_EQ(other.bodies("q"), "two");
  other.pass(30s);
  EXPECT_EQ(other.bodies("q"), "one,two");
}

}  // namespace
}  // namespace fanfare::engine

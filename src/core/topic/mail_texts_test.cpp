#include "core/topic/mail_texts.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

TEST(MailTexts, AConfirmationNamesTheTopicAndHasItsLinkOnALineOfItsOwn) {
  const std::string body = confirmation_body("arn:aws:sns:us-east-1:000000000000:t", "http://h/?Token=1");
  EXPECT_TRUE(body.starts_with("You have chosen to subscribe to the topic:\narn:aws:sns:us-east-1:000000000000:t\n")) << body;
  EXPECT_NE(body.find("\nhttp://h/?Token=1\n"), std::string::npos) << body;
}

TEST(MailTexts, ANotificationIsTheMessageAndTheLinkThatUnsubscribes) {
  const std::string body = notification_body("hello", "http://h/?Action=Unsubscribe");
  EXPECT_TRUE(body.starts_with("hello\n\n--\n")) << body;
  EXPECT_NE(body.find("\nhttp://h/?Action=Unsubscribe\n"), std::string::npos) << body;
  EXPECT_EQ(notification_subject("About"), "About");
  EXPECT_EQ(notification_subject(""), "AWS Notification Message");
}

}  // namespace
}  // namespace fanfare::topic

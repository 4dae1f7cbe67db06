#include "core/topic/mail_texts.h"

#include <fmt/format.h>

namespace fanfare::topic {

std::string_view confirmation_subject() { return "AWS Notification - Subscription Confirmation"; }

std::string confirmation_body(std::string_view topic_arn, std::string_view subscribe_url) {
  return fmt::format(
      "You have chosen to subscribe to the topic:\n{}\n\n"
      "To confirm this subscription, click or visit the link below (If this was in error no action is necessary):\n{}\n\n"
      "Nobody reads answers to this mail. The link is valid for two days.\n",
      topic_arn, subscribe_url);
}

std::string_view notification_subject(std::string_view subject) { return subject.empty() ? "AWS Notification Message" : subject; }

std::string notification_body(std::string_view message, std::string_view unsubscribe_url) {
  return fmt::format(
      "{}\n\n--\nIf you wish to stop receiving notifications from this topic, please click or visit the link below to unsubscribe:\n"
      "{}\n\nNobody reads answers to this mail.\n",
      message, unsubscribe_url);
}

}  // namespace fanfare::topic

// What people read in the mails of a topic: subjects and bodies. [SNS e-mail notifications]
// Subjects, and the words in which AWS asks for a confirmation and offers to unsubscribe, are AWS's; the rest is our own.
#pragma once

#include <string>
#include <string_view>

namespace fanfare::topic {

/// "AWS Notification - Subscription Confirmation", of e-mail and email-json.
std::string_view confirmation_subject();
/// "You have chosen to subscribe to the topic ..", with the link that confirms.
std::string confirmation_body(std::string_view topic_arn, std::string_view subscribe_url);

/// The publication's subject, or "AWS Notification Message" where it has none.
std::string_view notification_subject(std::string_view subject);
/// The message, and below a line of two hyphens the link that unsubscribes.
std::string notification_body(std::string_view message, std::string_view unsubscribe_url);

}  // namespace fanfare::topic

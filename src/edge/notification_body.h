// JSON of notifications: what callers send (an Intent), and how an item is shown.
//
//   {"idempotency_key":"job-7/done","recipient":"alice","workspace":"docs","kind":"document.ready","object_id":"d-7",
//    "revision":"3","data":{"pages":12},"expires_at":"2026-12-01T00:00:00Z"}   ("recipients":[..] for several)
//
//   {"id":"8f2c...","sequence":41,"workspace":"docs","kind":"document.ready","object_id":"d-7","revision":"3",
//    "data":{"pages":12},"created_at":"2026-11-30T10:59:45.123Z","seen":false,"read":false,"archived":false}
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/inbox/input.h"
#include "core/inbox/notification.h"
#include "wire/json/value.h"

namespace fanfare::edge {

/// One notification of a request. Unknown members are passed over.
Result<inbox::Intent, inbox::InputError> read_notification(const wire::json::Value& value);

/// A message of an inbox queue: the body of POST /v1/notifications, raw or as the `Message` of an SNS envelope.
Result<inbox::Intent, inbox::InputError> parse_notification_message(std::string_view body);

/// Appends an item as lists and events show it.
void append_item(std::string& out, const inbox::Notification& item);

}  // namespace fanfare::edge

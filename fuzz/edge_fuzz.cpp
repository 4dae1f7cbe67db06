// Reads any bytes as an HTTP request to the edge, as a message of an inbox queue and as a cursor. What is accepted must
// keep every limit, and a cursor must have one spelling.
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "edge/notification_body.h"
#include "edge/rest.h"

namespace {

using namespace fanfare;

/// Everything is allowed, so that every body is looked at.
class AnyToken final : public edge::TokenVerifier {
 public:
  Result<edge::Caller, edge::TokenError> verify(std::string_view, Timestamp) const override {
    edge::Caller caller;
    caller.person = inbox::Recipient{"alice"};
    caller.workspaces = {inbox::Workspace{"docs"}};
    caller.may_notify = true;
    return caller;
  }
};

void expect_within_limits(const inbox::Intent& intent) {
  const auto again = inbox::checked(intent);
  FANFARE_ASSERT(again.has_value() && *again == intent);
  FANFARE_ASSERT(intent.data.empty() || wire::json::parse(intent.data).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};

  if (const auto cursor = inbox::Cursor::parse(text)) FANFARE_ASSERT(cursor->text() == text);
  if (const auto intent = edge::parse_notification_message(text)) expect_within_limits(*intent);

  wire::http::RequestParser parser;
  if (parser.parse(text) != wire::http::Parse::Complete) return 0;
  const AnyToken verifier;
  const edge::Rest rest{{}, verifier};
  SeededSecrets secrets{1};
  const edge::EdgeCommand command = rest.handle(parser.request(), Timestamp{}, secrets);
  if (const auto* respond = std::get_if<edge::Respond>(&command)) {
    FANFARE_ASSERT(respond->response.status == 204 || respond->response.status >= 400);
    FANFARE_ASSERT(respond->response.body.empty() || wire::json::parse(respond->response.body).has_value());
  }
  if (const auto* ask = std::get_if<edge::AskStore>(&command)) {
    for (const inbox::Operation& operation : ask->operations) {
      if (const auto* create = std::get_if<inbox::Create>(&operation)) expect_within_limits(create->intent);
      if (const auto* list = std::get_if<inbox::ListPage>(&operation))
        FANFARE_ASSERT(list->limit >= 1 && list->limit <= inbox::kPageMax);
      if (const auto* mark = std::get_if<inbox::Mark>(&operation)) FANFARE_ASSERT(mark->ids.size() <= inbox::kIdsMax);
    }
  }
  return 0;
}

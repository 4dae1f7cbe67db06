// One request on its way through an action: what the action gets beside its input, and where it puts what comes out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/aws/authenticator.h"
#include "api/aws/error.h"
#include "api/aws/operation.h"
#include "api/aws/payloads.h"
#include "api/aws/reply_context.h"
#include "api/cloudwatch/metrics_source.h"
#include "api/sqs/receipt_handles.h"
#include "base/assert.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/engine/commands.h"
#include "wire/aws_shape/shape.h"

namespace fanfare::api::aws {

/// What writes answers: the body of one reply in its protocol.
class Answer {
 public:
  Answer(const ReplyContext& context, wire::aws::Arena& memory, std::string& body)
      : arena(memory), context_(context), body_(body) {}

  /// The operation's output. Texts that it points to may lie in `arena` or `texts`.
  template <class Output>
  void write(const Output& output) {
    FANFARE_ASSERT(context_.operation->output != nullptr && context_.operation->output->size == sizeof(Output));
    write_raw(&output);
  }
  /// The answer of an operation that has no output, or an empty one.
  void write_nothing();

  wire::aws::Arena& arena;
  /// Lower-case hexadecimal digits of a digest.
  std::string_view hex(const std::array<std::uint8_t, 16>& digest);
  std::string_view decimal(std::int64_t number);
  std::string_view text(const Uuid& id);

 private:
  void write_raw(const void* output);
  const ReplyContext& context_;
  std::string& body_;
};

enum class Next : std::uint8_t {
  Engine,    ///< Call::request holds the command
  Answered,  ///< the answer is written
};

/// What an action's decoder works with. Views live as long as a command's (service.h rule 3).
struct Call {
  const Operation& operation;
  Protocol protocol;
  std::string_view account;     ///< of the caller
  std::string_view region;      ///< of the request
  std::string_view queue_path;  ///< the request's path if it names a queue: "/000000000000/work"; else empty
  std::string_view authority;   ///< "localhost:4566", checked to be harmless in a URL
  bool secure;
  std::string_view trace_id;    ///< of the header X-Amzn-Trace-Id, unchecked; empty: none
  const Identity& identity;
  Timestamp now;
  Secrets& secrets;
  wire::aws::Arena& arena;
  cloudwatch::MetricsSource* metrics;  ///< null: this place has none
  const ReceiptHandles& receipts;
  ReplyContext& context;
  engine::Request& request;
  Answer& answer;
  Authenticator& authenticator;                 ///< for STS
  std::span<const policy::ContextEntry> keys{};  ///< condition keys of the request

  /// For actions whose answer holds queue URLs.
  void keep_base_url() {
    context.base_url = secure ? "https://" : "http://";
    context.base_url += authority;
  }
};

/// What an action's encoder works with.
struct ReplyCall {
  const ReplyContext& context;
  std::string_view region;  ///< the default, for ARNs of what the reply does not name in full
  Payloads& payloads;
  const ReceiptHandles& receipts;
  std::vector<engine::ReceiptHandle>& unreadable;
  std::vector<engine::ReceiptHandle>& held;
  Answer& answer;
};

/// The two halves of an action, with their types taken away.
struct Handler {
  Result<Next, ApiError> (*decode)(const void* input, Call& call);
  void (*encode)(const engine::ReplyBody& reply, ReplyCall& call);  ///< null: answered without the engine
};

/// Makes a Handler of two typed functions:
///   Result<Next, ApiError> send_message(const model::SendMessageRequest&, Call&);
///   void send_message_reply(const engine::MessageSent&, ReplyCall&);
/// `Types` are those of the action, so that a function for another action does not compile.
template <class Types, auto Decode, auto Encode>
struct HandlerOf;

template <class Types, class Input, Result<Next, ApiError> (*Decode)(const Input&, Call&), class Reply,
          void (*Encode)(const Reply&, ReplyCall&)>
struct HandlerOf<Types, Decode, Encode> {
  static_assert(std::is_same_v<Input, typename Types::Input>, "this function decodes the input of another action");
  static constexpr Handler value{
      [](const void* input, Call& call) { return Decode(*static_cast<const Input*>(input), call); },
      [](const engine::ReplyBody& reply, ReplyCall& call) {
        const auto* const body = std::get_if<Reply>(&reply);
        FANFARE_ASSERT(body != nullptr, std::to_string(reply.index()));
        Encode(*body, call);
      }};
};

/// The encoder of actions that only say that it is done.
inline void done_reply(const engine::Done&, ReplyCall& call) { call.answer.write_nothing(); }

/// An operation that this broker does not have yet.
Result<Next, ApiError> not_here_yet(const void* input, Call& call);

}  // namespace fanfare::api::aws

#include "api/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "api/aws/call.h"
#include "api/aws/cloudwatch_model.h"
#include "api/aws/router.h"
#include "api/aws/sns_model.h"
#include "api/aws/sqs_model.h"
#include "api/aws/sts_model.h"
#include "api/cloudwatch/actions.h"
#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sqs/actions.h"
#include "api/sqs/errors.h"
#include "api/sqs/receipt_handles.h"
#include "api/sts/actions.h"
#include "base/assert.h"
#include "core/topic/settings.h"
#include "wire/aws_json/document.h"
#include "wire/aws_query/form.h"
#include "wire/aws_query/xml.h"
#include "wire/http/response.h"
#include "wire/http/url.h"
#include "wire/json/reader.h"
#include "wire/json/writer.h"

namespace fanfare::api {
namespace {

using aws::ApiError;
using aws::CommonError;
using aws::Protocol;
using wire::aws::DecodeError;

const aws::Handler& handler_of(const aws::Operation& operation) {
  switch (operation.service) {
    case aws::Service::Sqs: return sqs::handler_of(static_cast<sqs::Action>(operation.action));
    case aws::Service::Sns: return sns::handler_of(static_cast<sns::Action>(operation.action));
    case aws::Service::Sts: return sts::handler_of(static_cast<sts::Action>(operation.action));
    case aws::Service::Cloudwatch: return cloudwatch::handler_of(static_cast<cloudwatch::Action>(operation.action));
  }
  FANFARE_ASSERT(false, "a service outside its enumeration");
  return sqs::handler_of(sqs::Action::SendMessage);
}

/// A host that can stand in a URL: names, addresses, a port. Anything else could smuggle a path into queue URLs.
bool is_harmless_authority(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == ':' || c == '[' || c == ']';
  });
}

/// "of type Integer, not a string"; what is of the right JSON type and yet no such value needs other words.
std::string what_is_accepted(const DecodeError& error) {
  using wire::aws::Kind;
  if (error.expected == Kind::Blob && error.found == "a string") return "Base64, with its padding";
  if ((error.expected == Kind::Integer || error.expected == Kind::Long) && error.found == "a number") return "a whole number";
  return fmt::format("of type {}, not {}", wire::aws::name_of(error.expected), error.found);
}

ApiError refused_input(const DecodeError& error, const aws::Operation& operation, Protocol protocol) {
  const std::string_view member = error.member.empty() ? operation.name : error.member;
  if (protocol == Protocol::Json) {
    const std::string place = !error.key.empty() ? fmt::format("The value of {} in {}", error.key.substr(0, 256), member)
                              : error.element    ? fmt::format("Each element of {}", member)
                                                 : std::string{member};
    return aws::api_error(CommonError::Serialization,
                          error.what == DecodeError::What::OutOfRange
                              ? fmt::format("{} cannot hold this number as {}.", place, wire::aws::name_of(error.expected))
                              : fmt::format("{} must be {}.", place, what_is_accepted(error)));
  }
  if (error.what == DecodeError::What::Malformed) {
    return aws::api_error(CommonError::MalformedQueryString, "A list has an element with a number and one without.");
  }
  const std::string reason = error.expected == wire::aws::Kind::Blob
                                 ? "Must be Base64, with its padding."
                                 : fmt::format("Must be of type {}.", wire::aws::name_of(error.expected));
  if (operation.service == aws::Service::Sqs) {
    return sqs::api_error(sqs::Error::InvalidParameterValue,
                          fmt::format("Value for parameter {} is invalid. Reason: {}", member, reason));
  }
  return aws::api_error(CommonError::Validation, fmt::format("Invalid parameter: {} Reason: {}", member, reason));
}

/// What resources may offer to everybody, and what a link in a confirmation asks for.
bool is_open_to_anonymous(const aws::Operation& operation) {
  constexpr std::array<std::string_view, 17> kOpen = {
      "AssumeRoleWithWebIdentity", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "ConfirmSubscription",
      "DeleteMessage", "DeleteMessageBatch", "GetQueueAttributes", "GetQueueUrl", "GetTopicAttributes", "Publish",
      "PublishBatch", "PurgeQueue", "ReceiveMessage", "SendMessage", "SendMessageBatch", "Subscribe", "Unsubscribe"};
  return std::ranges::find(kOpen, operation.name) != kOpen.end();
}

/// Whether a page of a foreign origin sent this through its visitor's browser. Where nobody has to prove who they are, it
/// could otherwise do anything; links of messages and confirmations are meant to be followed from anywhere.
bool is_of_foreign_page(const aws::Head& head, const aws::Operation& operation) {
  if (head.origin.empty() && head.fetch_site.empty()) return false;
  if (operation.name == "ConfirmSubscription" || operation.name == "Unsubscribe") return false;
  if (head.fetch_site == "cross-site") return true;
  if (head.origin.empty()) return false;
  const auto url = wire::http::parse_url(head.origin);
  return !url || !wire::http::is_loopback_host(url->host);
}

/// Whether the caller's own policies allow an action that no resource owns. The engine asks for all others, STS itself for
/// roles; who one is may everybody ask.
std::optional<ApiError> refuses_without_resource(const aws::Operation& operation, const aws::Identity& identity,
                                                 std::span<const policy::ContextEntry> keys) {
  if (operation.service == aws::Service::Sts) return std::nullopt;
  std::string action{operation.service == aws::Service::Cloudwatch ? "cloudwatch" : aws::model_of(operation.service).name};
  action.append(":").append(operation.name);
  policy::Question question;
  question.request = {identity.principal, action, "*", keys, {}, identity.principal.account};
  question.identity = identity.policies;
  if (policy::authorize(question).verdict == policy::Verdict::Allow) return std::nullopt;
  return aws::api_error(CommonError::AccessDenied,
                        fmt::format("User: {} is not authorized to perform: {} because no identity-based policy allows the {} action",
                                    identity.principal.arn, action, action));
}

bool is_hidden_from_anonymous(const engine::ReplyBody& reply) {
  if (std::holds_alternative<engine::AccessDenied>(reply)) return true;
  if (const auto* error = std::get_if<engine::QueueError>(&reply))
    return error->code == engine::QueueError::Code::QueueDoesNotExist;
  if (const auto* error = std::get_if<engine::TopicError>(&reply))
    return error->code == engine::TopicError::Code::TopicDoesNotExist;
  return false;
}

}  // namespace

struct Service::State {
  State(ServiceOptions its_options, aws::Authenticator& its_authenticator)
      : options(std::move(its_options)), authenticator(its_authenticator), receipts(options.receipt_secret) {
    FANFARE_ASSERT(options.receipt_secret.size() >= 16, "receipt_secret is too short to be secret");
    default_root = "arn:aws:iam::" + options.account.str() + ":root";
  }

  ServiceOptions options;
  aws::Authenticator& authenticator;
  ReceiptHandles receipts;
  std::string default_root;
  std::string date;
  Timestamp now{};  // of the two texts below: the requests of a turn share them
  std::string current_time;
  std::string epoch_time;

  // Of one request.
  aws::Router router;
  wire::json::Reader reader;
  wire::aws::Arena request_arena;
  engine::Command command;
  // Of one answer.
  wire::aws::Arena reply_arena;
  std::string body;

  Outcome respond(const ReplyContext& context, std::string& out) const;
  Outcome serve_certificate(const wire::http::Request& request, const ReplyContext& context, std::string& out) const;
  Outcome respond(const ReplyContext& context, const ApiError& error, std::string& out);
  std::optional<ApiError> decode_input(std::string_view request_body, const aws::Operation& operation,
                                       Protocol protocol, const void*& input);
  Result<aws::Next, ApiError> decode(const wire::http::Request& request, const RequestInfo& info,
                                     ReplyContext& context);
  /// The condition keys of a request.
  void name_context(const aws::Head& head, const RequestInfo& info, const aws::Route& route);
  /// Those that a command brings: sns:Protocol, aws:RequestTag/team, ...
  void name_context_of_command();

 private:
  void append_response(const ReplyContext& context, int status, std::string_view query_error, std::string& out) const;
};

// ---- Answers ------------------------------------------------------------------------------------------------------

void Service::State::append_response(const ReplyContext& context, int status, std::string_view query_error,
                                     std::string& out) const {
  const std::string request_id = context.request_id.str();
  std::array<wire::http::Header, 4> headers{{
      {"x-amzn-RequestId", request_id},
      {"Content-Type", context.protocol == Protocol::Json ? "application/x-amz-json-1.0" : "text/xml"},
  }};
  std::size_t count = 2;
  if (!query_error.empty()) headers[count++] = {"x-amzn-query-error", query_error};
  if (status == 405) headers[count++] = {"Allow", context.protocol == Protocol::Json ? "POST" : "GET, POST"};  // [RFC 9110 15.5.6]
  const wire::http::ResponseOptions how{context.keep_alive, context.http_1_0, context.head_only, date};
  wire::http::append_response(out, status, std::span(headers).first(count), body, how);
}

Outcome Service::State::respond(const ReplyContext& context, std::string& out) const {
  append_response(context, 200, {}, out);
  return {aws::model_of(context.service).name, context.operation->name, {}, 200};
}

Outcome Service::State::serve_certificate(const wire::http::Request& request, const ReplyContext& context,
                                          std::string& out) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const int status = reads ? 200 : 405;
  const std::array<wire::http::Header, 3> headers{{{"Content-Type", reads ? "application/x-pem-file" : "text/plain"},
                                                   {"Cache-Control", reads ? "max-age=86400" : "no-store"},
                                                   {"Allow", "GET, HEAD"}}};
  const wire::http::ResponseOptions how{context.keep_alive, context.http_1_0, context.head_only, date};
  wire::http::append_response(out, status, std::span(headers).first(reads ? 2 : 3),
                              reads ? std::string_view(options.certificate) : "use GET here\n", how);
  return {"sns", {}, reads ? std::string_view() : std::string_view("MethodNotAllowed"), status};
}

Outcome Service::State::respond(const ReplyContext& context, const ApiError& error, std::string& out) {
  body.clear();
  std::string query_error;
  if (context.protocol == Protocol::Json) {
    const std::string type =
        fmt::format("{}{}",
                    !error.kind.modelled                              ? "com.amazon.coral.service#"
                    : context.service == aws::Service::Cloudwatch ? "com.amazonaws.cloudwatch#"
                                                                      : "com.amazonaws.sqs#",
                    error.kind.shape);
    wire::json::Writer(body)
        .begin_object()
        .key("__type")
        .string(type)
        .key("message")
        .string(error.message)
        .end_object();
    query_error = fmt::format("{};{}", error.kind.query_code, error.kind.sender_fault ? "Sender" : "Receiver");
  } else {
    const bool is_sqs = context.service == aws::Service::Sqs;
    wire::aws_query::append_error(
        body,
        {aws::model_of(context.service).xml_namespace, error.kind.query_code,
         is_sqs ? sqs::query_message(error) : std::string_view(error.message), error.kind.sender_fault, is_sqs},
        context.request_id.str());
  }
  append_response(context, error.kind.status, query_error, out);
  return {aws::model_of(context.service).name,
          context.operation == nullptr ? std::string_view() : context.operation->name, error.kind.query_code,
          error.kind.status};
}

// ---- Requests -----------------------------------------------------------------------------------------------------

std::optional<ApiError> Service::State::decode_input(std::string_view request_body, const aws::Operation& operation,
                                                     Protocol protocol, const void*& input) {
  const wire::aws::Shape* const shape = operation.input;
  void* const structure = request_arena.take(shape == nullptr ? 8 : shape->size);
  std::memset(structure, 0, shape == nullptr ? 8 : shape->size);
  input = structure;
  if (protocol == Protocol::Json) {
    const auto root = reader.parse(request_body);
    if (!root) {
      return aws::api_error(CommonError::Serialization, "The body is not a JSON document: " + root.error().message());
    }
    if (shape == nullptr) return std::nullopt;
    const auto decoded = wire::aws_json::decode(*root, *shape, structure, request_arena);
    return decoded ? std::nullopt : std::optional(refused_input(decoded.error(), operation, protocol));
  }
  if (shape == nullptr) return std::nullopt;
  const auto decoded = wire::aws_query::decode(router.parameters(), *shape, structure, request_arena);
  return decoded ? std::nullopt : std::optional(refused_input(decoded.error(), operation, protocol));
}

void Service::State::name_context(const aws::Head& head, const RequestInfo& info, const aws::Route& route) {
  if (now != info.now || epoch_time.empty()) {
    now = info.now;
    current_time = iso8601(now);
    epoch_time = std::to_string(unix_ms(now) / 1000);
  }
  auto* const values = request_arena.take_array<std::string_view>(6);
  auto* const entries = request_arena.take_array<policy::ContextEntry>(6);
  std::size_t count = 0;
  const auto add = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    values[count] = value;
    entries[count] = {key, {&values[count], 1}};
    ++count;
  };
  add("aws:SourceIp", info.peer_ip);
  add("aws:SecureTransport", info.secure ? "true" : "false");
  add("aws:UserAgent", head.user_agent);
  add("aws:RequestedRegion", route.region);
  add("aws:CurrentTime", current_time);
  add("aws:EpochTime", epoch_time);
  command.caller.context = {entries, count};
}

void Service::State::name_context_of_command() {
  std::span<const engine::Tag> tags;
  std::array<policy::ContextEntry, 2> pair{};
  std::size_t pairs = 0;
  std::visit(
      [&](const auto& asked) {
        using T = std::decay_t<decltype(asked)>;
        if constexpr (std::is_same_v<T, engine::Subscribe>) {
          auto* const values = request_arena.take_array<std::string_view>(2);
          values[0] = topic::text_of(asked.protocol);
          values[1] = asked.endpoint;
          pair = {policy::ContextEntry{"sns:Protocol", {&values[0], 1}}, policy::ContextEntry{"sns:Endpoint", {&values[1], 1}}};
          pairs = 2;
        }
        if constexpr (requires { std::span<const engine::Tag>(asked.tags); }) tags = asked.tags;
      },
      command.request);
  if (pairs == 0 && tags.empty()) return;
  const auto before = command.caller.context;
  auto* const entries = request_arena.take_array<policy::ContextEntry>(before.size() + pairs + tags.size() + 1);
  std::size_t count = 0;
  for (const policy::ContextEntry& entry : before) entries[count++] = entry;
  for (std::size_t i = 0; i < pairs; ++i) entries[count++] = pair[i];
  if (!tags.empty()) {
    auto* const names = request_arena.take_array<std::string_view>(tags.size() * 2);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      names[i] = tags[i].key;
      names[tags.size() + i] = tags[i].value;
      entries[count++] = {request_arena.copy("aws:RequestTag/" + std::string(tags[i].key)), {&names[tags.size() + i], 1}};
    }
    entries[count++] = {"aws:TagKeys", {names, tags.size()}};
  }
  command.caller.context = {entries, count};
}

Result<aws::Next, ApiError> Service::State::decode(const wire::http::Request& request, const RequestInfo& info,
                                                   ReplyContext& context) {
  aws::Route route;
  const aws::Head head(request);
  auto unroutable = router.route(request, head, options.region.str(), route);
  context.protocol = route.protocol;
  context.service = route.service;
  context.operation = route.operation;
  if (unroutable) return *std::move(unroutable);
  if (request.body.size() > options.body_bytes_max) {
    return aws::api_error(CommonError::RequestTooLarge, fmt::format("The body has {} bytes, {} are accepted.",
                                                                    request.body.size(), options.body_bytes_max));
  }

  if (!authenticator.enforces() && is_of_foreign_page(head, *route.operation)) {
    return aws::api_error(CommonError::AccessDenied,
                          "A page of another origin may not use a server in development mode, which trusts everybody.");
  }
  route.credential.expected_service = aws::model_of(route.service).name;
  auto identity = authenticator.authenticate(request, route.credential, {info.now, info.system_now}, request_arena);
  if (!identity) return identity.error();
  context.anonymous = identity->principal.kind == policy::Principal::Kind::Anonymous;
  if (context.anonymous && !is_open_to_anonymous(*route.operation)) return aws::unsigned_request();
  if (identity->principal.arn != default_root) context.principal = identity->principal.arn;

  const aws::Operation& operation = *route.operation;
  const void* input = nullptr;
  if (auto refused = decode_input(request.body, operation, route.protocol, input)) return *std::move(refused);

  body.clear();
  reply_arena.reset();
  aws::Answer answer(context, reply_arena, body);
  const std::string_view account =
      identity->principal.account.empty() ? std::string_view(options.account.str()) : identity->principal.account;
  aws::Call call{operation,
                 route.protocol,
                 account,
                 route.region,
                 route.queue_path,
                 is_harmless_authority(request.authority) ? request.authority : std::string_view("localhost"),
                 info.secure || wire::http::equal_ignoring_case(head.forwarded_proto, "https"),
                 head.trace_id,
                 *identity,
                 info.now,
                 info.secrets,
                 request_arena,
                 options.metrics,
                 receipts,
                 context,
                 command.request,
                 answer,
                 authenticator};
  name_context(head, info, route);
  call.keys = command.caller.context;
  const aws::Handler& handler = handler_of(operation);
  if (handler.encode == nullptr && authenticator.enforces()) {
    if (auto refused = refuses_without_resource(operation, *identity, call.keys)) return *std::move(refused);
  }
  auto next = handler.decode(input, call);
  if (next && *next == aws::Next::Engine) {
    command.caller.id = info.caller;
    command.caller.principal = identity->principal;
    command.caller.identity = identity->policies;
    name_context_of_command();
  }
  return next;
}

Service::Service(ServiceOptions options, aws::Authenticator& authenticator)
    : state_(std::make_unique<State>(std::move(options), authenticator)) {}
Service::~Service() = default;
Service::Service(Service&&) noexcept = default;
Service& Service::operator=(Service&&) noexcept = default;

void Service::set_date(std::string_view http_date) { state_->date = http_date; }

Decoded Service::decode(const wire::http::Request& request, const RequestInfo& info, ReplyContext& context,
                        std::string& out) {
  State& state = *state_;
  state.request_arena.reset();
  context = ReplyContext();
  context.keep_alive = request.keep_alive;
  context.http_1_0 = request.minor_version == 0;
  context.head_only = request.method == "HEAD";
  context.request_id = Uuid::from_random(info.secrets.bytes16());
  if (!state.options.certificate_path.empty() && request.path == state.options.certificate_path) {
    return {nullptr, state.serve_certificate(request, context, out)};
  }
  auto next = state.decode(request, info, context);
  if (!next) return {nullptr, state.respond(context, next.error(), out)};
  if (*next == aws::Next::Answered) return {nullptr, state.respond(context, out)};
  return {&state.command, {}};
}

Encoded Service::encode(const ReplyContext& context, const engine::Reply& reply, Payloads& payloads, std::string& out) {
  State& state = *state_;
  Encoded encoded;
  // Whoever has not signed learns no more than that.
  if (context.anonymous && is_hidden_from_anonymous(reply.body)) {
    encoded.outcome = state.respond(context, aws::unsigned_request(), out);
    if (const auto* error = std::get_if<engine::AccessDenied>(&reply.body)) encoded.refusal = error->why;
    return encoded;
  }
  const auto refuse = [&](const ApiError& error) {
    encoded.outcome = state.respond(context, error, out);
    return std::move(encoded);
  };
  if (const auto* error = std::get_if<engine::QueueError>(&reply.body)) {
    return refuse(sqs::api_error(*error, {.named = context.subject,
                                          .visibility_timeout = context.visibility_timeout,
                                          .fifo_name = context.fifo,
                                          .in_batch = !context.batch.empty()}));
  }
  if (const auto* error = std::get_if<engine::TopicError>(&reply.body)) return refuse(sns::api_error(*error, context));
  if (const auto* error = std::get_if<topic::DirectoryError>(&reply.body)) return refuse(sns::api_error(*error));
  if (const auto* error = std::get_if<engine::AccessDenied>(&reply.body)) {
    const std::string_view who = context.principal.empty() ? state.default_root : context.principal;
    encoded.refusal = error->why;
    ApiError refused = context.service == aws::Service::Sqs ? sqs::api_error(*error, who) : sns::api_error(*error, who);
    if (state.options.explains_refusals && !error->why.empty()) refused.message += " (" + error->why + ")";
    return refuse(refused);
  }
  if (std::holds_alternative<engine::Unavailable>(reply.body)) {
    return refuse(aws::api_error(CommonError::ServiceUnavailable,
                                 "There is no room to store this. Receiving and deleting work; try again later."));
  }
  state.body.clear();
  state.reply_arena.reset();
  aws::Answer answer(context, state.reply_arena, state.body);
  aws::ReplyCall call{context, state.options.region.str(), payloads, state.receipts, encoded.unreadable, encoded.held, answer};
  const aws::Handler& handler = handler_of(*context.operation);
  FANFARE_ASSERT(handler.encode != nullptr, context.operation->name);
  handler.encode(reply.body, call);
  encoded.outcome = state.respond(context, out);
  return encoded;
}

Outcome Service::refuse_broken(const wire::http::Request& head, const RequestInfo& info, int status, std::string_view reason,
                               std::string& out) {
  State& state = *state_;
  ReplyContext context;
  context.keep_alive = false;
  context.http_1_0 = head.minor_version == 0;
  context.head_only = head.method == "HEAD";
  context.request_id = Uuid::from_random(info.secrets.bytes16());
  aws::Route route;
  // What cannot be routed without its body still gets a protocol and, by the scope of its signature, a service.
  static_cast<void>(state.router.route(head, aws::Head(head), state.options.region.str(), route));
  context.protocol = route.protocol;
  context.service = route.service;
  context.operation = route.operation;
  ApiError error = status == 413   ? aws::api_error(CommonError::RequestTooLarge,
                                                    fmt::format("The body has more than the {} bytes that are accepted.", state.options.body_bytes_max))
                   : status == 503 ? aws::api_error(CommonError::ServiceUnavailable, fmt::format("Try again: {}.", reason))
                   : status == 408 ? aws::api_error(CommonError::RequestTimeout, "The request did not become whole in time.")
                                   : aws::api_error(CommonError::MalformedHttp, fmt::format("This is no valid HTTP request: {}.", reason));
  error.kind.status = static_cast<std::uint16_t>(status);
  return state.respond(context, error, out);
}

Outcome Service::throttle(const ReplyContext& context, std::string& out) {
  return state_->respond(context, sqs::api_error(sqs::Error::RequestThrottled, "The request was throttled; try again later."),
                         out);
}

Outcome Service::refuse(const ReplyContext& context, aws::CommonError error, std::string_view message,
                        std::string& out) {
  return state_->respond(context, aws::api_error(error, std::string(message)), out);
}

}  // namespace fanfare::api

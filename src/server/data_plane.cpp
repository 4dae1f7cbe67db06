#include "server/data_plane.h"

#include <algorithm>

#include "base/assert.h"
#include "core/topic/envelope.h"
#include "wire/http/response.h"

namespace fanfare::server {
namespace {

namespace http = wire::http;

constexpr std::size_t kPipelinedMax = 128;              // answers that wait on one connection before it is read no further
constexpr std::size_t kOutputPause = std::size_t{8} << 20;  // a peer that does not read its answers sends no more requests
constexpr std::size_t kTurnPause = std::size_t{32} << 20;   // what all connections are answered in one turn; the others' turn is the next

constexpr milliseconds kLazyCommit{25};

http::Limits limits_of(const DataPlaneOptions& options) {
  http::Limits limits;
  limits.body_bytes_max = options.api.body_bytes_max;
  return limits;
}

bool keeps_alive(const api::ReplyContext& context) { return context.keep_alive; }

}  // namespace

BrokerPayloads::BrokerPayloads(Broker& broker, EnvelopeSigner* signer, std::string_view signing_url)
    : broker_(broker), signer_(signer) {
  if (signer_ != nullptr) certificate_url_ = std::string{signing_url} + signer_->certificate_path();
}

topic::EnvelopeSignature BrokerPayloads::sign(const engine::EnvelopeOf& envelope, const message::ContentView& content) {
  if (signer_ == nullptr) return Payloads::sign(envelope, content);
  const std::uint8_t version = envelope.signature_version == 2 ? 2 : 1;
  signature_ = signer_->sign(content.publication()->id, version, topic::string_to_sign(content, envelope.topic->arn().str()));
  return {version == 2 ? "2" : "1", signature_, certificate_url_, {}};
}

std::optional<std::string> BrokerPayloads::record(LogPosition position) {
  std::string bytes;
  if (!broker_.read_record(position, bytes)) return std::nullopt;
  return bytes;
}

DataPlane::DataPlane(DataPlaneOptions options, Broker& broker, Clock& clock, net::Loop& loop, api::aws::Authenticator& authenticator,
                     bool drives_deadlines)
    : options_(std::move(options)),
      broker_(broker),
      clock_(clock),
      loop_(loop),
      drives_deadlines_(drives_deadlines),
      target_(broker.add_target(*this)),
      secrets_(options_.secrets != nullptr ? *options_.secrets : os_secrets_),
      service_(options_.api, authenticator),
      payloads_(broker, options_.signer, options_.signing_url),
      unfinished_(options_.unfinished_bytes_max),
      parked_service_(options_.api, authenticator) {
  signed_->loop = &loop_;
  arm_timer();
}

DataPlane::~DataPlane() {
  const std::lock_guard lock{signed_->mutex};
  signed_->loop = nullptr;
}

DataPlane::Connection* DataPlane::find(net::ConnectionId id) {
  if (id.slot >= connections_.size()) return nullptr;
  Connection* connection = connections_[id.slot].get();
  return connection != nullptr && connection->open && connection->id == id ? connection : nullptr;
}

Timestamp DataPlane::now() {
  if (!now_) {
    now_ = clock_.now();
    system_now_ = clock_.system_now();
    const std::int64_t second = unix_ms(system_now_) / 1000;
    if (second != date_second_) {
      date_second_ = second;
      const std::string date = http::http_date(second);
      service_.set_date(date);
      const auto lock = broker_.lock();
      parked_service_.set_date(date);
    }
  }
  return *now_;
}

void DataPlane::on_accept(net::ConnectionId id, net::ListenerId, const net::SocketAddress& peer) {
  if (id.slot >= connections_.size()) connections_.resize(id.slot + 1);
  auto& slot = connections_[id.slot];
  slot = std::make_unique<Connection>();
  slot->id = id;
  slot->open = true;
  slot->parser = http::RequestParser{limits_of(options_)};
  slot->peer_ip = peer.ip.str();
  if (draining_) loop_.close(id, net::After::Flush);
}

void DataPlane::on_receive(net::ConnectionId id, std::string_view bytes) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->closing) return;
  std::string& input = connection->input;
  if (connection->held) {
    input.append(bytes);
    unfinished_.count(*connection);
    return;
  }
  const bool fresh = input.empty();
  if (!fresh) {
    if (const std::size_t expected = connection->parser.expected_bytes(); expected > input.capacity()) input.reserve(expected);
    input.append(bytes);
    bytes = input;
  }
  const std::size_t used = parse(*connection, bytes);
  if (fresh && !connection->closing) input.assign(bytes.substr(used));
  else drop_input(*connection, used);
  if (!input.empty() && (fresh || used > 0)) connection->input_since = loop_.now();
  unfinished_.count(*connection);
  if (unfinished_.are_too_long()) refuse_longest_unfinished();
}

void DataPlane::refuse_longest_unfinished() {
  const auto in_a_request = [](const Connection& connection) { return connection.open && !connection.closing && !connection.held; };
  for (Connection* connection : unfinished_.to_refuse(connections_, in_a_request)) {
    const std::size_t offset = turn_bytes_.size();
    refuse_broken(*connection, connection->input, 503, "too many long requests are unfinished at once", turn_bytes_);
    connection->closing = true;
    drop_input(*connection, connection->input.size());
    unfinished_.count(*connection);
    answer_at_once(*connection, next_request_++, offset, true);
  }
}

/// The beginning of `input` has been parsed.
void DataPlane::drop_input(Connection& connection, std::size_t used) {
  std::string& input = connection.input;
  if (!connection.closing && used < input.size()) {
    input.erase(0, used);
  } else if (input.capacity() > 4096) {
    input = {};
  } else {
    input.clear();
  }
}

/// Whether its answers are so many, or so long, that further requests wait: a few kilobytes may ask for a gigabyte.
bool DataPlane::must_hold(const Connection& connection) const {
  return turn_bytes_.size() > kTurnPause || connection.waiting.size() > kPipelinedMax ||
         connection.unqueued + loop_.pending_bytes(connection.id) > kOutputPause;
}

bool DataPlane::may_go_on(const Connection& connection) const {
  return connection.waiting.size() < kPipelinedMax / 2 && connection.unqueued + loop_.pending_bytes(connection.id) <= kOutputPause;
}

/// What is left of `input` is parsed in a later turn, and nothing is read until then.
void DataPlane::hold(Connection& connection) {
  if (!std::exchange(connection.held, true)) held_.push_back(connection.id);
  pause_reading(connection);
}

void DataPlane::go_on(const Connection& connection) {
  going_on_.push_back(connection.id);
  loop_.wake();
}

/// Who was held for the turn's sake goes on in the next one. For the others send_ready() sees when their answers have left.
void DataPlane::release_held() {
  for (const net::ConnectionId id : std::exchange(held_, {})) {
    const Connection* connection = find(id);
    if (connection != nullptr && connection->held && may_go_on(*connection)) go_on(*connection);
  }
}

void DataPlane::on_wake() {  // mail, drain and deadline are looked at in on_turn_end
  for (const net::ConnectionId id : std::exchange(going_on_, {})) {
    Connection* connection = find(id);
    if (connection == nullptr || !std::exchange(connection->held, false)) continue;
    drop_input(*connection, parse(*connection, connection->input));
    unfinished_.count(*connection);
    if (connection->closing || connection->held) continue;
    if (!connection->input.empty()) connection->input_since = loop_.now();
    if (!may_go_on(*connection)) {
      hold(*connection);
      continue;
    }
    connection->reading = true;
    loop_.resume_reading(id);
  }
}

std::size_t DataPlane::parse(Connection& connection, std::string_view received) {
  std::size_t used = 0;
  while (used < received.size() && !connection.closing) {
    if (must_hold(connection)) {
      hold(connection);
      break;
    }
    switch (connection.parser.parse(received.substr(used))) {
      case http::Parse::NeedMore:
        return used;
      case http::Parse::SendContinue:
        if (connection.waiting.empty() && connection.in_turn == 0) write(connection, http::kContinue);
        continue;  // the parser reports it once; then it wants more
      case http::Parse::Complete:
        serve(connection, connection.parser.request());
        used += connection.parser.consumed();
        continue;
      case http::Parse::Error: {
        const http::RequestError error = connection.parser.error();
        const std::size_t offset = turn_bytes_.size();
        refuse_broken(connection, received.substr(used), error.status, error.reason, turn_bytes_);
        connection.closing = true;
        answer_at_once(connection, next_request_++, offset, true);
        break;
      }
    }
  }
  return used;
}

/// `begun` is what there is of the request. Without a whole head nobody can tell which protocol its sender speaks.
void DataPlane::refuse_broken(Connection& connection, std::string_view begun, int status, std::string_view reason, std::string& out) {
  const http::Request* head = connection.parser.read_head(begun);
  if (head == nullptr) {
    const http::Header headers[] = {{"Content-Type", "text/plain; charset=utf-8"}};
    http::append_response(out, status, headers, std::string{reason} + "\n", {.keep_alive = false});
    return;
  }
  const api::RequestInfo info{.caller = {}, .peer_ip = connection.peer_ip, .secure = options_.secure, .now = now(), .system_now = system_now_, .secrets = secrets_};
  const api::Outcome outcome = service_.refuse_broken(*head, info, status, reason, out);
  const auto lock = broker_.lock();
  counters_.add(outcome);
}

void DataPlane::pause_reading(Connection& connection) {
  if (!connection.reading) return;
  connection.reading = false;
  loop_.pause_reading(connection.id);
}

void DataPlane::answer_at_once(Connection& connection, std::uint64_t request, std::size_t offset, bool close_after) {
  turn_replies_.push_back(TurnReply{connection.id, request, offset, turn_bytes_.size() - offset, turn_handles_.size(), 0, std::nullopt,
                                    close_after, api::aws::Service::Sqs, api::aws::Protocol::Query});
  ++connection.in_turn;
  connection.unqueued += turn_bytes_.size() - offset;
}

void DataPlane::serve(Connection& connection, const http::Request& request) {
  const std::uint64_t number = next_request_++;
  const engine::CallerId caller = Broker::caller_id(target_, number);
  api::ReplyContext context;
  const api::RequestInfo info{.caller = caller, .peer_ip = connection.peer_ip, .secure = options_.secure, .now = now(), .system_now = system_now_, .secrets = secrets_};
  const std::size_t offset = turn_bytes_.size();
  const api::Decoded decoded = service_.decode(request, info, context, turn_bytes_);
  if (!request.keep_alive) connection.closing = true;
  if (decoded.command == nullptr) {
    {
      const auto lock = broker_.lock();
      counters_.add(decoded.outcome);
    }
    answer_at_once(connection, number, offset, !request.keep_alive);
    return;
  }
  const engine::Command* command = decoded.command;
  Chaos::Verdict verdict;
  if (options_.chaos != nullptr && options_.chaos->is_active()) {
    changed_command_ = *command;
    verdict = options_.chaos->meddle(changed_command_.request, changed_messages_);
    command = &changed_command_;
    if (verdict.throttle || verdict.receive_empty) {
      const auto lock = broker_.lock();  // what encoding may read, and the counters
      const engine::Reply nothing{caller, std::nullopt, engine::MessagesReceived{}};
      counters_.add(verdict.throttle ? service_.throttle(context, turn_bytes_)
                                     : service_.encode(context, nothing, payloads_, turn_bytes_).outcome);
      answer_at_once(connection, number, offset, !request.keep_alive);
      return;
    }
  }
  turn_used_engine_ = true;
  bool answered = false;
  {
    const auto lock = broker_.lock();
    current_ = caller;
    current_context_ = &context;
    current_connection_ = &connection;
    current_request_ = number;
    current_answered_ = false;
    current_lose_ = verdict.lose_response;
    current_aside_ = false;
    broker_.handle(lock, *command, *now_);
    answered = current_answered_;
    current_context_ = nullptr;
    // Before the lock is released: whoever ends this wait finds it parked.
    if (!answered && !current_aside_) parked_.emplace(number, Parked{connection.id, number, verdict.lose_response, std::move(context)});
  }
  if (!to_sign_.empty()) {
    prepare_signatures(*decoded.command);
    to_sign_.clear();
  }
  if (!answered) {
    Slot slot;
    slot.request = number;
    connection.waiting.push_back(std::move(slot));
    if (connection.waiting.size() > kPipelinedMax) pause_reading(connection);
  }
}

void DataPlane::prepare_signatures(const engine::Command& command) {
  const auto prepare = [&](const topic::TopicKeyView& topic, const engine::OutgoingPublication& publication,
                           const engine::Published& published) {
    if (published.signature_version == 0) return;
    message::Content content = publication.content;
    content.publication->published_at = published.published_at;
    options_.signer->prepare(published.id, published.signature_version,
                             topic::string_to_sign(content, topic::TopicKey{topic}.arn().str()));
  };
  if (const auto* publish = std::get_if<engine::Publish>(&command.request)) {
    prepare(publish->topic, publish->publication, to_sign_.front());
  } else if (const auto* batch = std::get_if<engine::PublishBatch>(&command.request)) {
    for (std::size_t i = 0; i < batch->publications.size() && i < to_sign_.size(); ++i)
      prepare(batch->topic, batch->publications[i], to_sign_[i]);
  }
}

void DataPlane::on_reply(const engine::Reply& reply) {
  if (current_context_ != nullptr && reply.caller == current_) {  // so this is the loop's own thread, inside serve()
    if (put_aside(reply, current_connection_->id, current_request_, current_lose_, *current_context_)) {
      current_aside_ = true;
      return;
    }
    const std::size_t offset = turn_bytes_.size();
    const std::size_t handles_offset = turn_handles_.size();
    const api::Encoded encoded = service_.encode(*current_context_, reply, payloads_, turn_bytes_);
    if (!encoded.refusal.empty() && options_.on_refused) options_.on_refused(*current_context_, encoded.refusal);
    counters_.add(encoded.outcome);
    note_left_out(encoded);
    if (options_.signer != nullptr) {
      if (const auto* published = std::get_if<engine::Published>(&reply.body)) {
        if (published->signature_version != 0) to_sign_.push_back(*published);
      } else if (const auto* batch = std::get_if<engine::BatchPublished>(&reply.body)) {
        for (const auto& result : batch->results) {
          const auto* one = std::get_if<engine::Published>(&result);
          to_sign_.push_back(one != nullptr ? *one : engine::Published{});
        }
      }
    }
    if (const auto* received = std::get_if<engine::MessagesReceived>(&reply.body))
      for (const engine::ReceivedMessage& message : received->messages) turn_handles_.push_back(message.handle);
    turn_replies_.push_back(TurnReply{current_connection_->id, current_request_, offset, turn_bytes_.size() - offset, handles_offset,
                                      turn_handles_.size() - handles_offset, reply.wait_for, !keeps_alive(*current_context_),
                                      current_context_->service, current_context_->protocol, current_lose_});
    if (reply.wait_for && (!turn_wait_ || *turn_wait_ < *reply.wait_for)) turn_wait_ = reply.wait_for;
    ++current_connection_->in_turn;
    current_connection_->unqueued += turn_bytes_.size() - offset;
    current_answered_ = true;
    return;
  }
  const auto found = parked_.find(reply.caller.value & 0x00ff'ffff'ffff'ffffULL);
  if (found == parked_.end()) return;  // the caller has left meanwhile
  if (put_aside(reply, found->second.connection, found->second.request, found->second.lose, found->second.context)) {
    parked_.erase(found);
    loop_.wake();
    return;
  }
  Mail mail;
  mail.connection = found->second.connection;
  mail.request = found->second.request;
  mail.wait_for = reply.wait_for;
  mail.close_after = !keeps_alive(found->second.context);
  mail.service = found->second.context.service;
  mail.protocol = found->second.context.protocol;
  mail.lose = found->second.lose;
  const api::Encoded encoded = parked_service_.encode(found->second.context, reply, payloads_, mail.bytes);
  counters_.add(encoded.outcome);
  note_left_out(encoded);
  if (const auto* received = std::get_if<engine::MessagesReceived>(&reply.body))
    for (const engine::ReceivedMessage& message : received->messages) mail.handles.push_back(message.handle);
  parked_.erase(found);
  mail_.push_back(std::move(mail));
  loop_.wake();  // free on the loop's own thread: its turn has not ended
}

bool DataPlane::put_aside(const engine::Reply& reply, net::ConnectionId connection, std::uint64_t request, bool lose,
                          const api::ReplyContext& context) {
  const auto* received = std::get_if<engine::MessagesReceived>(&reply.body);
  if (received == nullptr || received->messages.empty() || options_.signer == nullptr) return false;
  auto receive = UnsignedReceive::of(*received, *options_.signer, [this](LogPosition at) { return payloads_.record(at); }, unreadable_);
  if (!receive) return false;
  aside_.push_back(Unsigned{connection, request, lose, context, reply.wait_for, *std::move(receive)});
  return true;
}

void DataPlane::take_unsigned() {
  std::vector<Unsigned> aside;
  {
    const auto lock = broker_.lock();
    aside.swap(aside_);
  }
  for (Unsigned& one : aside) {
    if (find(one.connection) == nullptr) {
      give_back(one.receive.handles());
      continue;
    }
    const std::uint64_t request = one.request;
    auto wanted = one.receive.take_wanted();
    unsigned_.emplace(request, std::move(one));
    options_.signer->sign_first(std::move(wanted), [done = signed_, request] {
      const std::lock_guard lock{done->mutex};
      done->requests.push_back(request);
      if (done->loop != nullptr) done->loop->wake();
    });
  }
  std::vector<std::uint64_t> ready;
  {
    const std::lock_guard lock{signed_->mutex};
    ready.swap(signed_->requests);
  }
  for (const std::uint64_t request : ready) {
    auto found = unsigned_.extract(request);
    if (found.empty()) continue;  // its caller has left, and what it held was given back
    Unsigned& one = found.mapped();
    Mail mail{.connection = one.connection,
              .request = request,
              .bytes = {},
              .handles = one.receive.handles(),
              .wait_for = one.wait_for,
              .close_after = !keeps_alive(one.context),
              .service = one.context.service,
              .protocol = one.context.protocol,
              .lose = one.lose};
    const engine::Reply reply{Broker::caller_id(target_, request), one.wait_for, one.receive.received()};
    const api::Encoded encoded = service_.encode(one.context, reply, payloads_, mail.bytes);
    const auto lock = broker_.lock();
    counters_.add(encoded.outcome);
    mail_.push_back(std::move(mail));
  }
}

void DataPlane::queue_answer(Connection& connection, std::uint64_t request, std::string_view bytes,
                             std::span<const engine::ReceiptHandle> handles, bool close_after) {
  auto& waiting = connection.waiting;
  if (waiting.empty() || waiting.front().request > request) {
    send_now(connection, bytes, handles, close_after);
    return;
  }
  auto slot = std::lower_bound(waiting.begin(), waiting.end(), request, [](const Slot& a, std::uint64_t b) { return a.request < b; });
  if (slot == waiting.end() || slot->request != request) slot = waiting.insert(slot, Slot{.request = request});
  slot->ready = true;
  slot->close_after = close_after;
  slot->bytes = bytes;
  connection.unqueued += bytes.size();
  slot->handles.assign(handles.begin(), handles.end());
  if (waiting.size() > kPipelinedMax) pause_reading(connection);  // answers that pile up behind a long poll, too
  send_ready(connection);
}

void DataPlane::send_ready(Connection& connection) {
  while (connection.open && !connection.waiting.empty() && connection.waiting.front().ready) {
    const Slot slot = std::move(connection.waiting.front());
    connection.waiting.pop_front();
    connection.unqueued -= slot.bytes.size();
    send_now(connection, slot.bytes, slot.handles, slot.close_after);
  }
  if (!connection.open || connection.reading || !may_go_on(connection)) return;
  if (connection.held) return go_on(connection);
  connection.reading = true;
  loop_.resume_reading(connection.id);
}

void DataPlane::send_now(Connection& connection, std::string_view bytes, std::span<const engine::ReceiptHandle> handles, bool close_after) {
  const bool gone = !handles.empty() && !loop_.is_peer_alive(connection.id);
  if (gone || !write(connection, bytes)) {
    if (!handles.empty()) give_back(handles);
    connection.closing = true;
    // After a response that is missing, the next ones would be taken for it.
    if (loop_.is_open(connection.id)) loop_.close(connection.id, gone ? net::After::Flush : net::After::Now);
    return;
  }
  if (!handles.empty()) {
    connection.deliveries.push_back({connection.queued, handles.size()});
    connection.delivered.insert(connection.delivered.end(), handles.begin(), handles.end());
  }
  if (close_after) {
    connection.closing = true;
    loop_.close(connection.id, net::After::Flush);
  } else if (loop_.pending_bytes(connection.id) > kOutputPause) {
    pause_reading(connection);
    loop_.notify_drained(connection.id);
  }
}

/// False if the connection takes no more.
bool DataPlane::write(Connection& connection, std::string_view bytes) {
  forget_sent(connection);
  std::string* out = loop_.output(connection.id);
  if (out == nullptr) return false;
  out->append(bytes);
  connection.queued += bytes.size();
  return true;
}

/// Drops the deliveries that the kernel has taken.
void DataPlane::forget_sent(Connection& connection) {
  if (connection.deliveries.empty()) return;
  const std::size_t pending = loop_.pending_bytes(connection.id);
  if (pending > 0 && connection.deliveries.size() < 32) return;  // a few more cost nothing
  const std::uint64_t sent = connection.queued - pending;
  std::size_t handles = 0;
  auto first = connection.deliveries.begin();
  for (; first != connection.deliveries.end() && first->end <= sent; ++first) handles += first->handles;
  connection.deliveries.erase(connection.deliveries.begin(), first);
  connection.delivered.erase(connection.delivered.begin(), connection.delivered.begin() + static_cast<std::ptrdiff_t>(handles));
}

/// A connection that takes no more requests ends with its last answer.
void DataPlane::close_if_done(Connection& connection) {
  if (connection.open && connection.closing && connection.in_turn == 0 && connection.waiting.empty())
    loop_.close(connection.id, net::After::Flush);
}

void DataPlane::on_drained(net::ConnectionId id) {
  if (Connection* connection = find(id)) send_ready(*connection);
}

void DataPlane::on_end_of_input(net::ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->closing = true;
  leave_engine(*connection);
  close_if_done(*connection);  // else on_turn_end closes it behind its answers
}

void DataPlane::on_closed(net::ConnectionId id, net::CloseReason, std::size_t unsent) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  leave_engine(*connection);
  if (unsent > 0) {
    const std::uint64_t sent = connection->queued - std::min<std::uint64_t>(unsent, connection->queued);
    std::size_t reached = 0;
    for (const Delivery& delivery : connection->deliveries)
      if (delivery.end <= sent) reached += delivery.handles;
    const auto lost = std::span{connection->delivered}.subspan(reached);
    if (!lost.empty()) give_back(lost);
  }
  connection->open = false;
  connection->input.clear();
  unfinished_.count(*connection);
  connections_[id.slot].reset();
}

/// Its waiting long polls end without taking anything.
void DataPlane::leave_engine(Connection& connection) {
  for (const Slot& slot : connection.waiting) {
    connection.unqueued -= slot.bytes.size();
    if (slot.ready) {
      if (!slot.handles.empty()) give_back(slot.handles);
      continue;
    }
    if (const auto put_aside = unsigned_.find(slot.request); put_aside != unsigned_.end()) {
      give_back(put_aside->second.receive.handles());
      unsigned_.erase(put_aside);
      continue;
    }
    // At one moment: in between, another loop's send would find the wait in the engine and nobody here to take its message.
    const Timestamp time = now();
    const auto lock = broker_.lock();
    if (parked_.erase(slot.request) > 0)
      broker_.handle(lock, engine::WaiterGone{Broker::caller_id(target_, slot.request)}, time);
  }
  connection.waiting.clear();
}

void DataPlane::give_back(std::span<const engine::ReceiptHandle> handles) {
  broker_.handle(engine::ReceiveUndelivered{handles}, now());
  turn_used_engine_ = true;
}

/// An answer instead of one whose turn could not be made durable. Valid until the next call.
std::string_view DataPlane::refuse(api::aws::Service service, api::aws::Protocol protocol, bool keep_alive) {
  api::ReplyContext context;
  context.service = service;
  context.protocol = protocol;
  context.keep_alive = keep_alive;
  context.request_id = Uuid::from_random(secrets_.bytes16());
  refusal_.clear();
  service_.refuse(context, api::aws::CommonError::ServiceUnavailable,
                  "The journal cannot be written; the request may or may not have been carried out. Try again.", refusal_);
  return refusal_;
}

/// The request was carried out and its caller is not told: what a receive took stays hidden until its visibility ends.
void DataPlane::lose_answer(Connection& connection) {
  connection.closing = true;
  leave_engine(connection);
  loop_.close(connection.id, net::After::Flush);
}

void DataPlane::take_mail() {
  std::vector<Mail> mail;
  {
    const auto lock = broker_.lock();
    mail.swap(mail_);
  }
  std::optional<LogPosition> wait;
  for (const Mail& one : mail)
    if (one.wait_for && (!wait || *wait < *one.wait_for)) wait = one.wait_for;
  const bool durable = !wait || broker_.commit(*wait) == CommitState::Durable;
  for (Mail& one : mail) {
    Connection* connection = find(one.connection);
    const bool refused = one.wait_for && !durable;
    const bool there = connection != nullptr && (one.handles.empty() || loop_.probe_peer(one.connection));
    if (!one.handles.empty() && (refused || !there)) {
      give_back(one.handles);
      one.handles.clear();
    }
    if (connection == nullptr) continue;
    if (one.lose && !refused && there) {
      lose_answer(*connection);
      continue;
    }
    if (!there) {  // hung up: nothing that is behind this answer has anybody to go to
      connection->closing = true;
      leave_engine(*connection);
    } else {
      queue_answer(*connection, one.request, refused ? refuse(one.service, one.protocol, !one.close_after) : one.bytes, one.handles,
                   one.close_after);
    }
    close_if_done(*connection);
  }
}

void DataPlane::commit_turn() {
  const bool durable = !turn_wait_ || broker_.commit(*turn_wait_) == CommitState::Durable;
  for (const TurnReply& reply : turn_replies_) {
    Connection* connection = find(reply.connection);
    std::span<const engine::ReceiptHandle> handles{turn_handles_.data() + reply.handles_offset, reply.handles};
    if (connection == nullptr) {
      if (!handles.empty()) give_back(handles);
      continue;
    }
    --connection->in_turn;
    connection->unqueued -= reply.bytes;
    std::string_view bytes = std::string_view{turn_bytes_}.substr(reply.offset, reply.bytes);
    if (reply.wait_for && !durable) {
      bytes = refuse(reply.service, reply.protocol, !reply.close_after);
      if (!handles.empty()) give_back(handles);
      handles = {};
    } else if (reply.lose) {
      lose_answer(*connection);
      continue;
    }
    queue_answer(*connection, reply.request, bytes, handles, reply.close_after);
    close_if_done(*connection);
  }
  turn_replies_.clear();
  turn_handles_.clear();
  turn_bytes_.clear();
  if (turn_bytes_.capacity() > (std::size_t{4} << 20)) turn_bytes_.shrink_to_fit();
  turn_wait_.reset();
}

void DataPlane::stop_when_empty() {
  if (draining_ && loop_.open_connections() == 0) loop_.stop();
}

void DataPlane::on_turn_end() {
  if (!turn_replies_.empty()) commit_turn();
  if (options_.signer != nullptr) take_unsigned();
  take_mail();
  if (drain_asked_ && !draining_) begin_drain();  // when the turn's answers are queued: theirs come first
  if (turn_used_engine_) {
    Handles unreadable;
    Handles held;
    {
      const auto lock = broker_.lock();
      unreadable.swap(unreadable_);
      held.swap(held_behind_);
    }
    if (!unreadable.empty()) set_aside(std::move(unreadable));
    if (!held.empty()) give_back(held);
    if (!lazy_commit_at_) lazy_commit_at_ = clock_.steady() + kLazyCommit;
    turn_used_engine_ = false;
    take_mail();  // what was given back may have gone to a waiting receive of this loop
  }
  release_held();
  stop_when_empty();
  arm_timer();
  now_.reset();
}

/// Under the broker's lock.
void DataPlane::note_left_out(const api::Encoded& encoded) {
  unreadable_.insert(unreadable_.end(), encoded.unreadable.begin(), encoded.unreadable.end());
  held_behind_.insert(held_behind_.end(), encoded.held.begin(), encoded.held.end());
}

/// What cannot be read stays in flight for a while, unless its visibility ends before: given back at once it would be the next
/// that is received, again and again, and nobody would get what stands behind it.
void DataPlane::set_aside(Handles unreadable) {
  if (options_.on_unreadable) options_.on_unreadable(unreadable.size());
  read_again_.push_back({clock_.steady() + options_.read_again_after, std::move(unreadable)});
}

void DataPlane::on_timer(Instant instant) {
  for (; !read_again_.empty() && read_again_.front().at <= instant; read_again_.pop_front()) give_back(read_again_.front().handles);
  if (lazy_commit_at_ && *lazy_commit_at_ <= instant) {
    lazy_commit_at_.reset();
    if (!broker_.commit_lazily()) lazy_commit_at_ = instant + kLazyCommit;
  }
  if (drives_deadlines_) {
    const std::optional<Timestamp> deadline = broker_.next_deadline();
    if (deadline && *deadline <= now()) {
      broker_.handle(engine::DeadlineCame{}, now());
      turn_used_engine_ = true;  // a long poll that this woke has a record to commit, and perhaps something to give back
    }
  }
  if (instant >= next_sweep_) {
    sweep();
    if (drives_deadlines_) broker_.maintain();
    if (drives_deadlines_ && options_.sampler != nullptr) options_.sampler->tick(clock_.now());
    next_sweep_ = instant + seconds{1};
  }
}

void DataPlane::sweep() {
  const Instant instant = loop_.now();
  const milliseconds timeout = options_.half_request_timeout;
  loop_.for_each_idle(instant, [&](net::ConnectionId id) {
    Connection* connection = find(id);
    if (connection == nullptr || !connection->waiting.empty() || !connection->reading) return;
    const Instant active = loop_.last_activity(id);
    const bool half = !connection->input.empty() && (active < instant - timeout || connection->input_since < instant - 4 * timeout);
    const bool idle = active < instant - options_.idle_timeout;
    if (half) {
      std::string answer;
      refuse_broken(*connection, connection->input, 408, "the request did not become whole in time", answer);
      write(*connection, answer);
    }
    if (!half && !idle) return;
    connection->closing = true;
    loop_.close(id, net::After::Flush);
  });
}

void DataPlane::arm_timer() {
  const Instant instant = clock_.steady();
  if (next_sweep_ == Instant{}) next_sweep_ = instant + seconds{1};
  Instant at = next_sweep_;
  if (lazy_commit_at_) at = std::min(at, *lazy_commit_at_);
  if (!read_again_.empty()) at = std::min(at, read_again_.front().at);
  if (drives_deadlines_)
    if (const std::optional<Timestamp> deadline = broker_.next_deadline()) {
      const milliseconds left = std::max(milliseconds{0}, *deadline - clock_.now());
      at = std::min<Instant>(at, instant + left);
    }
  loop_.set_deadline(at);
}

void DataPlane::look_at_deadline() { loop_.wake(); }

void DataPlane::drain() {
  drain_asked_ = true;
  loop_.wake();
}

void DataPlane::begin_drain() {
  draining_ = true;
  if (listener_) loop_.close_listener(*listener_);
  for (auto& connection : connections_) {
    if (connection == nullptr || !connection->open) continue;
    connection->closing = true;
    for (Slot& slot : connection->waiting) {
      if (slot.ready) continue;
      const engine::CallerId caller = Broker::caller_id(target_, slot.request);
      const Timestamp time = now();
      const auto lock = broker_.lock();
      const auto found = parked_.find(slot.request);
      if (found == parked_.end()) continue;  // its answer is in the mail
      const Parked parked = std::move(found->second);
      parked_.erase(found);
      broker_.handle(lock, engine::WaiterGone{caller}, time);
      const engine::Reply nothing{caller, std::nullopt, engine::MessagesReceived{}};
      api::ReplyContext context = parked.context;
      if (slot.request == connection->waiting.back().request) context.keep_alive = false;
      service_.encode(context, nothing, payloads_, slot.bytes);
      connection->unqueued += slot.bytes.size();
      slot.ready = true;
    }
    send_ready(*connection);
    close_if_done(*connection);
  }
}

}  // namespace fanfare::server

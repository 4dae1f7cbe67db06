// The API over an engine in memory: what the data plane does with requests and replies, in one thread.
#include "api_server.h"

#include <map>
#include <optional>

#include "api/service.h"
#include "api/sqs/receipt_handles.h"
#include "logged_engine.h"
#include "wire/http/request.h"
#include "words.h"

namespace fanfare::scenarios {
namespace {

constexpr std::string_view kReceiptSecret = "receipts of the scenarios";
constexpr std::string_view kTokenSecret = "sessions of the scenarios";

class ApiServer final : public Server, private api::Payloads {
 public:
  explicit ApiServer(const Settings& settings) : engine_(settings) { start_service(); }

  std::optional<std::string> ask(const std::string& client, const std::string& request) override {
    wire::http::RequestParser parser;
    if (parser.parse(request) != wire::http::Parse::Complete) wrong("a request that is not whole: " + request);
    const engine::CallerId caller{++callers_};
    api::ReplyContext context;
    std::string out;
    const auto decoded =
        service_->decode(parser.request(), {caller, "127.0.0.1", false, engine_.now(), engine_.now(), secrets_}, context, out);
    if (decoded.command == nullptr) return out;
    asking_.insert_or_assign(client, caller.value);
    contexts_.emplace(caller.value, std::move(context));
    take_replies(engine_.handle(*decoded.command));
    return late_answer(client);
  }
  std::optional<std::string> late_answer(const std::string& client) override {
    const auto asks = asking_.find(client);
    if (asks == asking_.end()) return std::nullopt;
    auto answer = answers_.extract(asks->second);
    if (answer.empty()) return std::nullopt;
    asking_.erase(asks);
    return std::move(answer.mapped());
  }
  bool leave(const std::string& client) override {
    const auto asks = asking_.find(client);
    if (asks == asking_.end()) return false;
    take_replies(engine_.handle(engine::WaiterGone{{asks->second}}));
    contexts_.erase(asks->second);
    asking_.erase(asks);
    return true;
  }

  void advance_to(Timestamp time) override {
    engine_.advance_to(time, [this](const engine::Outputs& outputs) { take_replies(outputs); });
  }
  [[nodiscard]] Timestamp now() const override { return engine_.now(); }

  void set_identities(std::shared_ptr<const identity::Directory> directory) override {
    directory_ = std::move(directory);
  }
  std::string restart(bool lose_receives) override {
    asking_.clear();
    contexts_.clear();
    answers_.clear();
    start_service();
    return engine_.restart(lose_receives);
  }
  void set_storage_full(bool full) override { take_replies(engine_.handle(engine::StorageChanged{full})); }
  Answer metrics(const std::string& name) override { return metrics_of(engine_.engine(), name); }
  bool lose(const std::vector<std::string>& handles) override {
    const api::ReceiptHandles reader(kReceiptSecret);
    std::vector<engine::ReceiptHandle> lost;
    for (const std::string& handle : handles) lost.push_back(reader.parse(handle).value());
    take_replies(engine_.handle(engine::ReceiveUndelivered{lost}));
    return true;
  }

 private:
  void start_service() {
    authenticator_.emplace([this] { return directory_; }, kTokenSecret);
    api::ServiceOptions options;
    options.receipt_secret = kReceiptSecret;
    service_.emplace(std::move(options), *authenticator_);
  }
  std::optional<std::string> record(LogPosition position) override { return engine_.record(position); }
  void take_replies(const engine::Outputs& outputs) {
    for (const engine::Reply& reply : outputs.replies) {
      const auto context = contexts_.find(reply.caller.value);
      if (context == contexts_.end()) continue;
      const auto encoded = service_->encode(context->second, reply, *this, answers_[reply.caller.value]);
      if (!encoded.unreadable.empty()) wrong("a message's content could not be read");
      contexts_.erase(context);
    }
  }

  LoggedEngine engine_;
  SeededSecrets secrets_{1};
  std::shared_ptr<const identity::Directory> directory_;
  std::optional<api::aws::EnforcedAuthenticator> authenticator_;
  std::optional<api::Service> service_;
  std::uint64_t callers_ = 0;
  std::map<std::string, std::uint64_t> asking_;          // client -> caller
  std::map<std::uint64_t, api::ReplyContext> contexts_;  // of what is not answered
  std::map<std::uint64_t, std::string> answers_;         // not yet taken
};

}  // namespace

std::unique_ptr<Server> make_api_server(const Settings& settings) { return std::make_unique<ApiServer>(settings); }

}  // namespace fanfare::scenarios

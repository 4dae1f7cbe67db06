// Plays scenarios as a client of the wire protocols: each verb is one request, each answer is put into the words of the
// files.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cast.h"
#include "driver.h"
#include "server.h"
#include "wire_message.h"

namespace fanfare::scenarios {

class WireDriver final : public Driver {
 public:
  WireDriver(Protocol protocol, std::unique_ptr<Server> server);
  void advance_to(milliseconds since_start) override;
  Answer perform(const Step& step) override;
  std::optional<Answer> late_answer(const std::string& client) override;
  [[nodiscard]] bool knows(std::string_view verb) const override;

 private:
  using Members = std::vector<wire::json::Member>;
  using Verb = Answer (WireDriver::*)(const Step&);
  static const std::map<std::string, Verb, std::less<>>& verbs();

  Answer queue(const Step& step);
  Answer set(const Step& step);
  Answer find_queue(const Step& step);
  Answer delete_queue(const Step& step);
  Answer list_queues(const Step& step);
  Answer describe(const Step& step);
  Answer tag(const Step& step);
  Answer untag(const Step& step);
  Answer tags(const Step& step);
  Answer purge(const Step& step);
  Answer sources(const Step& step);
  Answer permit(const Step& step);
  Answer forbid(const Step& step);
  Answer move(const Step& step);
  Answer cancel_move(const Step& step);
  Answer moves(const Step& step);
  Answer send(const Step& step);
  Answer send_batch(const Step& step);
  Answer receive(const Step& step);
  Answer delete_message(const Step& step);
  Answer delete_batch(const Step& step);
  Answer extend(const Step& step);
  Answer extend_batch(const Step& step);
  Answer details(const Step& step);
  Answer lost(const Step& step);
  Answer leave(const Step& step);
  Answer restart(const Step& step);
  Answer topic(const Step& step);
  Answer set_topic(const Step& step);
  Answer delete_topic(const Step& step);
  Answer list_topics(const Step& step);
  Answer subscribe(const Step& step);
  Answer set_subscription(const Step& step);
  Answer confirm(const Step& step);
  Answer replay_status(const Step& step);
  Answer unsubscribe(const Step& step);
  Answer subscriptions(const Step& step);
  Answer publish(const Step& step);
  Answer publish_batch(const Step& step);
  Answer permit_topic(const Step& step);
  Answer forbid_topic(const Step& step);
  Answer metrics(const Step& step);
  Answer storage(const Step& step);
  Answer explain(const Step& step);
  Answer why(const Step& step);

  /// The answer, or nothing while the request waits.
  std::optional<WireAnswer> exchange(const Step& step, const WireRequest& request);
  /// The same for requests that are answered at once.
  WireAnswer call(const Step& step, std::string_view service, std::string action, Members members);
  /// "ok", or the error's name.
  Answer simple(const Step& step, std::string_view service, std::string action, Members members);
  Answer failure(std::string_view service, const WireAnswer& answer);
  /// `look` sees each entry that succeeded.
  Answer batch(const Step& step, std::string_view service, const std::string& action, Members members,
               std::size_t entries, const std::function<void(const Element&)>& look = {});
  Answer received(const WireAnswer& answer);
  std::string token_after(const Step& step, const std::string& name);
  [[nodiscard]] const std::string& handle_of(const std::string& word) const;
  [[nodiscard]] std::string subscription_arn(const Step& step) const;
  const wire::sigv4::Credentials* credentials_of(const Step& step);

  const Protocol protocol_;
  std::unique_ptr<Server> server_;
  Cast cast_;
  std::map<std::string, WireRequest> waiting_;  ///< by client
  struct Received {
    std::string handle;
    std::map<std::string, std::string> attributes;
    std::string message_attributes;
  };
  std::vector<Received> received_;  ///< handles are indices here
  std::string last_move_;
  std::string refusal_;
  std::map<std::string, std::string> subscriptions_;  ///< "topic queue" -> ARN, also of one that is gone
  struct Keys {
    wire::sigv4::Credentials credentials;
    Timestamp until;
  };
  std::map<std::string, Keys> sessions_;  ///< of roles, by caller
};

}  // namespace fanfare::scenarios

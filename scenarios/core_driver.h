// Plays scenarios on the engine itself, with a journal in memory.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "cast.h"
#include "driver.h"
#include "logged_engine.h"

namespace fanfare::scenarios {

class CoreDriver final : public Driver {
 public:
  explicit CoreDriver(const Settings& settings);
  void advance_to(milliseconds since_start) override;
  Answer perform(const Step& step) override;
  std::optional<Answer> late_answer(const std::string& client) override;
  [[nodiscard]] bool knows(std::string_view verb) const override;

 private:
  using Verb = Answer (CoreDriver::*)(const Step&);
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
  Answer metrics(const Step& step);
  Answer storage(const Step& step);
  Answer permit_topic(const Step& step);
  Answer forbid_topic(const Step& step);
  Answer explain(const Step& step);
  Answer why(const Step& step);

  template <class Request>
  Answer ask(const Step& step, const Request& request);
  void input(const engine::Input& input);
  void take_replies(const engine::Outputs& outputs);
  Answer answer_of(const engine::Reply& reply);
  engine::SubscriptionKeyView subscription_key(const Step& step) const;

  SeededSecrets secrets_{1};
  LoggedEngine engine_;
  Cast cast_;
  std::uint64_t callers_ = 0;
  std::map<std::string, std::uint64_t> waiting_;  ///< client -> its caller number
  std::map<std::uint64_t, Answer> answers_;       ///< by caller number
  struct Received {
    engine::ReceiptHandle handle;
    std::uint32_t receive_count;
    Timestamp sent_at;
    Timestamp first_received_at;
    std::string source;
    std::string attributes;
  };
  std::vector<Received> received_;  ///< handles are indices here
  Uuid last_move_;
  std::string policy_;   ///< of the queue or topic that was described last
  std::string refusal_;  ///< why the last request without permission was refused
  std::map<std::string, topic::SubscriptionUuid> subscriptions_;  ///< "topic queue" -> id
};

}  // namespace fanfare::scenarios

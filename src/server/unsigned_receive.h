// An answer to a receive of which envelopes are not signed yet: what it hands out, copied, so that it can be written when the
// signatures are there, without the engine and its lock.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log_position.h"
#include "core/engine/commands.h"
#include "server/envelope_signer.h"

namespace fanfare::server {

class UnsignedReceive {
 public:
  using ReadRecord = std::function<std::optional<std::string>(LogPosition)>;

  /// Nullopt if everything is signed: the answer can be written as it is. Messages whose content cannot be read go to `unreadable`
  /// and are not handed out.
  static std::optional<UnsignedReceive> of(const engine::MessagesReceived& received, EnvelopeSigner& signer, const ReadRecord& read,
                                           std::vector<engine::ReceiptHandle>& unreadable);
  // Views point into it.
  UnsignedReceive(UnsignedReceive&&) noexcept = default;
  UnsignedReceive& operator=(UnsignedReceive&&) noexcept = default;

  [[nodiscard]] engine::MessagesReceived received() const { return {messages_}; }
  [[nodiscard]] std::vector<engine::ReceiptHandle> handles() const;
  /// What is to be signed; moved out.
  std::vector<EnvelopeSigner::Wanted> take_wanted() { return std::move(wanted_); }

 private:
  UnsignedReceive() = default;

  std::vector<engine::ReceivedMessage> messages_;
  // Of the messages, at places that do not move.
  std::deque<std::string> contents_;
  std::deque<engine::TopicKey> topics_;
  std::deque<engine::QueueKey> queues_;
  std::vector<EnvelopeSigner::Wanted> wanted_;
};

}  // namespace fanfare::server

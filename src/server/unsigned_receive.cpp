#include "server/unsigned_receive.h"

#include <algorithm>

#include "core/engine/records.h"
#include "core/message/content.h"
#include "core/topic/envelope.h"

namespace fanfare::server {
namespace {

std::uint8_t version_of(const engine::EnvelopeOf& envelope) { return envelope.signature_version == 2 ? 2 : 1; }

}  // namespace

std::optional<UnsignedReceive> UnsignedReceive::of(const engine::MessagesReceived& received, EnvelopeSigner& signer,
                                                   const ReadRecord& read, std::vector<engine::ReceiptHandle>& unreadable) {
  const auto shows_signature = [](const engine::ReceivedMessage& message) { return message.envelope && !message.envelope->fifo_topic; };
  if (std::ranges::none_of(received.messages, shows_signature)) return std::nullopt;
  UnsignedReceive copy;
  std::vector<engine::ReceiptHandle> lost;
  std::deque<std::string> records;
  for (const engine::ReceivedMessage& message : received.messages) {
    engine::ReceivedMessage& mine = copy.messages_.emplace_back(message);
    if (mine.content.empty()) {
      auto record = read(message.position);
      const auto content = record ? engine::content_of_record(records.emplace_back(*std::move(record))) : std::nullopt;
      if (!content) {
        copy.messages_.pop_back();
        lost.push_back(message.handle);
        continue;
      }
      mine.content = *content;
    }
    if (!shows_signature(message)) continue;
    const auto content = message::ContentView::decode(mine.content);
    if (!content || !content->publication()) continue;
    const std::uint8_t version = version_of(*message.envelope);
    const PublicationId id = content->publication()->id;
    if (!signer.has(id, version))
      copy.wanted_.push_back({id, version, topic::string_to_sign(*content, message.envelope->topic->arn().str())});
  }
  if (copy.wanted_.empty()) return std::nullopt;
  unreadable.insert(unreadable.end(), lost.begin(), lost.end());
  for (engine::ReceivedMessage& mine : copy.messages_) {
    mine.content = copy.contents_.emplace_back(mine.content);
    if (mine.envelope) mine.envelope->topic = &copy.topics_.emplace_back(*mine.envelope->topic);
    if (mine.dead_letter_source != nullptr) mine.dead_letter_source = &copy.queues_.emplace_back(*mine.dead_letter_source);
  }
  return copy;
}

std::vector<engine::ReceiptHandle> UnsignedReceive::handles() const {
  std::vector<engine::ReceiptHandle> handles;
  for (const engine::ReceivedMessage& message : messages_) handles.push_back(message.handle);
  return handles;
}

}  // namespace fanfare::server

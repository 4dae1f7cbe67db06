// CreateQueue, GetQueueUrl, ListQueues, ListDeadLetterSourceQueues, DeleteQueue, PurgeQueue.
#include <fmt/format.h>

#include <algorithm>

#include "api/sqs/actions.h"
#include "api/sqs/errors.h"
#include "api/sqs/validate.h"
#include "base/arn.h"
#include "wire/digest/encoding.h"

namespace fanfare::api::sqs {
namespace {

constexpr std::int64_t kPageMax = 1000;

struct Page {
  std::string_view after;
  std::size_t limit = kPageMax;
};

/// A token is the base64 of the last queue's URL, of which the name counts.
Result<Page, ApiError> read_page(const wire::aws::Number& max_results, const wire::aws::Text& token, Call& call) {
  Page page;
  if (max_results.has_value()) {
    if (*max_results < 1 || *max_results > kPageMax) {
      return invalid_value(std::to_string(*max_results), "MaxResults",
                           "Must be an integer between 1 and 1000, if provided.");
    }
    page.limit = static_cast<std::size_t>(*max_results);
    call.context.paged = true;
  }
  if (token.has_value() && !token.empty()) {
    const auto url = wire::digest::decode_base64(token.view());
    if (!url) return api_error(Error::InvalidParameterValue, "Invalid or expired next token.");
    page.after = call.arena.copy(*url);
    page.after.remove_prefix(page.after.rfind('/') + 1);  // npos + 1 is 0
  }
  return page;
}

template <class Output>
void write_page(const engine::QueueNames& names, ReplyCall& call, wire::aws::List<wire::aws::Text> Output::*urls,
                bool even_empty) {
  auto* const texts = call.answer.arena.take_array<wire::aws::Text>(names.keys.size());
  std::ranges::transform(names.keys, texts, [&](const queue::QueueKey& key) { return queue_url(key, call); });
  Output out;
  if (even_empty || !names.keys.empty()) out.*urls = {texts, names.keys.size()};
  if (names.more && call.context.paged) {
    out.next_token = call.answer.arena.copy(wire::digest::base64(texts[names.keys.size() - 1].view()));
  }
  call.answer.write(out);
}

}  // namespace

Result<Next, ApiError> create_queue(const model::CreateQueueRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::CreateQueue>();
  if (in.queue_name.empty()) {
    return api_error(Error::InvalidParameterValue,
                     "Value for parameter QueueName is invalid. Reason: Must specify a queue name.");
  }
  command.queue = {call.account, call.region, in.queue_name.view()};
  const bool fifo = is_fifo_name(in.queue_name.view());
  auto attributes = read_attributes(in.attributes, call.context);
  if (!attributes) return attributes.error();
  if (!fifo && attributes->fifo == false) {
    return api_error(Error::InvalidAttributeName, "Unknown Attribute FifoQueue.");
  }
  command.attributes = *std::move(attributes);
  auto tags = read_tags(in.tags, call);
  if (!tags) return tags.error();
  command.tags = *tags;
  call.context.fifo = fifo;
  call.keep_base_url();
  return Next::Engine;
}

void create_queue_reply(const engine::QueueFound& found, ReplyCall& call) {
  model::CreateQueueResult out;
  out.queue_url = queue_url(*found.key, call);
  call.answer.write(out);
}

Result<Next, ApiError> get_queue_url(const model::GetQueueUrlRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::FindQueue>();
  if (in.queue_name.empty()) {
    return api_error(Error::InvalidParameterValue,
                     "Value for parameter QueueName is invalid. Reason: Must specify a queue name.");
  }
  const std::string_view owner = in.queue_owner_aws_account_id.view();
  command.queue = {owner.empty() ? call.account : owner, call.region, in.queue_name.view()};
  call.keep_base_url();
  return Next::Engine;
}

void get_queue_url_reply(const engine::QueueFound& found, ReplyCall& call) {
  model::GetQueueUrlResult out;
  out.queue_url = queue_url(*found.key, call);
  call.answer.write(out);
}

Result<Next, ApiError> list_queues(const model::ListQueuesRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::ListQueues>();
  auto page = read_page(in.max_results, in.next_token, call);
  if (!page) return page.error();
  command.account = call.account;
  command.region = call.region;
  command.prefix = in.queue_name_prefix.view();
  command.after = page->after;
  command.limit = page->limit;
  call.keep_base_url();
  return Next::Engine;
}

void list_queues_reply(const engine::QueueNames& names, ReplyCall& call) {
  write_page(names, call, &model::ListQueuesResult::queue_urls, false);
}

Result<Next, ApiError> list_dead_letter_source_queues(const model::ListDeadLetterSourceQueuesRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::ListDeadLetterSourceQueues>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  auto page = read_page(in.max_results, in.next_token, call);
  if (!page) return page.error();
  command.queue = *key;
  command.after = page->after;
  command.limit = page->limit;
  call.keep_base_url();
  return Next::Engine;
}

void list_dead_letter_source_queues_reply(const engine::QueueNames& names, ReplyCall& call) {
  write_page(names, call, &model::ListDeadLetterSourceQueuesResult::queue_urls, true);
}

Result<Next, ApiError> delete_queue(const model::DeleteQueueRequest& in, Call& call) {
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  call.request.emplace<engine::DeleteQueue>().queue = *key;
  return Next::Engine;
}

Result<Next, ApiError> purge_queue(const model::PurgeQueueRequest& in, Call& call) {
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  call.request.emplace<engine::PurgeQueue>().queue = *key;
  call.context.subject = key->name;
  return Next::Engine;
}

}  // namespace fanfare::api::sqs

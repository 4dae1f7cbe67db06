// document_worker summarise|embed|moderate: takes documents from its queue, works on them, publishes what it found.
// A document is acknowledged only when its result was: a crash in between means a second run, and the result's key makes
// one notification of both.
#include <boost/asio/co_spawn.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "command_line.h"
#include "documents.h"
#include "embed.h"
#include "fanfare/consumer.h"
#include "fanfare/publisher.h"
#include "fanfare/service_host.h"
#include "moderate.h"
#include "summarise.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace {

namespace sdk = fanfare::sdk;
namespace json = fanfare::wire::json;
using namespace pipeline;
using namespace std::chrono_literals;

struct Document {
  std::string id;
  std::string title;
  std::string text;
};

/// Why an event cannot be worked on.
struct Refusal {
  std::string why;
};

/// Opens a `document.uploaded` event; a large document is read from the file that it names.
fanfare::Result<Document, Refusal> open_document(const std::string& body) {
  const auto event = json::parse(body);
  if (!event) return Refusal{"the event is no JSON: " + event.error().message()};
  Document document{std::string{event->find_string("document").value_or("")}, std::string{event->find_string("title").value_or("")}, {}};
  if (document.id.empty()) return Refusal{"the event names no document"};
  if (const auto text = event->find_string("text")) {
    document.text = *text;
    return document;
  }
  const json::Value* reference = event->find("reference");
  const auto path = reference ? reference->find_string("path") : std::nullopt;
  if (!path) return Refusal{"the event has neither text nor reference.path"};
  const bool manual = event->find_string("kind") == "manual";
  auto text = read_document({std::string{*path}, manual ? DocumentKind::ManualPage : DocumentKind::PlainText, false});
  if (!text) return Refusal{"the document cannot be read: " + std::string{*path}};
  document.text = std::move(*text);
  return document;
}

/// The job of one worker: a document in, the members of its result out.
using Job = std::function<void(const Document&, json::Writer&)>;

Job summarise_job() {
  return [](const Document& document, json::Writer& out) {
    const Summary summary = summarise(document.text);
    out.key("summary").begin_array();
    for (const std::string& sentence : summary.sentences) out.string(sentence);
    out.end_array().key("key_words").begin_array();
    for (const std::string& word : summary.key_words) out.string(word);
    out.end_array();
  };
}

Job embed_job() {
  struct State {
    EmbeddingIndex index;
    std::map<std::string, std::string> titles;
  };
  auto state = std::make_shared<State>();
  return [state](const Document& document, json::Writer& out) {
    const Embedding embedding = embed(document.text);
    out.key("dimensions").unsigned_integer(kDimensions).key("nearest").begin_array();
    for (const Neighbour& neighbour : state->index.nearest(embedding, 3))
      out.begin_object().key("document").string(neighbour.document).key("title").string(state->titles[neighbour.document])
          .key("similarity").real(neighbour.similarity).end_object();
    out.end_array();
    if (state->titles.emplace(document.id, document.title).second) state->index.add(document.id, embedding);
  };
}

Job moderate_job() {
  return [](const Document& document, json::Writer& out) {
    const Moderation moderation = moderate(document.text);
    out.key("verdict").string(to_string(moderation.verdict)).key("score").integer(moderation.score).key("findings").begin_array();
    for (const Finding& finding : moderation.findings)
      out.begin_object().key("rule").string(finding.rule).key("excerpt").string(finding.excerpt).key("score").integer(finding.score).end_object();
    out.end_array();
  };
}

/// The result as an event, in the form that the inbox takes: one notification for two people.
sdk::Event result_event(const Document& document, const std::string& role, const std::string& kind, const Job& job) {
  std::string body;
  json::Writer out{body};
  out.begin_object().key("idempotency_key").string(document.id + ":" + role).key("recipients").begin_array();
  out.string("alice").string("bob").end_array().key("workspace").string(kWorkspace).key("kind").string(kind);
  out.key("object_id").string(document.id).key("data").begin_object().key("title").string(document.title);
  job(document, out);
  out.end_object().end_object();
  return sdk::Event{.id = document.id + ":" + role, .type = kind, .body = std::move(body)};
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Arguments::parse(argc, argv, {"endpoint", "topic-arn"});
  static const std::map<std::string, std::pair<std::string, Job (*)()>> kRoles{{"summarise", {"document.summarised", summarise_job}},
                                                                              {"embed", {"document.embedded", embed_job}},
                                                                              {"moderate", {"document.moderated", moderate_job}}};
  const auto found = arguments.rest.size() == 1 ? kRoles.find(arguments.rest.front()) : kRoles.end();
  if (found == kRoles.end()) {
    std::fprintf(stderr, "usage: document_worker summarise|embed|moderate [--endpoint URL] [--topic-arn ARN]\n");
    return 2;
  }
  const std::string role = found->first;
  const std::string kind = found->second.first;
  const Job job = found->second.second();
  const std::string endpoint = arguments.get("endpoint", "http://127.0.0.1:4566");
  const std::string topic_arn = arguments.get("topic-arn", "arn:aws:sns:us-east-1:000000000000:doc-events");

  sdk::ServiceHost host{{.stop_timeout = 40s}};
  const Clients clients = make_clients(host.io(), endpoint);
  sdk::Publisher publisher{host.io().get_executor(), sdk::topic_destination(clients.sns, topic_arn), {.flush_interval = 1ms}};
  sdk::HandlerTable handlers;
  handlers.on("document.uploaded", [&](const sdk::Delivery& delivery) -> sdk::Awaitable<sdk::HandlerResult> {
    const auto document = open_document(delivery.body);
    if (!document) co_return sdk::HandlerResult::failed(document.error().why);
    auto publishing = publisher.publish_confirmed(result_event(*document, role, kind, job));
    const auto receipt = co_await std::move(publishing);
    if (!receipt) co_return sdk::HandlerResult::failed(receipt.error().describe());
    co_return sdk::HandlerResult::done();
  });
  sdk::ConsumerOptions options;
  options.on_failure = [&](const sdk::Delivery& delivery, const std::vector<std::string>& reasons) {
    for (const std::string& reason : reasons) std::fprintf(stderr, "%s: %s: %s\n", role.c_str(), delivery.message_id.c_str(), reason.c_str());
  };
  options.on_error = [&](const sdk::Error& error) { std::fprintf(stderr, "%s: %s\n", role.c_str(), error.describe().c_str()); };

  std::unique_ptr<sdk::Consumer> consumer;
  boost::asio::co_spawn(host.io(), clients.sqs->get_queue_url(role), [&](std::exception_ptr, fanfare::Result<std::string, sdk::Error> url) {
    if (!url) {
      std::fprintf(stderr, "%s: %s\n", role.c_str(), url.error().describe().c_str());
      std::exit(1);
    }
    consumer = std::make_unique<sdk::Consumer>(host.io().get_executor(), clients.sqs, *url, std::move(handlers), options);
    consumer->start();
  });
  host.at(sdk::Phase::FinishWork, "consumer", 15s, [&](fanfare::milliseconds limit) -> sdk::Awaitable<std::string> {
    if (!consumer) co_return "";
    auto stopping = consumer->stop(limit);
    co_await std::move(stopping);
    co_return "";
  });
  host.at(sdk::Phase::DrainPublisher, "publisher", 10s, [&](fanfare::milliseconds limit) -> sdk::Awaitable<std::string> {
    auto draining = publisher.drain(limit);
    const sdk::DrainReport report = co_await std::move(draining);
    co_return report.abandoned.empty() ? std::string{} : std::to_string(report.abandoned.size()) + " results were not acknowledged";
  });
  return host.run();
}

// publish_documents FOLDER...: publishes each text document once, as `document.uploaded`, to a topic.
// Prints one line of totals at the end: {"published":2500,"failed":0,"skipped":3,"user_generated":1200,"by_reference":4}
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>

#include "command_line.h"
#include "documents.h"
#include "fanfare/publisher.h"
#include "wire/json/writer.h"

namespace {

namespace sdk = fanfare::sdk;
using namespace pipeline;
using namespace std::chrono_literals;

// Beyond this a document travels as a reference to its file. SNS takes 262,144 bytes a message, and JSON escapes need room.
constexpr std::size_t kInlineBytesMax = 96 * 1024;
constexpr int kAtOnce = 64;  // documents on their way; keeps batches full without holding all documents in memory

struct Totals {
  std::uint64_t published = 0, failed = 0, skipped = 0, user_generated = 0, by_reference = 0;
};

/// {"type":"document.uploaded","document":"doc-000017","title":"changelog.Debian.gz","kind":"text","user_generated":true,
///  "bytes":2210,"text":"..."}          (a large one: "reference":{"path":"/usr/share/doc/x/changelog"} in place of "text")
std::string document_event(const DocumentFile& file, const std::string& document, const std::string& text, bool inline_text) {
  std::string body;
  fanfare::wire::json::Writer out{body};
  out.begin_object().key("type").string("document.uploaded").key("document").string(document);
  out.key("title").string(file.path.substr(file.path.rfind('/') + 1)).key("kind").string(to_string(file.kind));
  out.key("user_generated").boolean(file.user_generated).key("bytes").unsigned_integer(text.size());
  if (inline_text)
    out.key("text").string(text);
  else
    out.key("reference").begin_object().key("path").string(file.path).end_object();
  out.end_object();
  return body;
}

fanfare::sdk::Awaitable<void> publish_some(sdk::Publisher& publisher, const std::vector<DocumentFile>& files, std::size_t& next, Totals& totals) {
  while (next < files.size()) {
    const std::size_t index = next++;
    const DocumentFile& file = files[index];
    const std::optional<std::string> text = read_document(file);
    if (!text) {
      ++totals.skipped;
      continue;
    }
    char name[32];
    std::snprintf(name, sizeof name, "doc-%06zu", index);
    const bool inline_text = text->size() <= kInlineBytesMax;
    sdk::Event event{.id = name, .type = "document.uploaded", .body = document_event(file, name, *text, inline_text)};
    event.attributes.push_back({"user_generated", "String", file.user_generated ? "true" : "false"});
    auto publishing = publisher.publish_confirmed(std::move(event));
    const auto receipt = co_await std::move(publishing);
    if (receipt) {
      ++totals.published;
      totals.user_generated += file.user_generated ? 1 : 0;
      totals.by_reference += inline_text ? 0 : 1;
    } else {
      ++totals.failed;
      std::fprintf(stderr, "%s: %s\n", file.path.c_str(), receipt.error().describe().c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Arguments::parse(argc, argv, {"endpoint", "topic-arn", "at-most"});
  if (arguments.rest.empty()) {
    std::fprintf(stderr, "usage: publish_documents FOLDER... [--endpoint URL] [--topic-arn ARN] [--at-most N]\n");
    return 2;
  }
  const std::string endpoint = arguments.get("endpoint", "http://127.0.0.1:4566");
  const std::string topic_arn = arguments.get("topic-arn", "arn:aws:sns:us-east-1:000000000000:doc-events");
  const std::vector<DocumentFile> files = find_documents(arguments.rest, std::stoul(arguments.get("at-most", "1000000")));
  if (files.empty()) {
    std::fprintf(stderr, "publish_documents: no text documents below the folders given\n");
    return 1;
  }
  boost::asio::io_context io{1};
  const Clients clients = make_clients(io, endpoint);
  sdk::Publisher publisher{io.get_executor(), sdk::topic_destination(clients.sns, topic_arn), {.flush_interval = 5ms}};
  Totals totals;
  std::size_t next = 0;
  int running = kAtOnce;
  for (int i = 0; i < kAtOnce; ++i)
    boost::asio::co_spawn(io, publish_some(publisher, files, next, totals), [&](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
      if (--running == 0)
        boost::asio::co_spawn(io, publisher.drain(10s), [&](std::exception_ptr, const sdk::DrainReport&) { io.stop(); });
    });
  io.run();
  std::string line;
  fanfare::wire::json::Writer out{line};
  out.begin_object().key("published").unsigned_integer(totals.published).key("failed").unsigned_integer(totals.failed);
  out.key("skipped").unsigned_integer(totals.skipped).key("user_generated").unsigned_integer(totals.user_generated);
  out.key("by_reference").unsigned_integer(totals.by_reference).end_object();
  std::printf("%s\n", line.c_str());
  return totals.failed == 0 ? 0 : 1;
}

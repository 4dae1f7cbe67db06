#include "server/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/time.h"
#include "wire/json/writer.h"

namespace fanfare::server {

struct Log::Impl {
  std::shared_ptr<spdlog::details::thread_pool> pool = std::make_shared<spdlog::details::thread_pool>(8192, 1);
  std::shared_ptr<spdlog::async_logger> logger = std::make_shared<spdlog::async_logger>(
      "fanfare", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool, spdlog::async_overflow_policy::overrun_oldest);
};

Log::Log() : impl_(std::make_unique<Impl>()) { impl_->logger->set_pattern("%v"); }
Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Log Log::silent() { return Log{nullptr}; }
Log::~Log() {
  if (impl_ != nullptr) impl_->logger->flush();
}

void Log::write(std::string_view level, std::string_view event, Fields fields) {
  if (impl_ == nullptr) return;
  std::string line;
  wire::json::Writer out{line};
  const auto now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
  out.begin_object().key("time").string(iso8601(now)).key("level").string(level).key("event").string(event);
  for (const LogField& field : fields) {
    out.key(field.name);
    if (const auto* text = std::get_if<std::string_view>(&field.value)) out.string(*text);
    else if (const auto* number = std::get_if<std::int64_t>(&field.value)) out.integer(*number);
    else out.boolean(std::get<bool>(field.value));
  }
  out.end_object();
  impl_->logger->log(spdlog::level::info, line);
}

}  // namespace fanfare::server

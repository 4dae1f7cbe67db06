#include "server/journal_tool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/records.h"
#include "journal/file/file_journal.h"
#include "journal/file/salvage.h"
#include "journal/file/verify.h"
#include "journal/file_system.h"
#include "server/os_secrets.h"
#include "server/snapshot_sections.h"
#include "server/state_rebuild.h"
#include "wire/json/writer.h"

namespace fanfare::server {
namespace {

namespace fs = std::filesystem;
using journal::Damage;
using journal::Loss;
using journal::SalvagedLog;

constexpr int kSound = 0;
constexpr int kFailed = 1;
constexpr int kDamaged = 4;
/// In which relocation and the engine count positions; a new journal begins at a multiple of it.
constexpr std::uint64_t kRegionBytes = 64 << 10;

ToolResult failed(std::string why) { return {kFailed, {}, "fanfare journal: " + std::move(why) + "\n"}; }

std::string folder_of(const std::string& given) {
  std::error_code ignored;
  const fs::path inside = fs::path(given) / "journal";
  const fs::path chosen = fs::is_directory(inside, ignored) ? inside : fs::path(given);
  std::string text = chosen.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

/// A journal folder with all that can be read of it. In this order: the log uses the files.
struct Looked {
  std::unique_ptr<journal::FileSystem> files;
  std::unique_ptr<SalvagedLog> log;
  RebuiltState state;
};

Result<Looked, std::string> look(const std::string& folder) {
  Looked looked;
  auto files = journal::open_folder(folder, journal::MissingFolder::Refuse);
  if (!files) return files.error().describe(folder);
  looked.files = std::move(*files);
  auto log = SalvagedLog::open(*looked.files);
  if (!log) return log.error().message;
  looked.log = std::move(*log);
  auto state = rebuild_state(*looked.log, static_cast<std::uint32_t>(looked.log->scan().epoch_max + 1));
  if (!state) return state.error().message;
  looked.state = std::move(*state);
  return looked;
}

void append_damage(wire::json::Writer& out, const std::vector<Damage>& places) {
  out.begin_array();
  for (const Damage& place : places) {
    out.begin_object().key("file").string(place.file).key("offset").unsigned_integer(place.byte_offset);
    out.key("position").unsigned_integer(place.position.value).key("expected").string(place.expected);
    out.key("records_beyond").unsigned_integer(place.records_beyond).end_object();
  }
  out.end_array();
}

void append_state_faults(wire::json::Writer& out, const RebuiltState& state) {
  out.key("snapshot_unreadable").boolean(state.snapshot_unreadable).key("dropped_records").begin_array();
  for (const DroppedRecord& record : state.dropped) {
    out.begin_object().key("position").unsigned_integer(record.position.value).key("bytes").unsigned_integer(record.bytes);
    out.key("kind").string(record.kind).key("why").string(record.why).end_object();
  }
  out.end_array();
}

void append_losses(wire::json::Writer& out, const std::vector<Loss>& losses) {
  out.key("losses").begin_array();
  for (const Loss& loss : losses) {
    out.begin_object().key("file").string(loss.file).key("offset").unsigned_integer(loss.byte_offset);
    out.key("bytes").unsigned_integer(loss.bytes).key("from").unsigned_integer(loss.from.value).key("to").unsigned_integer(loss.to.value);
    out.key("what").string(loss.what).end_object();
  }
  out.end_array();
}

void append_dropped_messages(wire::json::Writer& out, const std::vector<DroppedMessage>& messages) {
  out.key("dropped_messages").begin_array();
  for (const DroppedMessage& message : messages) {
    out.begin_object().key("queue").string(message.queue_arn).key("message_id").string(message.message_id);
    out.key("position").unsigned_integer(message.position.value).end_object();
  }
  out.end_array();
}

/// Damage that only the meaning of the records shows.
std::string describe_state_faults(const RebuiltState& state, const std::vector<DroppedMessage>& unreadable) {
  std::string text;
  if (state.snapshot_unreadable) text += "damaged: the snapshot's checksums hold, but its content makes no sense\n";
  for (const DroppedRecord& record : state.dropped)
    text += fmt::format("damaged: record at position {} ({}, {} bytes): {}\n", record.position.value, record.kind, record.bytes, record.why);
  for (const DroppedMessage& message : unreadable)
    text += fmt::format("damaged: message {} of {}: its content at position {} cannot be read\n", message.message_id, message.queue_arn,
                        message.position.value);
  return text;
}

bool is_no_journal(const journal::VerifyReport& report) {
  return report.journal_id.empty() && report.segments.empty() && report.snapshots.empty() && report.damage.empty();
}

std::string no_journal(const std::string& folder) {
  return fmt::format("{} holds no journal: there is neither a CONTROL file nor a segment nor a snapshot; name a data folder, or the journal's folder in it", folder);
}

/// A journal without the files that hold its records.
std::string describe_missing_segments(const journal::VerifyReport& report, const std::string& folder) {
  if (!report.segments.empty()) return {};
  const std::string there = report.snapshots.empty() ? "the CONTROL file" : fmt::format("the CONTROL file and {} snapshots", report.snapshots.size());
  if (report.damage.empty())
    return fmt::format("no segment files (*.segment) in {}, beside {}: either nothing was ever written, or they have been taken away\n", folder, there);
  return fmt::format("missing: all segment files (*.segment) of the log from position {} on; in {} there is {}\n", report.first.value, folder, there);
}

bool sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = ::fsync(fd) == 0;
  ::close(fd);
  return synced;
}

bool write_file(const fs::path& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  const bool whole = done == text.size() && ::fsync(fd) == 0;
  ::close(fd);
  return whole;
}

/// The state and its contents into a new journal at `target`; an error, or nothing.
std::optional<std::string> write_anew(Looked& looked, const std::string& target, std::uint64_t segment_bytes) {
  engine::Engine& engine = *looked.state.engine;
  const LogPosition first{(looked.log->end().value + kRegionBytes - 1) / kRegionBytes * kRegionBytes};
  OsSecrets secrets;
  auto opened = journal::open_file_journal(
      target, secrets,
      {.segment_bytes = segment_bytes, .background = false, .new_first = first, .new_epoch_above = looked.log->scan().epoch_max});
  if (!opened) return opened.error().message;
  journal::Journal& fresh = *opened->journal;
  engine.start(first, Timestamp{});
  engine::Outputs outputs;
  const auto read = [&](LogPosition position) -> std::optional<std::string> {
    std::string record;
    const bool is_fresh = position >= first;
    if (is_fresh ? !fresh.read(position, record) : !looked.log->read(position, record)) return std::nullopt;
    return record;
  };
  for (bool more = true; more;) {
    outputs.clear();
    more = engine.relocate(first, 1 << 20, read, outputs);
    for (const engine::RecordSpan& record : outputs.records) {
      if (fresh.append(outputs.record(record)) != record.position) return "a record would lie elsewhere than the state says";
    }
    if (const auto committed = fresh.commit(journal::Sync::Yes); !committed) return fresh.stats().last_failure;
  }
  // Not oldest_needed_position(): what a deleted queue held is given back in pieces, is nobody's any more and is not copied.
  bool all_copied = true;
  engine.visit_messages([&](const engine::MessagePlace& place) { all_copied = all_copied && place.position >= first; });
  if (!all_copied) return "a content was not copied";
  std::vector<std::string> sections;
  engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  if (const auto written = fresh.snapshots().write(fresh.durable_end(), source_of(std::move(sections))); !written)
    return fmt::format("the snapshot cannot be written: {}", journal::name_of(written.error()));
  return std::nullopt;
}

std::string age_text(std::uint64_t age) {
  if (age < 120) return fmt::format("{} s", age);
  if (age < 7200) return fmt::format("{} min", age / 60);
  return fmt::format("{} h", age / 3600);
}

}  // namespace

ToolResult verify_journal_folder(const std::string& given, bool json) {
  const std::string folder = folder_of(given);
  const auto report = journal::verify_journal(folder);
  if (!report) return failed(report.error().message);
  if (is_no_journal(*report)) return failed(no_journal(folder));
  auto looked = look(folder);
  if (!looked) return failed(looked.error());
  const std::vector<DroppedMessage> unreadable = find_unreadable(*looked->state.engine, *looked->log);
  const RebuiltState& state = looked->state;
  const bool sound = report->sound() && !state.snapshot_unreadable && state.dropped.empty() && unreadable.empty();
  ToolResult result;
  result.exit_code = sound ? kSound : kDamaged;
  if (!json) {
    std::string text = report->describe();
    text.erase(text.rfind('\n', text.size() - 2) + 1);  // its own verdict: here the meaning counts, too
    text += describe_missing_segments(*report, folder);
    text += describe_state_faults(state, unreadable);
    text += fmt::format("{} messages on the queues\n", state.engine->message_count());
    text += sound ? "sound\n" : fmt::format("DAMAGED in {} places; `fanfare journal repair {}` keeps what can be read\n",
                                            report->damage.size() + state.dropped.size() + unreadable.size() + (state.snapshot_unreadable ? 1 : 0), given);
    result.output = std::move(text);
    return result;
  }
  wire::json::Writer out{result.output};
  out.begin_object().key("folder").string(folder).key("sound").boolean(sound).key("in_use").boolean(report->in_use);
  out.key("journal").string(report->journal_id).key("epoch").unsigned_integer(report->epoch);
  out.key("first").unsigned_integer(report->first.value).key("end").unsigned_integer(report->end.value);
  out.key("records").unsigned_integer(report->records).key("messages").unsigned_integer(state.engine->message_count());
  out.key("bytes_on_disk").unsigned_integer(report->bytes_on_disk).key("spare_files").unsigned_integer(report->spare_files);
  out.key("segments").begin_array();
  for (const auto& segment : report->segments) {
    out.begin_object().key("file").string(segment.file).key("first").unsigned_integer(segment.first.value);
    out.key("end").unsigned_integer(segment.end.value).key("records").unsigned_integer(segment.records).end_object();
  }
  out.end_array().key("snapshots").begin_array();
  for (const auto& snapshot : report->snapshots) {
    out.begin_object().key("file").string(snapshot.file).key("position").unsigned_integer(snapshot.position.value);
    out.key("bytes").unsigned_integer(snapshot.bytes).end_object();
  }
  out.end_array().key("torn_tail").boolean(report->tail_is_torn).key("records_to_cut").unsigned_integer(report->records_to_cut);
  out.key("damage");
  append_damage(out, report->damage);
  out.key("set_aside");
  append_damage(out, report->set_aside);
  append_state_faults(out, state);
  append_dropped_messages(out, unreadable);
  out.end_object();
  result.output += '\n';
  return result;
}

ToolResult repair_journal_folder(const std::string& given, bool json) {
  const std::string folder = folder_of(given);
  auto files = journal::open_folder(folder, journal::MissingFolder::Refuse);
  if (!files) return failed(files.error().describe(folder));
  // Held until the end: no server may open the folder that is being read, nor the one that takes its place.
  auto lock = (*files)->open(journal::kLockName, journal::OpenMode::Write);
  if (lock) {
    const auto locked = (*lock)->try_lock();
    if (!locked) return failed(locked.error().describe(journal::kLockName));
    if (!*locked) return failed(fmt::format("{} is in use by {}; stop the server first", folder, journal::holder_of(**lock)));
  }
  auto looked = look(folder);
  if (!looked) return failed(looked.error());
  RebuiltState& state = looked->state;
  const std::vector<DroppedMessage> unreadable = find_unreadable(*state.engine, *looked->log);
  const auto& damage = looked->log->scan().damage;
  const auto& losses = looked->log->losses();
  ToolResult result;
  if (damage.empty() && losses.empty() && !state.snapshot_unreadable && state.dropped.empty() && unreadable.empty()) {
    result.output = json ? "{\"repaired\":false,\"sound\":true}\n" : folder + " is sound; nothing was changed\n";
    return result;
  }
  const auto on_queues = std::count_if(unreadable.begin(), unreadable.end(), [](const DroppedMessage& message) { return message.queue != 0; });
  const std::size_t messages_left = state.engine->message_count() - static_cast<std::size_t>(on_queues);
  for (const DroppedMessage& message : unreadable) {
    std::string record;
    if (message.queue == 0) {
      engine::encode_record(engine::ArchiveForgottenEvent{message.topic, message.sequence}, Timestamp{}, {}, record);
    } else {
      engine::DeletedEvent event;
      event.queue = message.queue;
      event.sequences = {message.sequence};
      engine::encode_record(event, Timestamp{}, {}, record);
    }
    if (!state.engine->replay(record, looked->log->end())) return failed("a message without content cannot be taken out of the state");
  }

  int number = 1;
  const auto beside = [&](const char* what) { return fmt::format("{}.{}-{}", folder, what, number); };
  while (fs::exists(beside("damaged")) || fs::exists(beside("repair") + ".json")) ++number;
  const std::string kept = beside("damaged");
  const std::string report_file = beside("repair") + ".json";
  const std::string fresh = folder + ".repairing";
  std::error_code ignored;
  fs::remove_all(fresh, ignored);  // of a repair that was stopped
  std::uint64_t segment_bytes = journal::FileJournalOptions{}.segment_bytes;
  if (const auto& segments = looked->log->scan().segments; !segments.empty() && segments.front().file_bytes % journal::kSegmentHeaderBytes == 0)
    segment_bytes = std::clamp<std::uint64_t>(segments.front().file_bytes, 1 << 20, segment_bytes);
  const auto give_up = [&](const std::string& why) {
    std::error_code also_ignored;
    fs::remove_all(fresh, also_ignored);
    return failed(why + "; " + folder + " was not changed");
  };
  if (const auto failure = write_anew(*looked, fresh, segment_bytes)) return give_up(*failure);
  {
    // The proof, before anything is moved: the new journal is sound and holds every message that could be read.
    const auto report = journal::verify_journal(fresh);
    auto again = look(fresh);
    if (!report || !report->sound() || !again || !again->state.dropped.empty() || again->state.snapshot_unreadable ||
        again->state.engine->message_count() != messages_left ||
        !find_unreadable(*again->state.engine, *again->log).empty())
      return give_up("the new journal does not hold what was written to it");
  }

  std::string text;
  wire::json::Writer out{text};
  const bool lost = !losses.empty() || !state.dropped.empty() || !unreadable.empty() || !state.made_up.empty() || state.snapshot_unreadable;
  out.begin_object().key("repaired").boolean(true).key("lost").boolean(lost).key("folder").string(folder).key("original").string(kept).key("report").string(report_file);
  out.key("records_read").unsigned_integer(looked->log->records()).key("messages_kept").unsigned_integer(state.engine->message_count());
  out.key("damage");
  append_damage(out, damage);
  append_losses(out, losses);
  append_state_faults(out, state);
  append_dropped_messages(out, unreadable);
  out.key("made_up").begin_array();
  for (const std::string& one : state.made_up) out.string(one);
  out.end_array().end_object();
  text += '\n';
  if (!write_file(report_file, text)) return give_up(report_file + " cannot be written");
  const fs::path parent = fs::path(folder).parent_path();
  if (std::rename(folder.c_str(), kept.c_str()) != 0) return give_up(kept + ": " + std::generic_category().message(errno));
  if (std::rename(fresh.c_str(), folder.c_str()) != 0) {
    const int error = errno;
    (void)std::rename(kept.c_str(), folder.c_str());
    return failed(fmt::format("{}: {}", folder, std::generic_category().message(error)));
  }
  if (!sync_folder(parent)) return failed(fmt::format("{} was repaired, but its new name may not be durable yet", folder));

  result.exit_code = lost ? kDamaged : kSound;
  if (json) {
    result.output = text;
    return result;
  }
  std::string& told = result.output;
  told = fmt::format("repaired: {} records were read, {} messages are on the queues\n", looked->log->records(), state.engine->message_count());
  for (const Loss& loss : losses)
    told += fmt::format("lost: {} at byte {}, {} bytes (positions {} to {}): expected {}\n", loss.file.empty() ? "a missing file" : loss.file,
                        loss.byte_offset, loss.bytes, loss.from.value, loss.to.value, loss.what);
  if (state.snapshot_unreadable) told += "lost: the snapshot's checksums hold, but its content makes no sense\n";
  for (const DroppedRecord& record : state.dropped)
    told += fmt::format("dropped: record at position {} ({}, {} bytes): {}\n", record.position.value, record.kind, record.bytes, record.why);
  for (const DroppedMessage& message : unreadable)
    told += fmt::format("dropped: message {} of {}: its content cannot be read\n", message.message_id, message.queue_arn);
  for (const std::string& one : state.made_up) told += fmt::format("made up, its record is lost: {}\n", one);
  told += fmt::format("the original is kept in {}; the report is {}\n", kept, report_file);
  return result;
}

ToolResult describe_journal_folder(const std::string& given, bool json) {
  const std::string folder = folder_of(given);
  const auto report = journal::verify_journal(folder);
  if (!report) return failed(report.error().message);
  if (is_no_journal(*report)) return failed(no_journal(folder));
  auto looked = look(folder);
  if (!looked) return failed(looked.error());
  const RebuiltState& state = looked->state;

  // One content may serve several messages: each record counts once.
  std::vector<LogPosition> needed;
  state.engine->visit_messages([&](const engine::MessagePlace& place) { needed.push_back(place.position); });
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  struct Share {
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
  };
  std::vector<Share> live(report->segments.size());
  std::uint64_t live_bytes = 0;
  std::string record;
  for (std::size_t i = 0, next = 0; i < live.size(); ++i) {
    for (; next < needed.size() && needed[next] < report->segments[i].end; ++next) {
      if (needed[next] < report->segments[i].first || !looked->log->read(needed[next], record)) continue;
      live[i].bytes += journal::frame_size(record.size());
      ++live[i].records;
    }
    live_bytes += live[i].bytes;
  }
  std::uint64_t snapshot_bytes = 0;
  std::optional<std::uint64_t> age;
  LogPosition snapshot_position;
  for (const auto& snapshot : report->snapshots) {
    snapshot_bytes += snapshot.bytes;
    if (age) continue;  // the first is the newest
    snapshot_position = snapshot.position;
    struct stat info{};
    if (::stat((folder + "/" + snapshot.file).c_str(), &info) == 0) {
      const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
      age = static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - info.st_mtime));
    }
  }
  const std::uint64_t log_bytes = report->end - report->first;
  const auto share = [](std::uint64_t part, std::uint64_t whole) { return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole); };
  ToolResult result;
  result.exit_code = report->sound() ? kSound : kDamaged;
  if (!json) {
    std::string& text = result.output;
    text = describe_missing_segments(*report, folder);
    text += fmt::format("{} messages; {} bytes of the log hold their contents: {:.1f} % of {}\n", state.engine->message_count(), live_bytes,
                       share(live_bytes, log_bytes), log_bytes);
    text += fmt::format("{} bytes on disk, snapshots {}; {} spare files\n", report->bytes_on_disk + snapshot_bytes, snapshot_bytes, report->spare_files);
    if (age) text += fmt::format("snapshot at position {}, {} old; {} bytes of log since\n", snapshot_position.value, age_text(*age), report->end - snapshot_position);
    else text += "no snapshot yet: recovery reads the whole log\n";
    text += fmt::format("{:<30} {:>20} {:>12} {:>10} {:>7}\n", "segment", "first position", "bytes", "records", "live");
    for (std::size_t i = 0; i < live.size(); ++i) {
      const auto& segment = report->segments[i];
      const std::uint64_t bytes = segment.end - segment.first;
      text += fmt::format("{:<30} {:>20} {:>12} {:>10} {:>5.1f} %\n", segment.file, segment.first.value, bytes, segment.records, share(live[i].bytes, bytes));
    }
    text += fmt::format("{:<30} {:>12} {:>14}\n", "records by type", "records", "bytes");
    for (const auto& [kind, count] : state.kinds) text += fmt::format("{:<30} {:>12} {:>14}\n", kind, count.records, count.bytes);
    if (!report->sound()) text += fmt::format("DAMAGED in {} places; `fanfare journal verify {}` names them\n", report->damage.size(), given);
    return result;
  }
  wire::json::Writer out{result.output};
  out.begin_object().key("folder").string(folder).key("sound").boolean(report->sound()).key("in_use").boolean(report->in_use);
  out.key("messages").unsigned_integer(state.engine->message_count()).key("live_bytes").unsigned_integer(live_bytes);
  out.key("log_bytes").unsigned_integer(log_bytes).key("bytes_on_disk").unsigned_integer(report->bytes_on_disk + snapshot_bytes);
  out.key("spare_files").unsigned_integer(report->spare_files).key("snapshot");
  if (age) {
    out.begin_object().key("position").unsigned_integer(snapshot_position.value).key("age_seconds").unsigned_integer(*age);
    out.key("bytes").unsigned_integer(snapshot_bytes).key("log_bytes_since").unsigned_integer(report->end - snapshot_position).end_object();
  } else {
    out.null();
  }
  out.key("segments").begin_array();
  for (std::size_t i = 0; i < live.size(); ++i) {
    const auto& segment = report->segments[i];
    out.begin_object().key("file").string(segment.file).key("first").unsigned_integer(segment.first.value);
    out.key("bytes").unsigned_integer(segment.end - segment.first).key("records").unsigned_integer(segment.records);
    out.key("live_bytes").unsigned_integer(live[i].bytes).key("live_records").unsigned_integer(live[i].records).end_object();
  }
  out.end_array().key("kinds").begin_object();
  for (const auto& [kind, count] : state.kinds)
    out.key(kind).begin_object().key("records").unsigned_integer(count.records).key("bytes").unsigned_integer(count.bytes).end_object();
  out.end_object().end_object();
  result.output += '\n';
  return result;
}

}  // namespace fanfare::server

// What the journal costs: append alone, and durable commits of 1, 8, 64 and 512 records, against bare writes to a prewritten file
// in the same run, interleaved, medians. Also opening, replay and reads.
//
//   bench_journal [FOLDER] [ROUNDS]     works in a folder of its own inside FOLDER (default: here), which is removed; 5 rounds
//
// The disk decides most of it: compare only figures of one run.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "journal/crc32c.h"
#include "journal/file/file_journal.h"
#include "journal/journal.h"
#include "journal/memory/memory_journal.h"

namespace {

using namespace fanfare;
using namespace fanfare::journal;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kRecordBytes = 600;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double thread_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

[[noreturn]] void stop(const std::string& what) {
  fmt::print(stderr, "bench_journal: {}\n", what);
  std::exit(1);
}

struct Sample {
  double p50_us = 0;
  double records_per_second = 0;
  double cpu_us_per_commit = 0;
};

template <class Commit>
Sample measure(int commits, std::size_t batch, Commit commit) {
  std::vector<double> latencies;
  const double cpu = thread_cpu_seconds();
  const auto start = Clock::now();
  for (int i = 0; i < commits; ++i) {
    const auto begun = Clock::now();
    commit();
    latencies.push_back(seconds_since(begun) * 1e6);
  }
  const double all = seconds_since(start);
  return {median(latencies), static_cast<double>(commits) * static_cast<double>(batch) / all, (thread_cpu_seconds() - cpu) * 1e6 / commits};
}

/// A prewritten file that is written from front to back, and then again.
class BareLog {
 public:
  explicit BareLog(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    if (file_ < 0) stop("cannot open " + path);
    const std::string zeros(1 << 20, '\0');
    for (int i = 0; i < 64; ++i) {
      if (::pwrite(file_, zeros.data(), zeros.size(), i << 20) != static_cast<ssize_t>(zeros.size())) stop("cannot write " + path);
    }
    ::fsync(file_);
  }
  ~BareLog() { ::close(file_); }
  BareLog(const BareLog&) = delete;
  BareLog& operator=(const BareLog&) = delete;

  void commit(const std::string& bytes, bool in_one_call) {
    if (offset_ + static_cast<off_t>(bytes.size()) > (64 << 20)) offset_ = 0;
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};  // NOLINT: iovec serves both directions
    const ssize_t written = ::pwritev2(file_, &piece, 1, offset_, in_one_call ? RWF_DSYNC : 0);
    if (written != static_cast<ssize_t>(bytes.size()) || (!in_one_call && ::fdatasync(file_) != 0)) stop("the bare log cannot be written");
    offset_ += written;
  }

 private:
  int file_;
  off_t offset_ = 0;
};

std::unique_ptr<Journal> open_journal(const std::string& folder) {
  SeededSecrets secrets(1);
  auto opened = open_file_journal(folder, secrets);
  if (!opened) stop(opened.error().message);
  return std::move(opened->journal);
}

/// Fills until the log is in prewritten segments, as it is after the first minutes of a server's life.
void warm_up(Journal& journal, const std::string& record) {
  bool first_segment_is_full = false;
  while (!first_segment_is_full || journal.stats().room_bytes == 0) {
    for (int i = 0; i < 512; ++i) journal.append(record);
    if (!journal.commit(Sync::Yes)) stop(journal.stats().last_failure);
    if (journal.stats().segments < 2) continue;
    first_segment_is_full = true;
    (void)journal.trim(journal.durable_end());
  }
}

void compare_commits(const std::string& folder, int rounds) {
  const std::string record(kRecordBytes, 'r');
  BareLog bare(folder + "/bare.log");
  const auto journal = open_journal(folder + "/journal");
  warm_up(*journal, record);
  fmt::print("durable commits of {}-byte records: p50 of a commit, records/s, CPU of the thread; medians of {} rounds\n", kRecordBytes, rounds);
  for (const std::size_t batch : {1u, 8u, 64u, 512u}) {
    const std::string bytes(batch * frame_size(kRecordBytes), 'b');
    const int commits = batch == 512 ? 150 : 400;
    std::array<std::vector<Sample>, 3> samples;
    for (int round = 0; round < rounds; ++round) {
      samples[0].push_back(measure(commits, batch, [&] { bare.commit(bytes, false); }));
      samples[1].push_back(measure(commits, batch, [&] { bare.commit(bytes, true); }));
      samples[2].push_back(measure(commits, batch, [&] {
        for (std::size_t i = 0; i < batch; ++i) journal->append(record);
        if (!journal->commit(Sync::Yes)) stop(journal->stats().last_failure);
      }));
      (void)journal->trim(journal->durable_end());
    }
    constexpr const char* kNames[] = {"bare write + fdatasync", "bare write, RWF_DSYNC", "journal"};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto of = [&](double Sample::*field) {
        std::vector<double> values;
        for (const Sample& sample : samples[i]) values.push_back(sample.*field);
        return median(values);
      };
      fmt::print("  {:>3} a commit  {:<24} {:7.0f} us  {:9.0f} records/s  {:6.1f} CPU-us a commit\n", batch, kNames[i], of(&Sample::p50_us),
                 of(&Sample::records_per_second), of(&Sample::cpu_us_per_commit));
    }
  }
}

template <class Work>
double best_ns(int repeats, int rounds, Work work) {
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) work(i);
    best = std::min(best, seconds_since(start) * 1e9 / repeats);
  }
  return best;
}

void measure_cpu(const std::string& folder) {
  const std::string record(kRecordBytes, 'r');
  std::uint32_t sum = 0;
  fmt::print("without the disk (best of 20 rounds)\n");
  fmt::print("  crc32c of {} bytes{:>40.0f} ns\n", kRecordBytes, best_ns(10'000, 20, [&](int) { sum = crc32c(sum, record); }));
  const auto journal = open_journal(folder + "/append");
  fmt::print("  append + crc, {} bytes, buffered in the tail{:>17.0f} ns\n", kRecordBytes, best_ns(512, 20, [&](int i) {
               if (i == 0) journal->discard_uncommitted();
               journal->append(record);
             }));
  std::string out;
  const LogPosition at = journal->append(record);
  fmt::print("  read from the tail{:>43.0f} ns\n", best_ns(10'000, 20, [&](int) { (void)journal->read(at, out); }));
  const auto memory = make_memory_journal();
  fmt::print("  memory journal: append + commit{:>30.0f} ns\n", best_ns(512, 20, [&](int) {
               memory->append(record);
               (void)memory->commit(Sync::Yes);
             }));
  if (sum == 1) fmt::print("\n");  // so that the sums are not optimised away
}

void measure_recovery(const std::string& folder) {
  const std::string place = folder + "/recovery";
  constexpr int kRecords = 1'000'000;
  std::vector<LogPosition> positions;
  {
    const auto journal = open_journal(place);
    const std::string record(kRecordBytes, 'r');
    const auto start = Clock::now();
    for (int i = 0; i < kRecords; ++i) {
      positions.push_back(journal->append(record));
      if (i % 512 == 511 && !journal->commit(Sync::No)) stop(journal->stats().last_failure);
    }
    if (!journal->commit(Sync::Yes)) stop(journal->stats().last_failure);
    fmt::print("a log of {} records, {} MB\n", kRecords, journal->stats().log_bytes / 1'000'000);
    fmt::print("  filled, 512 a commit, without waiting{:>19.2f} s\n", seconds_since(start));
  }
  auto start = Clock::now();
  const auto journal = open_journal(place);
  fmt::print("  opened (every record checked, cached){:>19.2f} s\n", seconds_since(start));
  start = Clock::now();
  std::uint64_t bytes = 0;
  (void)journal->replay(journal->first_position(), [&](LogPosition, std::string_view record) {
    bytes += record.size();
    return true;
  });
  const double replay = seconds_since(start);
  fmt::print("  replayed{:>48.2f} s, {:.1f} GB/s\n", replay, static_cast<double>(bytes) / replay / 1e9);
  std::string out;
  fmt::print("  read in order{:>45.0f} ns\n", best_ns(100'000, 3, [&](int i) { (void)journal->read(positions[static_cast<std::size_t>(i)], out); }));
  Rng rng(1);
  fmt::print("  read at random (cached){:>35.0f} ns\n", best_ns(20'000, 3, [&](int) { (void)journal->read(positions[rng.below(positions.size())], out); }));
}

void measure_empty_start(const std::string& folder) {
  std::vector<double> first;
  std::vector<double> second;
  for (int i = 0; i < 9; ++i) {
    const std::string place = fmt::format("{}/empty-{}", folder, i);
    auto start = Clock::now();
    { const auto journal = open_journal(place); first.push_back(seconds_since(start) * 1e3); }
    start = Clock::now();
    { const auto journal = open_journal(place); second.push_back(seconds_since(start) * 1e3); }
  }
  fmt::print("start with an empty folder {:.1f} ms, with an empty journal {:.1f} ms (medians of 9)\n", median(first), median(second));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = fmt::format("{}/journal-bench-{}", argc > 1 ? argv[1] : ".", ::getpid());
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  std::filesystem::create_directories(folder);
  measure_cpu(folder);
  measure_empty_start(folder);
  measure_recovery(folder);
  compare_commits(folder, rounds);
  std::filesystem::remove_all(folder);
}

// Workers, totals, canaries, repeating and shrinking.
#include "sim/runner.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/failure.h"
#include "sim/plan.h"
#include "sim/properties.h"
#include "sim/world.h"

namespace fanfare::sim {
namespace {

constexpr int kFailuresShown = 3;
constexpr int kFailuresMax = 10;  // then the run stops: the first ones say enough
constexpr std::size_t kEventsShown = 60;

struct Options {
  std::uint64_t from = 1;
  std::uint64_t seeds = 100;
  std::optional<std::uint64_t> seed;
  unsigned jobs = 0;
  bool twice = true;
  bool shrink = true;
  bool first = false;  ///< one failure is enough
  bool states = true;  ///< whether states that were never reached fail the run
  std::size_t events = kEventsShown;
  PlanChanges changes;
};

/// Lies in memory that parent and workers share; plain data.
struct Slot {
  Tally tally;
  std::uint64_t seeds_done;
  std::uint64_t current;  // 0: none
  struct {
    std::uint64_t seed;
    char property[64];
    char text[1500];
  } failures[kFailuresMax];
  int failed;
  bool ended;
};

struct Failed {
  std::uint64_t seed;
  std::string property;
  std::string text;
};

void put(char* into, std::size_t size, std::string_view text) {
  const std::size_t bytes = std::min(size - 1, text.size());
  std::memcpy(into, text.data(), bytes);
  into[bytes] = '\0';
}

/// The trace's hash, or the failure.
std::optional<Failed> run_seed(std::uint64_t seed, const PlanChanges& changes, bool twice, Tally& tally) {
  try {
    const Plan plan = make_plan(seed, changes);
    World world{plan, tally, 0};
    world.run();
    if (twice) {
      Tally unused;
      World again{plan, unused, 0};
      again.run();
      tally.note(Property::Deterministic);
      if (again.trace_hash() != world.trace_hash())
        return Failed{seed, std::string{text_of(Property::Deterministic).name}, "two runs of this seed gave two traces"};
    }
    return std::nullopt;
  } catch (const Failure& failure) {
    return Failed{seed, failure.property(), failure.what()};
  } catch (const std::exception& error) {
    return Failed{seed, "exception", error.what()};
  }
}

void work(Slot& slot, const Options& options, std::uint64_t first, std::uint64_t step) {
  const std::uint64_t end = options.from + options.seeds;
  for (std::uint64_t seed = first; seed < end && slot.failed < (options.first ? 1 : kFailuresMax); seed += step) {
    slot.current = seed;
    Tally tally;
    if (const auto failed = run_seed(seed, options.changes, options.twice, tally)) {
      auto& failure = slot.failures[slot.failed];
      failure.seed = seed;
      put(failure.property, sizeof failure.property, failed->property);
      put(failure.text, sizeof failure.text, failed->text);
      ++slot.failed;
    }
    slot.tally.add(tally);
    ++slot.seeds_done;
  }
  slot.current = 0;
  slot.ended = true;
}

template <class Do>
pid_t in_child(Do&& action) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  std::_Exit(action());
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Whether the seed still fails with these changes; in a process of its own, for it may abort.
bool still_fails(std::uint64_t seed, const PlanChanges& changes, bool twice) {
  const pid_t child = in_child([&] {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) return 1;
    Tally tally;
    return run_seed(seed, changes, twice, tally) ? 1 : 0;
  });
  const int status = wait_for(child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

PlanChanges shrink(std::uint64_t seed, PlanChanges changes, bool twice) {
  const Plan plan = make_plan(seed, changes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::Count); ++i) {
    const auto feature = static_cast<Feature>(i);
    if (!plan.has(feature)) continue;
    PlanChanges fewer = changes;
    fewer.without.push_back(feature);
    if (still_fails(seed, fewer, twice)) changes = fewer;
  }
  int operations = make_plan(seed, changes).operations;
  for (int step = operations / 2; step > 0; step /= 2) {
    PlanChanges fewer = changes;
    fewer.operations = operations - step;
    if (fewer.operations > 0 && still_fails(seed, fewer, twice)) {
      operations = fewer.operations;
      changes = fewer;
    }
  }
  return changes;
}

std::string command(std::uint64_t seed, const PlanChanges& changes, std::string_view program) {
  std::string text = fmt::format("{} --seed {}", program, seed);
  if (changes.operations > 0) text += fmt::format(" --operations {}", changes.operations);
  for (const Feature feature : changes.without) text += fmt::format(" --without {}", name_of(feature));
  if (changes.canary == Canary::NoSync) text += " --canary no-sync";
  if (changes.canary == Canary::EarlyReply) text += " --canary early-reply";
  return text;
}

/// One seed with its events; the exit code.
int show(std::uint64_t seed, const Options& options) {
  const Plan plan = make_plan(seed, options.changes);
  fmt::print("seed {}: {}\n", seed, plan.describe());
  Tally tally;
  World world{plan, tally, options.events};
  const auto print_events = [&] {
    for (const std::string& line : world.last_events()) fmt::print("  {}\n", line);
  };
  try {
    world.run();
  } catch (const Failure& failure) {
    print_events();
    fmt::print("FAILED {}: {}\n", failure.property(), failure.what());
    return 1;
  }
  if (options.events != kEventsShown) print_events();
  Tally unused;
  World again{plan, unused, 0};
  again.run();
  fmt::print("passed, trace {:016x}, again {:016x}\n", world.trace_hash(), again.trace_hash());
  return world.trace_hash() == again.trace_hash() ? 0 : 1;
}

void list_properties() {
  for (std::size_t i = 0; i < kProperties; ++i) {
    const PropertyText& text = text_of(static_cast<Property>(i));
    const std::string_view kind = text.kind == Kind::Always ? "always" : text.kind == Kind::Never ? "never" : "sometimes";
    fmt::print("| {} | {} | {} |\n", kind, text.name, text.meaning);
  }
}

std::string_view needed_value(int argc, char** argv, int& i) {
  if (i + 1 >= argc) {
    fmt::print(stderr, "{} needs a value\n", argv[i]);
    std::exit(2);
  }
  return argv[++i];
}

void usage() {
  fmt::print(
      "fanfare_sim: a broker, its disk, network, clock and clients in one thread, from one seed\n"
      "  --seeds N [--from S] [--jobs J]   seeds S (1) to S+N-1 (100 of them), each twice\n"
      "  --once                            each seed once: no comparison of traces\n"
      "  --seed S [--events N]             one seed, with its last N events (60) if it fails\n"
      "  --operations N, --without NAME    a smaller run of the same seed\n"
      "  --canary no-sync|early-reply      a planted defect: exit code 0 when it was found\n"
      "  --no-states                       states that were never reached do not fail the run\n"
      "  --first                           each process ends with its first failure\n"
      "  --no-shrink                       failures are not made smaller\n"
      "  --properties                      what is checked, as in PROPERTIES.md\n");
}

int run_many(const Options& options, std::string_view program) {
  const unsigned jobs = options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  const auto begin = std::chrono::steady_clock::now();
  void* memory = mmap(nullptr, sizeof(Slot) * jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 2;
  }
  Slot* slots = static_cast<Slot*>(memory);
  std::map<pid_t, unsigned> workers;
  const auto spawn = [&](unsigned job, std::uint64_t first) {
    workers[in_child([&] {
      work(slots[job], options, first, jobs);
      return 0;
    })] = job;
  };
  for (unsigned job = 0; job < jobs; ++job) spawn(job, options.from + job);
  while (!workers.empty()) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    const auto found = workers.find(child);
    if (found == workers.end()) continue;
    const unsigned job = found->second;
    workers.erase(found);
    Slot& slot = slots[job];
    if (slot.ended) continue;
    // An assertion or worse. The seed is known; go on behind it.
    if (slot.failed < kFailuresMax) {
      auto& failure = slot.failures[slot.failed];
      failure.seed = slot.current;
      put(failure.property, sizeof failure.property, "no-abort");
      put(failure.text, sizeof failure.text, WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : "the process ended");
      ++slot.failed;
      ++slot.seeds_done;
      if (slot.failed < kFailuresMax && !options.first) spawn(job, slot.current + jobs);
    }
  }
  Tally total;
  std::uint64_t done = 0;
  std::vector<Failed> failures;
  for (unsigned job = 0; job < jobs; ++job) {
    total.add(slots[job].tally);
    done += slots[job].seeds_done;
    for (int i = 0; i < slots[job].failed; ++i) failures.push_back({slots[job].failures[i].seed, slots[job].failures[i].property, slots[job].failures[i].text});
  }
  std::sort(failures.begin(), failures.end(), [](const Failed& a, const Failed& b) { return a.seed < b.seed; });
  munmap(memory, sizeof(Slot) * jobs);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  if (options.changes.canary != Canary::None) {
    if (failures.empty()) {
      fmt::print("CANARY NOT FOUND in {} seeds: {}\n", done, command(options.from, options.changes, program));
      return 1;
    }
    fmt::print("canary found: seed {} of {}..{} ({:.0f} s), {}: {}\n", failures[0].seed, options.from, options.from + options.seeds - 1, took, failures[0].property, failures[0].text);
    return 0;
  }

  std::uint64_t holding = 0;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < kProperties; ++i) {
    const PropertyText& text = text_of(static_cast<Property>(i));
    if (static_cast<Property>(i) == Property::Deterministic && !options.twice) continue;
    const bool of_fifo = text.name.find("fifo") != std::string_view::npos || text.name.find("group") == 0 || text.name.find("dedup") == 0 ||
                         text.name.find("dupl") == 0 || text.name.find("sequence") == 0 || text.name == "one-flight-per-group";
    if (!kFifoIsThere && of_fifo && text.name != "group-commit") continue;
    if (total.counts[i] > 0) ++holding;
    else missing.emplace_back(text.name);
    fmt::print("  {:<9} {:<30} {:>12}\n", text.kind == Kind::Always ? "always" : text.kind == Kind::Never ? "never" : "sometimes", text.name, total.counts[i]);
  }
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const Failed& failure = failures[i];
    fmt::print("\nseed {} FAILED {}: {}\n", failure.seed, failure.property, failure.text);
    if (i >= kFailuresShown) continue;
    Options one = options;
    if (options.shrink) one.changes = shrink(failure.seed, options.changes, options.twice);
    fmt::print("again: {}\n", command(failure.seed, one.changes, program));
    std::fflush(stdout);
    wait_for(in_child([&] {
      const int code = show(failure.seed, one);
      std::fflush(stdout);
      return code;
    }));
  }
  const bool states_missing = options.states && !missing.empty();
  if (states_missing) {
    fmt::print("\nNever reached in {} seeds:", done);
    for (const std::string& name : missing) fmt::print(" {}", name);
    fmt::print("\n");
  }
  fmt::print("\n{} seeds in {:.1f} s, {} of them failed; {} of {} properties seen\n", done, took, failures.size(), holding, kProperties);
  return failures.empty() && !states_missing ? 0 : 1;
}

}  // namespace

int run_main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto number = [&] { return std::strtoull(std::string{needed_value(argc, argv, i)}.c_str(), nullptr, 10); };
    if (name == "--seeds") options.seeds = number();
    else if (name == "--from") options.from = number();
    else if (name == "--jobs") options.jobs = static_cast<unsigned>(number());
    else if (name == "--seed") options.seed = number();
    else if (name == "--events") options.events = number();
    else if (name == "--operations") options.changes.operations = static_cast<int>(number());
    else if (name == "--once") options.twice = false;
    else if (name == "--first") options.first = true;
    else if (name == "--no-shrink") options.shrink = false;
    else if (name == "--no-states") options.states = false;
    else if (name == "--properties") return list_properties(), 0;
    else if (name == "--without") {
      const std::string_view text = needed_value(argc, argv, i);
      bool known = false;
      for (std::size_t f = 0; f < static_cast<std::size_t>(Feature::Count); ++f)
        if (name_of(static_cast<Feature>(f)) == text) options.changes.without.push_back(static_cast<Feature>(f)), known = true;
      if (!known) return fmt::print(stderr, "--without {}: there is no such feature\n", text), 2;
    } else if (name == "--canary") {
      const std::string_view text = needed_value(argc, argv, i);
      if (text == "no-sync") options.changes.canary = Canary::NoSync;
      else if (text == "early-reply") options.changes.canary = Canary::EarlyReply;
      else return fmt::print(stderr, "--canary {}: no-sync or early-reply\n", text), 2;
    } else {
      usage();
      return name == "--help" || name == "-h" ? 0 : 2;
    }
  }
  if (options.seed) return show(*options.seed, options);
  return run_many(options, argv[0]);
}

}  // namespace fanfare::sim

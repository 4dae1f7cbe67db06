// One seed: a broker, its disk, its network, its clients and its clock in one thread.
//
// Rule 1: everything random comes from the seed, everything that happens from one queue of events ordered by (time, number).
// Rule 2: the broker is the real one: server::DataPlane, server::Broker, api, engine and file journal. Only the loop, the disk,
//         the clock and the source of secrets are simulated.
// Rule 3: when the process dies, what its turn wrote to the network after the death never left.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/rng.h"
#include "journal/faulty/faulty_file_system.h"
#include "server/broker.h"
#include "server/clock.h"
#include "server/data_plane.h"
#include "server/log.h"
#include "sim/aside.h"
#include "sim/clients.h"
#include "sim/oracle.h"
#include "sim/plan.h"
#include "sim/sim_loop.h"

namespace fanfare::sim {

class World final : public Kernel {
 public:
  /// `keep_events`: how many lines of what happened last are kept for last_events().
  World(const Plan& plan, Tally& tally, std::size_t keep_events);
  ~World() override;

  /// Throws Failure.
  void run();
  /// Equal for equal runs.
  [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }
  [[nodiscard]] const std::deque<std::string>& last_events() const { return events_; }

  void handing_in(net::ConnectionId id, std::uint64_t tag) override;
  std::size_t take(net::ConnectionId id, std::string_view bytes) override;
  void ended(net::ConnectionId id) override;

 private:
  using Micros = std::int64_t;
  static constexpr Micros kMilli = 1000;
  static constexpr Micros kSecond = 1'000'000;
  enum class Death : std::uint8_t { Kill, PowerCut };

  class SimClock final : public server::Clock {
   public:
    explicit SimClock(const World& world) : world_(world) {}
    [[nodiscard]] Instant steady() const override { return world_.instant(); }

   protected:
    [[nodiscard]] std::int64_t system() const override { return world_.wall_ms(); }

   private:
    const World& world_;
  };

  /// One life of the process.
  struct Process {
    explicit Process(const World& world, std::uint64_t seed) : clock(world), secrets(seed) {}
    SimClock clock;
    SeededSecrets secrets;
    std::unique_ptr<server::Broker> broker;
    api::aws::DevelopmentAuthenticator authenticator{{}};
    std::unique_ptr<SimLoop> loop;
    std::unique_ptr<server::DataPlane> plane;
    std::deque<std::unique_ptr<Aside>> aside;  // upkeep; only the first has begun
    std::optional<LogPosition> rested_at;      // where the log ended when a snapshot paused last
  };

  struct Outstanding {
    CallPtr call;
    std::optional<Oracle::Moment> offered;  // when its answer was written first
  };
  /// One connection from a client; -1: the world's own.
  struct Link {
    int client = -1;
    std::deque<Outstanding> outstanding;
    std::string stream;  // what left the broker, up to the next whole response
    bool stalled = false;
    bool lose_next = false;  // the next answer does not reach the client
    Micros answer_delay = 0;
  };
  struct Actor {
    std::unique_ptr<Client> client;
    std::optional<net::ConnectionId> link;
    CallPtr current;
  };
  /// A queue that only a replay of a topic's archive fills, and nobody receives from until the end.
  struct Witness {
    int topic;
    std::string queue;
    bool asked = false;  // for its replay
  };
  struct Told {
    CallPtr call;
    Answer answer;
    Oracle::Moment moment;
    int client;
    bool reaches_client;
    Micros delay;
  };
  struct Event {
    Micros at;
    std::uint64_t number;
    std::function<void()> action;
    friend bool operator<(const Event& a, const Event& b) { return std::pair{a.at, a.number} > std::pair{b.at, b.number}; }
  };

  [[nodiscard]] Instant instant() const { return Instant{} + std::chrono::hours{1} + std::chrono::microseconds{now_}; }
  [[nodiscard]] std::int64_t wall_ms() const { return 1'800'000'000'000 + now_ / 1000 + wall_offset_ms_; }
  void after(Micros delay, std::function<void()> action);
  /// The same, unless the process has died meanwhile.
  void after_if_alive(Micros delay, std::function<void()> action);
  /// The next event or turn. False if nothing will ever happen.
  bool step();
  void pass(Micros time);
  void run_turn();
  void after_turn();
  [[nodiscard]] Oracle::Moment moment();
  void note_faults();
  /// Whether neither a fault that the disk met nor its end of room can still be felt.
  [[nodiscard]] bool disk_in_order();

  void start();
  void start_failed(Property property, const std::string& what, bool damaged);
  void die(Death death);
  void restart_cleanly();
  void run_aside();
  [[nodiscard]] bool alive() const { return process_ != nullptr; }

  void setup();
  void set_up_archives();
  [[nodiscard]] CallPtr replay_to(const Witness& witness) const;
  void begin_a_replay();
  void check_archives();
  [[nodiscard]] bool replays() const;
  void next_call(int actor);
  /// The client of a long poll goes just when a message for it comes.
  void hang_up_a_poll_of(int queue, Micros delay);
  void issue(Link& link, net::ConnectionId id, const CallPtr& call, bool faults);
  void give_up(int actor, const CallPtr& call);
  void close_link(int actor, bool reset);
  void finish_unanswered(Link& link, Unanswered why);
  Answer round_trip(const CallPtr& call);
  void gremlin();
  void heal();
  void drain();

  void mix(std::uint64_t value);
  void mix(std::string_view bytes);
  void event(const std::function<std::string()>& line);

  const Plan& plan_;
  Tally& tally_;
  Oracle oracle_;
  Rng rng_;          // network and scheduling
  Rng fault_rng_;
  Rng archive_rng_;
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325ULL;
  std::size_t keep_events_;
  std::deque<std::string> events_;

  Micros now_ = 0;
  std::int64_t wall_offset_ms_ = 0;
  std::uint64_t event_number_ = 0;
  std::priority_queue<Event> queue_;

  std::unique_ptr<journal::FaultyFileSystem> disk_;
  std::unique_ptr<Process> process_;
  std::uint64_t life_ = 0;           // counts processes, for events that belong to one
  std::uint64_t turn_ = 0;
  std::optional<Micros> turn_at_;
  std::optional<int> dies_after_takes_;
  bool dying_ = false;
  int failed_starts_ = 0;
  LogPosition promised_end_{};       // durable at the last death
  std::optional<LogPosition> written_end_;  // appended at the last death
  bool crash_pending_check_ = false;

  std::map<net::ConnectionId, Link> links_;
  std::vector<net::ConnectionId> ended_links_;
  std::vector<Told> told_;
  std::map<std::uint64_t, CallPtr> calls_;  // handed to the network and not finished
  std::vector<CallPtr> handed_in_;          // receives of this turn
  std::vector<int> sent_to_;                // queues that got a send in this turn
  std::uint64_t call_number_ = 0;
  std::vector<Actor> actors_;
  std::vector<Witness> witnesses_;
  Board board_;
  int issued_ = 0;
  bool faults_on_ = false;
  bool clock_was_set_back_ = false;
  static constexpr Micros kTriesAgainWithin = 3 * kSecond;  // the broker, after the disk refused something
  Micros trouble_until_ = -1;        // until then a refusal is excused
  std::uint64_t faults_met_ = 0;     // that trouble_until_ knows of
  bool disk_is_full_ = false;
  bool refused_full_ = false;        // since the start of this process
  bool refused_error_ = false;
  std::optional<net::ConnectionId> own_link_;
  CallPtr own_call_;
  std::optional<Answer> own_answer_;
};

}  // namespace fanfare::sim

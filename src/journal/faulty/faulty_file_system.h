// A folder in memory that fails when told to, and loses at a power cut what a real disk may lose. For tests and simulation.
//
// The disk it plays, in sectors of 512 bytes:
//   - what was written and not synced is lost at a power cut sector by sector, in any order; a sector may also keep any earlier
//     version since the last sync, or be torn in the middle;
//   - a write with Sync::Yes makes its own sectors durable, sync() all of its file and the size;
//   - a sync that fails loses some sectors for good while reads go on showing them, and later syncs say nothing about them;
//   - of names that were created, changed or removed since sync_directory(), the first few survive a power cut.
// Everything random comes from the seed: one seed, one outcome, as long as one thread uses it.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "journal/file_system.h"

namespace fanfare::journal {

enum class Fault {
  Io,          ///< the operation fails with EIO; of a write, some sectors may be there all the same
  NoSpace,     ///< ENOSPC for what can take space (writes, creation, renames), after part of a write; nothing for the others
  ShortWrite,  ///< a write does part of what it was asked, and says so; nothing for other operations
  PowerCut,    ///< the power goes during the operation: from then on everything fails until restart()
};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(std::uint64_t seed) : rng_(seed) {}

  // What to do wrong:

  /// The operation with this number (counted from 0, see steps()) meets the fault.
  void fail_at(std::uint64_t step, Fault fault);
  /// Every operation from this one on meets the fault.
  void fail_from(std::uint64_t step, Fault fault);
  /// Back to a disk in order.
  void fail_never_more();
  /// From now on syncs do nothing and say they succeeded: what a journal without syncs would be.
  void pretend_to_sync() { pretend_ = true; }
  /// The sum of all file sizes that fits on the disk.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  /// The power goes now, if it has not yet: everything fails until restart() or restart_after_kill().
  void cut_power();
  /// The power comes back: what survives is chosen by the seed; files that were open stay dead.
  void restart();
  /// As after kill -9: all that was written is still there, though not yet durable; files that were open stay dead.
  void restart_after_kill();
  /// All is as it was when the copy was made: for looking at one disk with several programs.
  [[nodiscard]] std::unique_ptr<FaultyFileSystem> copy_of_disk(std::uint64_t seed) const;

  // Looking and meddling:

  /// Operations so far, those on files included.
  [[nodiscard]] std::uint64_t steps() const;
  /// Operations that met a fault, power cuts not counted.
  [[nodiscard]] std::uint64_t faults_met() const;
  [[nodiscard]] bool power_is_off() const;
  /// What reads see; empty if there is no such file.
  [[nodiscard]] std::string contents(const std::string& name) const;
  /// Replaces or makes a file, durably.
  void put(const std::string& name, std::string bytes);
  void flip_bit(const std::string& name, std::uint64_t byte, unsigned bit);

  Result<std::unique_ptr<File>, FileError> open(const std::string& name, OpenMode mode) override;
  Result<Success, FileError> rename(const std::string& from, const std::string& to) override;
  Result<Success, FileError> remove(const std::string& name) override;
  Result<Success, FileError> sync_directory() override;
  /// Of the capacity; no step, and never a fault.
  std::uint64_t free_bytes() override;
  Result<std::vector<std::string>, FileError> list() override;

 private:
  friend class FaultyFile;

  struct Inode {
    std::string cache;  // what reads see
    std::string disk;   // what survives whatever happens
    std::map<std::uint64_t, std::vector<std::string>> dirty;  // sector -> versions since the last sync, the oldest first
    bool size_is_dirty = false;
    bool locked = false;
  };
  using Node = std::shared_ptr<Inode>;  // shared: an open file outlives its name
  using Names = std::map<std::string, Node>;

  struct NameChange {
    std::string from;  // empty: created
    std::string to;    // empty: removed
    Node node;
  };

  /// Counts the step and says what befalls it; for a dead disk, always an error.
  std::optional<Fault> next_step();
  void change_name(NameChange change);
  static void apply(const NameChange& change, Names& names);
  std::uint64_t used() const;
  void write_cache(Inode& inode, std::string_view bytes, std::uint64_t offset);
  static void persist(Inode& inode, std::uint64_t sector, std::string_view version);
  static std::string sector_of(const std::string& bytes, std::uint64_t sector);
  void survive(Inode& inode);

  mutable std::mutex mutex_;
  Rng rng_;
  std::map<std::uint64_t, Fault> faults_;
  std::optional<std::pair<std::uint64_t, Fault>> faults_from_;
  std::uint64_t steps_ = 0;
  std::uint64_t faults_met_ = 0;
  std::uint64_t capacity_ = ~std::uint64_t{0};
  std::uint64_t power_cycle_ = 0;  // a file that was opened in an earlier one is dead
  bool power_is_off_ = false;
  bool power_just_went_ = false;  // during the operation that is going on: it still does its part
  bool pretend_ = false;
  Names names_;
  Names disk_names_;
  std::vector<NameChange> name_changes_;  // since the last sync_directory
};

}  // namespace fanfare::journal

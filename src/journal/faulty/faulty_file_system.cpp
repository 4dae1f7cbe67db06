#include "journal/faulty/faulty_file_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fanfare::journal {
namespace {

constexpr std::uint64_t kSectorBytes = 512;

}  // namespace

class FaultyFile final : public File {
 public:
  FaultyFile(FaultyFileSystem& disk, std::shared_ptr<FaultyFileSystem::Inode> inode, bool writable, std::uint64_t power_cycle)
      : disk_(disk), inode_(std::move(inode)), writable_(writable), power_cycle_(power_cycle) {}

  ~FaultyFile() override {
    const std::scoped_lock lock(disk_.mutex_);
    if (locked_here_ && power_cycle_ == disk_.power_cycle_) inode_->locked = false;
  }

  Result<std::size_t, FileError> write_at(std::span<const std::string_view> pieces, std::uint64_t offset, Sync sync) override {
    const std::scoped_lock lock(disk_.mutex_);
    auto fault = step();
    if (!writable_) return FileError{EBADF, "pwrite"};
    std::string bytes;
    for (const std::string_view piece : pieces) bytes.append(piece);
    const std::uint64_t asked = bytes.size();
    if (dead_) return FileError{EIO, "pwrite"};

    const std::uint64_t size = inode_->cache.size();
    if (offset + bytes.size() > size) {
      const std::uint64_t grows = offset + bytes.size() - size;
      const std::uint64_t room = disk_.capacity_ - std::min(disk_.capacity_, disk_.used());
      if (grows > room) {
        const std::uint64_t fits = size + room;
        bytes.resize(fits > offset ? fits - offset : 0);
        if (bytes.empty()) return FileError{ENOSPC, "pwrite"};
      }
    }
    if (fault == Fault::NoSpace) {
      bytes.resize(disk_.rng_.below(bytes.size() + 1));
      if (bytes.empty()) return FileError{ENOSPC, "pwrite"};
    }
    if (fault == Fault::ShortWrite && bytes.size() > 1) bytes.resize(1 + disk_.rng_.below(bytes.size() - 1));
    disk_.write_cache(*inode_, bytes, offset);
    if (fault == Fault::PowerCut || fault == Fault::Io) return FileError{EIO, "pwrite"};
    if (sync == Sync::Yes && !disk_.pretend_ && !bytes.empty()) {
      for (std::uint64_t sector = offset / kSectorBytes; sector * kSectorBytes < offset + bytes.size(); ++sector) {
        FaultyFileSystem::persist(*inode_, sector, FaultyFileSystem::sector_of(inode_->cache, sector));
        inode_->dirty.erase(sector);
      }
    }
    if (fault == Fault::NoSpace && bytes.size() < asked && disk_.rng_.chance(1, 2)) return FileError{ENOSPC, "pwrite"};
    return bytes.size();
  }

  Result<std::size_t, FileError> read_at(char* into, std::size_t size, std::uint64_t offset) override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto fault = step();
    if (dead_ || fault == Fault::Io || fault == Fault::PowerCut) return FileError{EIO, "pread"};
    const std::string& bytes = inode_->cache;
    if (offset >= bytes.size()) return std::size_t{0};
    const std::size_t got = std::min<std::size_t>(size, bytes.size() - offset);
    std::memcpy(into, bytes.data() + offset, got);
    return got;
  }

  Result<Success, FileError> sync() override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto fault = step();
    if (dead_ || fault == Fault::PowerCut) return FileError{EIO, "fdatasync"};
    if (disk_.pretend_) return Success{};
    if (fault == Fault::Io || fault == Fault::NoSpace) {
      for (const auto& [sector, versions] : inode_->dirty) {
        if (disk_.rng_.chance(1, 2)) FaultyFileSystem::persist(*inode_, sector, versions.back());
      }
      inode_->dirty.clear();  // reads still show what was lost, and nobody will ever write it
      return FileError{EIO, "fdatasync"};
    }
    for (const auto& [sector, versions] : inode_->dirty) FaultyFileSystem::persist(*inode_, sector, versions.back());
    inode_->dirty.clear();
    if (inode_->size_is_dirty) inode_->disk.resize(inode_->cache.size(), '\0');
    inode_->size_is_dirty = false;
    return Success{};
  }

  Result<std::uint64_t, FileError> size() override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto fault = step();
    if (dead_ || fault == Fault::Io || fault == Fault::PowerCut) return FileError{EIO, "fstat"};
    return std::uint64_t{inode_->cache.size()};
  }

  Result<Success, FileError> truncate(std::uint64_t bytes) override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto fault = step();
    if (dead_ || fault == Fault::Io || fault == Fault::PowerCut) return FileError{EIO, "ftruncate"};
    inode_->cache.resize(bytes, '\0');
    inode_->dirty.erase(inode_->dirty.lower_bound((bytes + kSectorBytes - 1) / kSectorBytes), inode_->dirty.end());
    inode_->size_is_dirty = true;
    return Success{};
  }

  Result<bool, FileError> try_lock() override {
    const std::scoped_lock lock(disk_.mutex_);
    const auto fault = step();
    if (dead_ || fault == Fault::Io || fault == Fault::PowerCut) return FileError{EIO, "flock"};
    if (inode_->locked && !locked_here_) return false;
    inode_->locked = locked_here_ = true;
    return true;
  }

 private:
  std::optional<Fault> step() {
    const auto fault = disk_.next_step();
    // The operation during which the power goes still does its part; those after it do nothing.
    dead_ = power_cycle_ != disk_.power_cycle_ || (disk_.power_is_off_ && !std::exchange(disk_.power_just_went_, false));
    return fault;
  }

  FaultyFileSystem& disk_;
  std::shared_ptr<FaultyFileSystem::Inode> inode_;
  bool writable_;
  bool locked_here_ = false;
  bool dead_ = false;
  std::uint64_t power_cycle_;
};

void FaultyFileSystem::fail_at(std::uint64_t step, Fault fault) {
  const std::scoped_lock lock(mutex_);
  faults_[step] = fault;
}

void FaultyFileSystem::fail_from(std::uint64_t step, Fault fault) {
  const std::scoped_lock lock(mutex_);
  faults_from_ = {step, fault};
}

void FaultyFileSystem::fail_never_more() {
  const std::scoped_lock lock(mutex_);
  faults_.clear();
  faults_from_.reset();
}

std::uint64_t FaultyFileSystem::steps() const {
  const std::scoped_lock lock(mutex_);
  return steps_;
}

std::uint64_t FaultyFileSystem::faults_met() const {
  const std::scoped_lock lock(mutex_);
  return faults_met_;
}

bool FaultyFileSystem::power_is_off() const {
  const std::scoped_lock lock(mutex_);
  return power_is_off_;
}

std::optional<Fault> FaultyFileSystem::next_step() {
  const std::uint64_t step = steps_++;
  std::optional<Fault> fault;
  if (const auto found = faults_.find(step); found != faults_.end()) fault = found->second;
  if (!fault && faults_from_ && step >= faults_from_->first) fault = faults_from_->second;
  if (fault == Fault::PowerCut && !power_is_off_) power_is_off_ = power_just_went_ = true;
  if (fault && fault != Fault::PowerCut) ++faults_met_;
  return fault;
}

std::uint64_t FaultyFileSystem::free_bytes() {
  const std::scoped_lock lock(mutex_);
  return capacity_ == ~std::uint64_t{0} ? capacity_ : capacity_ - std::min(capacity_, used());
}

std::uint64_t FaultyFileSystem::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, node] : names_) bytes += node->cache.size();
  return bytes;
}

std::string FaultyFileSystem::sector_of(const std::string& bytes, std::uint64_t sector) {
  const std::uint64_t offset = sector * kSectorBytes;
  return offset >= bytes.size() ? std::string() : bytes.substr(offset, kSectorBytes);
}

void FaultyFileSystem::persist(Inode& inode, std::uint64_t sector, std::string_view version) {
  const std::uint64_t offset = sector * kSectorBytes;
  if (inode.disk.size() < offset + version.size()) inode.disk.resize(offset + version.size(), '\0');
  inode.disk.replace(offset, version.size(), version);
}

void FaultyFileSystem::write_cache(Inode& inode, std::string_view bytes, std::uint64_t offset) {
  if (bytes.empty()) return;
  if (inode.cache.size() < offset + bytes.size()) {
    inode.cache.resize(offset + bytes.size(), '\0');
    inode.size_is_dirty = true;
  }
  inode.cache.replace(offset, bytes.size(), bytes);
  for (std::uint64_t sector = offset / kSectorBytes; sector * kSectorBytes < offset + bytes.size(); ++sector) {
    inode.dirty[sector].push_back(sector_of(inode.cache, sector));
  }
}

/// What a power cut leaves of a file.
void FaultyFileSystem::survive(Inode& inode) {
  for (const auto& [sector, versions] : inode.dirty) {
    if (rng_.chance(1, 2)) continue;
    std::string version = rng_.chance(3, 4) ? versions.back() : versions[rng_.below(versions.size())];
    if (rng_.chance(1, 8)) {  // torn: its beginning is new, its end what was there before
      const std::string before = sector_of(inode.disk, sector);
      const std::size_t cut = rng_.below(version.size() + 1);
      version = version.substr(0, cut) + (before.size() > cut ? before.substr(cut) : std::string());
    }
    persist(inode, sector, version);
  }
  if (inode.size_is_dirty && rng_.chance(1, 2)) inode.disk.resize(inode.cache.size(), '\0');
  inode.cache = inode.disk;
  inode.dirty.clear();
  inode.size_is_dirty = inode.locked = false;
}

void FaultyFileSystem::restart() {
  const std::scoped_lock lock(mutex_);
  ++power_cycle_;
  power_is_off_ = power_just_went_ = false;
  const std::uint64_t surviving = rng_.below(name_changes_.size() + 1);
  for (std::uint64_t i = 0; i < surviving; ++i) apply(name_changes_[i], disk_names_);
  name_changes_.clear();
  names_ = disk_names_;
  for (const auto& [name, node] : names_) survive(*node);
}

void FaultyFileSystem::cut_power() {
  const std::scoped_lock lock(mutex_);
  power_is_off_ = true;
  power_just_went_ = false;
}

void FaultyFileSystem::restart_after_kill() {
  const std::scoped_lock lock(mutex_);
  ++power_cycle_;
  power_is_off_ = power_just_went_ = false;
  for (const auto& [name, node] : names_) node->locked = false;
}

std::unique_ptr<FaultyFileSystem> FaultyFileSystem::copy_of_disk(std::uint64_t seed) const {
  const std::scoped_lock lock(mutex_);
  auto copy = std::make_unique<FaultyFileSystem>(seed);
  for (const auto& [name, node] : names_) {
    auto inode = std::make_shared<Inode>();
    inode->cache = inode->disk = node->cache;
    copy->names_[name] = copy->disk_names_[name] = std::move(inode);
  }
  return copy;
}

std::string FaultyFileSystem::contents(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? std::string() : found->second->cache;
}

void FaultyFileSystem::put(const std::string& name, std::string bytes) {
  const std::scoped_lock lock(mutex_);
  auto inode = std::make_shared<Inode>();
  inode->cache = inode->disk = std::move(bytes);
  names_[name] = disk_names_[name] = std::move(inode);
}

void FaultyFileSystem::flip_bit(const std::string& name, std::uint64_t byte, unsigned bit) {
  const std::scoped_lock lock(mutex_);
  Inode& inode = *names_.at(name);
  inode.cache.at(byte) = static_cast<char>(static_cast<unsigned char>(inode.cache.at(byte)) ^ (1u << bit));
  inode.disk = inode.cache;
  inode.dirty.clear();
}

void FaultyFileSystem::apply(const NameChange& change, Names& names) {
  if (!change.from.empty()) names.erase(change.from);
  if (!change.to.empty()) names[change.to] = change.node;
}

void FaultyFileSystem::change_name(NameChange change) {
  apply(change, names_);
  name_changes_.push_back(std::move(change));
}

Result<std::unique_ptr<File>, FileError> FaultyFileSystem::open(const std::string& name, OpenMode mode) {
  const std::scoped_lock lock(mutex_);
  const auto fault = next_step();
  const bool dead = power_is_off_ && !std::exchange(power_just_went_, false);
  if (dead || fault == Fault::Io) return FileError{EIO, "open"};
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (mode != OpenMode::Create) return FileError{ENOENT, "open"};
    if (fault == Fault::NoSpace || used() > capacity_) return FileError{ENOSPC, "open"};
    change_name({"", name, std::make_shared<Inode>()});
    found = names_.find(name);
  }
  if (power_is_off_) return FileError{EIO, "open"};
  return std::unique_ptr<File>{std::make_unique<FaultyFile>(*this, found->second, mode != OpenMode::Read, power_cycle_)};
}

Result<Success, FileError> FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  const auto fault = next_step();
  const bool dead = power_is_off_ && !std::exchange(power_just_went_, false);
  if (dead) return FileError{EIO, "rename"};
  if (fault == Fault::NoSpace) return FileError{ENOSPC, "rename"};
  const auto found = names_.find(from);
  if (found == names_.end()) return FileError{ENOENT, "rename"};
  // A rename that fails with an I/O error may still have happened.
  if (fault != Fault::Io || rng_.chance(1, 2)) change_name({from, to, found->second});
  if (fault == Fault::Io || power_is_off_) return FileError{EIO, "rename"};
  return Success{};
}

Result<Success, FileError> FaultyFileSystem::remove(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto fault = next_step();
  const bool dead = power_is_off_ && !std::exchange(power_just_went_, false);
  if (dead || fault == Fault::Io) return FileError{EIO, "unlink"};
  const auto found = names_.find(name);
  if (found == names_.end()) return FileError{ENOENT, "unlink"};
  change_name({name, "", found->second});
  if (power_is_off_) return FileError{EIO, "unlink"};
  return Success{};
}

Result<Success, FileError> FaultyFileSystem::sync_directory() {
  const std::scoped_lock lock(mutex_);
  const auto fault = next_step();
  power_just_went_ = false;
  if (power_is_off_ || fault == Fault::Io) return FileError{EIO, "fsync of the folder"};
  if (pretend_) return Success{};
  disk_names_ = names_;
  name_changes_.clear();
  return Success{};
}

Result<std::vector<std::string>, FileError> FaultyFileSystem::list() {
  const std::scoped_lock lock(mutex_);
  const auto fault = next_step();
  power_just_went_ = false;
  if (power_is_off_ || fault == Fault::Io) return FileError{EIO, "readdir"};
  std::vector<std::string> names;
  for (const auto& [name, node] : names_) names.push_back(name);
  return names;
}

}  // namespace fanfare::journal

#include "journal/file/snapshot_file.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "journal/crc32c.h"

namespace fanfare::journal {
namespace {

constexpr std::uint64_t kChunkHeaderBytes = 8;
constexpr std::uint64_t kFooterBytes = 16;
// The disk gets a snapshot in steps, each followed by a rest of twice its length: commits beside it go on.
constexpr std::uint64_t kSyncEveryBytes = 1u << 20;
constexpr int kRestFactor = 2;

std::uint32_t chunk_sum(std::uint32_t seed, std::uint64_t index, std::string_view bytes) {
  return crc32c(crc32c(seed, &index, sizeof index), bytes);
}

SnapshotFault io(const FileError& error, std::uint64_t offset) { return {SnapshotFault::Kind::Io, offset, {}, error}; }
SnapshotFault damaged(std::uint64_t offset, std::string expected) {
  return {SnapshotFault::Kind::Damaged, offset, std::move(expected), {}};
}

std::string encode_footer(std::uint32_t seed, std::uint64_t index, std::uint64_t content_bytes) {
  std::string total;
  append_le(total, content_bytes);
  std::string footer;
  append_le(footer, std::uint32_t{0});
  append_le(footer, chunk_sum(seed, index, total));
  return footer + total;
}

}  // namespace

Result<std::unique_ptr<SnapshotFileReader>, SnapshotFault> SnapshotFileReader::open(FileSystem& files, const std::string& name) {
  auto file = files.open(name, OpenMode::Read);
  if (!file) return io(file.error(), 0);
  const auto file_bytes = (*file)->size();
  if (!file_bytes) return io(file_bytes.error(), 0);
  std::array<char, kSnapshotHeaderBytes> block;
  const auto got = (*file)->read_at(block.data(), block.size(), 0);
  if (!got) return io(got.error(), 0);
  const auto header = SnapshotHeader::decode(std::string_view(block.data(), *got));
  if (!header) {
    const auto kind = header.error().version ? SnapshotFault::Kind::Version : SnapshotFault::Kind::Damaged;
    return SnapshotFault{kind, 0, header.error().expected, {}};
  }
  if (*file_bytes < kSnapshotHeaderBytes + kFooterBytes) return damaged(*file_bytes, "a footer, found the end of the file");
  std::array<char, kFooterBytes> footer;
  const auto footer_got = (*file)->read_at(footer.data(), footer.size(), *file_bytes - kFooterBytes);
  if (!footer_got) return io(footer_got.error(), *file_bytes - kFooterBytes);
  auto reader = std::unique_ptr<SnapshotFileReader>(new SnapshotFileReader(std::move(*file), *header, *file_bytes));
  reader->content_bytes_ = load_le<std::uint64_t>(footer.data() + 8);  // believed once next_chunk() has seen the footer whole
  return reader;
}

Result<std::string_view, SnapshotFault> SnapshotFileReader::next_chunk() {
  if (done_) return std::string_view{};
  std::array<char, kFooterBytes> head;
  const auto got = file_->read_at(head.data(), head.size(), offset_);
  if (!got) return io(got.error(), offset_);
  if (*got < kFooterBytes) return damaged(offset_, "a chunk or the footer, found the end of the file");
  const auto chunk_bytes = load_le<std::uint32_t>(head.data());
  const auto sum = load_le<std::uint32_t>(head.data() + 4);
  if (chunk_bytes == 0) {
    const std::string footer = encode_footer(seed_, index_, content_read_);
    if (std::string_view(head.data(), head.size()) != footer) {
      return damaged(offset_, fmt::format("a footer over {} bytes whose checksum is 0x{:08x}, found 0x{:08x}", content_read_,
                                          load_le<std::uint32_t>(footer.data() + 4), sum));
    }
    if (offset_ + kFooterBytes != file_bytes_) return damaged(offset_ + kFooterBytes, "the end of the file");
    done_ = true;
    return std::string_view{};
  }
  const std::uint64_t rest = file_bytes_ - offset_ - kChunkHeaderBytes;
  if (chunk_bytes > kSnapshotChunkBytesMax || chunk_bytes > rest) {
    return damaged(offset_, fmt::format("a chunk of at most {} bytes, found {}", std::min<std::uint64_t>(kSnapshotChunkBytesMax, rest),
                                        chunk_bytes));
  }
  chunk_.resize(chunk_bytes);
  const auto read = file_->read_at(chunk_.data(), chunk_.size(), offset_ + kChunkHeaderBytes);
  if (!read) return io(read.error(), offset_);
  chunk_.resize(*read);
  const std::uint32_t expected = chunk_sum(seed_, index_, chunk_);
  if (expected != sum) {
    return damaged(offset_, fmt::format("a chunk whose checksum is 0x{:08x}, found 0x{:08x}", expected, sum));
  }
  offset_ += kChunkHeaderBytes + chunk_bytes;
  content_read_ += chunk_bytes;
  ++index_;
  return std::string_view(chunk_);
}

Result<std::string_view, JournalError> SnapshotFileReader::next() {
  const auto chunk = next_chunk();
  if (chunk) return *chunk;
  return chunk.error().kind == SnapshotFault::Kind::Io ? JournalError::Io : JournalError::Damaged;
}

Result<Success, SnapshotFault> SnapshotFileReader::check_rest() {
  while (!done_) {
    const auto chunk = next_chunk();
    if (!chunk) return chunk.error();
  }
  return Success{};
}

Result<Success, SnapshotFault> write_snapshot_file(FileSystem& files, const std::string& name, const SnapshotHeader& header,
                                                   const SnapshotSource& source) {
  auto opened = files.open(name, OpenMode::Create);
  if (!opened) return io(opened.error(), 0);
  File& file = **opened;
  if (const auto emptied = file.truncate(0); !emptied) return io(emptied.error(), 0);

  const std::uint32_t seed = header.seed();
  const std::string encoded = header.encode();
  std::uint64_t index = 0;
  std::uint64_t content_bytes = 0;
  // Whole chunks, and from `chunk` on the one that grows, behind the room for its header. In whole pages, which need no copy in the page
  // cache: that costs more than all the rest.
  const PageMemory memory(kSyncEveryBytes + kChunkHeaderBytes + kSnapshotChunkBytesMax + kFooterBytes + kPageBytes);
  char* const out = memory.data();
  std::memcpy(out, encoded.data(), encoded.size());
  std::size_t chunk = encoded.size();
  std::size_t used = chunk + kChunkHeaderBytes;
  std::uint64_t offset = 0;  // of `out` in the file
  const auto chunk_bytes = [&] { return used - chunk - kChunkHeaderBytes; };
  const auto finish_chunk = [&] {
    const std::string_view bytes(out + chunk + kChunkHeaderBytes, chunk_bytes());
    std::string head;
    append_le(head, static_cast<std::uint32_t>(bytes.size()));
    append_le(head, chunk_sum(seed, index, bytes));
    std::memcpy(out + chunk, head.data(), kChunkHeaderBytes);
    content_bytes += bytes.size();
    ++index;
    chunk = used;
    used += kChunkHeaderBytes;
  };
  const auto write_pages = [&]() -> Result<Success, SnapshotFault> {
    const std::size_t whole = chunk / kPageBytes * kPageBytes;
    if (const auto written = write_all_pages(file, {out, whole}, offset, Sync::No); !written) return io(written.error(), offset);
    offset += whole;
    chunk -= whole;
    used -= whole;
    std::memmove(out, out + whole, used);
    return Success{};
  };
  const auto sync_and_rest = [&]() -> Result<Success, SnapshotFault> {
    const auto started = std::chrono::steady_clock::now();
    if (const auto done = file.sync(); !done) return io(done.error(), offset);
    std::this_thread::sleep_for((std::chrono::steady_clock::now() - started) * kRestFactor);
    return Success{};
  };

  while (true) {
    std::optional<std::string_view> piece = source();
    if (!piece) return SnapshotFault{SnapshotFault::Kind::Abandoned, offset, {}, {}};
    if (piece->empty()) break;
    while (!piece->empty()) {
      const std::size_t part = std::min<std::size_t>(piece->size(), kSnapshotChunkBytesMax - chunk_bytes());
      std::memcpy(out + used, piece->data(), part);
      used += part;
      piece->remove_prefix(part);
      if (chunk_bytes() < kSnapshotChunkBytesMax) continue;
      finish_chunk();
      if (chunk < kSyncEveryBytes) continue;
      if (const auto written = write_pages(); !written) return written.error();
      if (const auto synced = sync_and_rest(); !synced) return synced.error();
    }
  }
  if (chunk_bytes() > 0) finish_chunk();
  const std::string footer = encode_footer(seed, index, content_bytes);
  std::memcpy(out + chunk, footer.data(), footer.size());
  chunk += footer.size();
  used = chunk;
  if (const auto written = write_pages(); !written) return written.error();
  if (const auto written = write_all(file, {out, used}, offset, Sync::No); !written) return io(written.error(), offset);
  if (const auto done = file.sync(); !done) return io(done.error(), offset);
  return Success{};
}

}  // namespace fanfare::journal

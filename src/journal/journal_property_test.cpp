// Any sequence of operations on a healthy disk, against a model that is a vector.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/journal.h"
#include "journal/memory/memory_journal.h"
#include "journal/test_support.h"

namespace fanfare::journal {
namespace {

enum class Operation { Append, Commit, CommitUnsynced, Discard, Reopen, Trim, Snapshot, Read, Replay };

struct Command {
  Operation operation;
  std::uint32_t argument;

  friend std::ostream& operator<<(std::ostream& out, const Command& command) {
    const char* names[] = {"Append", "Commit", "CommitUnsynced", "Discard", "Reopen", "Trim", "Snapshot", "Read", "Replay"};
    return out << names[static_cast<int>(command.operation)] << "(" << command.argument << ")";
  }
};

rc::Gen<std::vector<Command>> commands() {
  const auto operation = rc::gen::weightedElement<Operation>({{12, Operation::Append},
                                                              {4, Operation::Commit},
                                                              {3, Operation::CommitUnsynced},
                                                              {1, Operation::Discard},
                                                              {1, Operation::Reopen},
                                                              {1, Operation::Trim},
                                                              {1, Operation::Snapshot},
                                                              {4, Operation::Read},
                                                              {1, Operation::Replay}});
  const auto command = rc::gen::construct<Command>(operation, rc::gen::inRange<std::uint32_t>(0, 1u << 20));
  return rc::gen::resize(400, rc::gen::container<std::vector<Command>>(command));
}

/// What a journal is, said naively.
struct Model {
  Entries entries;            // all of them, trimmed ones too
  std::size_t committed = 0;  // how many
  LogPosition first;
  std::optional<Entry> snapshot;

  [[nodiscard]] LogPosition end(std::size_t count) const {
    return count == 0 ? LogPosition{} : entries[count - 1].position + frame_size(entries[count - 1].record.size());
  }
  [[nodiscard]] Entries kept(std::size_t count) const {
    Entries kept;
    for (std::size_t i = 0; i < count; ++i) {
      if (first <= entries[i].position) kept.push_back(entries[i]);
    }
    return kept;
  }
};

void apply(const Command& command, std::unique_ptr<Journal>& journal, Model& model, const std::function<std::unique_ptr<Journal>()>& open) {
  switch (command.operation) {
    case Operation::Append: {
      const std::size_t size = 1 + (command.argument % 16 == 0 ? command.argument % 20'000 : command.argument % 700);
      const Entry entry = append(*journal, noise(command.argument, size));
      RC_ASSERT(entry.position == model.end(model.entries.size()));
      model.entries.push_back(entry);
      break;
    }
    case Operation::Commit:
    case Operation::CommitUnsynced: {
      RC_ASSERT(commit(*journal, command.operation == Operation::Commit ? Sync::Yes : Sync::No) == "ok");
      model.committed = model.entries.size();
      break;
    }
    case Operation::Discard:
      journal->discard_uncommitted();
      model.entries.resize(model.committed);
      break;
    case Operation::Reopen:
      if (open == nullptr) break;
      journal.reset();
      journal = open();
      RC_ASSERT(journal != nullptr);
      model.entries.resize(model.committed);
      break;
    case Operation::Trim: {
      LogPosition keep = journal->durable_end();
      if (command.argument % 3 != 0) keep.value = keep.value == 0 ? 0 : command.argument % keep.value;
      const auto first = journal->trim(keep);
      RC_ASSERT(first.has_value());
      RC_ASSERT(*first <= std::max(keep, model.first));
      RC_ASSERT(*first >= model.first);
      if (model.snapshot) RC_ASSERT(*first <= std::max(model.snapshot->position, model.first));
      model.first = *first;
      break;
    }
    case Operation::Snapshot: {
      const Entry snapshot{journal->durable_end(), noise(command.argument, command.argument % 2000)};
      RC_ASSERT(write_snapshot(*journal, snapshot.position, snapshot.record, 300) == "ok");
      model.snapshot = snapshot;
      break;
    }
    case Operation::Read: {
      if (model.entries.empty()) break;
      const Entry& entry = model.entries[command.argument % model.entries.size()];
      RC_ASSERT(read(*journal, entry.position) == (entry.position < model.first ? "<NotFound>" : entry.record));
      RC_ASSERT(read(*journal, entry.position + 8) == "<NotFound>");
      break;
    }
    case Operation::Replay:
      RC_ASSERT(replayed(*journal) == model.kept(model.committed));
      RC_ASSERT(latest_snapshot(*journal) == model.snapshot);
      break;
  }
  RC_ASSERT(journal->next_position() == model.end(model.entries.size()));
  RC_ASSERT(journal->first_position() == model.first);
  RC_ASSERT(journal->durable_end() <= model.end(model.committed));
  if (command.operation == Operation::Commit) RC_ASSERT(journal->durable_end() == journal->next_position());
}

RC_GTEST_PROP(JournalProperty, TheFileJournalIsAVector, ()) {
  const auto script = *commands();
  FaultyFileSystem disk(1);
  SeededSecrets secrets(1);
  const auto open = [&]() -> std::unique_ptr<Journal> {
    auto opened = open_file_journal(disk, secrets, {8u << 10, 512u << 10, false});
    RC_ASSERT(opened.has_value());
    return std::move(opened->journal);
  };
  auto journal = open();
  Model model;
  for (const Command& command : script) apply(command, journal, model, open);
  apply({Operation::Commit, 0}, journal, model, open);
  apply({Operation::Reopen, 0}, journal, model, open);
  apply({Operation::Replay, 0}, journal, model, open);
}

RC_GTEST_PROP(JournalProperty, TheMemoryJournalIsAVector, ()) {
  const auto script = *commands();
  auto journal = make_memory_journal();
  Model model;
  for (const Command& command : script) apply(command, journal, model, nullptr);
  apply({Operation::Commit, 0}, journal, model, nullptr);
  apply({Operation::Replay, 0}, journal, model, nullptr);
}

}  // namespace
}  // namespace fanfare::journal

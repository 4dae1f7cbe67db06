// A snapshot in the making: the state of one moment, written in slices while the engine goes on.
//
// Rule 1: what is about to change is kept first, as it was at that moment, unless it was written already: small things (queues without
//         their messages, topics without their archive, subscriptions) as their section, entries by queue::Queue, the directory and
//         attempts by themselves, an archived message by itself.
// Rule 2: messages of a queue that is purged or deleted meanwhile are not freed before they are written; neither are archives that
//         become garbage, nor the numbers of payloads that are released (PayloadStore::hold).
// Rule 3: messages and archives go before deduplication and attempt ids, of which there may be many more: as long as a message was not
//         written, its receive and its delete pay for keeping it.
// Rule 4: memory follows what changes between the begin and the writing of each thing, never the size of the state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/attempts.h"
#include "core/engine/entries_section.h"
#include "core/engine/snapshot_sections.h"
#include "core/engine/topic_archive.h"
#include "core/message/deduplication.h"
#include "core/queue/queue.h"

namespace fanfare::engine {

struct Saving {
  enum class Part : std::uint8_t { Head, Queues, Topics, Subscriptions, Directory, Messages, Archives, TopicDuplicates, QueueIds, End, Cleaning };

  /// Things of one kind, by number.
  struct Numbered {
    explicit Numbered(std::size_t all) : end(static_cast<std::uint32_t>(all)), seen(all, false) {}
    std::uint32_t end;               ///< what gets a higher number came later
    std::uint32_t next = 1;          ///< is written next
    std::vector<bool> seen;          ///< its section was made
    std::multimap<std::uint32_t, std::string> sections;  ///< made before their turn; those of a number in their order

    /// Whether its section is to be made now.
    bool claim(std::uint32_t number) {
      if (number >= end || seen[number]) return false;
      return seen[number] = true;
    }
  };
  /// Ids of a window that were known at the begin.
  struct Window {
    message::DeduplicationWindow* ids;  ///< in the topic, or among the garbage by now
    std::uint64_t next;
    std::uint64_t end;
  };
  struct Messages {
    queue::Queue* queue;  ///< in its QueueState, or among the garbage by now
    std::uint64_t next_duplicate;
    std::uint64_t duplicates_end;
    Attempts* attempts;  ///< in its QueueState, or below since it was deleted
    Attempts left;
    bool entries_done = false;
    std::optional<TimeImage> time;                         ///< nullopt: it has no tenants
    std::vector<std::pair<std::string, Timestamp>> noisy;  ///< what is written next is at the end
  };

  /// What a topic archived.
  struct Archive {
    std::optional<Timestamp> from;  ///< nullopt: no archive policy
    std::uint64_t next;             ///< of the topic's sequence: what comes next
    std::uint64_t end;              ///< what follows came later
    /// Where they lie, by sequence: among the garbage, and last in the topic, unless it was deleted.
    std::vector<const TopicArchive::Messages*> places;
    std::map<std::uint64_t, ArchivedMessage> kept;  ///< what left its place before its turn
    bool begun = false;                             ///< a section was written
  };

  Saving(std::size_t queues_end, std::size_t topics_end, std::size_t subscriptions_end)
      : queues(queues_end), topics(topics_end), subscriptions(subscriptions_end) {}

  Part part = Part::Head;
  std::string head;
  Timestamp now{};
  Numbered queues;
  Numbered topics;
  Numbered subscriptions;
  std::map<std::uint32_t, Window> windows;     ///< of topics, by number
  std::map<std::uint32_t, Messages> messages;  ///< by queue; what has been written but for its ids is still here
  std::uint32_t next_messages = 0;             ///< the queue whose messages are written next, or one before it
  EntriesWriter section;      ///< kept, so that slices need no large piece of memory each
  std::map<std::uint32_t, Archive> archives;  ///< by topic
  std::uint64_t entries = 0;  ///< written, with archived messages
};

}  // namespace fanfare::engine

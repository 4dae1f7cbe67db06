#include "journal/journal.h"

namespace fanfare::journal {

std::string_view name_of(JournalError error) {
  switch (error) {
    case JournalError::NoSpace: return "NoSpace";
    case JournalError::Io: return "Io";
    case JournalError::Fenced: return "Fenced";
    case JournalError::NotFound: return "NotFound";
    case JournalError::Damaged: return "Damaged";
    case JournalError::Abandoned: return "Abandoned";
  }
  return "unknown";
}

}  // namespace fanfare::journal

// The table of names and meanings.
#include "sim/properties.h"

namespace fanfare::sim {
namespace {

struct Row {
  Property property;
  PropertyText text;
};

using enum Kind;
constexpr std::array<Row, kProperties> kRows{{
    {Property::AcknowledgedIsKept, {"acknowledged-is-kept", Always, "a message whose send or publish was acknowledged is found in the end"}},
    {Property::DeletedStaysDeleted, {"deleted-stays-deleted", Never, "a message comes back after its deletion was acknowledged"}},
    {Property::Invented, {"invented", Never, "a message is handed out that nobody sent to that queue, or with another content"}},
    {Property::LeaseRespected, {"lease-respected", Always, "while a lease runs that no crash can have lost, nobody else gets the message"}},
    {Property::DelayRespected, {"delay-respected", Always, "a message is not handed out before its delay is over"}},
    {Property::CountsRise, {"receive-count-rises", Always, "the receive count rises with each delivery that no crash can have lost"}},
    {Property::CountNotTooHigh, {"receive-count-not-too-high", Always, "deliveries that did not reach the client are not counted"}},
    {Property::FifoOrder, {"fifo-order", Always, "in a group nothing is handed out before what was sent earlier and is still there"}},
    {Property::OneFlight, {"one-flight-per-group", Always, "what stands behind a message in flight in its group, no other receive gets"}},
    {Property::DedupHolds, {"duplicate-suppressed", Always, "the same deduplication id within five minutes gives the first message's id"}},
    {Property::DedupEnds, {"duplicate-window-ends", Always, "after five minutes the same deduplication id makes a new message"}},
    {Property::SequenceRises, {"sequence-numbers-rise", Always, "sequence numbers of a FIFO queue rise for ever, also across crashes"}},
    {Property::FanOut, {"fan-out-complete", Always, "an acknowledged publication reaches each queue that is subscribed and admitted"}},
    {Property::FanOutWhole, {"fan-out-all-or-none", Always, "a publication without an answer reached all its queues or none"}},
    {Property::ExpiredStaysGone, {"expired-stays-gone", Never, "a message older than its queue's retention period is handed out"}},
    {Property::PurgedStaysGone, {"purged-stays-gone", Never, "a message comes back that was there when an acknowledged purge began"}},
    {Property::DeadLetterRule, {"dead-lettered-by-rule", Always, "only what was received maxReceiveCount times is in the dead-letter queue"}},
    {Property::MovedStaysMoved, {"moved-stays-moved", Never, "a message that was seen in the dead-letter queue is seen in its source again"}},
    {Property::EmptyIsEmpty, {"empty-is-empty", Always, "a receive that gives nothing found nothing that was surely visible"}},
    {Property::LongPollWaits, {"long-poll-waits", Always, "a long poll gives nothing only when its wait is over"}},
    {Property::Answered, {"every-request-answered", Always, "each request that was handed in whole is answered or its connection ends"}},
    {Property::CountsAddUp, {"counts-add-up", Always, "the queue's own counts lie between what is surely and what may be there"}},
    {Property::DrainsEmpty, {"drains-empty", Always, "when faults have stopped, everything can be received and deleted"}},
    {Property::Recovers, {"recovers", Always, "the journal opens after each crash once the disk is in order, and reports no damage"}},
    {Property::DurableKept, {"durable-end-kept", Always, "after a crash the log is at least as long as was promised to be durable"}},
    {Property::ReplayEqualsLive, {"replay-equals-live", Always, "a clean restart gives the state that was there before it"}},
    {Property::ReceiveSoonDurable, {"receive-soon-durable", Always, "on a disk in order a receive's record is durable within 100 ms"}},
    {Property::GoneIsGone, {"gone-is-gone", Never, "a queue or topic answers whose deletion was acknowledged"}},
    {Property::NameReserved, {"name-reserved", Always, "a deleted queue's name makes no new queue for a minute"}},
    {Property::SettingsHold, {"settings-hold", Always, "a queue's attributes are those that were set last, or may have been"}},
    {Property::SizeRespected, {"size-respected", Always, "a message longer than its queue's maximum is refused"}},
    {Property::QuietFirst, {"quiet-groups-first", Always, "while a quiet group's message is visible, a noisy group gets nothing"}},
    {Property::MovePace, {"move-pace", Always, "a move task is not faster than it was asked to be"}},
    {Property::MoveOnce, {"move-once", Always, "there are no more move tasks than were asked for, and one runs at most"}},
    {Property::MoveEnds, {"move-ends", Always, "when faults have stopped, each move task comes to its end"}},
    {Property::ReplayedWhole, {"replayed-whole", Always, "a replay of an archive brings each acknowledged publication, and what is published meanwhile"}},
    {Property::ReplayedInOrder, {"replayed-in-order", Always, "it brings each publication once, in the order of the topic"}},
    {Property::ErrorsExpected, {"errors-expected", Never, "the broker answers with an error that the request does not deserve"}},
    {Property::Deterministic, {"deterministic", Always, "the same seed gives the same trace twice"}},
    {Property::PowerCut, {"power-cut", Sometimes, "the power goes"}},
    {Property::Killed, {"killed", Sometimes, "the process is killed"}},
    {Property::CrashInTurn, {"crash-in-turn", Sometimes, "the process dies between two disk operations of one turn"}},
    {Property::CrashAfterCommit, {"crash-after-commit", Sometimes, "the process dies after a commit, before all of its answers left"}},
    {Property::CrashInSnapshot, {"crash-in-snapshot", Sometimes, "the process dies while a snapshot is written"}},
    {Property::ChangedInSnapshot, {"changed-in-snapshot", Sometimes, "something is written to the log between two slices of a snapshot"}},
    {Property::CrashInRecovery, {"crash-in-recovery", Sometimes, "the process dies while it recovers"}},
    {Property::UnsyncedTail, {"unsynced-tail", Sometimes, "a crash with records that were appended and not durable"}},
    {Property::TailLost, {"unsynced-tail-lost", Sometimes, "a crash loses records that were not durable"}},
    {Property::TailKept, {"unsynced-tail-kept", Sometimes, "records that were not durable survive a crash"}},
    {Property::TornTail, {"torn-tail-cut", Sometimes, "recovery cuts a torn tail"}},
    {Property::LostReceive, {"receive-record-lost", Sometimes, "a crash loses the record of a receive, and the message comes again"}},
    {Property::UnknownSurvived, {"unanswered-send-survived", Sometimes, "a message whose send got no answer is there"}},
    {Property::CleanRestart, {"clean-restart", Sometimes, "the broker is drained, closed and started again"}},
    {Property::DiskFull, {"disk-full", Sometimes, "a request is refused because the disk is full"}},
    {Property::DiskFullOver, {"disk-full-recovered", Sometimes, "sends work again after the disk was full, without a restart"}},
    {Property::DiskError, {"disk-error", Sometimes, "a commit meets an I/O error"}},
    {Property::DiskErrorOver, {"disk-error-recovered", Sometimes, "sends work again after an I/O error, without a restart"}},
    {Property::FromSnapshot, {"recovered-from-snapshot", Sometimes, "recovery begins with a snapshot"}},
    {Property::Trimmed, {"log-trimmed", Sometimes, "the log gives up segments"}},
    {Property::ReadBack, {"content-read-back", Sometimes, "a message whose content is no longer in memory is handed out"}},
    {Property::LongPollWoken, {"long-poll-woken", Sometimes, "a long poll that waits gets a message"}},
    {Property::LongPollEmpty, {"long-poll-ended-empty", Sometimes, "a long poll ends with nothing"}},
    {Property::LongPollDead, {"long-poll-client-gone", Sometimes, "the client of a long poll goes while it waits"}},
    {Property::LongPollGoneTurn, {"long-poll-gone-in-the-turn", Sometimes, "a message comes in the turn in which the poll's client goes"}},
    {Property::GivenBack, {"given-back", Sometimes, "an answer with messages cannot be written, and they are given back"}},
    {Property::ReplyLost, {"reply-lost", Sometimes, "an answer left and never reached its client"}},
    {Property::Retried, {"retried", Sometimes, "a client repeats a request whose answer it did not get"}},
    {Property::OutdatedHandle, {"outdated-handle", Sometimes, "a delete comes with the handle of an earlier delivery"}},
    {Property::LateDelete, {"late-delete", Sometimes, "a delete comes after its lease has ended and still deletes"}},
    {Property::DeadLettered, {"dead-letter-move", Sometimes, "a message is seen in the dead-letter queue"}},
    {Property::DeadLetterAfterCrash, {"dead-letter-move-and-crash", Sometimes, "a crash between a receive and the move"}},
    {Property::DedupHit, {"dedup-hit", Sometimes, "a duplicate is suppressed"}},
    {Property::DedupHitAfterRestart, {"dedup-hit-after-restart", Sometimes, "a duplicate of before a restart is suppressed after it"}},
    {Property::GroupBatch, {"group-batch", Sometimes, "one receive gets several messages of one group"}},
    {Property::Expired, {"expired", Sometimes, "a message goes by retention"}},
    {Property::Purged, {"purged", Sometimes, "a purge finds messages"}},
    {Property::RawCopy, {"raw-copy", Sometimes, "a copy of a publication is handed out raw"}},
    {Property::Enveloped, {"enveloped-copy", Sometimes, "a copy of a publication is handed out in its envelope"}},
    {Property::GroupCommit, {"group-commit", Sometimes, "one commit covers requests of several connections"}},
    {Property::ClockJumped, {"clock-jumped", Sometimes, "the wall clock jumps forward"}},
    {Property::ClockBack, {"clock-set-back", Sometimes, "the wall clock is set back"}},
    {Property::Fragmented, {"request-in-pieces", Sometimes, "a request arrives in several pieces, over several turns"}},
    {Property::HalfClosed, {"half-closed", Sometimes, "a client ends its sending side and still reads its answer"}},
    {Property::AttributesChanged, {"attributes-changed", Sometimes, "a queue's attributes change while it is used"}},
    {Property::QueueDeletedFull, {"queue-deleted-full", Sometimes, "a queue is deleted with messages in it"}},
    {Property::QueueMadeAgain, {"queue-made-again", Sometimes, "a queue is made under the name of a deleted one"}},
    {Property::QueueMissing, {"queue-missing", Sometimes, "a request names a queue that was deleted"}},
    {Property::WaiterOfDeleted, {"long-poll-queue-deleted", Sometimes, "a long poll waits when its queue is deleted"}},
    {Property::TooLong, {"message-too-long", Sometimes, "a message is refused because it is too long"}},
    {Property::Unsubscribed, {"unsubscribed", Sometimes, "a subscription ends while its topic is used"}},
    {Property::TopicDeleted, {"topic-deleted", Sometimes, "a topic is deleted with its subscriptions"}},
    {Property::FilteredOut, {"filtered-out", Sometimes, "a filter policy keeps a publication from a queue"}},
    {Property::CopyRefused, {"copy-refused", Sometimes, "a queue takes no copy: it is missing, its policy refuses, or it is too long"}},
    {Property::CopyDeadLettered, {"copy-dead-lettered", Sometimes, "a refused copy is found in the subscription's dead-letter queue"}},
    {Property::FifoCopy, {"fifo-copy", Sometimes, "a copy of a FIFO topic's publication is handed out"}},
    {Property::TopicDedupHit, {"topic-dedup-hit", Sometimes, "a FIFO topic suppresses a duplicate"}},
    {Property::MoveStarted, {"move-started", Sometimes, "a move task begins"}},
    {Property::MovedByTask, {"moved-by-task", Sometimes, "a message is handed out that a move task moved"}},
    {Property::MoveCancelled, {"move-cancelled", Sometimes, "a move task is cancelled"}},
    {Property::MoveAndCrash, {"move-and-crash", Sometimes, "the process dies while a move task may run"}},
    {Property::NoisyGroup, {"noisy-group", Sometimes, "a message of a noisy group is handed out"}},
    {Property::ReplayCaughtUp, {"replay-caught-up", Sometimes, "a replay of an archive with publications comes to its end"}},
    {Property::ReplayAndCrash, {"replay-and-crash", Sometimes, "the process dies while a replay of an archive runs"}},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kProperties; ++i)
    if (static_cast<std::size_t>(kRows[i].property) != i) return false;
  return true;
}
static_assert(rows_are_in_order(), "the table has the order of the enumeration");

}  // namespace

const PropertyText& text_of(Property property) { return kRows[static_cast<std::size_t>(property)].text; }

}  // namespace fanfare::sim

#include "edge/events.h"

#include <utility>

#include "base/assert.h"
#include "edge/notification_body.h"
#include "wire/json/writer.h"
#include "wire/sse/sse.h"

namespace fanfare::edge {
namespace {

std::shared_ptr<const std::string> encoded(const inbox::Notification& item) {
  std::string text;
  append_item(text, item);
  return std::make_shared<const std::string>(std::move(text));
}

void add_created(std::vector<LiveChange>& changes, const inbox::Create& create, const inbox::Created& created) {
  for (const inbox::CreatedItem& made : created.items) {
    inbox::Notification item;
    item.id = made.id;
    item.sequence = made.sequence;
    item.inbox = {made.recipient, create.intent.workspace};
    item.kind = create.intent.kind;
    item.object_id = create.intent.object_id;
    item.revision = create.intent.revision;
    item.data = create.intent.data;
    item.created_at = made.created_at;
    changes.push_back({item.inbox, inbox::StreamItem{made.sequence, encoded(item)}, made.counts});
  }
}

}  // namespace

std::vector<LiveChange> live_changes(std::span<const inbox::Operation> operations,
                                     std::span<const inbox::Answer> answers) {
  FANFARE_ASSERT(operations.size() == answers.size());
  std::vector<LiveChange> changes;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (const auto* created = std::get_if<inbox::Created>(&answers[i]))
      add_created(changes, std::get<inbox::Create>(operations[i]), *created);
    if (const auto* marked = std::get_if<inbox::Marked>(&answers[i]); marked != nullptr && marked->changed > 0)
      for (const inbox::InboxChange& change : marked->inboxes)
        changes.push_back({change.inbox, std::nullopt, change.counts});
  }
  return changes;
}

std::vector<SessionAction> EventSessions::open(SessionId id, inbox::InboxKey inbox,
                                               std::optional<inbox::Cursor> after) {
  const auto [session, fresh] = sessions_.try_emplace(id, inbox);
  FANFARE_ASSERT(fresh);
  watchers_[std::move(inbox)].push_back(id);
  std::vector<SessionAction> actions;
  translate(id, session->second.start(after), actions);
  return actions;
}

std::vector<SessionAction> EventSessions::on_answer(SessionId id, const inbox::Answer& answer) {
  std::vector<SessionAction> actions;
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return actions;
  if (const auto* head = std::get_if<inbox::Head>(&answer)) translate(id, session->second.on_head(*head), actions);
  if (const auto* page = std::get_if<inbox::Page>(&answer)) {
    inbox::StreamPage stream_page;
    stream_page.more = page->more;
    for (const inbox::Notification& item : page->items) stream_page.items.push_back({item.sequence, encoded(item)});
    translate(id, session->second.on_page(std::move(stream_page)), actions);
  }
  return actions;
}

std::vector<SessionAction> EventSessions::on_change(const LiveChange& change) {
  std::vector<SessionAction> actions;
  const auto watching = watchers_.find(change.inbox);
  if (watching == watchers_.end()) return actions;
  for (const SessionId id : watching->second) {
    inbox::EventStream& stream = sessions_.at(id);
    std::vector<inbox::StreamOutput> outputs;
    if (change.item) outputs = stream.on_item(*change.item);
    for (inbox::StreamOutput& output : stream.on_counts(change.counts)) outputs.push_back(std::move(output));
    translate(id, std::move(outputs), actions);
  }
  return actions;
}

void EventSessions::close(SessionId id) {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  const auto watching = watchers_.find(session->second.inbox());
  std::erase(watching->second, id);
  if (watching->second.empty()) watchers_.erase(watching);
  sessions_.erase(session);
}

std::size_t EventSessions::watchers(const inbox::InboxKey& inbox) const {
  const auto watching = watchers_.find(inbox);
  return watching == watchers_.end() ? 0 : watching->second.size();
}

void EventSessions::translate(SessionId id, std::vector<inbox::StreamOutput> outputs,
                              std::vector<SessionAction>& actions) const {
  const inbox::InboxKey& key = sessions_.at(id).inbox();
  std::string text;
  // What was said before a question is written before its answer can come.
  const auto flush = [&] {
    if (!text.empty()) actions.push_back(SessionWrite{id, std::exchange(text, {})});
  };
  for (const inbox::StreamOutput& output : outputs) {
    if (std::holds_alternative<inbox::WantHead>(output)) {
      flush();
      actions.push_back(SessionAsk{id, inbox::ReadHead{key}});
    } else if (const auto* want = std::get_if<inbox::WantPage>(&output)) {
      inbox::ListPage list;
      list.inbox = key;
      list.after = want->after;
      list.up_to = want->up_to;
      list.limit = want->limit;
      list.unread_only = true;
      flush();
      actions.push_back(SessionAsk{id, std::move(list)});
    } else if (const auto* reset = std::get_if<inbox::SendReset>(&output)) {
      wire::sse::append_event(text, "reset", "{}", reset->cursor.text());
    } else if (const auto* item = std::get_if<inbox::SendItem>(&output)) {
      wire::sse::append_event(text, "notification", *item->item.body, item->cursor.text());
    } else if (const auto* counts = std::get_if<inbox::SendCounts>(&output)) {
      std::string data;
      wire::json::Writer writer{data};
      writer.begin_object().key("unread").unsigned_integer(counts->counts.unread);
      writer.key("unseen").unsigned_integer(counts->counts.unseen).end_object();
      wire::sse::append_event(text, "count", data, counts->cursor.text());
    }
  }
  flush();
}

std::string_view keep_alive_comment() { return ":\n\n"; }

}  // namespace fanfare::edge

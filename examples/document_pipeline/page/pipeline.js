// The demo's page: queue counts from the admin port, Alice's live results by server-sent events, Bob's inbox by REST.
"use strict";

const WORKSPACE = "documents";
const admin = new URLSearchParams(location.search).get("admin") || "http://127.0.0.1:4590";
const WORKERS = ["summarise", "embed", "moderate"];
const QUEUES = [...WORKERS, "notifications"];
const FEED_LENGTH = 30;
const byId = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en");
const state = { queues: {}, published: 0, alice: new Set(), bobUnread: 0 };

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// --- Queues -----------------------------------------------------------------------------------------------------------

function makeQueueCard(name) {
  const card = element("article", "card");
  card.id = `queue-${name}`;
  card.append(element("h3", "", name));
  const done = element("p", "big", "0");
  done.dataset.field = "deleted";
  card.append(done, element("p", "unit", name === "notifications" ? "results delivered to the inbox" : "documents done"));
  const bar = element("div", "bar");
  bar.append(element("i"));
  card.append(bar);
  const list = element("dl");
  for (const [field, label] of [["sent", "received its copy"], ["visible", "waiting"], ["in_flight", "in work"], ["dead", "dead letters"]]) {
    const value = element("dd", "", "0");
    value.dataset.field = field;
    list.append(element("dt", "", label), value);
  }
  card.append(list);
  return card;
}

function showQueue(name) {
  const queue = state.queues[name];
  const card = byId(`queue-${name}`);
  if (!queue) return;
  const dead = state.queues[`${name}-dlq`];
  const fields = { deleted: queue.deleted, sent: queue.sent, visible: queue.visible, in_flight: queue.in_flight, dead: dead ? dead.visible : 0 };
  for (const [field, value] of Object.entries(fields)) card.querySelector(`[data-field=${field}]`).textContent = number(value);
  card.querySelector(".bar > i").style.width = queue.sent ? `${(100 * queue.deleted) / queue.sent}%` : "0";
}

async function pollBroker() {
  try {
    const answer = await fetch(`${admin}/_fanfare/state`);
    const broker = await answer.json();
    for (const queue of broker.queues) state.queues[queue.name] = queue;
    const topic = broker.topics.find((t) => t.name === "doc-events");
    if (topic) state.published = topic.published;
    document.querySelector("#topic [data-field=published]").textContent = number(state.published);
    for (const name of QUEUES) showQueue(name);
    showHeadline();
    showTotals();
  } catch {
    byId("headline").textContent = "the admin port does not answer";
  }
  setTimeout(pollBroker, 500);
}

function showHeadline() {
  const documents = state.queues.summarise ? state.queues.summarise.sent : 0;
  const waiting = QUEUES.reduce((sum, name) => sum + (state.queues[name] ? state.queues[name].visible + state.queues[name].in_flight : 0), 0);
  byId("headline").textContent = documents === 0 ? "waiting for the first document"
    : waiting > 0 ? `${number(documents)} documents published, ${number(waiting)} pieces of work under way`
    : `${number(documents)} documents published, all work done`;
}

// --- Totals -----------------------------------------------------------------------------------------------------------

function showTotals() {
  const q = (name) => state.queues[name] || { sent: 0, received: 0, deleted: 0 };
  const results = WORKERS.reduce((sum, name) => sum + q(name).deleted, 0);
  const rows = WORKERS.map((name) => [`${name}: every copy received and deleted`, q(name).sent, q(name).deleted]);
  rows.push(["results of the workers = notifications", results, q("notifications").deleted]);
  rows.push(["notifications = what Alice saw live", q("notifications").deleted, state.alice.size]);
  rows.push(["notifications = what Bob has in his inbox", q("notifications").deleted, state.bobUnread]);
  const body = document.querySelector("#totals tbody");
  body.replaceChildren(...rows.map(([promise, left, right]) => {
    const row = element("tr");
    const agree = left === right && left > 0;
    row.append(element("td", "", promise), element("td", "number", number(left)), element("td", "number", number(right)),
      element("td", agree ? "agree" : "moving", agree ? "agree" : "moving"));
    return row;
  }));
}

// --- People -----------------------------------------------------------------------------------------------------------

function describe(item) {
  const data = item.data || {};
  if (item.kind === "document.summarised") return (data.summary || []).join(" ") || "(no sentence worth quoting)";
  if (item.kind === "document.embedded")
    return data.nearest && data.nearest.length ? `nearest: ${data.nearest.map((n) => `${n.title} (${n.similarity.toFixed(2)})`).join(", ")}` : "the first of its kind";
  if (item.kind === "document.moderated") return `${data.verdict}, score ${data.score}`;
  return item.kind;
}

function showItem(feed, item) {
  const entry = element("li");
  const what = element("div", "what");
  what.append(element("span", "", item.kind.replace("document.", "")), element("span", "", (item.data && item.data.title) || item.object_id));
  entry.append(what, element("p", "", describe(item)));
  feed.prepend(entry);
  while (feed.children.length > FEED_LENGTH) feed.lastChild.remove();
}

function listen(person, onItem, badge) {
  const source = new EventSource(`/v1/events?workspace=${WORKSPACE}&access_token=dev:${person}:${WORKSPACE}`);
  const say = (text, kind) => { badge.textContent = text; badge.className = `badge ${kind}`; };
  source.onopen = () => say("connected", "live");
  source.onerror = () => say("reconnecting", "broken");
  source.addEventListener("notification", (event) => onItem(JSON.parse(event.data)));
}

listen("alice", (item) => {
  if (state.alice.has(item.id)) return;
  state.alice.add(item.id);
  byId("alice-count").textContent = number(state.alice.size);
  showItem(byId("alice-feed"), item);
}, byId("alice-state"));

const bobHeaders = { Authorization: `Bearer dev:bob:${WORKSPACE}` };
async function pollBob() {
  try {
    const answer = await fetch(`/v1/inbox/counts?workspace=${WORKSPACE}`, { headers: bobHeaders });
    if (answer.ok) {
      state.bobUnread = (await answer.json()).unread;
      byId("bob-count").textContent = number(state.bobUnread);
    }
  } catch { /* the next poll says more */ }
  setTimeout(pollBob, 1000);
}

byId("bob-returns").addEventListener("click", async () => {
  byId("bob-returns").disabled = true;
  byId("bob-where").textContent = "Is here again.";
  byId("bob-verb").textContent = "were waiting for him";
  const badge = byId("bob-state");
  let after = "";
  let fetched = 0;
  for (;;) {
    const answer = await fetch(`/v1/inbox?workspace=${WORKSPACE}&limit=200&unread=true${after && `&after=${encodeURIComponent(after)}`}`, { headers: bobHeaders });
    if (!answer.ok) { badge.textContent = `the inbox answered ${answer.status}`; badge.className = "badge broken"; return; }
    const page = await answer.json();
    for (const item of page.items) showItem(byId("bob-feed"), item);
    fetched += page.items.length;
    badge.textContent = `back: ${number(fetched)} fetched`;
    badge.className = "badge live";
    if (page.items.length === 0) break;
    after = page.cursor;
  }
  badge.dataset.fetched = String(fetched);
});

byId("queues").append(...QUEUES.map(makeQueueCard));
pollBroker();
pollBob();

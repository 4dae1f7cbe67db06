// The stock package sqs-consumer does a small job: polls, handles in batches and one by one, extends visibility by
// heartbeats, gives up on what cannot be handled, stops when told. FANFARE_ENDPOINT is the broker's URL.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.FANFARE_NODE_MODULES ?? "node_modules", "anything"));
const { SQSClient, ...Sqs } = require("@aws-sdk/client-sqs");
const { Consumer } = require("sqs-consumer");

const clientOptions = {
  endpoint: process.env.FANFARE_ENDPOINT,
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
};
const sqs = new SQSClient(clientOptions);
const q = new Proxy({}, { get: (_, name) => (input) => sqs.send(new Sqs[`${name}Command`](input)) });
const fresh = () => `sqs-consumer-${randomUUID().slice(0, 13)}`;
const arn = (queue) => `arn:aws:sqs:us-east-1:000000000000:${queue}`;
const makeQueue = async (Attributes) => {
  const QueueName = fresh();
  return [QueueName, (await q.CreateQueue({ QueueName, Attributes })).QueueUrl];
};
const fill = async (QueueUrl, bodies) => {
  for (let i = 0; i < bodies.length; i += 10) {
    const Entries = bodies.slice(i, i + 10).map((MessageBody, n) => ({ Id: `e${n}`, MessageBody }));
    assert.equal((await q.SendMessageBatch({ QueueUrl, Entries })).Successful.length, Entries.length);
  }
};
const numbers = (count) => Array.from({ length: count }, (_, i) => String(i).padStart(3, "0"));

/// Runs a consumer until `done()` holds after an event of it, at most 20 s; then stops it and waits until it has.
const run = (options, done) =>
  new Promise((resolve, reject) => {
    const consumer = Consumer.create({ sqs, waitTimeSeconds: 1, ...options });
    const errors = [];
    const limit = setTimeout(() => { consumer.stop({ abort: true }); reject(new Error("not done after 20 s")); }, 20_000);
    const look = () => { if (done()) consumer.stop(); };
    for (const event of ["message_processed", "response_processed", "empty"]) consumer.on(event, look);
    for (const event of ["error", "processing_error", "timeout_error"]) consumer.on(event, (error) => errors.push(error));
    consumer.on("stopped", () => { clearTimeout(limit); resolve(errors); });
    consumer.start();
  });
const counts = async (QueueUrl) => {
  const { Attributes: a } = await q.GetQueueAttributes({ QueueUrl, AttributeNames: ["All"] });
  return [Number(a.ApproximateNumberOfMessages), Number(a.ApproximateNumberOfMessagesNotVisible)];
};

const cases = {
  async "messages one by one, each deleted when it is handled"() {
    const [, queueUrl] = await makeQueue();
    await fill(queueUrl, numbers(25));
    const seen = [];
    const errors = await run({ queueUrl, batchSize: 10, handleMessage: async (m) => { seen.push(m.Body); return m; } },
      () => seen.length === 25);
    assert.deepEqual(errors, []);
    assert.deepEqual(seen.sort(), numbers(25));
    assert.deepEqual(await counts(queueUrl), [0, 0]);
  },
  async "batches, deleted as batches"() {
    const [, queueUrl] = await makeQueue();
    await fill(queueUrl, numbers(30));
    const seen = [];
    const errors = await run({ queueUrl, batchSize: 10,
      handleMessageBatch: async (messages) => { seen.push(...messages.map((m) => m.Body)); return messages; } },
    () => seen.length === 30);
    assert.deepEqual(errors, []);
    assert.deepEqual(seen.sort(), numbers(30));
    assert.deepEqual(await counts(queueUrl), [0, 0]);
  },
  async "attributes are handed to the handler"() {
    const [, queueUrl] = await makeQueue();
    await q.SendMessage({ QueueUrl: queueUrl, MessageBody: "x", MessageAttributes: { kind: { DataType: "String", StringValue: "a" } } });
    let got;
    await run({ queueUrl, messageAttributeNames: ["All"], messageSystemAttributeNames: ["All"],
      handleMessage: async (m) => { got = m; return m; } }, () => got !== undefined);
    assert.equal(got.MessageAttributes.kind.StringValue, "a");
    assert.equal(got.Attributes.ApproximateReceiveCount, "1");
  },
  async "a message that cannot be handled comes again and then is a dead letter"() {
    const [dead, deadUrl] = await makeQueue();
    const [, queueUrl] = await makeQueue({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn(dead), maxReceiveCount: 3 }) });
    await fill(queueUrl, ["good", "poison"]);
    let tries = 0;
    const errors = await run({ queueUrl, terminateVisibilityTimeout: true, handleMessage: async (m) => {
      if (m.Body === "poison") { tries += 1; throw new Error("cannot be handled"); }
      return m;
    } }, () => tries === 3);
    assert.equal(errors.length, 3);
    assert.deepEqual((await q.ReceiveMessage({ QueueUrl: queueUrl })).Messages, undefined);  // moves it
    const { Messages: [message] } = await q.ReceiveMessage({ QueueUrl: deadUrl, WaitTimeSeconds: 2, MessageSystemAttributeNames: ["All"] });
    assert.equal(message.Body, "poison");
    assert.equal(message.Attributes.ApproximateReceiveCount, "4");
  },
  async "heartbeats keep a message that takes long"() {
    const [, queueUrl] = await makeQueue();
    await fill(queueUrl, ["slow"]);
    let heartbeats = 0;
    let handled = false;
    const watched = new SQSClient({ ...clientOptions });
    watched.middlewareStack.add((next, context) => async (args) => {
      const answer = await next(args);
      if (context.commandName === "ChangeMessageVisibilityCommand") heartbeats += 1;
      return answer;
    }, { step: "initialize" });
    const errors = await run({ sqs: watched, queueUrl, visibilityTimeout: 600, heartbeatInterval: 1, handleMessage: async (m) => {
      while (heartbeats < 2) assert.equal((await q.ReceiveMessage({ QueueUrl: queueUrl, WaitTimeSeconds: 1 })).Messages, undefined);
      handled = true;
      return m;
    } }, () => handled);
    assert.deepEqual(errors, []);
    assert.deepEqual(await counts(queueUrl), [0, 0]);
  },
  async "stopping aborts the long poll at once and takes nothing"() {
    const [, queueUrl] = await makeQueue();
    const consumer = Consumer.create({ sqs, queueUrl, waitTimeSeconds: 20, handleMessage: async (m) => m });
    const stopped = new Promise((resolve) => consumer.on("stopped", resolve));
    consumer.on("error", (error) => assert.equal(error.code, "AbortError"));
    consumer.start();
    await q.GetQueueAttributes({ QueueUrl: queueUrl, AttributeNames: ["QueueArn"] });
    const begin = Date.now();
    consumer.stop({ abort: true });
    await stopped;
    assert.ok(Date.now() - begin < 3_000);
    await fill(queueUrl, ["kept"]);
    assert.equal((await q.ReceiveMessage({ QueueUrl: queueUrl, WaitTimeSeconds: 2 })).Messages[0].Body, "kept");
  },
  async "two consumers share a queue and no message is handled twice"() {
    const [, queueUrl] = await makeQueue();
    await fill(queueUrl, numbers(60));
    const seen = [];
    const one = { queueUrl, batchSize: 5, handleMessage: async (m) => { seen.push(m.Body); return m; } };
    await Promise.all([run(one, () => seen.length >= 60), run(one, () => seen.length >= 60)]);
    assert.deepEqual(seen.sort(), numbers(60));
  },
  async "an unknown queue is an error that names it"() {
    const errors = [];
    const consumer = Consumer.create({ sqs, queueUrl: `${process.env.FANFARE_ENDPOINT}/000000000000/${fresh()}`, handleMessage: async (m) => m });
    const first = new Promise((resolve) => consumer.on("error", (error) => { errors.push(error); resolve(); }));
    consumer.start();
    await first;
    consumer.stop({ abort: true });
    assert.match(errors[0].message, /The specified queue does not exist/);
  },
};

const failed = [];
const results = await Promise.allSettled(Object.values(cases).map((body) => body()));
results.forEach((result, i) => { if (result.status === "rejected") failed.push(`FAILED ${Object.keys(cases)[i]}\n${result.reason.stack}`); });
for (const text of failed) console.log(text);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);

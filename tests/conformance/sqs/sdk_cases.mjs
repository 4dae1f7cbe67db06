// SQS by the AWS SDK for JavaScript (version 3), which checks the MD5s of what it sends and receives by itself.
// FANFARE_ENDPOINT is the broker's URL.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.FANFARE_NODE_MODULES ?? "node_modules", "anything"));
const { SQSClient, paginateListQueues, ...Sqs } = require("@aws-sdk/client-sqs");

const options = { endpoint: process.env.FANFARE_ENDPOINT, region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" }, maxAttempts: 1 };
const client = new SQSClient(options);
const q = new Proxy({}, { get: (_, name) => (input) => client.send(new Sqs[`${name}Command`](input)) });
const fresh = (suffix = "") => `jq-${randomUUID().slice(0, 18)}${suffix}`;
const arn = (queue) => `arn:aws:sqs:us-east-1:000000000000:${queue}`;
const make = async (Attributes, QueueName = fresh()) => (await q.CreateQueue({ QueueName, Attributes })).QueueUrl;
const makeFifo = (more = {}) => make({ FifoQueue: "true", ...more }, fresh(".fifo"));
const nameOf = (url) => url.slice(url.lastIndexOf("/") + 1);
const receive = async (QueueUrl, more = {}) => (await q.ReceiveMessage({ QueueUrl, MaxNumberOfMessages: 10, ...more })).Messages ?? [];
const bodies = async (QueueUrl, more) => (await receive(QueueUrl, more)).map((m) => m.Body);
/// The SDK names an error by the code of x-amzn-query-error where there is one, else by its shape.
const refuses = (promise, name, message, status = 400) => assert.rejects(promise, (error) => {
  assert.equal(error.name, name);
  if (message !== undefined) assert.equal(error.message, message);
  assert.equal(error.$metadata.httpStatusCode, status);
  assert.match(error.$metadata.requestId, /^[0-9a-f-]{36}$/);
  return true;
});
const cases = {};

for (const [what, body] of Object.entries({ "plain text": "hello", "JSON": '{"a":[1,"\\u0041"]}', "characters of every kind": "<&>\"'\t\n\u00e4\u4e2d\u{1F600}",
  "a mebibyte": "x".repeat(1_048_576), "bytes that count two": "\u00e4".repeat(524_288) })) {
  cases[`a body of ${what} comes back`] = async () => {
    const QueueUrl = await make();
    const { MessageId } = await q.SendMessage({ QueueUrl, MessageBody: body });
    const [message] = await receive(QueueUrl);
    assert.equal(message.MessageId, MessageId);
    assert.ok(message.Body === body);
  };
}
for (const [what, MessageAttributes] of Object.entries({
  "a text": { a: { DataType: "String", StringValue: "x" } }, "a number": { a: { DataType: "Number.float", StringValue: "-1.5e3" } },
  "bytes": { a: { DataType: "Binary", BinaryValue: new Uint8Array([0, 1, 127, 128, 255]) } },
  "ten of all kinds": Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`a.${i}`, i % 2 ? { DataType: "String", StringValue: `\u00e4${i}` }
    : { DataType: "Binary.x", BinaryValue: new Uint8Array([i, 0]) }])) })) {
  cases[`attributes: ${what}`] = async () => {
    const QueueUrl = await make();
    await q.SendMessage({ QueueUrl, MessageBody: "m", MessageAttributes });
    const [message] = await receive(QueueUrl, { MessageAttributeNames: ["All"] });
    assert.deepEqual(message.MessageAttributes, MessageAttributes);
  };
}
for (const [what, [name, message, make_call, status]] of Object.entries({
  "a queue that is not there": ["AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.", () => q.GetQueueUrl({ QueueName: fresh() })],
  "a bad queue name": ["InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length", () => make({}, "a b")],
  "an unknown attribute": ["InvalidAttributeName", "Unknown Attribute Nonsense.", () => make({ Nonsense: "1" })],
  "a bad attribute": ["InvalidAttributeValue", "Invalid value for the parameter DelaySeconds.", () => make({ DelaySeconds: "901" })],
  "a bad handle": ["ReceiptHandleIsInvalid", 'The input receipt handle "x" is not a valid receipt handle.',
    async () => q.DeleteMessage({ QueueUrl: await make(), ReceiptHandle: "x" }), 404],
  "too long a message": ["InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.",
    async () => q.SendMessage({ QueueUrl: await make(), MessageBody: "x".repeat(1_048_577) })],
  "a forbidden character": ["InvalidMessageContents", undefined, async () => q.SendMessage({ QueueUrl: await make(), MessageBody: "\u0001" })],
  "an empty batch": ["AWS.SimpleQueueService.EmptyBatchRequest", undefined, async () => q.SendMessageBatch({ QueueUrl: await make(), Entries: [] })],
  "a batch of eleven": ["AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent 11.",
    async () => q.DeleteMessageBatch({ QueueUrl: await make(), Entries: Array.from({ length: 11 }, (_, i) => ({ Id: `${i}`, ReceiptHandle: "x" })) })],
  "too many messages at once": ["InvalidParameterValue", "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    async () => q.ReceiveMessage({ QueueUrl: await make(), MaxNumberOfMessages: 11 })],
  "a purge too soon": ["AWS.SimpleQueueService.PurgeQueueInProgress", undefined, async () => {
    const QueueUrl = await make();
    await q.PurgeQueue({ QueueUrl });
    return q.PurgeQueue({ QueueUrl });
  }, 403],
  "no group on a FIFO queue": ["MissingParameter", "The request must contain the parameter MessageGroupId.",
    async () => q.SendMessage({ QueueUrl: await makeFifo(), MessageBody: "m", MessageDeduplicationId: "d" })],
})) cases[`error: ${what}`] = () => refuses(make_call(), name, message, status);

Object.assign(cases, {
  async "batches succeed entry by entry"() {
    const QueueUrl = await make();
    const sent = await q.SendMessageBatch({ QueueUrl, Entries: [{ Id: "a", MessageBody: "1" }, { Id: "b", MessageBody: "\u0001" }, { Id: "c", MessageBody: "3" }] });
    assert.deepEqual(sent.Successful.map((e) => e.Id), ["a", "c"]);
    assert.deepEqual(sent.Failed.map((e) => [e.Id, e.Code, e.SenderFault]), [["b", "InvalidMessageContents", true]]);
    const messages = await receive(QueueUrl);
    const Entries = messages.map((m, i) => ({ Id: `${i}`, ReceiptHandle: m.ReceiptHandle }));
    const changed = await q.ChangeMessageVisibilityBatch({ QueueUrl, Entries: Entries.map((e) => ({ ...e, VisibilityTimeout: 0 })) });
    assert.equal(changed.Successful.length, 2);
    const deleted = await q.DeleteMessageBatch({ QueueUrl, Entries: [...Entries, { Id: "bad", ReceiptHandle: "x" }] });
    assert.deepEqual([deleted.Successful.length, deleted.Failed[0].Code], [2, "ReceiptHandleIsInvalid"]);
  },
  async "system attributes and the trace header"() {
    const QueueUrl = await make();
    await q.SendMessage({ QueueUrl, MessageBody: "m", MessageGroupId: "tenant",
      MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: "Root=1-5759e988-bd862e3fe1be46a994272793" } } });
    const [{ Attributes }] = await receive(QueueUrl, { MessageSystemAttributeNames: ["All"] });
    assert.equal(Attributes.AWSTraceHeader, "Root=1-5759e988-bd862e3fe1be46a994272793");
    assert.deepEqual([Attributes.ApproximateReceiveCount, Attributes.MessageGroupId, Attributes.SenderId], ["1", "tenant", "000000000000"]);
  },
  async "pages of queues by the paginator"() {
    const prefix = fresh();
    const urls = [];
    for (let i = 0; i < 5; i += 1) urls.push(await make({}, `${prefix}-${i}`));
    const seen = [];
    for await (const page of paginateListQueues({ client, pageSize: 2 }, { QueueNamePrefix: prefix })) seen.push(...page.QueueUrls);
    assert.deepEqual(seen, urls);
  },
  async "dead letters and their sources"() {
    const dead = await make();
    const url = await make({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn(nameOf(dead)), maxReceiveCount: 1 }) });
    await q.SendMessage({ QueueUrl: url, MessageBody: "poison" });
    assert.deepEqual(await bodies(url, { VisibilityTimeout: 0 }), ["poison"]);
    assert.deepEqual(await bodies(url), []);
    assert.deepEqual(await bodies(dead), ["poison"]);
    assert.deepEqual((await q.ListDeadLetterSourceQueues({ QueueUrl: dead })).queueUrls, [url]);
  },
  async "tags"() {
    const QueueUrl = await make();
    assert.equal((await q.ListQueueTags({ QueueUrl })).Tags, undefined);
    await q.TagQueue({ QueueUrl, Tags: { a: "1", b: "" } });
    await q.UntagQueue({ QueueUrl, TagKeys: ["a"] });
    assert.deepEqual((await q.ListQueueTags({ QueueUrl })).Tags, { b: "" });
  },
  async "all attributes of a new queue"() {
    const { Attributes } = await q.GetQueueAttributes({ QueueUrl: await make(), AttributeNames: ["All"] });
    assert.deepEqual(Object.keys(Attributes).sort(), ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
      "CreatedTimestamp", "DelaySeconds", "LastModifiedTimestamp", "MaximumMessageSize", "MessageRetentionPeriod", "QueueArn", "ReceiveMessageWaitTimeSeconds",
      "SqsManagedSseEnabled", "VisibilityTimeout"]);
  },
  async "a FIFO queue keeps order and drops duplicates"() {
    const QueueUrl = await makeFifo({ ContentBasedDeduplication: "true" });
    const numbers = [];
    for (const MessageBody of ["1", "2", "2", "3"]) numbers.push((await q.SendMessage({ QueueUrl, MessageBody, MessageGroupId: "g" })).SequenceNumber);
    assert.equal(numbers[1], numbers[2]);
    assert.deepEqual([...numbers].sort(), numbers);
    assert.deepEqual(await bodies(QueueUrl), ["1", "2", "3"]);
  },
  async "an attempt that is repeated gets the same handles"() {
    const QueueUrl = await makeFifo({ ContentBasedDeduplication: "true" });
    await q.SendMessage({ QueueUrl, MessageBody: "m", MessageGroupId: "g" });
    const attempt = () => receive(QueueUrl, { ReceiveRequestAttemptId: "attempt" });
    assert.deepEqual((await attempt()).map((m) => m.ReceiptHandle), (await attempt()).map((m) => m.ReceiptHandle));
  },
  async "many requests at once on kept-alive connections"() {
    const QueueUrl = await make();
    await Promise.all(Array.from({ length: 200 }, (_, i) => q.SendMessage({ QueueUrl, MessageBody: `${i}` })));
    const seen = new Set();
    while (seen.size < 200) {
      const some = await Promise.all(Array.from({ length: 10 }, () => receive(QueueUrl)));
      if (some.flat().length === 0) break;
      for (const message of some.flat()) seen.add(message.Body);
    }
    assert.equal(seen.size, 200);
  },
  async "a queue URL with a foreign host"() {
    const url = await make();
    await q.SendMessage({ QueueUrl: `https://sqs.us-east-1.amazonaws.com/000000000000/${nameOf(url)}`, MessageBody: "m" });
    assert.deepEqual(await bodies(url), ["m"]);
  },
});

let failed = 0;
const results = await Promise.allSettled(Object.values(cases).map((body) => body()));
results.forEach((result, i) => {
  if (result.status === "rejected") { failed += 1; console.log(`FAILED ${Object.keys(cases)[i]}\n${result.reason.stack}`); }
});
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

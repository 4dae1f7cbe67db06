// The AWS SDK for JavaScript (version 3) against the broker. FANFARE_ENDPOINT is its URL.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.FANFARE_NODE_MODULES ?? path.join(import.meta.dirname ?? ".", "node_modules"), "anything"));
const { SQSClient, ...Sqs } = require("@aws-sdk/client-sqs");
const { SNSClient, ...Sns } = require("@aws-sdk/client-sns");
const { STSClient, GetCallerIdentityCommand } = require("@aws-sdk/client-sts");

const options = { endpoint: process.env.FANFARE_ENDPOINT, region: "us-east-1", credentials: { accessKeyId: "test", secretAccessKey: "test" }, maxAttempts: 1 };
const sqs = new SQSClient(options);
const sns = new SNSClient(options);
const call = (client, commands) => new Proxy({}, { get: (_, name) => (input) => client.send(new commands[`${name}Command`](input)) });
const q = call(sqs, Sqs);
const t = call(sns, Sns);
const arn = (queue) => `arn:aws:sqs:us-east-1:000000000000:${queue}`;
const fresh = () => `js-${randomUUID().slice(0, 13)}`;
const policy = (queue, topic) => JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", Principal: { Service: "sns.amazonaws.com" },
  Action: "sqs:SendMessage", Resource: arn(queue), Condition: { ArnEquals: { "aws:SourceArn": topic } } }] });
const makeQueue = async (Attributes) => { const queue = fresh(); return [queue, (await q.CreateQueue({ QueueName: queue, Attributes })).QueueUrl]; };
/// The SDK names an error by the code of x-amzn-query-error where there is one, else by its shape.
const rejects = (promise, name) => assert.rejects(promise, (error) => { assert.equal(error.name, name); return true; });

const cases = {
  async "send, receive, delete (the SDK checks the MD5s)"() {
    const [, QueueUrl] = await makeQueue();
    const sent = await q.SendMessage({ QueueUrl, MessageBody: "hello", MessageAttributes: { a: { DataType: "String", StringValue: "1" } } });
    const { Messages: [message] } = await q.ReceiveMessage({ QueueUrl, MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"] });
    assert.equal(message.MessageId, sent.MessageId);
    assert.equal(message.Body, "hello");
    assert.equal(message.MessageAttributes.a.StringValue, "1");
    assert.equal(message.Attributes.ApproximateReceiveCount, "1");
    await q.DeleteMessage({ QueueUrl, ReceiptHandle: message.ReceiptHandle });
    const { Attributes } = await q.GetQueueAttributes({ QueueUrl, AttributeNames: ["All"] });
    assert.equal(Attributes.ApproximateNumberOfMessagesNotVisible, "0");
  },
  async "batches of ten"() {
    const [, QueueUrl] = await makeQueue();
    const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `e${i}`, MessageBody: `body ${i}` }));
    assert.equal((await q.SendMessageBatch({ QueueUrl, Entries })).Successful.length, 10);
    const { Messages } = await q.ReceiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    assert.equal(Messages.length, 10);
    const deleted = await q.DeleteMessageBatch({ QueueUrl, Entries: Messages.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle })) });
    assert.equal(deleted.Successful.length, 10);
  },
  async "subscribe with policy, publish, receive raw and enveloped"() {
    const { TopicArn } = await t.CreateTopic({ Name: fresh() });
    const urls = [];
    for (const RawMessageDelivery of ["true", "false"]) {
      const [queue, QueueUrl] = await makeQueue();
      await q.SetQueueAttributes({ QueueUrl, Attributes: { Policy: policy(queue, TopicArn) } });
      await t.Subscribe({ TopicArn, Protocol: "sqs", Endpoint: arn(queue), Attributes: { RawMessageDelivery } });
      urls.push(QueueUrl);
    }
    const { MessageId } = await t.Publish({ TopicArn, Message: "news" });
    const [raw, enveloped] = await Promise.all(urls.map((QueueUrl) => q.ReceiveMessage({ QueueUrl, WaitTimeSeconds: 2 })));
    assert.equal(raw.Messages[0].Body, "news");
    const envelope = JSON.parse(enveloped.Messages[0].Body);
    assert.deepEqual([envelope.Message, envelope.MessageId], ["news", MessageId]);
  },
  async "a long poll wakes when a message arrives"() {
    const [, QueueUrl] = await makeQueue();
    const waiting = q.ReceiveMessage({ QueueUrl, WaitTimeSeconds: 10 });
    await q.SendMessage({ QueueUrl, MessageBody: "now" });
    assert.equal((await waiting).Messages[0].Body, "now");
  },
  async "an aborted long poll takes nothing"() {
    const [, QueueUrl] = await makeQueue();
    const abort = new AbortController();
    const waiting = sqs.send(new Sqs.ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }), { abortSignal: abort.signal });
    await q.GetQueueAttributes({ QueueUrl, AttributeNames: ["QueueArn"] });
    abort.abort();
    await assert.rejects(waiting);
    await q.SendMessage({ QueueUrl, MessageBody: "kept" });
    const { Messages } = await q.ReceiveMessage({ QueueUrl, WaitTimeSeconds: 2 });
    assert.equal(Messages?.[0].Body, "kept");
  },
  async "dead letters after maxReceiveCount"() {
    const [dead, deadUrl] = await makeQueue();
    const [, QueueUrl] = await makeQueue({ VisibilityTimeout: "0", RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn(dead), maxReceiveCount: 1 }) });
    await q.SendMessage({ QueueUrl, MessageBody: "poison" });
    assert.equal((await q.ReceiveMessage({ QueueUrl })).Messages.length, 1);
    assert.equal((await q.ReceiveMessage({ QueueUrl })).Messages, undefined);
    assert.equal((await q.ReceiveMessage({ QueueUrl: deadUrl, WaitTimeSeconds: 2 })).Messages[0].Body, "poison");
  },
  async "errors have the services' names"() {
    await rejects(q.GetQueueUrl({ QueueName: fresh() }), "AWS.SimpleQueueService.NonExistentQueue");
    const [queue, QueueUrl] = await makeQueue({ DelaySeconds: "1" });
    await rejects(q.CreateQueue({ QueueName: queue, Attributes: { DelaySeconds: "2" } }), "QueueAlreadyExists");
    await rejects(q.DeleteMessage({ QueueUrl, ReceiptHandle: "garbage" }), "ReceiptHandleIsInvalid");
    await rejects(t.GetTopicAttributes({ TopicArn: "arn:aws:sns:us-east-1:000000000000:none" }), "NotFoundException");
  },
  async "caller identity"() {
    assert.equal((await new STSClient(options).send(new GetCallerIdentityCommand({}))).Account, "000000000000");
  },
};

let failed = 0;
for (const [name, body] of Object.entries(cases)) {
  try { await body(); } catch (error) { failed += 1; console.log(`FAILED ${name}\n${error.stack}`); }
}
console.log(`${Object.keys(cases).length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

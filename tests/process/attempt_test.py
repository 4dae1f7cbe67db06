#!/usr/bin/env python3
"""A receive whose broker dies before its client has read the answer, and that is asked for again with its ReceiveRequestAttemptId."""
import http.client
import json
import signal
import tempfile
import unittest

from program import DEADLINE, Server, main, url

QUEUE = "jobs.fifo"


class AskedAgain(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fanfare-attempt.")
        self.addCleanup(folder.cleanup)
        self.data = folder.name + "/data"
        self.start()
        self.server.sqs("CreateQueue", QueueName=QUEUE, Attributes={"FifoQueue": "true", "VisibilityTimeout": "600"})
        self.sent = [self.send(name)["MessageId"] for name in ("first", "second")]

    def start(self, config=""):
        self.server = Server(self.data, config)
        self.addCleanup(self.server.stop)

    def send(self, name):
        return self.server.sqs("SendMessage", QueueUrl=url(QUEUE), MessageBody=name, MessageGroupId=name, MessageDeduplicationId=name)

    def receive(self, attempt=None, **members):
        if attempt:
            members["ReceiveRequestAttemptId"] = attempt
        answer = self.server.sqs("ReceiveMessage", QueueUrl=url(QUEUE), MaxNumberOfMessages=10, AttributeNames=["All"], **members)
        return answer.get("Messages", [])

    def ask_without_reading(self, attempt):
        """Its answer lies in the kernel until somebody reads it, whether the broker lives or not."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=DEADLINE)
        self.addCleanup(connection.close)
        connection.request("POST", "/", body=json.dumps({"QueueUrl": url(QUEUE), "MaxNumberOfMessages": 10,
                                                        "ReceiveRequestAttemptId": attempt}).encode(),
                           headers={"X-Amz-Target": "AmazonSQS.ReceiveMessage", "Content-Type": "application/x-amz-json-1.0"})
        # It has been handled when the messages are in flight, and its record is durable when what follows is acknowledged.
        while self.in_flight() < 2:
            pass
        self.send("third-" + attempt)
        return connection

    def in_flight(self):
        answer = self.server.sqs("GetQueueAttributes", QueueUrl=url(QUEUE), AttributeNames=["ApproximateNumberOfMessagesNotVisible"])
        return int(answer["Attributes"]["ApproximateNumberOfMessagesNotVisible"])

    def kill_and_start(self, config=""):
        self.server.stop(signal.SIGKILL)
        self.start(config)

    def test_a_receive_whose_broker_was_killed_is_repeated(self):
        connection = self.ask_without_reading("one")
        self.kill_and_start()
        self.assertEqual([m["Body"] for m in self.receive("two")], ["third-one"], "what the first receive took is leased")
        again = self.receive("one")
        unread = json.loads(connection.getresponse().read())["Messages"]
        self.assertEqual([m["MessageId"] for m in again], self.sent)
        self.assertEqual([m["ReceiptHandle"] for m in again], [m["ReceiptHandle"] for m in unread])
        self.assertEqual([m["Attributes"]["ApproximateReceiveCount"] for m in again], ["1", "1"])
        for message in again:
            self.server.sqs("DeleteMessage", QueueUrl=url(QUEUE), ReceiptHandle=message["ReceiptHandle"])
        self.assertEqual(self.receive("one"), [])
        self.assertEqual(self.in_flight(), 1)

    def test_it_is_known_from_a_snapshot_after_a_second_kill(self):
        connection = self.ask_without_reading("one")
        self.kill_and_start("journal: {segment_bytes: 1MiB, snapshot_bytes: 64KiB}\n")
        before = self.server.metrics().get("fanfare_journal_snapshots_total", 0)
        self.server.sqs("CreateQueue", QueueName="filler")
        for _ in range(40):
            self.server.sqs("SendMessage", QueueUrl=url("filler"), MessageBody="x" * 20_000)
        self.assertGreater(self.wait_for_snapshot(before), before)
        self.kill_and_start()
        again = self.receive("one")
        unread = json.loads(connection.getresponse().read())["Messages"]
        self.assertEqual([m["ReceiptHandle"] for m in again], [m["ReceiptHandle"] for m in unread])

    def wait_for_snapshot(self, before):
        for _ in range(2_000):
            count = self.server.metrics().get("fanfare_journal_snapshots_total", 0)
            if count > before:
                return count
            self.server.sqs("SendMessage", QueueUrl=url("filler"), MessageBody="x")
        return before

    def test_a_stopped_broker_keeps_it_too(self):
        first = self.receive("one")
        self.server.stop(signal.SIGTERM)
        self.start()
        self.assertEqual([m["ReceiptHandle"] for m in self.receive("one")], [m["ReceiptHandle"] for m in first])


if __name__ == "__main__":
    main()

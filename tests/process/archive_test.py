#!/usr/bin/env python3
"""A replay of an archive and a server that is killed in the middle of it: every message comes, once and in order, whenever it dies."""
import collections
import json
import os
import re
import signal
import tempfile
import time
import unittest

import program
from program import ACCOUNT, Server, url

TOPIC = "arn:aws:sns:us-east-1:%s:news.fifo" % ACCOUNT
MESSAGES = 5000
GROUPS = 4
BODY = "%d " + 200 * "x"


def queue_arn(queue):
    return "arn:aws:sqs:us-east-1:%s:%s" % (ACCOUNT, queue)


def create_queue(server, queue):
    policy = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
                             "Resource": queue_arn(queue)}]}
    server.sqs("CreateQueue", QueueName=queue, Attributes={"FifoQueue": "true", "VisibilityTimeout": "600", "Policy": json.dumps(policy)})


def publish(server, numbers):
    members = {"TopicArn": TOPIC}
    for i, number in enumerate(numbers):
        prefix = "PublishBatchRequestEntries.member.%d." % (i + 1)
        members.update({prefix + "Id": "e%d" % i, prefix + "Message": BODY % number, prefix + "MessageGroupId": "g%d" % (number % GROUPS),
                        prefix + "MessageDeduplicationId": str(number)})
    server.sns("PublishBatch", **members)


def subscribe(server, queue):
    """Its ARN. Everything from the beginning of the archive, then what is new."""
    answer = server.sns("Subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint=queue_arn(queue), ReturnSubscriptionArn="true", **{
        "Attributes.entry.1.key": "RawMessageDelivery", "Attributes.entry.1.value": "true",
        "Attributes.entry.2.key": "ReplayPolicy",
        "Attributes.entry.2.value": json.dumps({"PointType": "Timestamp", "StartingPoint": "2020-01-01T00:00:00.000Z"})})
    return re.search("<SubscriptionArn>(.*?)</SubscriptionArn>", answer).group(1)


def is_complete(server, subscription):
    return "Completed" in re.search("ReplayStatus</key>\\s*<value>(.*?)</value>", server.sns("GetSubscriptionAttributes", SubscriptionArn=subscription)).group(1)


def kinds(folder):
    """How many records of each kind the journal holds."""
    code, output, error = program.run("journal", "stats", folder, "--json")
    if code != 0:
        raise AssertionError(error)
    return collections.Counter({kind: told["records"] for kind, told in json.loads(output)["kinds"].items()})


def drain(server, queue):
    numbers = []
    while True:
        messages = server.sqs("ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10).get("Messages", [])
        if not messages:
            return numbers
        numbers += [int(message["Body"].split(" ")[0]) for message in messages]
        server.sqs("DeleteMessageBatch", QueueUrl=url(queue),
                   Entries=[{"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]} for i, message in enumerate(messages)])


class KilledInAReplay(unittest.TestCase):
    def test_every_message_comes_once_and_in_order(self):
        # What a process wrote outlives it whatever the disk does: a folder in memory is as good, and syncs take no time.
        folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.addCleanup(folder.cleanup)
        # Nothing is in memory any more when a server has started anew: the replay reads the log.
        start = lambda: Server(folder.name, "journal:\n  resident_bytes: 64KiB\n")
        server = start()
        self.addCleanup(lambda: server.stop(signal.SIGKILL))
        server.sns("CreateTopic", Name="news.fifo", **{
            "Attributes.entry.1.key": "FifoTopic", "Attributes.entry.1.value": "true",
            "Attributes.entry.2.key": "ArchivePolicy", "Attributes.entry.2.value": json.dumps({"MessageRetentionPeriod": "30"})})
        for first in range(0, MESSAGES, 10):
            publish(server, range(first, first + 10))
        in_the_middle = 0
        published = MESSAGES
        seconds = 0.002  # from the beginning of a replay to the kill; adapted, so that it hits
        for life in range(20):
            if in_the_middle == 3:
                break
            server.stop(signal.SIGKILL)
            server = start()
            queue = "replay%d.fifo" % life
            create_queue(server, queue)
            before = kinds(folder.name)
            subscription = subscribe(server, queue)
            if life % 2 == 1:
                publish(server, range(published, published + 10))  # it stands behind what is replayed
                published += 10
            time.sleep(seconds)  # the moment of death is the input of this test
            server.stop(signal.SIGKILL)
            new = kinds(folder.name) - before
            if new["ReplayEnded"] > 0:
                seconds /= 2
            elif new["Replayed"] == 0:
                seconds = seconds * 1.5 + 0.001
            else:
                in_the_middle += 1
            server = start()
            until = time.monotonic() + program.DEADLINE
            while not is_complete(server, subscription) and time.monotonic() < until:
                pass
            self.assertTrue(is_complete(server, subscription))
            numbers = drain(server, queue)
            self.assertEqual(sorted(numbers), list(range(published)), "life %d, killed with %s" % (life, dict(new)))
            for group in range(GROUPS):
                of_group = [number for number in numbers if number % GROUPS == group]
                self.assertEqual(of_group, sorted(of_group), "group %d of life %d" % (group, life))
        self.assertEqual(in_the_middle, 3, "no three servers were killed between two slices of a replay")
        code, log = server.stop()
        self.assertEqual(code, 0, log)
        self.assertNotIn("ContentUnreadable", log)


if __name__ == "__main__":
    program.main()

#!/usr/bin/env python3
"""Ends the broker at every write, sync, rename, removal and creation in the journal's folder, one run each, and checks what is left.

One client does the same work in each run: queues, messages, a topic, batches, receives, deletes, and enough bytes that segments roll,
snapshots are written, old segments are given up and contents are moved. Then, after `fanfare journal verify` has found nothing wrong:

  lost         what was acknowledged and not deleted is there, with its body, once
  resurrected  what was deleted, and the delete acknowledged, is not
  halved       a publication is on all its queues or on none
  forgotten    a receive that a later acknowledged request followed is counted; a FIFO queue still knows its deduplication ids
               and gives the same message id and sequence number for them
  repeated     no sequence number is given out twice, and they rise
  withheld     a receive with a ReceiveRequestAttemptId, asked for again, gives its messages; under the same handles if it is durable

What was under way when the process died may or may not have happened.

  tests/crash/points.py --fanfare build/ci/fanfare --sample 24      every so many, from a random one on
  tests/crash/points.py --fanfare build/ci/fanfare --all [--evidence FILE]
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../process"))
import program  # noqa: E402
from program import Refused, Server, url  # noqa: E402

CONFIG = "journal: {segment_bytes: 1MiB, snapshot_bytes: 512KiB}\n"
TOPIC = "arn:aws:sns:us-east-1:000000000000:news"
FAN = ["fan-a", "fan-b"]
# What a process wrote outlives it whatever the disk does: a folder in memory is as good, and syncs take no time.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Client:
    """The work, and what was acknowledged of it."""

    def __init__(self, fifo):
        self.fifo = fifo
        self.queues = set()       # acknowledged
        self.there = {}           # (queue, token) -> body: acknowledged, not deleted
        self.gone = set()         # (queue, token): the delete was acknowledged
        self.doubt = set()        # (queue, token): under way when the process died
        self.counts = {}          # (queue, token) -> receives that something acknowledged followed
        self.fresh_counts = {}    # the same, not followed yet
        self.ordered = {}         # deduplication id -> (message id, sequence number)
        self.published = []       # tokens under way or acknowledged
        self.to_ask_again = 0     # messages that a receive with an attempt id takes
        self.asked = None         # handles that it gave
        self.asked_durably = False
        self.finished = False

    def done(self):
        self.asked_durably = self.asked is not None
        for copy, count in self.fresh_counts.items():
            self.counts[copy] = max(self.counts.get(copy, 0), count)
        self.fresh_counts.clear()

    def send(self, server, queue, token, size):
        self.send_batch(server, queue, [token], size)

    def send_batch(self, server, queue, tokens, size):
        bodies = {token: body(token, size) for token in tokens}
        copies = {(queue, token) for token in tokens}
        self.doubt |= copies
        if len(tokens) == 1:
            server.sqs("SendMessage", QueueUrl=url(queue), MessageBody=bodies[tokens[0]])
        else:
            server.sqs("SendMessageBatch", QueueUrl=url(queue), Entries=[{"Id": str(i), "MessageBody": bodies[t]} for i, t in enumerate(tokens)])
        self.doubt -= copies
        self.there.update({(queue, token): bodies[token] for token in tokens})
        self.done()

    def publish(self, server, token):
        copies = {(queue, token) for queue in FAN}
        self.doubt |= copies
        self.published.append(token)
        server.sns("Publish", TopicArn=TOPIC, Message=body(token, 300))
        self.doubt -= copies
        self.there.update({copy: body(token, 300) for copy in copies})
        self.done()

    def receive(self, server, queue, most):
        answer = server.sqs("ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=most, VisibilityTimeout=1,
                            AttributeNames=["ApproximateReceiveCount"])
        messages = answer.get("Messages", [])
        for message in messages:
            self.fresh_counts[(queue, token_of(message["Body"]))] = int(message["Attributes"]["ApproximateReceiveCount"])
        return messages

    def consume(self, server, queue, most=10):
        messages = self.receive(server, queue, most)
        copies = {(queue, token_of(message["Body"])) for message in messages}
        if not messages:
            return 0
        self.doubt |= copies
        server.sqs("DeleteMessageBatch", QueueUrl=url(queue), Entries=[
            {"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]} for i, message in enumerate(messages)])
        self.doubt -= copies
        self.gone |= copies
        for copy in copies:
            self.there.pop(copy, None)
        self.done()
        return len(messages)

    def send_ordered(self, server, number):
        identity = "id-%d" % number
        copy = ("ordered.fifo", identity)
        self.doubt.add(copy)
        answer = server.sqs("SendMessage", QueueUrl=url("ordered.fifo"), MessageBody=body(identity, 200), MessageGroupId="g%d" % (number % 2),
                            MessageDeduplicationId=identity)
        self.doubt.discard(copy)
        self.ordered[identity] = (answer["MessageId"], answer["SequenceNumber"])
        self.there[copy] = body(identity, 200)
        self.done()

    def ask(self, server):
        answer = server.sqs("ReceiveMessage", QueueUrl=url("again.fifo"), MaxNumberOfMessages=2, VisibilityTimeout=600, ReceiveRequestAttemptId="one")
        return [message["ReceiptHandle"] for message in answer.get("Messages", [])]

    def create(self, server, queue, **attributes):
        server.sqs("CreateQueue", QueueName=queue, Attributes=attributes)
        self.queues.add(queue)

    def work(self, server):
        for queue in ["jobs", "large"] + FAN:
            arn = "arn:aws:sqs:us-east-1:000000000000:" + queue
            policy = {"Version": "2012-10-17", "Statement": [{
                "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn}]}
            self.create(server, queue, Policy=json.dumps(policy))
        server.sns("CreateTopic", Name="news")
        for queue in FAN:
            server.sns("Subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:" + queue,
                       **{"Attributes.entry.1.key": "RawMessageDelivery", "Attributes.entry.1.value": "true"})
        for number in range(4):
            self.send(server, "jobs", "job-%d" % number, 500)
        self.receive(server, "jobs", 2)
        self.send_batch(server, "jobs", ["batch-%d" % number for number in range(5)], 900)
        self.publish(server, "first")
        self.consume(server, "jobs", 3)
        if self.fifo:
            self.create(server, "ordered.fifo", FifoQueue="true")
            for number in range(4):
                self.send_ordered(server, number)
            server.sqs("CreateQueue", QueueName="again.fifo", Attributes={"FifoQueue": "true"})
            for number in range(2):
                server.sqs("SendMessage", QueueUrl=url("again.fifo"), MessageBody="x", MessageGroupId=str(number), MessageDeduplicationId=str(number))
                self.to_ask_again += 1
            self.asked = self.ask(server)
        for round_number in range(3):
            for number in range(4):
                self.send(server, "large", "large-%d-%d" % (round_number, number), 230_000)
            self.send(server, "jobs", "pin-%d" % round_number, 700)
            while self.consume(server, "large"):
                pass
            self.publish(server, "news-%d" % round_number)
        self.consume(server, "fan-a")
        self.finished = True

    # ---- After the restart

    def check(self, server):
        wrong = []
        if self.to_ask_again == 2:
            again = self.ask(server)
            if len(again) != 2 or (self.asked_durably and again != self.asked):
                wrong.append("withheld: the receive that was asked for again gives %s, and gave %s" % (again, self.asked))
        fan = {queue: set() for queue in FAN}
        for queue in sorted(self.queues):
            found = {}
            deadline = time.monotonic() + 5
            expected = {token for (name, token) in self.there if name == queue}
            while True:
                answer = server.sqs("ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10, VisibilityTimeout=600,
                                    AttributeNames=["ApproximateReceiveCount", "SequenceNumber"])
                messages = answer.get("Messages", [])
                for message in messages:
                    token = token_of(message["Body"])
                    if token in found:
                        wrong.append("repeated: %s gave %s twice" % (queue, token))
                    found[token] = message
                    if queue.endswith(".fifo"):  # the next of its group
                        server.sqs("DeleteMessage", QueueUrl=url(queue), ReceiptHandle=message["ReceiptHandle"])
                # What a client held when the process died is visible again within a second.
                if not messages and (expected <= set(found) or time.monotonic() > deadline):
                    break
                if not messages:
                    time.sleep(0.1)
            for token in expected - set(found):
                if (queue, token) in self.doubt:  # a delete that was not answered may have happened
                    continue
                wrong.append("lost: %s no longer has %s" % (queue, token))
            for token, message in found.items():
                copy = (queue, token)
                if copy in self.gone and copy not in self.doubt:
                    wrong.append("resurrected: %s has %s again" % copy)
                elif copy not in self.there and copy not in self.doubt:
                    wrong.append("invented: %s has %s" % copy)
                if message["Body"] != body(token, len(message["Body"])) or self.there.get(copy, message["Body"]) != message["Body"]:
                    wrong.append("torn: %s in %s" % (token, queue))
                if int(message["Attributes"]["ApproximateReceiveCount"]) <= self.counts.get(copy, 0):
                    wrong.append("forgotten: %s of %s was received %d times before" % (token, queue, self.counts[copy]))
            if queue in fan:
                fan[queue] = set(found)
            if queue.endswith(".fifo"):
                wrong += self.check_order(server, found)
        for token in self.published:
            on = [queue for queue in FAN if token in fan[queue]]
            # fan-b is never consumed: that it is in doubt there means that the publication is.
            taken = ("fan-a", token) in self.gone or (("fan-a", token) in self.doubt and ("fan-b", token) not in self.doubt)
            if len(on) == 1 and not (on == ["fan-b"] and taken):
                wrong.append("halved: %s is on %s only" % (token, on[0]))
        return wrong

    def check_order(self, server, found):
        wrong = []
        groups = {}
        for token, message in found.items():
            number = int(token.split("-")[1])
            groups.setdefault(number % 2, []).append((number, message["Attributes"]["SequenceNumber"]))
        for members in groups.values():
            if members != sorted(members) or sorted(s for _, s in members) != [s for _, s in members]:
                wrong.append("repeated: out of order %s" % members)
        last = max((sequence for _, sequence in self.ordered.values()), default="")
        for identity, (message_id, sequence) in self.ordered.items():
            answer = server.sqs("SendMessage", QueueUrl=url("ordered.fifo"), MessageBody=body(identity, 200), MessageGroupId="g0",
                                MessageDeduplicationId=identity)
            if (answer["MessageId"], answer["SequenceNumber"]) != (message_id, sequence):
                wrong.append("forgotten: the deduplication id %s" % identity)
        fresh = server.sqs("SendMessage", QueueUrl=url("ordered.fifo"), MessageBody="new", MessageGroupId="g0", MessageDeduplicationId="new")
        if fresh["SequenceNumber"] <= last:
            wrong.append("repeated: sequence number %s after %s" % (fresh["SequenceNumber"], last))
        return wrong


def body(token, size):
    text = token + ":" + token * 8
    return (text * (size // len(text) + 1))[:size]


def token_of(text):
    return text.split(":", 1)[0]


def live(template, killpoint, at, how, log, fifo):
    """One run: what went wrong, and whether the point was reached."""
    root = tempfile.mkdtemp(prefix="fanfare-points-", dir=MEMORY)
    data = os.path.join(root, "data")
    shutil.copytree(template, data)
    environment = {"LD_PRELOAD": killpoint, "KILLPOINT_AT": str(at), "KILLPOINT_HOW": how}
    if log:
        environment["KILLPOINT_LOG"] = log
    prefix = ["env"] + ["%s=%s" % pair for pair in environment.items()]
    client = Client(fifo)
    server = None
    try:
        try:
            server = Server(data, CONFIG, prefix)
            client.work(server)
            server.stop(signal.SIGTERM)
        except (OSError, AssertionError, program.http.client.HTTPException):
            if server is not None:
                server.stop(signal.SIGKILL)
        reached = server is None or server.process.returncode == -signal.SIGKILL
        if not reached and server.process.returncode != 0:
            return ["the server left with %d" % server.process.returncode], True
        if not reached and not client.finished:
            return ["the work was not finished, and nobody was killed"], True
        journal = os.path.join(data, "journal")
        if os.path.isdir(journal) and any(name.endswith(".segment") for name in os.listdir(journal)):
            code, output, error = program.run("journal", "verify", data)
            if code != 0:
                return ["verify says %d: %s%s" % (code, output[-600:], error)], reached
        after = Server(data, CONFIG)
        wrong = client.check(after)
        code, text = after.stop(signal.SIGTERM)
        if code != 0:
            wrong.append("after the restart the server left with %d: %s" % (code, text[-300:]))
        return wrong, reached
    finally:
        shutil.rmtree(root, ignore_errors=True)


def make_template(data):
    """A data folder with everything but a journal (keys take long to make). Returns whether FIFO queues know deduplication."""
    try:
        server = Server(data)
        try:
            server.sqs("CreateQueue", QueueName="probe.fifo", Attributes={"FifoQueue": "true"})
            answers = [server.sqs("SendMessage", QueueUrl=url("probe.fifo"), MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d")
                       for _ in range(2)]
            return answers[0]["MessageId"] == answers[1]["MessageId"] and "SequenceNumber" in answers[0]
        except (Refused, KeyError):
            return False
        finally:
            server.stop(signal.SIGTERM)
    finally:
        shutil.rmtree(os.path.join(data, "journal"), ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanfare", required=True)
    parser.add_argument("--killpoint", help="the library; default: tests/crash/libkillpoint.so beside the program")
    parser.add_argument("--sample", type=int, default=24)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--at", type=int, help="one point only")
    parser.add_argument("--how", choices=["before", "half"], default="before")
    parser.add_argument("--evidence", help="write the result as a file of this name")
    options = parser.parse_args()
    program.PROGRAM = os.path.abspath(options.fanfare)
    killpoint = os.path.abspath(options.killpoint or os.path.join(os.path.dirname(program.PROGRAM), "tests/crash/libkillpoint.so"))
    if not os.path.exists(killpoint):
        sys.exit("no %s: build the target killpoint" % killpoint)
    folder = tempfile.TemporaryDirectory(prefix="fanfare-points-", dir=MEMORY)
    template = os.path.join(folder.name, "data")
    fifo = make_template(template)
    begin = time.monotonic()
    with tempfile.NamedTemporaryFile("r", suffix=".log") as log:
        wrong, _ = live(template, killpoint, -1, "before", log.name, fifo)
        calls = [line.split() for line in log.read().splitlines()]
    if wrong or len(calls) < 60:
        print("FAILED without a kill: %s, %d calls" % (wrong, len(calls)))
        print("0 passed, 1 failed")
        return 1
    kinds = {}
    for call in calls:
        kinds[call[1]] = kinds.get(call[1], 0) + 1
    # A few more than were seen: background work differs from run to run.
    points = [(number, "before") for number in range(len(calls) + 5)] + [(int(call[0]), "half") for call in calls if call[1] == "write"]
    described = "%d calls of the work change the journal's folder (%s); %d points" % (
        len(calls), ", ".join("%d %s" % (count, kind) for kind, count in sorted(kinds.items())), len(points))
    print(described + ("; with FIFO queues" if fifo else "; without FIFO queues"), flush=True)
    if options.at is not None:
        points = [(options.at, options.how)]
    elif not options.all:
        step = max(1, len(points) // options.sample)
        points = points[random.SystemRandom().randrange(step)::step]
    reached, failures = 0, []
    for number, how in points:
        wrong, was_reached = live(template, killpoint, number, how, None, fifo)
        reached += was_reached
        for one in wrong:
            failures.append("%d %s: %s" % (number, how, one))
            print("FAILED at %d %s: %s; again: tests/crash/points.py --fanfare %s --at %d --how %s" % (number, how, one, options.fanfare, number, how), flush=True)
    summary = "%d points tried, %d of them reached, %d failures; %d s" % (len(points), reached, len(failures), time.monotonic() - begin)
    print(summary)
    if options.evidence:
        write_evidence(options.evidence, described, summary, fifo, failures)
    failed_points = len({failure.split(":")[0] for failure in failures})
    print("%d passed, %d failed" % (len(points) - failed_points, failed_points))
    return 1 if failures else 0


def write_evidence(path, described, summary, fifo, failures):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with open(path, "w") as out:
        out.write("# Killed at every write, sync and rename\n\nCommand: `tests/crash/points.py --fanfare build/dev/fanfare --all`\n\n")
        out.write("Date %s, commit %s, %d CPUs, Linux %s.\n\n" % (time.strftime("%Y-%m-%d"), commit, os.cpu_count(), os.uname().release))
        out.write("%s. %s.\n\n%s.\n" % (described, "FIFO queues are part of the work" if fifo else "FIFO queues are not part of it", summary))
        for failure in failures:
            out.write("\n- " + failure + "\n")


if __name__ == "__main__":
    sys.exit(main())

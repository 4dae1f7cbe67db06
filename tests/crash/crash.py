#!/usr/bin/env python3
"""Kills the broker with SIGKILL at random moments of mixed load, restarts it, and checks what clients were told.

The clients write down, for each message they made, what the broker acknowledged. After the last restart every queue is
drained. Then must hold:

  lost         a message whose send or publish was acknowledged, and that nobody deleted, is there
  resurrected  a message whose delete was acknowledged does not come back: neither later in the run nor in the drain
  invented     every message that comes has been sent by somebody
  torn         a message that comes has the body that was sent
  uncounted    a receive that a later acknowledged request of its client followed is in ApproximateReceiveCount ever after
  doubled      a FIFO message that was sent again with its deduplication id, after the process had died before it answered, is there once
  renumbered   a FIFO message keeps the message id and sequence number that its sender was told; the numbers rise, none is given twice
  disordered   the messages of a group come in the order of their numbers
  withheld     a receive that the process's death left without an answer, asked again with its ReceiveRequestAttemptId, gives the message;
               one that was durable gives it under the same handle

What was under way when the process died may or may not have happened: such operations are in doubt and allowed either way.
A delete with a handle of an earlier life of the process is in doubt too: the message may have been handed out again since.

Standard library only. Prints the seed; the same seed repeats the load's choices (the moments of death differ by scheduling).
"""
import argparse
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ACCOUNT = "000000000000"
QUEUES = ["plain", "fan-a", "fan-b"]
ORDERED = "ordered.fifo"
TOPIC = "arn:aws:sns:us-east-1:%s:fan" % ACCOUNT
VISIBILITY = 2  # seconds: messages that a dead client held come back within the run


class Down(Exception):
    """No answer: the process died, or is not up yet."""


class Refused(Exception):
    """The broker answered with an error."""


class Broker:
    def __init__(self, program, data, log):
        self.program, self.data, self.log = program, data, log
        self.process, self.port, self.life = None, 0, 0
        self.recovery_ms = []

    def start(self):
        begin = time.monotonic()
        listen = "127.0.0.1:%d" % self.port
        self.process = subprocess.Popen(
            [self.program, "serve", "--data", self.data, "--listen", listen, "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the broker did not start: exit code %s; see its log" % self.process.wait())
        self.recovery_ms.append((time.monotonic() - begin) * 1000)
        ready = json.loads(line)
        self.port = urllib.parse.urlsplit(ready["aws"]).port
        self.life += 1

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Client:
    """One connection; speaks JSON to SQS and Query to SNS."""

    def __init__(self, broker):
        self.broker, self.connection, self.port = broker, None, 0

    def exchange(self, headers, body):
        try:
            if self.connection is None or self.port != self.broker.port:
                self.port = self.broker.port
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
            self.connection.request("POST", "/", body=body, headers=headers)
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            raise Down(str(error)) from error

    def sqs(self, action, **members):
        status, body = self.exchange({"X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0"},
                                     json.dumps(members).encode())
        if status != 200:
            raise Refused("%s: %d %s" % (action, status, body[:300]))
        return json.loads(body) if body else {}

    def sns(self, action, **members):
        status, body = self.exchange({"Content-Type": "application/x-www-form-urlencoded"},
                                     urllib.parse.urlencode(dict(members, Action=action, Version="2010-03-31")).encode())
        if status != 200:
            raise Refused("%s: %d %s" % (action, status, body[:300]))
        return body.decode()


def url(queue):
    return "http://127.0.0.1/%s/%s" % (ACCOUNT, queue)


def body_of(token):
    """The token, then bytes that follow from it, so that a torn or mixed body is noticed. Sizes from 100 bytes to 20 KB."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    return token + ":" + digest * (1 + int(digest[:2], 16) ** 2 // 220)


class History:
    """What clients were told. One entry a copy: (queue, token)."""

    def __init__(self):
        self.lock = threading.Lock()
        self.attempted = set()   # copies that somebody tried to make
        self.promised = set()    # copies whose making was acknowledged
        self.deleted = {}        # copy -> when its delete was acknowledged
        self.doubtful = set()    # copies whose delete was sent and not answered, or sent with an outdated handle
        self.violations = []
        self.operations = 0
        self.kept_counts = {}    # copy -> (receives that are durable, since when)
        self.numbers = {}        # FIFO token -> (message id, sequence number)
        self.owners = {}         # sequence number -> FIFO token
        self.newest = {}         # (client, group) -> the number of its newest message

    def attempt(self, copies):
        with self.lock:
            self.attempted.update(copies)

    def promise(self, copies):
        with self.lock:
            self.promised.update(copies)
            self.operations += 1

    def doubt(self, copies):
        with self.lock:
            self.doubtful.update(copies)

    def delete(self, copies):
        now = time.monotonic()
        with self.lock:
            self.operations += 1
            for copy in copies:
                self.deleted.setdefault(copy, now)

    def keep_counts(self, counts):
        now = time.monotonic()
        with self.lock:
            for copy, count in counts.items():
                if count > self.kept_counts.get(copy, (0, 0))[0]:
                    self.kept_counts[copy] = (count, now)

    def numbered(self, client, group, token, message_id, number):
        with self.lock:
            if self.numbers.setdefault(token, (message_id, number)) != (message_id, number):
                self.violations.append("renumbered: %s was %s, is now %s" % (token, self.numbers[token], (message_id, number)))
            if self.owners.setdefault(number, token) != token:
                self.violations.append("renumbered: %s and %s both have %s" % (token, self.owners[number], number))
            if number <= self.newest.get((client, group), ""):
                self.violations.append("renumbered: %s has %s after %s" % (token, number, self.newest[(client, group)]))
            self.newest[(client, group)] = number

    def received(self, queue, body, asked_at, attributes):
        token = body.split(":", 1)[0]
        copy = (queue, token)
        with self.lock:
            self.operations += 1
            count = int(attributes["ApproximateReceiveCount"])
            kept, since = self.kept_counts.get(copy, (0, 0))
            if since < asked_at and count <= kept:
                self.violations.append("uncounted: %s gave %r as received %d times after %d" % (queue, token, count, kept))
            if queue == ORDERED and token in self.numbers and self.numbers[token][1] != attributes["SequenceNumber"]:
                self.violations.append("renumbered: %s comes with %s, was %s" % (token, attributes["SequenceNumber"], self.numbers[token]))
            if copy not in self.attempted:
                self.violations.append("invented: %s holds %r, which nobody sent" % (queue, token))
            elif body != body_of(token):
                self.violations.append("torn: %s holds %r with another body" % (queue, token))
            at = self.deleted.get(copy)
            if at is not None and at < asked_at and copy not in self.doubtful:
                self.violations.append("resurrected: %s gave %r %.3f s after its delete was acknowledged" % (queue, token, asked_at - at))
        return copy


class Load(threading.Thread):
    def __init__(self, broker, history, seed, number, stop):
        super().__init__(daemon=True)
        self.broker, self.history, self.stop = broker, history, stop
        self.random = random.Random("%s/%d" % (seed, number))
        self.number, self.count = number, 0
        self.fresh_counts = {}  # of receives that nothing acknowledged has followed yet
        self.fresh_life = 0     # of the process that they were received from

    def token(self):
        self.count += 1
        return "m%d-%d" % (self.number, self.count)

    def run(self):
        client = Client(self.broker)
        while not self.stop.is_set():
            try:
                self.random.choices([self.send, self.send_batch, self.publish, self.consume, self.hold, self.send_ordered, self.ask_again], [4, 2, 3, 6, 1, 3, 2])[0](client)
            except Down:
                self.fresh_counts = {}  # their records may have gone with the process
                time.sleep(0.01)  # between two lives of the process
            except Refused as refused:
                with self.history.lock:
                    self.history.violations.append("refused: %s" % refused)
                return

    def send(self, client):
        copy = ("plain", self.token())
        self.history.attempt([copy])
        counts = self.take_counts()
        client.sqs("SendMessage", QueueUrl=url("plain"), MessageBody=body_of(copy[1]))
        self.history.promise([copy])
        self.history.keep_counts(counts)

    def take_counts(self):
        counts, self.fresh_counts = self.fresh_counts, {}
        return counts if self.fresh_life == self.broker.life else {}

    def send_ordered(self, client):
        token, group = self.token(), "g%d" % self.random.randrange(3)
        copy = (ORDERED, token)
        self.history.attempt([copy])
        give_up = time.monotonic() + 200  # the service knows the id for 300 s
        while True:
            try:
                answer = client.sqs("SendMessage", QueueUrl=url(ORDERED), MessageBody=body_of(token), MessageGroupId=group,
                                    MessageDeduplicationId=token)
                break
            except Down:
                self.fresh_counts = {}
                if self.stop.is_set() or time.monotonic() > give_up:
                    return  # stays attempted
                time.sleep(0.01)
        self.history.promise([copy])
        self.history.numbered(self.number, group, token, answer["MessageId"], answer["SequenceNumber"])
        if self.random.random() < 0.1:  # once more, though it was answered
            again = client.sqs("SendMessage", QueueUrl=url(ORDERED), MessageBody=body_of(token), MessageGroupId=group, MessageDeduplicationId=token)
            if (again["MessageId"], again["SequenceNumber"]) != (answer["MessageId"], answer["SequenceNumber"]):
                with self.history.lock:
                    self.history.violations.append("doubled: %s was sent as %s and as %s" % (token, answer, again))

    def until_answered(self, client, action, **members):
        """The answer, or None at the end of the run."""
        while not self.stop.is_set():
            try:
                return client.sqs(action, **members)
            except Down:
                self.fresh_counts = {}
                time.sleep(0.01)
        return None

    def ask_again(self, client):
        """On a queue of its own, where nobody else can have had what a receive does not give."""
        queue, token = url("again-%d.fifo" % self.number), self.token()
        if self.until_answered(client, "SendMessage", QueueUrl=queue, MessageBody=body_of(token), MessageGroupId="g", MessageDeduplicationId=token) is None:
            return
        receive = dict(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=200, ReceiveRequestAttemptId=token)
        handles = []
        for round_number in range(self.random.randint(1, 3)):
            life = self.broker.life
            answer = self.until_answered(client, "ReceiveMessage", **receive)
            if answer is None:
                return
            messages = answer.get("Messages", [])
            if [m["Body"] for m in messages] != [body_of(token)]:
                with self.history.lock:
                    self.history.violations.append("withheld: %s gave %s to attempt %d for %s" % (queue, [m["Body"][:20] for m in messages], round_number, token))
                return
            if handles and handles[-1] is not None and handles[-1] != messages[0]["ReceiptHandle"]:
                with self.history.lock:
                    self.history.violations.append("withheld: %s was given under another handle" % token)
            # It is durable when what followed it in the same life is.
            try:
                client.sqs("SendMessage", QueueUrl=url("marks"), MessageBody="x")
                handles.append(messages[0]["ReceiptHandle"] if self.broker.life == life else None)
            except Down:
                handles.append(None)
        self.until_answered(client, "DeleteMessage", QueueUrl=queue, ReceiptHandle=messages[0]["ReceiptHandle"])

    def send_batch(self, client):
        copies = [("plain", self.token()) for _ in range(self.random.randint(2, 10))]
        self.history.attempt(copies)
        answer = client.sqs("SendMessageBatch", QueueUrl=url("plain"),
                            Entries=[{"Id": str(i), "MessageBody": body_of(c[1])} for i, c in enumerate(copies)])
        self.history.promise([copies[int(entry["Id"])] for entry in answer["Successful"]])

    def publish(self, client):
        token = self.token()
        copies = [("fan-a", token), ("fan-b", token)]
        self.history.attempt(copies)
        client.sns("Publish", TopicArn=TOPIC, Message=body_of(token))
        self.history.promise(copies)

    def receive(self, client, queue, **members):
        asked_at = time.monotonic()
        life = self.broker.life
        answer = client.sqs("ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10, AttributeNames=["All"], **members)
        got = []
        for m in answer.get("Messages", []):
            copy = self.history.received(queue, m["Body"], asked_at, m["Attributes"])
            self.fresh_counts[copy] = int(m["Attributes"]["ApproximateReceiveCount"])
            got.append((copy, m["ReceiptHandle"]))
        if self.broker.life != life or self.fresh_life != life:
            # What was received from a process that died may have been forgotten with it.
            self.fresh_counts = {} if self.broker.life != life else {copy: self.fresh_counts[copy] for copy, _ in got}
            self.fresh_life = life
        return life, got

    def consume(self, client):
        queue = self.random.choice(QUEUES + [ORDERED])
        life, messages = self.receive(client, queue, WaitTimeSeconds=self.random.choice([0, 0, 1]))
        if not messages:
            return
        copies = [copy for copy, _ in messages]
        # The handle names the newest delivery only while the process lives and the lease runs.
        self.history.doubt(copies)
        deadline = time.monotonic() + VISIBILITY * 0.5
        answer = client.sqs("DeleteMessageBatch", QueueUrl=url(queue),
                            Entries=[{"Id": str(i), "ReceiptHandle": handle} for i, (_, handle) in enumerate(messages)])
        if self.broker.life != life or time.monotonic() > deadline:
            return  # stays in doubt
        gone = [copies[int(entry["Id"])] for entry in answer.get("Successful", [])]
        with self.history.lock:
            self.history.doubtful.difference_update(gone)
        self.history.delete(gone)

    def hold(self, client):
        """Takes messages and changes their visibility; they come back later."""
        queue = self.random.choice(QUEUES)
        _, messages = self.receive(client, queue)
        for copy, handle in messages[:3]:
            try:
                client.sqs("ChangeMessageVisibility", QueueUrl=url(queue), ReceiptHandle=handle, VisibilityTimeout=self.random.choice([0, 1]))
            except Refused as refused:
                if "InvalidParameterValue" not in str(refused):
                    raise


def drain(broker, history):
    """Empties every queue; what was there."""
    client, found = Client(broker), set()
    newest = {}  # FIFO group -> number of the last message that came
    for queue in QUEUES + [ORDERED]:
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < VISIBILITY + 1.5:
            asked_at = time.monotonic()
            messages = client.sqs("ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10, WaitTimeSeconds=1,
                                  AttributeNames=["All"]).get("Messages", [])
            for message in messages:
                quiet_since = time.monotonic()
                copy = history.received(queue, message["Body"], asked_at, message["Attributes"])
                if queue == ORDERED:
                    if copy in found:
                        history.violations.append("doubled: %s is there twice" % copy[1])
                    group, number = message["Attributes"]["MessageGroupId"], message["Attributes"]["SequenceNumber"]
                    if number <= newest.get(group, ""):
                        history.violations.append("disordered: %s comes after %s" % (number, newest[group]))
                    newest[group] = number
                found.add(copy)
                client.sqs("DeleteMessage", QueueUrl=url(queue), ReceiptHandle=message["ReceiptHandle"])
    return found


def set_up(broker, clients):
    client = Client(broker)
    for queue in QUEUES:
        arn = "arn:aws:sqs:us-east-1:%s:%s" % (ACCOUNT, queue)
        policy = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": TOPIC}}}]}
        client.sqs("CreateQueue", QueueName=queue, Attributes={"VisibilityTimeout": str(VISIBILITY), "Policy": json.dumps(policy)})
    client.sqs("CreateQueue", QueueName=ORDERED, Attributes={"FifoQueue": "true", "VisibilityTimeout": str(VISIBILITY)})
    client.sqs("CreateQueue", QueueName="marks")
    for number in range(clients):
        client.sqs("CreateQueue", QueueName="again-%d.fifo" % number, Attributes={"FifoQueue": "true"})
    client.sns("CreateTopic", Name="fan")
    for queue in ["fan-a", "fan-b"]:
        client.sns("Subscribe", TopicArn=TOPIC, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:%s:%s" % (ACCOUNT, queue),
                   **{"Attributes.entry.1.key": "RawMessageDelivery", "Attributes.entry.1.value": "true"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanfare", required=True, help="the program")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--longest-life", type=float, default=0.6, help="seconds until a kill, at most")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no more kills after that")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**9)))
    parser.add_argument("--evidence", help="write the result as a file of this name")
    options = parser.parse_args()
    evidence = os.path.abspath(options.evidence) if options.evidence else None
    print("seed %s" % options.seed, flush=True)
    chance = random.Random(options.seed)
    # What a process wrote outlives it whatever the disk does: a folder in memory is as good, and syncs take no time.
    data = tempfile.mkdtemp(prefix="fanfare-crash-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    log_path = os.path.join(data, "server.log")
    history, stop, begin = History(), threading.Event(), time.monotonic()
    with open(log_path, "w") as log:
        broker = Broker(os.path.abspath(options.fanfare), os.path.join(data, "data"), log)
        broker.start()
        try:
            set_up(broker, options.clients)
            threads = [Load(broker, history, options.seed, i, stop) for i in range(options.clients)]
            for thread in threads:
                thread.start()
            kills = 0
            while kills < options.kills and time.monotonic() < begin + options.minutes * 60:
                kills += 1
                time.sleep(chance.uniform(0.02, options.longest_life))  # the moment of death is the random input of this test
                broker.kill()
                broker.start()
                if history.violations:
                    break
            time.sleep(0.3)
            stop.set()
            for thread in threads:
                thread.join(20)
            found = drain(broker, history)
        finally:
            stop.set()
            if broker.process.poll() is None:
                broker.process.send_signal(signal.SIGTERM)
                exit_code = broker.process.wait(15)
    lost = sorted(copy for copy in history.promised if copy not in found and copy not in history.deleted and copy not in history.doubtful)
    violations = history.violations + ["lost: %s no longer has %s" % copy for copy in lost]
    if exit_code != 0:
        violations.append("the broker left with %d after SIGTERM" % exit_code)
    recovery = sorted(broker.recovery_ms)
    summary = ("%d kills, %d acknowledged operations, %d copies promised, %d deletes acknowledged, %d in doubt, %d drained; "
               "start to ready p50 %.0f ms, max %.0f ms; %.0f s" %
               (kills, history.operations, len(history.promised), len(history.deleted), len(history.doubtful), len(found),
                recovery[len(recovery) // 2], recovery[-1], time.monotonic() - begin))
    print(summary)
    for violation in violations[:20]:
        print("FAILED " + violation)
    if violations:
        print("%d violations; repeat with CRASH_SEED=%s; data and log are in %s" % (len(violations), options.seed, data))
    else:
        shutil.rmtree(data)
    if evidence:
        options.kills = kills
        write_evidence(evidence, options, summary, violations)
    print("%d passed, %d failed" % (0 if violations else 1, 1 if violations else 0))
    return 1 if violations else 0


def write_evidence(path, options, summary, violations):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with open("/proc/cpuinfo") as cpus:
        models = [line.split(":")[1].strip() for line in cpus if line.startswith("model name")]
    with open(path, "w") as out:
        out.write("# Random SIGKILL under mixed load\n\nCommand: `tests/crash/crash.py --fanfare build/release/fanfare --kills %d --longest-life %g "
                  "--clients %d --seed %s`\n\n" % (options.kills, options.longest_life, options.clients, options.seed))
        out.write("Date %s, commit %s, %d x %s, Linux %s.\n\n" % (time.strftime("%Y-%m-%d"), commit, len(models), models[0], os.uname().release))
        out.write("%s.\n\nViolations: %d.\n" % (summary, len(violations)))


if __name__ == "__main__":
    sys.exit(main())

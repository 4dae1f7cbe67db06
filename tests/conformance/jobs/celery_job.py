#!/usr/bin/env python3
"""Stock celery with kombu's SQS transport does a small job: tasks with results, retries, a countdown, two queues.

FANFARE_ENDPOINT is the broker's URL.
What the tasks have to say comes back over a queue too, which the driver reads with kombu.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
import uuid

import boto3
from celery import Celery
from kombu import Connection, Queue

ENDPOINT = os.environ["FANFARE_ENDPOINT"]
URL = urllib.parse.urlsplit(ENDPOINT)
PREFIX = os.environ.setdefault("FANFARE_PREFIX", "celery-%s-" % uuid.uuid4().hex[:12])
BROKER = "sqs://test:test@%s" % URL.netloc
TRANSPORT = {
    "region": "us-east-1",
    "is_secure": False,
    "queue_name_prefix": PREFIX,
    "visibility_timeout": 60,
    "wait_time_seconds": 1,
    "polling_interval": 0.1,
}

app = Celery("job", broker=BROKER)
app.conf.update(
    broker_transport_options=TRANSPORT,
    task_default_queue="work",
    worker_prefetch_multiplier=4,
    task_acks_late=True,
    broker_connection_retry_on_startup=True,
    worker_enable_remote_control=False,
    task_ignore_result=True,
)
RESULTS = Queue("results", exchange="", routing_key="results")


def report(value):
    with app.producer_pool.acquire(block=True) as producer:
        producer.publish(value, exchange="", routing_key=RESULTS.name, declare=[RESULTS], serializer="json")


@app.task(name="add")
def add(a, b):
    report(["add", a + b])


@app.task(name="text")
def text(value):
    report(["text", value])


@app.task(name="flaky", bind=True, max_retries=3, default_retry_delay=0)
def flaky(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    report(["flaky", self.request.retries])


@app.task(name="later")
def later(sent):
    report(["later", time.time() - sent])


@app.task(name="chained")
def chained(n):
    if n > 0:
        chained.delay(n - 1)
    else:
        report(["chained", n])


def drive():
    passed, failed = 0, []

    def check(name, ok, came):
        nonlocal passed
        if ok:
            passed += 1
        else:
            failed.append(name)
            print("FAILED %s\n  came %r" % (name, came))

    odd = "\u00e4<&>\"'\n\U0001f600"
    for n in range(20):
        add.delay(n, n)
    text.delay(odd)
    flaky.delay()
    later.apply_async((time.time(),), countdown=2)
    chained.delay(3)
    add.apply_async((1000, 1), queue="second")
    wanted = 20 + 5
    with tempfile.TemporaryFile() as log:
        worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "celery",
                "-A",
                "celery_job",
                "worker",
                "--queues",
                "work,second",
                "--concurrency",
                "2",
                "--pool",
                "prefork",
                "--without-gossip",
                "--without-mingle",
                "--without-heartbeat",
                "--loglevel",
                "INFO",
            ],
            cwd=os.path.dirname(os.path.abspath(__file__)),
            stdout=log,
            stderr=log,
        )
        came = []
        try:
            with Connection(BROKER, transport_options=TRANSPORT) as connection:
                results = connection.SimpleQueue(RESULTS.name)
                deadline = time.monotonic() + 40
                while len(came) < wanted and time.monotonic() < deadline:
                    try:
                        message = results.get(timeout=2)
                    except results.Empty:
                        continue
                    came.append(message.payload)
                    message.ack()
                results.close()
        finally:
            worker.terminate()
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()
            log.seek(0)
            lines = log.read().decode(errors="replace")
    sums = sorted(value for kind, value in came if kind == "add")
    check(
        "twenty tasks and one of a second queue are done once",
        sums == sorted([2 * n for n in range(20)] + [1001]),
        sums,
    )
    check("a text of every kind of character", [v for k, v in came if k == "text"] == [odd], came)
    check("a task that is retried twice", [v for k, v in came if k == "flaky"] == [2], came)
    waits = [v for k, v in came if k == "later"]
    check("a task with a countdown waits", len(waits) == 1 and waits[0] >= 1.9, waits)
    check("tasks that send tasks", [v for k, v in came if k == "chained"] == [0], came)
    sqs = boto3.client(
        "sqs", endpoint_url=ENDPOINT, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    urls = sqs.list_queues(QueueNamePrefix=PREFIX).get("QueueUrls", [])
    check(
        "celery made its three queues",
        sorted(u.rsplit("-", 1)[1] for u in urls) == ["results", "second", "work"],
        urls,
    )
    left = {
        u.rsplit("-", 1)[1]: sqs.get_queue_attributes(QueueUrl=u, AttributeNames=["All"])["Attributes"] for u in urls
    }
    left = {
        n: (a["ApproximateNumberOfMessages"], a["ApproximateNumberOfMessagesNotVisible"]) for n, a in left.items()
    }
    check("nothing is left over", all(v == ("0", "0") for v in left.values()), left)
    if failed:
        print(lines[-4000:])
    print("%d passed, %d failed" % (passed, len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(drive())

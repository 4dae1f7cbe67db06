#!/usr/bin/env python3
"""SQS by the aws CLI: what a person types and what comes. FANFARE_ENDPOINT is the broker's URL; AWS_CLI the command."""

import concurrent.futures
import json
import os
import subprocess
import sys
import uuid

ENVIRONMENT = dict(
    os.environ,
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_EC2_METADATA_DISABLED="true",
    AWS_PAGER="",
)
CLI = [
    os.environ.get("AWS_CLI", "/usr/bin/aws"),
    "--endpoint-url",
    os.environ["FANFARE_ENDPOINT"],
    "--output",
    "json",
    "sqs",
]
URL = os.environ["FANFARE_ENDPOINT"] + "/000000000000/"


def aws(*arguments):
    """The answer as JSON; None if there is none."""
    done = subprocess.run([*CLI, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, "%s: %s" % (arguments[0], done.stderr.strip())
    return json.loads(done.stdout) if done.stdout.strip() else None


def refused(text, *arguments):
    done = subprocess.run([*CLI, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0, "expected a refusal, came %s" % done.stdout
    assert text in done.stderr, "expected %r\n  came     %s" % (text, done.stderr.strip())


def equal(came, expected):
    if came != expected:
        raise AssertionError("expected %r\n  came     %r" % (expected, came))


def fresh(suffix=""):
    return "cli-" + uuid.uuid4().hex[:16] + suffix


def make(name=None, *more):
    name = name or fresh()
    equal(aws("create-queue", "--queue-name", name, *more), {"QueueUrl": URL + name})
    return ["--queue-url", URL + name], name


CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def a_message_is_sent_received_and_deleted():
    q, _ = make()
    sent = aws("send-message", *q, "--message-body", "hello")
    equal(sent["MD5OfMessageBody"], "5d41402abc4b2a76b9719d911017c592")
    [message] = aws("receive-message", *q)["Messages"]
    equal((message["Body"], message["MessageId"]), ("hello", sent["MessageId"]))
    equal(aws("delete-message", *q, "--receipt-handle", message["ReceiptHandle"]), None)
    equal(aws("receive-message", *q), None)


@case
def attributes_in_shorthand():
    q, _ = make(None, "--attributes", "VisibilityTimeout=60,DelaySeconds=1")
    aws("set-queue-attributes", *q, "--attributes", "DelaySeconds=0")
    equal(
        aws("get-queue-attributes", *q, "--attribute-names", "VisibilityTimeout", "DelaySeconds"),
        {"Attributes": {"VisibilityTimeout": "60", "DelaySeconds": "0"}},
    )


@case
def message_attributes_in_json():
    q, _ = make()
    attributes = {"a": {"DataType": "String", "StringValue": "x"}, "n": {"DataType": "Number", "StringValue": "1"}}
    aws("send-message", *q, "--message-body", "m", "--message-attributes", json.dumps(attributes))
    [message] = aws("receive-message", *q, "--message-attribute-names", "All")["Messages"]
    equal(message["MessageAttributes"], attributes)


@case
def system_attributes_are_shown():
    q, _ = make()
    aws("send-message", *q, "--message-body", "m", "--message-group-id", "tenant")
    [message] = aws("receive-message", *q, "--attribute-names", "All")["Messages"]
    equal(message["Attributes"]["ApproximateReceiveCount"], "1")
    equal(message["Attributes"]["MessageGroupId"], "tenant")


@case
def batches_from_json():
    q, _ = make()
    entries = [{"Id": str(i), "MessageBody": "body %d" % i} for i in range(10)]
    equal(len(aws("send-message-batch", *q, "--entries", json.dumps(entries))["Successful"]), 10)
    messages = aws("receive-message", *q, "--max-number-of-messages", "10")["Messages"]
    handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)]
    equal(len(aws("delete-message-batch", *q, "--entries", json.dumps(handles))["Successful"]), 10)


@case
def visibility_is_changed():
    q, _ = make()
    aws("send-message", *q, "--message-body", "m")
    [message] = aws("receive-message", *q)["Messages"]
    aws("change-message-visibility", *q, "--receipt-handle", message["ReceiptHandle"], "--visibility-timeout", "0")
    equal(len(aws("receive-message", *q)["Messages"]), 1)


@case
def queues_are_listed_in_pages():
    prefix = fresh()
    urls = [URL + make("%s-%d" % (prefix, i))[1] for i in range(3)]
    equal(aws("list-queues", "--queue-name-prefix", prefix)["QueueUrls"], urls)
    equal(aws("list-queues", "--queue-name-prefix", prefix, "--page-size", "1")["QueueUrls"], urls)


@case
def a_queue_is_found_and_deleted():
    q, name = make()
    equal(aws("get-queue-url", "--queue-name", name), {"QueueUrl": URL + name})
    equal(aws("delete-queue", *q), None)
    refused("AWS.SimpleQueueService.NonExistentQueue", "get-queue-url", "--queue-name", name)
    refused("You must wait 60 seconds after deleting a queue", "create-queue", "--queue-name", name)


@case
def tags_in_shorthand():
    q, _ = make(None, "--tags", "team=search,stage=test")
    aws("untag-queue", *q, "--tag-keys", "stage")
    equal(aws("list-queue-tags", *q), {"Tags": {"team": "search"}})


@case
def a_dead_letter_queue_lists_its_sources():
    dead, name = make()
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:" + name, "maxReceiveCount": "3"})
    _, source = make(None, "--attributes", json.dumps({"RedrivePolicy": policy}))
    equal(aws("list-dead-letter-source-queues", *dead), {"queueUrls": [URL + source]})


@case
def a_fifo_queue():
    q, _ = make(fresh(".fifo"), "--attributes", "FifoQueue=true,ContentBasedDeduplication=true")
    for body in ("1", "2", "2"):
        aws("send-message", *q, "--message-body", body, "--message-group-id", "g")
    messages = aws("receive-message", *q, "--max-number-of-messages", "10")["Messages"]
    equal([m["Body"] for m in messages], ["1", "2"])


@case
def a_purge_is_limited():
    q, name = make()
    equal(aws("purge-queue", *q), None)
    refused("Only one PurgeQueue operation on %s is allowed every 60 seconds." % name, "purge-queue", *q)


@case
def errors_say_what_is_wrong():
    q, _ = make()
    refused("(InvalidParameterValue)", "receive-message", *q, "--max-number-of-messages", "11")
    refused(
        'The input receipt handle "x" is not a valid receipt handle.', "delete-message", *q, "--receipt-handle", "x"
    )
    refused("(InvalidAttributeName)", "set-queue-attributes", *q, "--attributes", "Nonsense=1")
    refused(
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
        "create-queue",
        "--queue-name",
        "a b",
    )


def run_one(function):
    try:
        function()
        return function.__name__, None
    except Exception as error:  # whatever goes wrong is this case's failure, and the others still run
        return function.__name__, "%s: %s" % (type(error).__name__, error)


def main():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run_one, CASES))
    for name, error in results:
        if error is not None:
            print("FAILED %s\n  %s" % (name, error))
    failed = sum(error is not None for _, error in results)
    print("%d passed, %d failed" % (len(results) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

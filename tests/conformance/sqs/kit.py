"""What the SQS cases stand on: a client that names operations as the model does, queues of their own, and the runner.

Rule 1: a case is one named behaviour. It makes its own queues and looks at no other's, so that cases run side by side.
Rule 2: nothing sleeps. What is everybody's is touched only by a case that runs alone (@alone): the broker's clock, which
        such a case moves (POST /_fanfare/clock), and the number of long polls that wait.
Rule 3: the same table runs over AWS JSON (a current botocore) and AWS Query (Debian's); where the two protocols answer
        differently, the case says so with JSON.
FANFARE_ENDPOINT is the broker's URL, FANFARE_ADMIN its admin port's.
"""

import base64
import concurrent.futures
import hashlib
import json
import os
import struct
import sys
import threading
import time
import traceback
import urllib.request
import uuid

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = os.environ["FANFARE_ENDPOINT"]
ADMIN = os.environ.get("FANFARE_ADMIN", "")
ACCOUNT = "000000000000"
REGION = "us-east-1"


def make_client(access_key="test", region=REGION, endpoint=ENDPOINT):
    # The broker is what checks parameters here, so the SDK must let bad ones through.
    return boto3.client(
        "sqs",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key="test",
        config=Config(
            retries={"max_attempts": 0}, parameter_validation=False, max_pool_connections=32, read_timeout=40
        ),
    )


CLIENT = make_client()
JSON = CLIENT.meta.service_model.metadata["protocol"] == "json"


# --- Answers and refusals ---------------------------------------------------------------------------------------------

SQS = "AWS.SimpleQueueService."
STATUS = {
    SQS + "PurgeQueueInProgress": 403,
    "ReceiptHandleIsInvalid": 404,
    "InvalidAddress": 404,
    "InvalidSecurity": 403,
    "OverLimit": 403,
    "RequestThrottled": 403,
    "ResourceNotFoundException": 404,
    "AccessDenied": 403,
}
# JSON names the shape besides the Query code; botocore shows it as QueryErrorCode.
SHAPE = {
    SQS + "NonExistentQueue": "QueueDoesNotExist",
    "QueueAlreadyExists": "QueueNameExists",
    "InvalidParameterValue": "InvalidParameterValueException",
    "MissingParameter": "MissingRequiredParameterException",
    "AccessDenied": "AccessDeniedException",
}


class Refused(Exception):
    def __init__(self, error):
        self.code = error.response["Error"]["Code"]
        self.message = error.response["Error"]["Message"]
        self.status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        self.type = error.response["Error"].get("Type")
        self.shape = error.response["Error"].get("QueryErrorCode")
        super().__init__("%s (%d): %s" % (self.code, self.status, self.message))


def call(operation, _client=None, **members):
    """The answer's members as the model names them, without the SDK's metadata."""
    try:
        answer = (_client or CLIENT)._make_api_call(operation, members)
    except ClientError as error:
        raise Refused(error) from None
    assert len(answer["ResponseMetadata"]["RequestId"]) == 36, answer["ResponseMetadata"]
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def equal(came, expected):
    if came != expected:
        raise AssertionError("expected %r\n  came     %r" % (expected, came))


def refused(code, message, operation, _client=None, **members):
    """The call is refused with this code, the status that belongs to it, and this text (None: any text)."""
    try:
        came = call(operation, _client, **members)
    except Refused as refusal:
        equal((refusal.code, refusal.status), (code, STATUS.get(code, 400)))
        equal(refusal.type, "Sender")
        if JSON:
            equal(refusal.shape, SHAPE.get(code, code.removeprefix(SQS)))
        if message is not None:
            equal(refusal.message, message)
        assert refusal.message, "the error has no text"
        return refusal
    raise AssertionError("expected %s\n  came     the answer %r" % (code, came))


def no_such_queue():
    return (
        "The specified queue does not exist." if JSON else "The specified queue does not exist for this wsdl version."
    )


def invalid(value, parameter, reason):
    return "Value %s for parameter %s is invalid. Reason: %s" % (value, parameter, reason)


def missing(parameter):
    return "The request must contain the parameter %s." % parameter


# --- Queues -----------------------------------------------------------------------------------------------------------


def fresh(suffix=""):
    return "q-" + uuid.uuid4().hex[:16] + suffix


def arn(name, account=ACCOUNT, region=REGION):
    return "arn:aws:sqs:%s:%s:%s" % (region, account, name)


def as_attributes(attributes):
    return {
        name: value if isinstance(value, str) else json.dumps(value) if isinstance(value, dict) else str(value)
        for name, value in attributes.items()
    }


class Queue:
    """A queue of this case's own. Calling it calls an operation on it: q("SendMessage", MessageBody="x")."""

    def __init__(self, fifo=False, client=None, tags=None, name=None, **attributes):
        self.client = client
        self.name = name or fresh(".fifo" if fifo else "")
        given = as_attributes(attributes)
        if fifo:
            given.setdefault("FifoQueue", "true")
        members = {"QueueName": self.name}
        if given:
            members["Attributes"] = given
        if tags:
            members["tags"] = tags
        self.url = call("CreateQueue", client, **members)["QueueUrl"]
        self.arn = arn(self.name)

    def __call__(self, operation, **members):
        return call(operation, self.client, QueueUrl=self.url, **members)

    def refuses(self, code, message, operation, **members):
        return refused(code, message, operation, self.client, QueueUrl=self.url, **members)

    def send(self, body="m", **members):
        return self("SendMessage", MessageBody=body, **members)

    def send_many(self, *bodies, **members):
        for body in bodies:
            self.send(body, **members)

    def receive(self, count=1, **members):
        return self("ReceiveMessage", MaxNumberOfMessages=count, **members).get("Messages", [])

    def receive_one(self, **members):
        messages = self.receive(**members)
        equal(len(messages), 1)
        return messages[0]

    def bodies(self, count=10, **members):
        return [message["Body"] for message in self.receive(count, **members)]

    def drain(self):
        """Takes and deletes all that is visible; its bodies in the order in which they came."""
        bodies = []
        while True:
            messages = self.receive(10)
            if not messages:
                return bodies
            for message in messages:
                bodies.append(message["Body"])
                self.delete(message)

    def delete(self, message):
        return self("DeleteMessage", ReceiptHandle=message["ReceiptHandle"])

    def change(self, message, timeout):
        return self("ChangeMessageVisibility", ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=timeout)

    def attributes(self, *names):
        return self("GetQueueAttributes", AttributeNames=list(names or ["All"])).get("Attributes", {})

    def attribute(self, name):
        return self.attributes(name).get(name)

    def set(self, **attributes):
        return self("SetQueueAttributes", Attributes=as_attributes(attributes))

    def counts(self):
        """Visible, in flight, delayed."""
        got = self.attributes(
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        )
        return tuple(int(got["ApproximateNumberOfMessages" + which]) for which in ("", "NotVisible", "Delayed"))


def redrive(dead, count):
    return {"deadLetterTargetArn": dead if isinstance(dead, str) else dead.arn, "maxReceiveCount": count}


def text(value, data_type="String"):
    return {"DataType": data_type, "StringValue": value}


def number(value, data_type="Number"):
    return {"DataType": data_type, "StringValue": value}


def binary(value, data_type="Binary"):
    return {"DataType": data_type, "BinaryValue": value}


def md5(data):
    return hashlib.md5(data.encode() if isinstance(data, str) else data).hexdigest()


def md5_of_attributes(attributes):
    """The algorithm of the developer guide, written down a second time. [SQS message metadata]"""
    data = b""
    for name in sorted(attributes, key=lambda n: n.encode()):
        value = attributes[name]
        is_binary = value["DataType"].startswith("Binary")
        content = value["BinaryValue"] if is_binary else value["StringValue"].encode()
        for piece in (name.encode(), value["DataType"].encode()):
            data += struct.pack(">I", len(piece)) + piece
        data += (b"\x02" if is_binary else b"\x01") + struct.pack(">I", len(content)) + content
    return md5(data)


# --- The broker's own helpers ------------------------------------------------------------------------------------------


def admin(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(ADMIN + path, data=data), timeout=10) as answer:
        return json.load(answer)


def advance(duration):
    """Moves the broker's clock: "31s", "12h", "250ms"."""
    admin("/_fanfare/clock", {"advance": duration})


def long_polls():
    """How many receives wait in the broker now."""
    return admin("/_fanfare/state")["long_polls"]


class InBackground:
    """A call on a thread of its own; `result()` is what it returned, or raises what it raised."""

    def __init__(self, function):
        self.outcome = concurrent.futures.Future()
        threading.Thread(target=self.run, args=(function,), daemon=True).start()

    def run(self, function):
        try:
            self.outcome.set_result(function())
        except BaseException as error:
            self.outcome.set_exception(error)

    def result(self):
        return self.outcome.result(30)


def long_poll(function, count=1):
    """Calls that wait in the broker when this returns; for cases that run alone."""
    calls = [InBackground(function) for _ in range(count)]
    deadline = time.monotonic() + 10
    while long_polls() < count:
        assert time.monotonic() < deadline, "the long poll does not wait"
        time.sleep(0.005)
    return calls[0] if count == 1 else calls


# --- Cases --------------------------------------------------------------------------------------------------------------

CASES = []  # (name, function, whether it runs alone)


def case(function):
    CASES.append((function.__name__, function, False))
    return function


def alone(function):
    CASES.append((function.__name__, function, True))
    return function


def row(name, function, *arguments, **options):
    """A case from a row of a table."""
    CASES.append((name, lambda: function(*arguments, **options), False))


def row_alone(name, function, *arguments, **options):
    CASES.append((name, lambda: function(*arguments, **options), True))


def run_one(entry):
    name, function, _ = entry
    begin = time.monotonic()
    try:
        function()
        return name, None, time.monotonic() - begin
    except Exception as error:  # whatever goes wrong is this case's failure, and the others still run
        frames = traceback.extract_tb(error.__traceback__)
        where = ["%s:%d" % (os.path.basename(f.filename), f.lineno) for f in frames if f.filename != __file__]
        return (
            name,
            "%s: %s\n  at %s" % (type(error).__name__, error, " < ".join(reversed(where))),
            time.monotonic() - begin,
        )


def main(arguments):
    """`main.py [-v] [PART OF A NAME]...`"""
    verbose = "-v" in arguments
    wanted = [a for a in arguments if a != "-v"]
    chosen = [c for c in CASES if not wanted or any(w in c[0] for w in wanted)]
    names = [c[0] for c in CASES]
    twice = sorted({n for n in names if names.count(n) > 1})
    assert not twice, "two cases have one name: %s" % twice
    print(
        "SQS over %s: botocore %s, %d cases"
        % ("AWS JSON" if JSON else "AWS Query", botocore.__version__, len(chosen))
    )
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run_one, [c for c in chosen if not c[2]]))
    side_by_side = time.monotonic() - begin
    results += [run_one(c) for c in chosen if c[2]]
    failed = 0
    for name, error, seconds in results:
        if error is not None:
            failed += 1
            print("FAILED %s\n  %s" % (name, error))
        elif verbose:
            print("ok     %s (%.0f ms)" % (name, seconds * 1000))
    print("%.1f s side by side, %.1f s one by one" % (side_by_side, time.monotonic() - begin - side_by_side))
    print("%d passed, %d failed" % (len(results) - failed, failed))
    return 0 if failed == 0 and results else 1

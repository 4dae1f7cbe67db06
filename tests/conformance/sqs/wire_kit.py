"""What the cases over a socket stand on: connections, requests, expected answers, the runner. Standard library only.

A row is a request, the status and head fields that must come, and the whole body. In an expected body `~` stands for
text that differs each time: ids, handles, times, digests.
"""

import base64
import concurrent.futures
import json
import os
import re
import socket
import sys
import traceback
import urllib.parse
import uuid

ENDPOINT = urllib.parse.urlsplit(os.environ["FANFARE_ENDPOINT"])
HOST = "broker.test:4566"  # what the client calls it; URLs in answers must name it too
ACCOUNT = "000000000000"
XMLNS = "http://queue.amazonaws.com/doc/2012-11-05/"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FORM = "application/x-www-form-urlencoded"


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body


class Connection:
    """One kept-alive connection."""

    def __init__(self):
        self.socket = socket.create_connection((ENDPOINT.hostname, ENDPOINT.port), timeout=20)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def fill(self):
        piece = self.socket.recv(65536)
        assert piece, "the connection ended"
        self.buffer += piece

    def head(self):
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode().split("\r\n")
        return first, {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}

    def answer(self):
        first, fields = self.head()
        length = int(fields["content-length"])
        while len(self.buffer) < length:
            self.fill()
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(int(first.split(" ")[1]), fields, body.decode())

    def is_closed(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True


def request(method="POST", path="/", body=b"", fields=(), host=HOST, version="1.1", length=True):
    lines = ["%s %s HTTP/%s" % (method, path, version), "Host: " + host, *("%s: %s" % f for f in fields)]
    if length and (body or method == "POST"):
        lines.append("Content-Length: %d" % len(body))
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def exchange(data):
    connection = Connection()
    connection.send(data)
    return connection.answer()


def json_request(operation, members, content_type="application/x-amz-json-1.0", fields=(), **how):
    body = members if isinstance(members, bytes) else json.dumps(members).encode()
    types = [("Content-Type", content_type)] if content_type else []
    return request(body=body, fields=[("X-Amz-Target", "AmazonSQS." + operation), *types, *fields], **how)


def form(parameters):
    """`parameters`: pairs, or a text that is sent as it is."""
    if isinstance(parameters, str):
        return parameters.encode()
    return urllib.parse.urlencode(parameters).encode()


def query_request(parameters, fields=(), **how):
    return request(body=form(parameters), fields=[("Content-Type", FORM), *fields], **how)


def equal(came, expected):
    if came != expected:
        raise AssertionError("expected %r\n  came     %r" % (expected, came))


def like(came, expected):
    pattern = ".*?".join(re.escape(part) for part in expected.split("~"))
    if not re.fullmatch(pattern, came, re.DOTALL):
        raise AssertionError("expected %s\n  came     %s" % (expected, came))


def ask(data, status=200, body=None, **fields):
    answer = exchange(data)
    if answer.status != status:
        raise AssertionError("expected status %d\n  came     %d %s" % (status, answer.status, answer.body))
    for name, value in fields.items():
        equal(answer.fields.get(name.replace("_", "-")), value)
    assert UUID.fullmatch(answer.fields["x-amzn-requestid"]), answer.fields
    if body is not None:
        like(answer.body, body)
    return answer


def ask_json(operation, members, status=200, body=None, query_error=None, **how):
    return ask(
        json_request(operation, members, **how),
        status,
        body,
        content_type="application/x-amz-json-1.0",
        x_amzn_query_error=query_error,
    )


def ask_query(parameters, status=200, body=None, **how):
    return ask(query_request(parameters, **how), status, body, content_type="text/xml", x_amzn_query_error=None)


def xml(action, result):
    """A whole answer of AWS Query."""
    inner = "" if result is None else "<%sResult>%s</%sResult>" % (action, result, action)
    return (
        '<?xml version="1.0"?><%sResponse xmlns="%s">%s<ResponseMetadata><RequestId>~</RequestId></ResponseMetadata></%sResponse>'
        % (action, XMLNS, inner, action)
    )


def xml_error(code, message):
    return (
        '<?xml version="1.0"?><ErrorResponse xmlns="%s"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message><Detail/></Error>'
        "<RequestId>~</RequestId></ErrorResponse>"
    ) % (XMLNS, code, message)


def json_error(shape, message):
    return json.dumps({"__type": shape, "message": message}, separators=(",", ":"))


def fresh():
    return "w-" + uuid.uuid4().hex[:16]


def make(**attributes):
    name = fresh()
    answer = ask_json("CreateQueue", {"QueueName": name, "Attributes": attributes})
    return name, json.loads(answer.body)["QueueUrl"]


def send(url, body="m", **members):
    return json.loads(ask_json("SendMessage", dict({"QueueUrl": url, "MessageBody": body}, **members)).body)


def receive(url, **members):
    return json.loads(
        ask_json("ReceiveMessage", dict({"QueueUrl": url, "MaxNumberOfMessages": 10}, **members)).body
    ).get("Messages", [])


def bodies(url):
    return [m["Body"] for m in receive(url)]


CASES = []


def case(function):
    CASES.append((function.__name__, function))
    return function


def row(name, function, *arguments, **options):
    CASES.append((name, lambda: function(*arguments, **options)))


# --- The run -----------------------------------------------------------------------------------------------------------


def run_one(entry):
    try:
        entry[1]()
        return entry[0], None
    except Exception as error:  # whatever goes wrong is this case's failure, and the others still run
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)]
        return entry[0], "%s: %s\n  at lines %s" % (type(error).__name__, error, lines[1:])


def main(arguments):
    chosen = [c for c in CASES if not arguments or any(a in c[0] for a in arguments)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run_one, chosen))
    for name, error in results:
        if error is not None:
            print("FAILED %s\n  %s" % (name, error))
    failed = sum(error is not None for _, error in results)
    print("%d passed, %d failed" % (len(results) - failed, failed))
    return 0 if failed == 0 and results else 1

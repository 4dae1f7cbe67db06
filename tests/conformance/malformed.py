#!/usr/bin/env python3
"""Malformed requests of every kind, byte by byte over a socket: each gets an error that says something, and the server stays up.

FANFARE_ENDPOINT is the broker's URL, FANFARE_EDGE the edge's, FANFARE_ADMIN the admin port's. Standard library only.
"""
import json
import os
import socket
import sys
import urllib.parse

TARGETS = {name: urllib.parse.urlsplit(os.environ["FANFARE_" + name]) for name in ("ENDPOINT", "EDGE", "ADMIN")}


def exchange(where, data, half_close=False, pieces=1):
    """What comes back until the server closes or a whole response is there; b"" if it closes without a word."""
    with socket.create_connection((TARGETS[where].hostname, TARGETS[where].port), timeout=10) as connection:
        connection.settimeout(10)
        try:
            for i in range(pieces):
                connection.sendall(data[len(data) * i // pieces:len(data) * (i + 1) // pieces])
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before all of it was read: the answer may be there all the same
        answer = b""
        try:
            while True:
                head, separator, body = answer.partition(b"\r\n\r\n")
                if separator:
                    length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                    if length and len(body) >= length[0]:
                        return answer
                piece = connection.recv(65536)
                if not piece:
                    return answer
                answer += piece
        except OSError:
            return answer


def post(body, content_type="application/x-amz-json-1.0", target="AmazonSQS.SendMessage", path="/", extra=b""):
    head = b"POST " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n"
    if content_type is not None:
        head += b"Content-Type: " + content_type.encode() + b"\r\n"
    if target is not None:
        head += b"X-Amz-Target: " + target.encode() + b"\r\n"
    return head + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body


QUERY = "application/x-www-form-urlencoded"
URL = b'"QueueUrl":"http://localhost/000000000000/malformed"'
DEEP = b"[" * 100_000

# name, request, accepted statuses, text that the answer must hold
CASES = [
    # --- HTTP
    ("binary noise", bytes(range(256)) * 8, [400], b""),
    ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n", [400], b""),
    ("no HTTP at all", b"HELLO\r\n\r\n", [400], b""),
    ("HTTP/9.9", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", [505, 400], b""),
    ("bare line feeds and garbage", b"GET\n\n\n/ \x00\r\n\r\n", [400], b""),
    ("a space before the colon", b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", [400], b""),
    ("a folded header", b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", [400], b""),
    ("a NUL in a header", b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n", [400], b""),
    ("two lengths", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", [400], b""),
    ("length and chunks", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400], b""),
    ("a negative length", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", [400], b""),
    ("a length beyond all numbers", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", [400, 413], b""),
    ("a length of ten gigabytes", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10737418240\r\n\r\n", [413], b""),
    ("chunks that are none", b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", [400], b""),
    ("an unknown transfer coding", b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", [400, 501], b""),
    ("a request line of 100 KB", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", [414, 400], b""),
    ("a header of 100 KB", b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 100_000 + b"\r\n\r\n", [431], b""),
    ("a thousand headers", b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 1000 + b"\r\n", [431], b""),
    ("an unknown method", b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", [400, 405, 501], b""),
    ("DELETE on a queue's path", b"DELETE /000000000000/q HTTP/1.1\r\nHost: x\r\n\r\n", [400, 405], b""),
    ("a compressed body", post(b"\x1f\x8b\x08", extra=b"Content-Encoding: gzip\r\n"), [415, 400], b""),
    # --- AWS JSON
    ("broken JSON", post(b'{"QueueUrl":'), [400], b"SerializationException"),
    ("JSON that goes on behind its end", post(b"{" + URL + b"} {}"), [400], b"SerializationException"),
    ("an array as the body", post(b"[1,2]"), [400], b"SerializationException"),
    ("no body", post(b""), [400], b"__type"),
    ("bad UTF-8", post(b"{" + URL + b',"MessageBody":"\xff\xfe"}'), [400], b"SerializationException"),
    ("half a surrogate", post(b"{" + URL + b',"MessageBody":"\\ud800"}'), [400], b"__type"),
    ("nesting without end", post(DEEP), [400], b"SerializationException"),
    ("nesting inside an unknown member", post(b"{" + URL + b',"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}"), [400], b"__type"),
    ("a number for a text", post(b"{" + URL + b',"MessageBody":7}'), [400], b"SerializationException"),
    ("a text for a number", post(b"{" + URL + b',"MessageBody":"x","DelaySeconds":"soon"}'), [400], b"SerializationException"),
    ("a number beyond all integers", post(b"{" + URL + b',"MessageBody":"x","DelaySeconds":1e999}'), [400], b"__type"),
    ("a list for a map", post(b"{" + URL + b',"MessageBody":"x","MessageAttributes":[]}'), [400], b"SerializationException"),
    ("an unknown action", post(b"{}", target="AmazonSQS.Explode"), [404, 400], b"UnknownOperationException"),
    ("an unknown service", post(b"{}", target="AmazonXYZ.SendMessage"), [404, 400], b""),
    ("an empty target", post(b"{}", target=""), [400, 404], b""),
    ("a queue URL that is none", post(b'{"QueueUrl":"::::","MessageBody":"x"}'), [400, 404], b"__type"),
    ("a queue that is not there", post(b'{"QueueUrl":"http://localhost/000000000000/none","MessageBody":"x"}'), [400], b"QueueDoesNotExist"),
    ("no message body", post(b"{" + URL + b"}"), [400], b"MessageBody"),
    ("a control character", post(b"{" + URL + b',"MessageBody":"\\u0001"}'), [400], b"InvalidMessageContents"),
    ("a body of nine megabytes", post(b"{" + URL + b',"MessageBody":"' + b"x" * 9_000_000 + b'"}'), [413], b""),
    ("the wrong content type", post(b"{}", content_type="text/html", target=None), [400, 404, 415], b""),
    # --- AWS Query
    ("a form without an action", post(b"Version=2012-11-05", QUERY, None), [400], b"MissingAction"),
    ("an unknown action in a form", post(b"Action=Explode&Version=2012-11-05", QUERY, None), [400], b"InvalidAction"),
    ("a broken percent sign", post(b"Action=SendMessage&MessageBody=%zz", QUERY, None), [400], b"Error"),
    ("an attribute list with holes", post(b"Action=CreateQueue&QueueName=h&Attribute.999999999.Name=DelaySeconds", QUERY, None), [400], b"Error"),
    ("ten thousand fields", post(b"Action=CreateQueue&QueueName=h" + b"&a=b" * 10_000, QUERY, None), [200, 400], b"<"),
    ("a bad queue name", post(b"Action=CreateQueue&QueueName=a%20b", QUERY, None), [400], b"InvalidParameterValue"),
    ("a publish to nothing", post(b"Action=Publish&Version=2010-03-31&Message=x", QUERY, None), [400], b"InvalidParameter"),
    ("an ARN that is none", post(b"Action=Publish&Version=2010-03-31&TopicArn=x&Message=x", QUERY, None), [400], b"InvalidParameter"),
    ("GET without an action", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", [400, 404], b""),
    ("a signature in pieces", post(b"{}", target="AmazonSQS.ListQueues", extra=b"Authorization: AWS4-HMAC-SHA256 nonsense\r\n"), [400, 403], b""),
]

HALF_REQUESTS = [
    ("half a request line", b"POST / HT"),
    ("half a header", b"POST / HTTP/1.1\r\nHo"),
    ("half a body", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"),
    ("half a chunk", b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"),
]

EDGE_CASES = [
    ("edge: noise", bytes(range(256)) * 8, [400], b""),
    ("edge: no token", b"GET /v1/inbox?workspace=w HTTP/1.1\r\nHost: x\r\n\r\n", [401], b"urn:"),
    ("edge: broken token", b"GET /v1/inbox?workspace=w HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n\r\n", [400, 401], b""),
    ("edge: a foreign workspace", b"GET /v1/inbox?workspace=w HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev:a:v\r\n\r\n", [403], b"urn:"),
    ("edge: a cursor that is none", b"GET /v1/inbox?workspace=w&limit=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev:a:w\r\n\r\n", [400], b"limit"),
    ("edge: broken JSON", b"POST /v1/notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev-service\r\nContent-Length: 2\r\n\r\n{]", [400], b"urn:"),
    ("edge: an unknown path", b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n", [404], b""),
    ("edge: out of the folder", b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", [400, 404], b""),
]


def alive():
    """Whether the server still does its work: a real request on each port."""
    done = exchange("ENDPOINT", post(b"{}", target="AmazonSQS.ListQueues"))
    ready = exchange("ADMIN", b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    edge = exchange("EDGE", b"GET /v1/inbox/counts?workspace=w HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev:a:w\r\n\r\n")
    return all(answer.startswith(b"HTTP/1.1 200") for answer in (done, ready, edge))


def main():
    exchange("ENDPOINT", post(b'{"QueueName":"malformed"}', target="AmazonSQS.CreateQueue"))
    passed = failed = 0
    for where, cases in (("ENDPOINT", CASES), ("EDGE", EDGE_CASES)):
        for name, request, statuses, text in cases:
            for pieces in (1, 7):
                answer = exchange(where, request, pieces=pieces)
                line = answer.split(b"\r\n", 1)[0]
                status = int(line.split(b" ")[1]) if line.startswith(b"HTTP/1.1 ") else None
                if status in statuses and text in answer:
                    passed += 1
                else:
                    failed += 1
                    print("FAILED %s (in %d pieces): %r, wanted one of %s with %r" % (name, pieces, answer[:300], statuses, text))
    for name, request in HALF_REQUESTS:
        answer = exchange("ENDPOINT", request, half_close=True)
        if answer == b"" or answer.startswith(b"HTTP/1.1 4"):
            passed += 1
        else:
            failed += 1
            print("FAILED %s: %r" % (name, answer[:300]))
    if alive():
        passed += 1
    else:
        failed += 1
        print("FAILED the server no longer answers")
    print("%d malformed requests; %d passed, %d failed" % (2 * (len(CASES) + len(EDGE_CASES)) + len(HALF_REQUESTS), passed, failed))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

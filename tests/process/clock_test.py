#!/usr/bin/env python3
"""The movable clock beside identities that are enforced: clients go on signing by the system's clock, session keys end by the other."""
import datetime
import email.utils
import hashlib
import hmac
import http.client
import json
import re
import shutil
import socket
import tempfile
import time
import unittest
import urllib.parse

from program import DEADLINE, Server, main, run

IDENTITIES = """
users:
  - name: web
    account: "444455556666"
    access_keys: [{id: AKIAWEB, secret: "the web's"}]
    policies: [{Statement: [{Effect: Allow, Action: "*", Resource: "*"}]}]
roles:
  - name: task
    account: "444455556666"
    trust: {Statement: [{Effect: Allow, Principal: {AWS: "arn:aws:iam::444455556666:user/web"}, Action: "sts:AssumeRole"}]}
    policies: [{Statement: [{Effect: Allow, Action: "*", Resource: "*"}]}]
"""
WEB = ("AKIAWEB", "the web's", None)


def sign(key, service, host, body, headers):
    """Adds what AWS Signature Version 4 wants, for `POST /` and the system's clock."""
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    fields = {"host": host, "x-amz-date": stamp, **headers}
    if key[2]:
        fields["x-amz-security-token"] = key[2]
    names = ";".join(sorted(fields))
    canonical = "\n".join(["POST", "/", "", *("%s:%s" % (name, fields[name]) for name in sorted(fields)), "", names, hashlib.sha256(body).hexdigest()])
    scope = [stamp[:8], "us-east-1", service, "aws4_request"]
    secret = ("AWS4" + key[1]).encode()
    for part in scope:
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    fields["authorization"] = "AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=%s, Signature=%s" % (
        "/".join([key[0], *scope]), names, hmac.new(secret, text.encode(), hashlib.sha256).hexdigest())
    return fields


class MovedClock(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="fanfare-clock.")
        self.addCleanup(folder.cleanup)
        with open(folder.name + "/identities.yaml", "w", encoding="utf-8") as out:
            out.write(IDENTITIES)
        self.data = folder.name + "/data"
        self.arguments = ("--auth", "enforced", "--identities", folder.name + "/identities.yaml", "--clock", "manual")
        self.start()

    def start(self):
        self.server = Server(self.data, arguments=self.arguments)
        self.addCleanup(self.server.stop)

    def post(self, key, service, body, headers):
        host = "127.0.0.1:%d" % self.server.port
        connection = http.client.HTTPConnection(host, timeout=DEADLINE)
        self.addCleanup(connection.close)
        connection.request("POST", "/", body=body, headers=sign(key, service, host, body, headers))
        answer = connection.getresponse()
        self.date = answer.headers["Date"]
        return answer.status, answer.read().decode()

    def list_queues(self, key):
        return self.post(key, "sqs", b"{}", {"x-amz-target": "AmazonSQS.ListQueues", "content-type": "application/x-amz-json-1.0"})

    def assume_role(self):
        query = {"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::444455556666:role/task", "RoleSessionName": "run"}
        status, body = self.post(WEB, "sts", urllib.parse.urlencode(query).encode(), {"content-type": "application/x-www-form-urlencoded"})
        self.assertEqual(status, 200, body)
        return [re.search("<%s>(.*)</%s>" % (name, name), body).group(1) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")]

    def advance(self, step):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.admin_port, timeout=DEADLINE)
        self.addCleanup(connection.close)
        connection.request("POST", "/_fanfare/clock", body=json.dumps({"advance": step}))
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.read())

    def test_who_signs_by_the_systems_clock_stays_known(self):
        task = self.assume_role()
        for step in ("16m", "48h"):
            self.advance(step)
            status, body = self.list_queues(WEB)
            self.assertEqual(status, 200, body)
            self.assertLess(abs(email.utils.parsedate_to_datetime(self.date).timestamp() - time.time()), 600, self.date)
        status, body = self.list_queues(task)
        self.assertEqual((status, "ExpiredToken" in body), (403, True), body)
        status, body = self.list_queues(self.assume_role())
        self.assertEqual(status, 200, body)

    def test_a_clock_that_a_restart_has_found_ahead_refuses_nobody_either(self):
        self.advance("48h")
        status, body = self.post(WEB, "sqs", b'{"QueueName":"q"}',
                                 {"x-amz-target": "AmazonSQS.CreateQueue", "content-type": "application/x-amz-json-1.0"})
        self.assertEqual(status, 200, body)
        self.assertEqual(self.server.stop()[0], 0)
        self.start()
        status, body = self.list_queues(WEB)
        self.assertEqual(status, 200, body)
        self.assertIn("/444455556666/q", body)


class Command(unittest.TestCase):
    """`fanfare clock`"""

    def serve(self, *arguments):
        data = tempfile.mkdtemp(prefix="fanfare-clock-command-")
        self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        server = Server(data, arguments=arguments)
        self.addCleanup(server.stop)
        return server, "http://127.0.0.1:%d" % server.admin_port

    def shown(self, *arguments):
        code, out, err = run("clock", *arguments)
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\n$")
        return datetime.datetime.strptime(out.strip(), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc).timestamp()

    def test_it_shows_the_clock_and_moves_it(self):
        server, admin = self.serve("--clock", "manual")
        before = self.shown("--endpoint", admin)
        self.assertLess(abs(before - time.time()), 600)
        server.sqs("CreateQueue", QueueName="q")
        server.sqs("SendMessage", QueueUrl="q", MessageBody="m", DelaySeconds=900)
        self.assertNotIn("Messages", server.sqs("ReceiveMessage", QueueUrl="q"))
        moved = self.shown("advance", "2h", "--endpoint-url", admin)
        self.assertGreaterEqual(moved - before, 7200)
        self.assertEqual(server.sqs("ReceiveMessage", QueueUrl="q")["Messages"][0]["Body"], "m")
        self.assertGreaterEqual(self.shown("--endpoint", admin, "advance", "1h30m") - moved, 5400)

    def test_a_real_clock_is_shown_and_not_moved(self):
        _, admin = self.serve()
        self.assertLess(abs(self.shown("--endpoint", admin) - time.time()), 600)
        self.assertEqual(run("clock", "advance", "2h", "--endpoint", admin), (
            1, "", "fanfare: clock: %s: the broker's clock is the system's and cannot be moved; "
                   "start it with fanfare serve --clock manual\n" % admin))

    def test_errors_say_the_remedy(self):
        server, admin = self.serve("--clock", "manual")
        self.assertEqual(run("clock", "advance", "soon", "--endpoint", admin), (
            2, "", "fanfare: clock: 'soon' is no duration; accepted are such as 250ms, 35s, 1h30m or 14d\n"))
        code, out, err = run("clock", "advance", "9999999d", "--endpoint", admin)
        self.assertIn(code, (1, 2), out + err)
        code, out, err = run("clock", "--endpoint", "http://127.0.0.1:%d" % server.port)
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("--endpoint is that port (fanfare serve --admin)", err)
        code, out, err = run("clock", "--endpoint", "nonsense")
        self.assertEqual((code, out, err), (2, "", "fanfare: clock: nonsense: no URL such as http://127.0.0.1:4590\n"))
        with socket.socket() as closed:  # bound and not listening: refused
            closed.bind(("127.0.0.1", 0))
            code, out, err = run("clock", "--endpoint", "http://127.0.0.1:%d" % closed.getsockname()[1])
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("--endpoint is the admin port of a running broker (fanfare serve --admin)", err)
        code, out, err = run("clock", "advance")
        self.assertEqual((code, out), (2, ""), err)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The movable clock beside identities that are enforced: clients go on signing by the system's clock, session keys end by the other."""
import datetime
import email.utils
import hashlib
import hmac
import http.client
import json
import re
import tempfile
import time
import unittest
import urllib.parse

from program import DEADLINE, Server, main

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


if __name__ == "__main__":
    main()

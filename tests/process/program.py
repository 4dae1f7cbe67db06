"""What the tests of the program as a process share: a server that is started and stopped, and a client of one connection."""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

PROGRAM = os.path.abspath(os.environ.get("FANFARE_PROGRAM") or
                          os.path.join(os.environ.get("FANFARE_BUILD", os.path.join(os.path.dirname(__file__), "../../build/ci")), "fanfare"))
ACCOUNT = "000000000000"
DEADLINE = 60  # seconds that anything may take on a busy machine


def run(*arguments):
    """The program's exit code, standard output and standard error."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__("%d %s" % (status, body[:500]))
        self.status, self.body = status, body


class Server:
    """`fanfare serve` over a data folder. config: lines of YAML. prefix: a command that starts the program."""

    def __init__(self, data, config="", prefix=(), arguments=()):
        command = list(prefix) + [PROGRAM, "serve", "--data", data, "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0",
                                  "--admin", "127.0.0.1:0", "--threads", "1", *arguments]
        if config:
            self.config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
            self.config.write(config)
            self.config.flush()
            command += ["--config", self.config.name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the server did not start: %s" % self.process.communicate()[1])
        ready = json.loads(line)
        self.port = urllib.parse.urlsplit(ready["aws"]).port
        self.edge_port = urllib.parse.urlsplit(ready["edge"]).port
        self.admin_port = urllib.parse.urlsplit(ready["admin"]).port
        self.pid = ready["pid"]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def sqs(self, action, **members):
        self.connection.request("POST", "/", body=json.dumps(members).encode(), headers={
            "X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0"})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise Refused(answer.status, body.decode(errors="replace"))
        return json.loads(body) if body else {}

    def sns(self, action, **members):
        self.connection.request("POST", "/", body=urllib.parse.urlencode(dict(members, Action=action, Version="2010-03-31")).encode(),
                                headers={"Content-Type": "application/x-www-form-urlencoded"})
        answer = self.connection.getresponse()
        body = answer.read().decode()
        if answer.status != 200:
            raise Refused(answer.status, body)
        return body

    def drain(self, queue):
        """Takes and deletes what is visible; the bodies in the order in which they came."""
        bodies = []
        while True:
            messages = self.sqs("ReceiveMessage", QueueUrl=url(queue), MaxNumberOfMessages=10).get("Messages", [])
            if not messages:
                return bodies
            for message in messages:
                bodies.append(message["Body"])
                self.sqs("DeleteMessage", QueueUrl=url(queue), ReceiptHandle=message["ReceiptHandle"])

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=DEADLINE)
        connection.request("GET", "/metrics")
        values = {}
        for line in connection.getresponse().read().decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        connection.close()
        return values

    def stop(self, number=signal.SIGTERM):
        """The exit code and what it wrote to standard error."""
        if self.process.poll() is None:
            os.kill(self.pid, number)
        _, log = self.process.communicate(timeout=DEADLINE)
        self.connection.close()
        return self.process.returncode, log


def url(queue):
    return "http://127.0.0.1/%s/%s" % (ACCOUNT, queue)


def main():
    if not os.access(PROGRAM, os.X_OK):
        sys.exit("no program at %s; set FANFARE_BUILD to the build folder" % PROGRAM)
    unittest.main(verbosity=2)

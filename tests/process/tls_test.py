#!/usr/bin/env python3
"""TLS on the broker's ports: what is spoken, what is refused, certificates that are wrong or renewed, an orderly stop."""
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from program import DEADLINE, PROGRAM, Server, main, run, url

ALLOW_TOPICS = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": "*"}]}
DENY_PLAIN = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}


def make_certificate(folder, name="localhost", days="30"):
    """Of loopback; the two files."""
    files = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", days,
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                   check=True, capture_output=True)
    return files


class TlsServer(Server):
    def __init__(self, folder, certificate, key, **more):
        super().__init__(os.path.join(folder, "data"), arguments=["--tls-certificate", certificate, "--tls-key", key], **more)
        self.certificate = certificate
        self.connection = self.connect()

    def connect(self, port=None):
        return http.client.HTTPSConnection("127.0.0.1", port or self.port, timeout=DEADLINE, context=ssl.create_default_context(cafile=self.certificate))

    def shown(self):
        """The certificate that a new peer sees."""
        return ssl.get_server_certificate(("127.0.0.1", self.port)).strip()

    def s_client(self, *flags):
        done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.port, "-CAfile", self.certificate, *flags], input="",
                              capture_output=True, text=True, timeout=DEADLINE)
        return done.stdout + done.stderr

    def metrics_when_there_is_room(self):
        until = time.monotonic() + DEADLINE
        while True:
            try:
                return self.metrics()
            except (ValueError, OSError, http.client.HTTPException):  # `too many connections`: those that were closed are not gone yet
                assert time.monotonic() < until
                time.sleep(0.02)

    def wait_for_metric(self, name, enough):
        until = time.monotonic() + DEADLINE
        while not enough(value := self.metrics_when_there_is_room().get(name)):
            assert time.monotonic() < until, "%s is %s" % (name, value)
            time.sleep(0.02)


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="fanfare-tls.")
        cls.files = make_certificate(cls.folder.name)
        cls.server = TlsServer(cls.folder.name, *cls.files)

    @classmethod
    def tearDownClass(cls):
        code, log = cls.server.stop()
        assert code == 0, log
        cls.folder.cleanup()

    def test_queue_urls_and_the_urls_of_envelopes_begin_with_https(self):
        server = self.server
        origin = "https://127.0.0.1:%d/" % server.port
        queue = server.sqs("CreateQueue", QueueName="work", Attributes={"Policy": json.dumps(ALLOW_TOPICS)})["QueueUrl"]
        self.assertTrue(queue.startswith(origin), queue)
        topic = re.search("<TopicArn>(.*)</TopicArn>", server.sns("CreateTopic", Name="news")).group(1)
        server.sns("Subscribe", TopicArn=topic, Protocol="sqs", Endpoint=topic.replace(":sns:", ":sqs:").replace("news", "work"))
        server.sns("Publish", TopicArn=topic, Message="hello")
        message, = server.sqs("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
        envelope = json.loads(message["Body"])
        self.assertEqual(envelope["Message"], "hello")
        self.assertTrue(envelope["UnsubscribeURL"].startswith(origin), envelope)
        self.assertTrue(envelope["SigningCertURL"].startswith(origin), envelope)
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.request("GET", envelope["SigningCertURL"][len(origin) - 1:])
        self.assertIn(b"BEGIN CERTIFICATE", connection.getresponse().read())
        server.sqs("DeleteMessage", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    def test_policies_that_demand_tls_are_satisfied(self):
        self.server.sqs("CreateQueue", QueueName="secret", Attributes={"Policy": json.dumps({"Statement": [DENY_PLAIN]})})
        self.server.sqs("SendMessage", QueueUrl=url("secret"), MessageBody="m")
        self.assertEqual(self.server.drain("secret"), ["m"])

    def test_the_largest_message_goes_both_ways(self):
        self.server.sqs("CreateQueue", QueueName="large")
        body = "".join(chr(33 + i % 90) for i in range(1 << 20))
        self.server.sqs("SendMessage", QueueUrl=url("large"), MessageBody=body)
        self.assertEqual(self.server.drain("large"), [body])

    def test_tls_1_2_is_the_least(self):
        self.assertIn("TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256", self.server.s_client())
        older = self.server.s_client("-tls1_2", "-alpn", "http/1.1")
        self.assertIn("TLSv1.2, Cipher is ECDHE-", older)
        self.assertIn("Verify return code: 0 (ok)", older)
        self.assertIn("ALPN protocol: http/1.1", older)
        self.assertIn("Secure Renegotiation IS supported", older)
        self.assertIn("Compression: NONE", older)
        self.assertIn("alert protocol version", self.server.s_client("-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"))
        self.assertIn("alert handshake failure", self.server.s_client("-tls1_2", "-cipher", "AES128-SHA:AES128-GCM-SHA256"))

    def test_curl_is_served(self):
        done = subprocess.run(["curl", "-sS", "--cacert", self.server.certificate, "https://localhost:%d/?Action=ListQueues&Version=2012-11-05" % self.server.port],
                              capture_output=True, text=True, timeout=DEADLINE)
        self.assertIn("ListQueuesResponse", done.stdout, done.stderr)

    def test_a_client_that_does_not_trust_it_is_told_how(self):
        says = "self-signed certificate; if it is to be trusted, name a PEM file with it in the environment variable SSL_CERT_FILE)"
        endpoint = "https://127.0.0.1:%d" % self.server.port
        for command in [("bench", "send", "--duration", "100ms"), ("lint",),
                        ("policy", "explain", "--principal", "anonymous", "--action", "sqs:SendMessage", "--resource", "arn:aws:sqs:us-east-1:000000000000:q")]:
            with self.subTest(command):
                code, _, error = run(*command, "--endpoint", endpoint)
                self.assertEqual(code, 2, error)
                self.assertIn(says, error)
        trusting = dict(os.environ, SSL_CERT_FILE=self.server.certificate)
        done = subprocess.run([PROGRAM, "bench", "send", "--duration", "100ms", "--endpoint", endpoint], env=trusting, capture_output=True, text=True,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_plain_request_is_told_to_use_https(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=DEADLINE)
        connection.request("GET", "/")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (400, b"this port speaks TLS: use https://\n"))

    def test_the_edge_speaks_tls_and_the_admin_port_does_not(self):
        connection = self.server.connect(self.server.edge_port)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/nothing")
        self.assertEqual(connection.getresponse().status, 404)
        self.assertGreater(self.server.metrics()["fanfare_tls_certificate_valid_until_seconds"], time.time() + 29 * 86400)

    def test_the_metrics_of_the_alert_rules_exist(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/alerts.yaml"), encoding="utf-8") as file:
            named = set(re.findall(r"fanfare_tls_[a-z_]+", file.read()))
        self.assertIn("fanfare_tls_certificate_valid_until_seconds", named)
        self.assertEqual(named - set(self.server.metrics()), set())


class Certificates(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="fanfare-tls.")
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        self.files = make_certificate(self.folder)

    def refused(self, *arguments):
        code, out, error = run("serve", "--memory", "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0", *arguments)
        self.assertEqual((code, out), (2, ""), error)
        return error

    def test_errors_name_flag_file_and_remedy(self):
        certificate, key = self.files
        other = make_certificate(self.folder, "other")
        self.assertIn("--tls-key: a certificate and its key belong together; the key is missing", self.refused("--tls-certificate", certificate))
        self.assertIn("--tls-certificate: a certificate", self.refused("--tls-key", key))
        self.assertIn("--tls-certificate /nonexistent: No such file", self.refused("--tls-certificate", "/nonexistent", "--tls-key", key))
        self.assertIn("--tls-key /nonexistent: No such file", self.refused("--tls-certificate", certificate, "--tls-key", "/nonexistent"))
        self.assertIn("--tls-certificate %s: there is no certificate in it; expected in PEM" % key, self.refused("--tls-certificate", key, "--tls-key", key))
        self.assertIn("--tls-key %s: the key does not belong to the certificate in %s" % (other[1], certificate),
                      self.refused("--tls-certificate", certificate, "--tls-key", other[1]))

    def test_a_renewed_certificate_is_shown_without_a_restart(self):
        server = TlsServer(self.folder, *self.files)
        self.addCleanup(server.stop)
        server.sqs("ListQueues")  # a session from before stays
        first = server.shown()
        other = make_certificate(self.folder, "other")
        os.replace(other[0], self.files[0])  # half of it: refused
        server.wait_for_metric("fanfare_tls_refused_total", lambda count: count == 1)
        self.assertEqual(server.shown(), first)
        os.replace(other[1], self.files[1])
        until = time.monotonic() + DEADLINE
        while (second := server.shown()) == first and time.monotonic() < until:
            time.sleep(0.02)
        with open(self.files[0], encoding="ascii") as file:
            self.assertEqual(second, file.read().strip())
        server.sqs("ListQueues")
        code, log = server.stop()
        self.assertEqual(code, 0, log)
        self.assertIn('"event":"tls.refused"', log)
        self.assertIn('"event":"tls.reloaded"', log)

    def test_sighup_reads_the_files_also_where_they_look_the_same(self):
        server = TlsServer(self.folder, *self.files)
        self.addCleanup(server.stop)
        for count in range(1, 4):
            os.kill(server.pid, signal.SIGHUP)
            server.wait_for_metric("fanfare_tls_reloads_total", lambda taken: taken == count)
            server.sqs("ListQueues")  # a session from before stays
        with open(self.files[1], "w", encoding="ascii") as key:
            key.write("no key")
        os.kill(server.pid, signal.SIGHUP)
        server.wait_for_metric("fanfare_tls_refused_total", lambda refused: refused >= 1)
        server.sqs("ListQueues")
        code, log = server.stop()
        self.assertEqual(code, 0, log)
        self.assertEqual(log.count('"event":"tls.reloaded"'), 3, log)

    def test_one_connection_too_many_reads_an_alert_and_is_counted(self):
        server = TlsServer(self.folder, *self.files, prefix=("prlimit", "--nofile=100:100"))
        self.addCleanup(server.stop)
        metric = 'fanfare_connections_refused_total{port="aws"}'
        server.sqs("ListQueues")
        self.assertEqual(server.metrics()[metric], 0)
        context = ssl.create_default_context(cafile=self.files[0])
        peers, ends = [], []
        for _ in range(120):
            peer = socket.create_connection(("127.0.0.1", server.port), DEADLINE)
            self.addCleanup(peer.close)
            peers.append(peer)
            try:
                peers.append(context.wrap_socket(peer, server_hostname="127.0.0.1"))
                self.addCleanup(peers[-1].close)
            except OSError as error:  # the alert, or a reset where it was not read before the end
                ends.append(str(error))
        self.assertTrue(ends)
        self.assertTrue(any("alert internal error" in end for end in ends), ends)
        server.sqs("ListQueues")  # who is there is served
        for peer in peers:
            peer.close()
        server.wait_for_metric(metric, lambda refused: refused and refused >= len(ends))

    def test_a_stop_answers_what_waits_and_ends_sessions_in_order(self):
        server = TlsServer(self.folder, *self.files)
        self.addCleanup(server.stop)
        server.sqs("CreateQueue", QueueName="q")
        context = ssl.create_default_context(cafile=self.files[0])
        with context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), DEADLINE), server_hostname="127.0.0.1") as peer:
            body = json.dumps({"QueueUrl": url("q"), "WaitTimeSeconds": 20}).encode()
            peer.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Type: application/x-amz-json-1.0\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(body) + body)
            while server.metrics()["fanfare_broker_long_polls"] < 1:
                time.sleep(0.02)
            stopping = threading.Thread(target=server.stop)
            stopping.start()
            answer = b""
            while part := peer.recv(65536):  # an end without close_notify would be an error
                answer += part
            stopping.join()
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK"), answer)
        self.assertTrue(answer.endswith(b"{}"), answer)
        self.assertEqual(server.process.returncode, 0)


if __name__ == "__main__":
    main()

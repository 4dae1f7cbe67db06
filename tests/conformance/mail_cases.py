#!/usr/bin/env python3
"""E-mail subscriptions against servers of its own that send by SMTP. FANFARE_BUILD holds the program.

    FANFARE_BUILD=build/ci tests/conformance/mail_cases.py

Each check is one case. The last line is `N passed, M failed`.
"""
import base64
import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request
import uuid

import boto3
from botocore.config import Config

from checks import check, equal, finish
from smtp_server import SmtpServer

PROGRAM = os.path.join(os.environ["FANFARE_BUILD"], "fanfare")


def wait_for(get, enough, seconds=20):
    """What `get` gives when it is enough, or at last."""
    for _ in range(int(seconds / 0.02)):  # not by the clock: a machine that stands still meanwhile is no fault
        if enough(got := get()):
            break
        time.sleep(0.02)
    return got


def wait_for_mails(server, recipient, count, seconds=20):
    return wait_for(lambda: server.to(recipient), lambda mails: len(mails) >= count, seconds)


class Fanfare:
    def __init__(self, *flags, environment=None):
        self.folder = tempfile.TemporaryDirectory(prefix="fanfare-mail.")
        self.log = open(os.path.join(self.folder.name, "log"), "wb")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--memory", "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--clock", "manual",
             "--smtp-from", "news@example.com", *flags], stdout=subprocess.PIPE, stderr=self.log, env={**os.environ, **(environment or {})})
        ready = self.process.stdout.readline()
        assert ready, open(self.log.name).read()
        self.urls = json.loads(ready)
        settings = dict(endpoint_url=self.urls["aws"], region_name="us-east-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret",
                        config=Config(retries={"max_attempts": 0}))
        self.sns, self.sqs = boto3.client("sns", **settings), boto3.client("sqs", **settings)

    def advance(self, by):
        request = urllib.request.Request(self.urls["admin"] + "/_fanfare/clock", json.dumps({"advance": by}).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request).read()

    def attempts(self, outcome):
        text = urllib.request.urlopen(self.urls["admin"] + "/metrics").read().decode()
        return int(re.search(r'fanfare_sns_mail_attempts_total\{outcome="%s"\} (\d+)' % outcome, text).group(1))

    def wait_for_attempts(self, outcome, count):
        return wait_for(lambda: self.attempts(outcome), lambda n: n >= count)

    def topic(self, **more):
        return self.sns.create_topic(Name="t-" + uuid.uuid4().hex[:12], **more)["TopicArn"]

    def confirmed(self, server, recipient, protocol="email", topic=None, **attributes):
        topic = topic or self.topic()
        with server.lock:
            server.mails.clear()
        self.sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=recipient, Attributes=attributes)
        mails = wait_for_mails(server, recipient, 1)
        urllib.request.urlopen(link_of(mails[0])).read()
        with server.lock:
            server.mails.clear()
        return topic

    def dead_letter_queue(self):
        url = self.sqs.create_queue(QueueName="dead-" + uuid.uuid4().hex[:8])["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"},
                                                          "Action": "sqs:SendMessage", "Resource": arn}]}
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})
        return url, arn

    def stop(self):
        """How long it took, in seconds."""
        begin = time.time()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait()
        took = time.time() - begin
        check("it stops in order", code == 0, code)
        self.folder.cleanup()
        return took


def text_of(mail):
    return mail.get_content().replace("\r\n", "\n")


def link_of(mail):
    """The link of a confirmation or a notification, from the body as a reader sees it."""
    text = text_of(mail)
    if text.lstrip().startswith("{"):
        envelope = json.loads(text)
        return envelope.get("SubscribeURL") or envelope["UnsubscribeURL"]
    return re.search(r"^http\S+$", text, re.M).group(0)


def make_certificate(folder, name, names="IP:127.0.0.1"):
    """A certificate that nobody knows: (certificate, key)."""
    paths = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={names}", "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


# ---- What is in the mails -----------------------------------------------------------------------------------------------


def contents():
    server = SmtpServer()
    fanfare = Fanfare("--smtp", server.url)
    sns = fanfare.sns
    topic = fanfare.topic(Attributes={"DisplayName": 'Grüße "EU"'})
    sns.subscribe(TopicArn=topic, Protocol="email", Endpoint="box@example.org")
    mail = wait_for_mails(server, "box@example.org", 1)[0]
    equal("a confirmation's subject", mail["Subject"], "AWS Notification - Subscription Confirmation")
    equal("where it comes from", [(a.display_name, a.addr_spec) for a in mail["From"].addresses], [('Grüße "EU"', "news@example.com")])
    equal("where it goes to", mail["To"].addresses[0].addr_spec, "box@example.org")
    check("it has a date of today", abs(mail["Date"].datetime.timestamp() - time.time()) < 300, mail["Date"])
    check("it names the topic", topic in mail.get_content(), mail.get_content())
    check("nothing else may answer it", mail["Auto-Submitted"] == "auto-generated", mail.items())
    equal("envelope and header agree", server.mails[0][:2], ("news@example.com", "box@example.org"))
    check("no unsubscribing before it", mail["List-Unsubscribe"] is None, mail.items())
    answer = urllib.request.urlopen(link_of(mail)).read().decode()
    arn = answer.split("<SubscriptionArn>")[1].split("<")[0]
    equal("the link confirms", sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]["PendingConfirmation"], "false")

    body = "first\n.\n..dots\nünï €\n\n" + "long " * 400 + "\nend"
    sent = sns.publish(TopicArn=topic, Message=body, Subject="About orders")["MessageId"]
    mail = wait_for_mails(server, "box@example.org", 2)[-1]
    equal("a notification's subject", mail["Subject"], "About orders")
    check("its body is the message", text_of(mail).startswith(body + "\n\n--\n"), mail.get_content())
    equal("its id", mail["x-amz-sns-message-id"], sent)
    equal("its subscription", mail["x-amz-sns-subscription-arn"], arn)
    equal("the unsubscribe link stands in the header, too", mail["List-Unsubscribe"].strip("<>"), link_of(mail))
    raw = server.mails[-1][2]
    check("lines are short and ASCII", all(len(line) <= 76 and max(line, default=0) < 128 for line in raw.split(b"\r\n\r\n", 1)[1].split(b"\r\n")), raw)
    sns.publish(TopicArn=topic, Message="m")
    equal("the default subject", wait_for_mails(server, "box@example.org", 3)[-1]["Subject"], "AWS Notification Message")
    sns.publish(TopicArn=topic, Message="Добрый день, коллеги")
    check("other alphabets", text_of(wait_for_mails(server, "box@example.org", 4)[-1]).startswith("Добрый день, коллеги\n"))
    urllib.request.urlopen(link_of(mail)).read()
    equal("the link unsubscribes", sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"], [])

    for name in ["x\r\nBcc: evil@example.org", "x\nBcc: evil@example.org"]:
        try:
            evil = fanfare.topic(Attributes={"DisplayName": name})
        except Exception:  # refused is as good
            continue
        fanfare.confirmed(server, "evil@example.com", topic=evil)
        sns.publish(TopicArn=evil, Message="not a confirmation")
        mail = wait_for_mails(server, "evil@example.com", 1)[0]
        check("it is the notification", text_of(mail).startswith("not a confirmation\n"), text_of(mail))
        check("no header comes from a display name", mail["Bcc"] is None, mail.items())
    for address in ["nobody", "a b@example.org", "a@example.org\r\nBcc: b@example.org", "a@b@c", "<a@example.org>", "a@example..org"]:
        try:
            sns.subscribe(TopicArn=topic, Protocol="email", Endpoint=address)
            check(f"{address!r} is refused", False)
        except sns.exceptions.InvalidParameterException as error:
            equal(f"{address!r} is refused", error.response["Error"]["Message"], "Invalid parameter: Email address")

    topic = fanfare.topic()
    sns.subscribe(TopicArn=topic, Protocol="email-json", Endpoint="json@example.org")
    mail = wait_for_mails(server, "json@example.org", 1)[0]
    envelope = json.loads(mail.get_content())
    equal("email-json's confirmation is JSON", (envelope["Type"], envelope["TopicArn"]), ("SubscriptionConfirmation", topic))
    urllib.request.urlopen(envelope["SubscribeURL"]).read()
    sent = sns.publish(TopicArn=topic, Message="ünï " * 300, Subject="About")["MessageId"]
    mail = wait_for_mails(server, "json@example.org", 2)[-1]
    envelope = json.loads(mail.get_content())
    equal("email-json carries the envelope", (envelope["Type"], envelope["MessageId"], envelope["Message"], envelope["Subject"]),
          ("Notification", sent, "ünï " * 300, "About"))
    equal("with its keys in order", list(envelope), ["Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "Signature",
                                                     "SigningCertURL", "UnsubscribeURL"])
    equal("and its subject", mail["Subject"], "About")
    both = fanfare.confirmed(server, "twice@example.org")
    fanfare.confirmed(server, "twice@example.org", protocol="email-json", topic=both)
    sns.publish(TopicArn=both, Message="m")
    mails = wait_for_mails(server, "twice@example.org", 2)
    equal("two subscriptions of one mailbox: two mails", len({mail["Message-ID"] for mail in mails}), 2)
    check("nothing is captured", json.load(urllib.request.urlopen(fanfare.urls["admin"] + "/_fanfare/captured"))["captured"] == [])
    fanfare.stop()
    server.close()


# ---- What goes wrong ----------------------------------------------------------------------------------------------------


def failing():
    server = SmtpServer()
    fanfare = Fanfare("--smtp", server.url)
    sns = fanfare.sns
    topic = fanfare.confirmed(server, "busy@example.org")
    server.answers["RCPT TO:<busy@"] = ["450 4.2.0 later", "451 still not"]
    sns.publish(TopicArn=topic, Message="patience")
    fanfare.wait_for_attempts("retried", 1)
    equal("nothing arrived yet", server.to("busy@example.org"), [])
    fanfare.advance("11s")
    fanfare.wait_for_attempts("retried", 2)
    fanfare.advance("11s")
    mails = wait_for_mails(server, "busy@example.org", 1)
    check("4xx is tried again until it is taken", len(mails) == 1 and mails[0].get_content().startswith("patience"), mails)

    dead_url, dead = fanfare.dead_letter_queue()
    for place, answer in [("RCPT TO:<gone@", "550 5.1.1 no such user"), (".", "554 5.7.1 spam")]:
        topic = fanfare.confirmed(server, "gone@example.org", RedrivePolicy=json.dumps({"deadLetterTargetArn": dead}))
        server.answers[place] = [answer]
        before = fanfare.attempts("failed")
        sns.publish(TopicArn=topic, Message=f"refused with {answer}")
        messages = wait_for(lambda: fanfare.sqs.receive_message(QueueUrl=dead_url).get("Messages", []), bool)
        equal(f"{answer} goes to the dead-letter queue", [json.loads(m["Body"])["Message"] for m in messages], [f"refused with {answer}"])
        for message in messages:
            fanfare.sqs.delete_message(QueueUrl=dead_url, ReceiptHandle=message["ReceiptHandle"])
        equal("after one try", fanfare.attempts("failed") - before, 1)
        failed = json.load(urllib.request.urlopen(fanfare.urls["admin"] + "/_fanfare/state"))
        check(f"the state says why: {answer}", f"{answer} at attempt 1" in json.dumps(failed), "")

    # A mailbox that hangs takes one of eight turns; everybody else goes on.
    received = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    hung, well = fanfare.confirmed(server, "hung@example.org"), fanfare.confirmed(server, "well@example.org")
    sns.subscribe(TopicArn=well, Protocol="http", Endpoint=f"http://127.0.0.1:{receiver.server_address[1]}/")
    wait_for(lambda: received, bool)
    urllib.request.urlopen(received[0]["SubscribeURL"]).read()
    server.answers["RCPT TO:<hung@"] = ["hang"] * 20
    for _ in range(3):
        sns.publish(TopicArn=hung, Message="stuck")
    wait_for(lambda: list(server.commands), lambda commands: any(c.startswith("RCPT TO:<hung@") for c in commands))
    begin = time.time()
    sns.publish(TopicArn=well, Message="on its way")
    check("a mailbox that hangs holds up no other", len(wait_for_mails(server, "well@example.org", 1)) == 1 and time.time() - begin < 10, time.time() - begin)
    check("nor HTTP", len(wait_for(lambda: received, lambda got: len(got) > 1)) == 2, received)
    took = fanfare.stop()
    check("nor the end", took < 10, took)
    receiver.shutdown()
    server.close()

    # No server at all, and then there is one.
    fanfare = Fanfare("--smtp", server.url)
    fanfare.sns.subscribe(TopicArn=fanfare.topic(), Protocol="email", Endpoint="late@example.org")
    check("a refused connection is tried again", fanfare.wait_for_attempts("retried", 1) == 1)
    server = SmtpServer(port=server.port)
    fanfare.advance("11s")
    check("and the mail arrives when the server is there", len(wait_for_mails(server, "late@example.org", 1)) == 1)
    fanfare.stop()
    server.close()


# ---- TLS and login ------------------------------------------------------------------------------------------------------


def security():
    with tempfile.TemporaryDirectory() as folder:
        certificate, other = make_certificate(folder, "mail"), make_certificate(folder, "other", "DNS:elsewhere.example")
        login = base64.b64encode(b"\0me\0secret").decode()

        def outcome(server, *flags, environment=None):
            """retried or delivered: how the first try of a confirmation ended."""
            fanfare = Fanfare("--smtp", server.url, *flags, environment=environment)
            fanfare.sns.subscribe(TopicArn=fanfare.topic(), Protocol="email", Endpoint="box@example.org")
            ended = wait_for(lambda: [name for name in ("delivered", "retried", "failed") if fanfare.attempts(name)], bool)
            fanfare.stop()
            server.close()
            return ended[0] if ended else "nothing"

        def commands(server):
            return {command.split()[0].upper() for command in server.commands}

        server = SmtpServer(certificate)
        equal("STARTTLS with an unknown authority is refused", outcome(server), "retried")
        equal("before anything is said", commands(server) - {"QUIT"}, {"EHLO", "STARTTLS"})
        server = SmtpServer(certificate)
        equal("a known authority is trusted", outcome(server, "--smtp-ca-file", certificate[0]), "delivered")
        check("over TLS", "STARTTLS" in commands(server), server.commands)
        server = SmtpServer(other)
        equal("a certificate of another host is refused", outcome(server, "--smtp-ca-file", other[0]), "retried")
        equal("before a mail", commands(server) - {"QUIT"}, {"EHLO", "STARTTLS"})
        server = SmtpServer()
        environment = {"FANFARE_SMTP_USER": "me", "FANFARE_SMTP_PASSWORD": "secret"}
        equal("a password needs TLS", outcome(server, environment=environment), "retried")
        equal("and is not sent without", commands(server) - {"QUIT"}, {"EHLO"})
        server = SmtpServer(login=login)
        equal("unless that is asked for", outcome(server, "--smtp-plain", environment=environment), "delivered")
        server = SmtpServer(certificate, login=login)
        equal("login by the environment", outcome(server, "--smtp-ca-file", certificate[0], environment=environment), "delivered")
        server = SmtpServer(certificate, login=login)
        with open(os.path.join(folder, "login"), "w") as file:
            file.write("me\nsecret\n")
        equal("login by a file", outcome(server, "--smtp-ca-file", certificate[0], "--smtp-login-file", file.name), "delivered")
        server = SmtpServer(certificate, login=login)
        environment["FANFARE_SMTP_PASSWORD"] = "wrong"
        equal("a wrong password is tried again", outcome(server, "--smtp-ca-file", certificate[0], environment=environment), "retried")
        equal("a mail without login is not for good either", outcome(SmtpServer(login=login), "--smtp-plain"), "retried")


PARTS = [contents, failing, security]

if __name__ == "__main__":
    for part in PARTS:
        try:
            part()
        except Exception as error:  # a part that breaks off must not hide the others
            check(f"{part.__name__} runs to its end", False, f"{type(error).__name__}: {error}")
    finish()

#!/usr/bin/env python3
"""Signed SNS messages before the validators that people use, unchanged: sns-validator (npm), aws-sns-message-validator (PyPI),
and the rules of the AWS SDK for Java's SnsMessageManager.

    FANFARE_BUILD=build/ci FANFARE_NODE_MODULES=.../node_modules tests/conformance/signature_cases.py

The broker names https://localhost:PORT as the place of its certificate; a small TLS server there passes it on. Each check is one
case. The last line is `N passed, M failed`.
"""
import base64
import copy
import datetime
import http.server
import json
import os
import re
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from sns_message_validator import SNSMessageValidator

from checks import check, finish

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(os.environ["FANFARE_BUILD"], "fanfare")


# ---- The rules of software.amazon.awssdk:sns-message-manager -------------------------------------------------------------

KEYS = {"Notification": ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
        "SubscriptionConfirmation": ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]}
KEYS["UnsubscribeConfirmation"] = KEYS["SubscriptionConfirmation"]


def java_refuses(message, host, fetch):
    """Why the SDK would throw; empty: it takes the message."""
    if not isinstance(message.get("Type"), str) or message["Type"] not in KEYS:
        return "an unknown type"
    for name in KEYS[message["Type"]] + ["Signature", "SignatureVersion", "SigningCertURL", "UnsubscribeURL"]:
        if name in message and not isinstance(message[name], str):
            return f"{name} is no string"
    url = urllib.parse.urlsplit(message.get("SigningCertURL", ""))
    if url.scheme != "https" or url.hostname != host:
        return "the certificate's URL"
    pem = fetch(message["SigningCertURL"])
    if not re.fullmatch(r"\s*-----BEGIN [A-Z]+-----\n[A-Za-z\d+/\n]+={0,2}\n-----END [A-Z]+-----\s*", pem):
        return "the certificate's file is not exactly one PEM block"
    certificate = x509.load_pem_x509_certificate(pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    if "sns.amazonaws.com" not in names:
        return "the certificate's name"
    if not certificate.not_valid_before_utc <= datetime.datetime.now(datetime.timezone.utc) <= certificate.not_valid_after_utc:
        return "the certificate's time"
    stamp = message.get("Timestamp", "")
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp):
        return "the timestamp"
    text = "".join(f"{name}\n{message[name]}\n" for name in KEYS[message["Type"]] if name in message)
    algorithm = {"1": hashes.SHA1(), "2": hashes.SHA256()}.get(message.get("SignatureVersion"))
    if algorithm is None:
        return "the signature's version"
    try:
        certificate.public_key().verify(base64.b64decode(message["Signature"], validate=True), text.encode(), PKCS1v15(), algorithm)
    except InvalidSignature:
        return "the signature"
    return ""


# ---- Messages -----------------------------------------------------------------------------------------------------------


class CertificateServer(http.server.BaseHTTPRequestHandler):
    broker = None

    def do_GET(self):
        try:
            body = urllib.request.urlopen(CertificateServer.broker + self.path).read()
            self.send_response(200)
        except OSError:
            body = b""
            self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Receiver(http.server.BaseHTTPRequestHandler):
    received = []

    def do_POST(self):
        Receiver.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def wait_for_messages(count):
    for _ in range(1000):
        if len(Receiver.received) >= count:
            break
        time.sleep(0.02)
    return Receiver.received


def collect(broker):
    """Messages of every kind and version, by HTTP and from a queue."""

    def call(service, action, **parameters):
        version = {"sns": "2010-03-31", "sqs": "2012-11-05"}[service]
        data = urllib.parse.urlencode({"Action": action, "Version": version, **parameters}).encode()
        return urllib.request.urlopen(broker, data).read().decode()

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    queue_url = re.search("<QueueUrl>(.*?)</", call("sqs", "CreateQueue", QueueName="signed")).group(1)
    queue = "arn:aws:sqs:us-east-1:000000000000:signed"
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"},
                                                                 "Action": "sqs:SendMessage", "Resource": queue}]})
    call("sqs", "SetQueueAttributes", QueueUrl=queue_url, **{"Attribute.1.Name": "Policy", "Attribute.1.Value": policy})
    texts = [{"Message": "hello"}, {"Message": "zwei\nZeilen, ünï €, \"quoted\" \\ /", "Subject": "About \"this\""},
             {"Message": '{"a":[1,2,"<&>"]}', "MessageAttributes.entry.1.Name": "kind", "MessageAttributes.entry.1.Value.DataType": "String",
              "MessageAttributes.entry.1.Value.StringValue": "x"}]
    for version in ["1", "2"]:
        topic = re.search("<TopicArn>(.*?)</", call("sns", "CreateTopic", Name=f"signed-{version}", **{
            "Attributes.entry.1.key": "SignatureVersion", "Attributes.entry.1.value": version})).group(1)
        before = len(Receiver.received)
        call("sns", "Subscribe", TopicArn=topic, Protocol="http", Endpoint=f"http://127.0.0.1:{receiver.server_address[1]}/")
        call("sns", "Subscribe", TopicArn=topic, Protocol="sqs", Endpoint=queue)
        subscribe = wait_for_messages(before + 1)[before]["SubscribeURL"]
        subscription = re.search("<SubscriptionArn>(.*?)</", urllib.request.urlopen(subscribe).read().decode()).group(1)
        for text in texts:
            call("sns", "Publish", TopicArn=topic, **text)
        wait_for_messages(before + 1 + len(texts))
        call("sns", "Unsubscribe", SubscriptionArn=subscription)
    time.sleep(1)  # for a word that we are unsubscribed
    from_queue = []
    while bodies := re.findall("<Body>(.*?)</Body>", call("sqs", "ReceiveMessage", QueueUrl=queue_url, MaxNumberOfMessages="10"), re.S):
        from_queue += [json.loads(unescape(body)) for body in bodies]
    receiver.shutdown()
    return Receiver.received + from_queue


def unescape(text):
    for entity, character in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&apos;", "'"), ("&#xD;", "\r"), ("&amp;", "&")]:
        text = text.replace(entity, character)
    return text


def forged(message):
    """The same with one thing changed: nobody may take it."""
    for name in ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Token", "SubscribeURL"]:
        if name in message:
            other = copy.deepcopy(message)
            other[name] = other[name][:-1] + ("0" if other[name][-1] != "0" else "1") if name != "Timestamp" else "2020-01-01T00:00:00.000Z"
            yield name, other
    if message["Type"] == "Notification" and "Subject" not in message:
        yield "an added Subject", {**message, "Subject": "x"}
    yield "the other version", {**message, "SignatureVersion": "2" if message["SignatureVersion"] == "1" else "1"}
    yield "another host", {**message, "SigningCertURL": message["SigningCertURL"].replace("localhost", "127.0.0.1")}
    yield "no TLS", {**message, "SigningCertURL": message["SigningCertURL"].replace("https:", "http:")}


def main():
    with tempfile.TemporaryDirectory(prefix="fanfare-signatures.") as folder:
        path = lambda name: os.path.join(folder, name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-out", path("ca.pem"), "-keyout", path("key.pem")], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path("ca.pem"), path("key.pem"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), CertificateServer)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(path("fanfare.yaml"), "w") as file:
            file.write(f"sns: {{signing_url: 'https://localhost:{server.server_address[1]}'}}\n")
        with open(path("log"), "w") as log:
            process = subprocess.Popen([PROGRAM, "serve", "--config", path("fanfare.yaml"), "--memory", "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0",
                                        "--admin", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=log)
        try:
            CertificateServer.broker = json.loads(process.stdout.readline())["aws"]
            validate(collect(CertificateServer.broker), path)
        finally:
            process.terminate()
            process.wait()


def validate(messages, path):
    kinds = {(message["Type"], message["SignatureVersion"]) for message in messages}
    wanted = {(kind, version) for kind in ("SubscriptionConfirmation", "Notification") for version in "12"}
    check("every kind in both versions", wanted <= kinds, kinds)
    cases = []  # (what, message, whether it is genuine)
    for message in messages:
        what = f"{message['Type']} {message['SignatureVersion']} {message['Message'][:12]!r}"
        cases.append((what, message, True))
        cases += [(f"{what} with {change} changed", other, False) for change, other in forged(message)]

    os.environ["REQUESTS_CA_BUNDLE"] = path("ca.pem")
    trusted = ssl.create_default_context(cafile=path("ca.pem"))
    certificates = {}

    def fetch(url):
        if url not in certificates:
            certificates[url] = urllib.request.urlopen(url, context=trusted).read().decode()
        return certificates[url]

    for what, message, genuine in cases:
        why = java_refuses(message, "localhost", fetch)
        check(f"Java: {what}", (why == "") == genuine, why)

    with open(path("messages.json"), "w") as file:
        json.dump([message for _, message, _ in cases], file)
    output = subprocess.run(["node", os.path.join(HERE, "sns_validator.mjs"), file.name, r"^localhost:\d+$"], capture_output=True, text=True,
                            env={**os.environ, "NODE_EXTRA_CA_CERTS": path("ca.pem")})
    verdicts = json.loads(output.stdout or "[]")
    check("sns-validator looked at all", len(verdicts) == len(cases), output.stderr)
    for (what, message, genuine), verdict in zip(cases, verdicts):
        if message["Type"] == "UnsubscribeConfirmation":
            continue  # it leaves out the Token that the service signs
        check(f"sns-validator: {what}", verdict == genuine)

    validator = SNSMessageValidator(cert_url_regex=r"^https://localhost:\d+/", signature_version="1")  # it knows no other version
    for what, message, genuine in cases:
        if message["SignatureVersion"] != "1":
            continue
        try:
            validator.validate_message(message)
            verdict = True
        except Exception:
            verdict = False
        check(f"aws-sns-message-validator: {what}", verdict == genuine)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        check("it runs to its end", False, f"{type(error).__name__}: {error}")
    finish()

"""Identities of all kinds, and a server of its own that knows them. For policy_cases.py."""
import json
import os
import subprocess
import tempfile
import urllib.request

PROGRAM = os.path.join(os.environ["FANFARE_BUILD"], "fanfare")
A, B = "111122223333", "444455556666"
SECRETS = {"AKIAROOTA": "root-a", "AKIAROOTB": "root-b", "AKIAALICE": "alice", "AKIABOB": "bob", "AKIACAROL": "carol", "AKIADAVE": "dave",
           "AKIAERIN": "erin", "AKIAFRANK": "frank", "AKIAGRACE": "grace"}


def allow(*actions, resource="*", **more):
    return dict({"Effect": "Allow", "Action": list(actions), "Resource": resource}, **more)


def deny(*actions, resource="*", **more):
    return dict(allow(*actions, resource=resource, **more), Effect="Deny")


def policy(*statements):
    return {"Version": "2012-10-17", "Statement": list(statements)}


def queue_arn(name, account=A):
    return "arn:aws:sqs:us-east-1:%s:%s" % (account, name)


def identities():
    def user(name, key, *policies, account=A, **more):
        return dict({"name": name, "account": account, "access_keys": [{"id": key, "secret": SECRETS[key]}], "policies": list(policies)}, **more)

    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": A}, "Action": "sts:AssumeRole"}]}
    full = policy(allow("sqs:*", "sns:*"))
    return {
        "accounts": [{"id": A, "organization": "o-example", "access_keys": [{"id": "AKIAROOTA", "secret": "root-a"}],
                      "service_control_policies": [policy(allow("*"), deny("sqs:PurgeQueue", resource=queue_arn("keep-*")))]},
                     {"id": B, "access_keys": [{"id": "AKIAROOTB", "secret": "root-b"}]}],
        "users": [
            user("alice", "AKIAALICE", policy(allow("sqs:*", "sns:*", "sts:AssumeRole", "sts:TagSession"))),
            user("bob", "AKIABOB", policy(allow("sqs:SendMessage", "sqs:GetQueueUrl", resource=queue_arn("alpha-*")))),
            user("carol", "AKIACAROL", policy(allow("sqs:*", "sns:*")), account=B),
            user("dave", "AKIADAVE", account=A),
            user("erin", "AKIAERIN", policy(allow("sqs:*")), permissions_boundary=policy(allow("sqs:SendMessage", "sqs:GetQueueUrl"))),
            user("frank", "AKIAFRANK", policy(allow("sqs:*", resource=queue_arn("own-${aws:username}-*")),
                                              deny("sqs:DeleteQueue")), tags={"team": "red"}),
            user("grace", "AKIAGRACE", policy(allow("sts:AssumeRole"))),
        ],
        "roles": [
            {"name": "task", "account": A, "trust": trust, "policies": [full]},
            {"name": "prod-task", "account": A, "trust": trust, "policies": [full]},
            {"name": "dev-task", "account": A, "trust": trust, "policies": [full]},
            {"name": "tagged", "account": A, "policies": [full], "trust": {"Version": "2012-10-17", "Statement": [
                {"Effect": "Allow", "Principal": {"AWS": A}, "Action": "sts:AssumeRole"},
                {"Effect": "Allow", "Principal": {"AWS": A}, "Action": "sts:TagSession", "Condition": {"StringEquals": {"aws:RequestTag/team": "blue"}}}]}},
            {"name": "partner", "account": A, "policies": [full], "trust": {"Version": "2012-10-17", "Statement": [
                {"Effect": "Allow", "Principal": {"AWS": B}, "Action": "sts:AssumeRole",
                 "Condition": {"StringEquals": {"sts:ExternalId": "shibboleth"}}}]}},
            {"name": "web", "account": A, "policies": [full], "trust": {"Version": "2012-10-17", "Statement": [
                {"Effect": "Allow", "Principal": {"Federated": "arn:aws:iam::%s:oidc-provider/accounts.example.com" % A},
                 "Action": "sts:AssumeRoleWithWebIdentity", "Condition": {"StringEquals": {"accounts.example.com:aud": "app"}}}]}},
        ],
        "managed_policies": [{"arn": "arn:aws:iam::%s:policy/only-send" % account, "policy": policy(allow("sqs:SendMessage"))} for account in (A, B)],
        "providers": [{"url": "accounts.example.com", "account": A, "client_ids": ["app", "other"], "hs256_secret": "web secret"}],
    }


class Server:
    def __init__(self, *flags):
        self.folder = tempfile.TemporaryDirectory(prefix="fanfare-policy.")
        self.file = os.path.join(self.folder.name, "identities.yaml")
        self.write(identities())
        self.log = open(os.path.join(self.folder.name, "log"), "wb")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--memory", "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--clock", "manual",
             "--identities", self.file, *flags], stdout=subprocess.PIPE, stderr=self.log)
        ready = self.process.stdout.readline()
        assert ready, open(self.log.name).read()
        self.urls = json.loads(ready)
        self.endpoint = self.urls["aws"]

    def write(self, content):
        with open(self.file + ".new", "w") as out:
            json.dump(content, out)  # JSON is YAML
        os.replace(self.file + ".new", self.file)

    def advance(self, by):
        request = urllib.request.Request(self.urls["admin"] + "/_fanfare/clock", json.dumps({"advance": by}).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request).read()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

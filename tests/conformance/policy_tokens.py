"""Tokens of identity providers that sign by RS256, with keys and signatures of the openssl command. Imported by policy_cases.py."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import time

import boto3
from botocore.config import Config

from policy_server import A, Server, allow, identities, policy


def rsa(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout


def url64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class RsaKey:
    """As a provider has it: signs tokens, and shows its public part as a JWK."""

    def __init__(self, folder, kid):
        self.kid, self.file = kid, os.path.join(folder, kid + ".pem")
        rsa("genrsa", "-out", self.file, "2048")
        modulus = rsa("rsa", "-in", self.file, "-noout", "-modulus").decode().strip().split("=")[1]
        self.jwk = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": url64(bytes.fromhex(modulus)), "e": "AQAB"}

    def token(self, head=None, **claims):
        content = dict({"iss": "https://oidc.example.com/realms/one", "sub": "pod-1", "aud": "sts", "exp": int(time.time()) + 600, "iat": int(time.time())}, **claims)
        text = url64(json.dumps(dict({"alg": "RS256", "typ": "JWT", "kid": self.kid}, **(head or {}))).encode()) + "." + url64(json.dumps(content).encode())
        return text + "." + url64(rsa("dgst", "-sha256", "-sign", self.file, data=text.encode()))


def web_identity_by_rs256(cases):
    refused, equal, of_session = cases.refused, cases.equal, cases.of_session
    from botocore import UNSIGNED
    server = Server("--auth", "enforced")
    try:
        folder = server.folder.name
        first, second = RsaKey(folder, "first"), RsaKey(folder, "second")

        def write_keys(*keys):
            with open(os.path.join(folder, "keys.json.new"), "w") as out:
                json.dump({"keys": [key.jwk for key in keys]}, out)
            os.replace(os.path.join(folder, "keys.json.new"), os.path.join(folder, "keys.json"))
        write_keys(first)
        changed = identities()
        changed["providers"].append({"url": "https://oidc.example.com/realms/one", "account": A, "client_ids": ["sts"], "jwks_file": "keys.json"})
        changed["roles"].append({"name": "pod", "account": A, "policies": [policy(allow("sqs:*"))], "trust": {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": {"Federated": "arn:aws:iam::%s:oidc-provider/oidc.example.com/realms/one" % A},
             "Action": "sts:AssumeRoleWithWebIdentity", "Condition": {"StringEquals": {
                 "oidc.example.com/realms/one:sub": "pod-1", "oidc.example.com/realms/one:aud": "sts"}}}]}})
        server.write(changed)
        sts = boto3.client("sts", endpoint_url=server.endpoint, region_name="us-east-1", config=Config(signature_version=UNSIGNED, retries={"max_attempts": 0}))

        def code(token, **more):
            return refused(sts.assume_role_with_web_identity, RoleArn="arn:aws:iam::%s:role/pod" % A, RoleSessionName="pod", WebIdentityToken=token, **more)

        def soon(wanted, token):
            deadline = time.time() + 20
            while code(token()) != wanted:
                assert time.time() < deadline, code(token())
                time.sleep(0.1)
        soon("allowed", first.token)
        made = sts.assume_role_with_web_identity(RoleArn="arn:aws:iam::%s:role/pod" % A, RoleSessionName="pod", WebIdentityToken=first.token())
        equal((made["Provider"], made["Audience"], made["SubjectFromWebIdentityToken"]), ("oidc.example.com/realms/one", "sts", "pod-1"))
        equal(refused(of_session("sqs", made["Credentials"], server).list_queues), "allowed")
        equal(code(first.token(aud=["other", "sts"])), "allowed")
        equal(code(first.token(sub="pod-2")), "AccessDenied")
        equal(code(first.token(aud="other")), "IDPRejectedClaim")
        equal(code(first.token(exp=int(time.time()) - 1)), "ExpiredTokenException")
        equal(code(first.token(nbf=int(time.time()) + 600)), "InvalidIdentityToken")
        equal(code(first.token(iss="https://oidc.example.com/realms/two")), "InvalidIdentityToken")
        equal(code(second.token()), "InvalidIdentityToken")
        equal(code(second.token(head={"kid": "first"})), "InvalidIdentityToken")
        for algorithm in ("none", "HS256", "RS512", "ES256"):
            equal((algorithm, code(first.token(head={"alg": algorithm}))), (algorithm, "InvalidIdentityToken"))
        public = rsa("rsa", "-in", first.file, "-pubout")
        text = url64(b'{"alg":"HS256","kid":"first"}') + "." + first.token().split(".")[1]
        equal(code(text + "." + url64(hmac.new(public, text.encode(), hashlib.sha256).digest())), "InvalidIdentityToken")
        equal(code(first.token().rsplit(".", 1)[0] + "."), "InvalidIdentityToken")
        # Keys are rotated: the file beside is read anew, and the old key is forgotten.
        write_keys(second)
        soon("allowed", second.token)
        equal(code(first.token()), "InvalidIdentityToken")
    finally:
        server.stop()


def cases(policy_cases):
    yield "web_identity_by_rs256", lambda: web_identity_by_rs256(policy_cases)

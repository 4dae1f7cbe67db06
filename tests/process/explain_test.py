#!/usr/bin/env python3
"""`fanfare policy explain` on the policies of scenarios/policy: for every `explain` line the decision and the statement that stand behind its
arrow. The engine and both wire levels decide the same files (ctest -L scenario)."""
import glob
import json
import os
import re
import subprocess
import tempfile
import unittest

from program import DEADLINE, PROGRAM, main

HOME = "000000000000"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scenarios/policy")
ANYBODY = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]}
# Their policies are not written in the file: AddPermission makes them.
NOT_ASKED = {"cross_account_queue.scn"}


def words_of(line):
    """As the runner divides a line: at blanks outside of braces."""
    words, word, depth = [], "", 0
    for c in line:
        if depth == 0 and c in " \t":
            if word:
                words.append(word)
            word = ""
            continue
        depth += (c in "{[") - (c in "}]")
        word += c
    return words + ([word] if word else [])


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        text = "\n".join(line.split(" #")[0].rstrip() for line in file if not line.startswith("#"))
    return [line for line in re.sub("\n(?=  )", "", text).splitlines() if line.strip()]


class Scenario:
    """What a file has declared so far."""

    def __init__(self):
        self.identities = {"accounts": [{"id": HOME}], "users": [], "roles": []}
        self.policies = {}

    def declare(self, verb, name, options):
        if verb == "account":
            account = {"id": name}
            if "organization" in options:
                account["organization"] = options["organization"]
            if "scp" in options:
                account["service_control_policies"] = [json.loads(options["scp"])]
            self.identities["accounts"].append(account)
            return
        account, short = name.split("/") if "/" in name else (HOME, name)
        holder = {"name": short, "account": account}
        if "policy" in options:
            holder["policies"] = [json.loads(options["policy"])]
        if "boundary" in options:
            holder["permissions_boundary"] = json.loads(options["boundary"])
        tags = {key[4:]: value for key, value in options.items() if key.startswith("tag.")}
        if tags:
            holder["tags"] = tags
        if verb == "role":
            holder["trust"] = ANYBODY
        self.identities[verb + "s"].append(holder)
        if account not in [one["id"] for one in self.identities["accounts"]]:
            self.identities["accounts"].append({"id": account})

    def arn_of(self, caller):
        if caller == "" or caller.isdigit():
            return "arn:aws:iam::%s:root" % (caller or HOME)
        if caller == "anonymous":
            return caller
        account, short = caller.split("/") if "/" in caller else (HOME, caller)
        for role in self.identities["roles"]:
            if (role["account"], role["name"]) == (account, short):
                return "arn:aws:sts::%s:assumed-role/%s/run-1" % (account, short)
        return "arn:aws:iam::%s:user/%s" % (account, short)


def explain(folder, scenario, caller, action, name):
    """What the command answers."""
    def write(file, value):
        path = os.path.join(folder, file)
        with open(path, "w", encoding="utf-8") as out:
            out.write(value if isinstance(value, str) else json.dumps(value))
        return path

    service = action.split(":")[0]
    command = [PROGRAM, "policy", "explain", "--json", "--principal", scenario.arn_of(caller), "--action", action,
               "--resource", "arn:aws:%s:us-east-1:%s:%s" % (service, HOME, name),
               "--identities", write("identities.yaml", scenario.identities)]  # JSON is YAML
    if name in scenario.policies:
        command += ["--resource-policy", write("policy.json", scenario.policies[name])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
    if done.returncode != 0:
        return done.stderr
    answer = json.loads(done.stdout)
    return answer["decision"] + (" " + answer["decided_by"]["sid"] if answer["decided_by"] else "")


class Explain(unittest.TestCase):
    def test_it_names_the_statement_that_decided_each_scenario(self):
        asked = 0
        for path in sorted(glob.glob(os.path.join(FOLDER, "*.scn"))):
            if os.path.basename(path) in NOT_ASKED:
                continue
            scenario = Scenario()
            for line in lines_of(path):
                left, _, expected = line.partition("->")
                words = words_of(left)
                caller = words[1] if words[0] == "as" else ""
                words = words[2:] if words[0] == "as" else words
                options = dict(word.split("=", 1) for word in words[1:] if "=" in word and not word.startswith("{"))
                expected = " ".join(expected.split())
                if words[0] in ("role", "user", "account"):
                    self.assertEqual(expected, "")
                    scenario.declare(words[0], words[1], options)
                elif words[0] in ("set_topic", "set", "queue", "topic") and "policy" in options and expected in ("", "ok"):
                    scenario.policies[words[1]] = options["policy"]
                elif words[0] == "explain" and expected != "AccessDenied":  # that is who may not read the policy
                    with self.subTest(file=os.path.basename(path), line=line), tempfile.TemporaryDirectory() as folder:
                        self.assertEqual(explain(folder, scenario, caller, words[1], words[2]), expected)
                        asked += 1
        self.assertGreaterEqual(asked, 60, "scenarios/policy has many more explain lines")


if __name__ == "__main__":
    main()

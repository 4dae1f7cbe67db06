#!/usr/bin/env python3
"""What a signature and a policy cost a request, end to end: the server's CPU a SendMessage of 400 bytes, unsigned and signed to a
server that checks the signature, and signed to one with `--auth enforced` where a policy of five statements decides. The three
take turns in each round; differences are those of a round, and medians over the rounds are told.

    bench/identity.py build/release/fanfare --rounds 7 --seconds 1.5 [--micro build/release/bench/bench_policy] > result.md
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import tempfile

import load

FIVE = {"Version": "2012-10-17", "Statement": [
    {"Sid": "blocked", "Effect": "Deny", "Action": "sqs:*", "Resource": "*", "Condition": {"StringEquals": {"aws:PrincipalTag/blocked": "yes"}}},
    {"Sid": "reads", "Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": "arn:aws:sqs:us-east-1:000000000000:other-*"},
    {"Sid": "network", "Effect": "Deny", "Action": "sqs:*", "Resource": "*",
     "Condition": {"NotIpAddress": {"aws:SourceIp": ["127.0.0.0/8", "10.0.0.0/8"]}}},
    {"Sid": "topics", "Effect": "Allow", "Action": "sns:Publish", "Resource": "*"},
    {"Sid": "queues", "Effect": "Allow", "Action": "sqs:*", "Resource": "arn:aws:sqs:us-east-1:000000000000:*"}]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fanfare")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--micro")
    options = parser.parse_args()
    tool = load.Tool(options.fanfare)
    with tempfile.TemporaryDirectory(prefix="fanfare-identity.") as folder:
        identities = os.path.join(folder, "identities.yaml")
        with open(identities, "w") as out:
            json.dump({"users": [{"name": "bench", "account": "000000000000", "access_keys": [{"id": load.KEY, "secret": load.SECRET}],
                                  "policies": [FIVE]}]}, out)
        program = os.path.abspath(options.fanfare)
        servers = [load.start_fanfare(program, folder, name="development"),
                   load.start_fanfare(program, folder, name="enforced", arguments=["--auth", "enforced", "--identities", identities])]
        variants = [("unsigned", servers[0], ["--unsigned"]), ("signed, checked", servers[0], []),
                    ("signed, enforced, policy of five statements", servers[1], [])]
        cpu = {name: [] for name, _, _ in variants}
        try:
            for _ in range(options.rounds):
                for name, server, flags in variants:
                    rows = tool.run("send", "--connections", 64, "--duration", "%dms" % (options.seconds * 1000), "--warm-up", "200ms", *flags, server=server)
                    cpu[name].append([row for row in rows if row["step"].startswith("SendMessage")][0]["cpu_us_a_request"])
        finally:
            for server in servers:
                server.stop()
    base = cpu["unsigned"]
    print("# What identity costs\n")
    print("Date %s, %s, Linux %s. SendMessage of 400 bytes over 64 connections, durable, one loop; server and load share the machine. "
          "%d rounds of %g s, the servers take turns; CPU is the server's own, medians over the rounds, differences within a round.\n" %
          (datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"), cpu_name(), platform.release(), options.rounds, options.seconds))
    print("| request | CPU us/request | more than unsigned, us | limit |\n|---|---|---|---|")
    limits = {"signed, checked": "2 (signature)", "signed, enforced, policy of five statements": "3 (signature 2, policy 1)"}
    for name, _, _ in variants:
        differences = [mine - other for mine, other in zip(cpu[name], base)]
        print("| %s | %.2f | %s | %s |" % (name, statistics.median(cpu[name]), "" if cpu[name] is base else "%.2f (%.2f to %.2f)" % (
            statistics.median(differences), min(differences), max(differences)), limits.get(name, "")))
    if options.micro:
        print("\nThe parts alone, one thread, `%s`, median of 5:\n\n| part | ns |\n|---|---|" % os.path.basename(options.micro))
        done = subprocess.run([options.micro, "--benchmark_format=json", "--benchmark_repetitions=5", "--benchmark_min_time=0.1",
                               "--benchmark_report_aggregates_only=true"], capture_output=True, text=True, check=True)
        for one in json.loads(done.stdout)["benchmarks"]:
            if one["aggregate_name"] == "median":
                print("| %s | %.0f |" % (one["run_name"].replace("_", " "), one["cpu_time"]))


def cpu_name():
    with open("/proc/cpuinfo") as info:
        names = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return "%d x %s" % (len(names), names[0])


if __name__ == "__main__":
    main()

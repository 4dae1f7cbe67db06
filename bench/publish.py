#!/usr/bin/env python3
"""What a publication to 100 queues costs its publisher beside one to a single queue, and what a send costs beside nginx's constant
answer. Two programs (--before, --fanfare) and all loads take turns in each round; the medians of the rounds count.

Closed loop: 64 connections, each with one request on the way, so the server is saturated and latency is its throughput's other face.
Open loop: publications are due at one fixed rate for both, and a latency counts from when its request was due, so that a stall
counts for all that it held up (no coordinated omission).
"""
import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time

import load


def publish_loads(rate):
    for label, flags in (("closed loop, 64 connections", []), ("open loop, %d/s" % rate, ["--rate", rate])):
        for queues in (1, 100):
            yield "Publish to %d raw queue%s, %s" % (queues, "s" if queues > 1 else "", label), "fan-out", ["--queues", queues, *flags], "Publish"


def send_loads():
    yield "SendMessage 400 B, 64 connections, durable, signed", "send", [], "SendMessage"
    yield "SendMessageBatch of 10, 64 connections, durable, signed", "send-batch", [], "SendMessageBatch"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanfare", required=True)
    parser.add_argument("--before", help="an earlier build, to take turns with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--parts", default="publish,send")
    parser.add_argument("--collect", help="adds what is measured to this file of tab-separated lines")
    options = parser.parse_args()
    programs = ([("before", options.before)] if options.before else []) + [("now", options.fanfare)]
    tool = load.Tool(options.fanfare)
    flags = ["--connections", 64, "--duration", "%dms" % (options.seconds * 1000), "--warm-up", "400ms"]
    loads = (list(publish_loads(options.rate)) if "publish" in options.parts else []) + (list(send_loads()) if "send" in options.parts else [])
    folder = tempfile.mkdtemp(prefix="fanfare-publish-")
    os.chmod(folder, 0o755)
    found = {}
    nginx = load.start_nginx(folder) if "send" in options.parts else None
    lines = []
    try:
        for turn in range(options.rounds):
            for name, workload, more, step in loads:
                floor = None
                if nginx and workload == "send":
                    floor = tool.run(workload, *flags, *more, server=nginx)[0]["cpu_us_a_request"]
                for label, program in programs:
                    # A fresh server each time: no load finds what another has left.
                    server = load.start_fanfare(program, folder, name="%s-%d" % (label, turn))
                    try:
                        row = [row for row in tool.run(workload, *flags, *more, server=server) if row["step"].startswith(step)][0]
                    finally:
                        server.process.kill()
                        server.stop()
                        shutil.rmtree(os.path.join(folder, "data-%s-%d" % (label, turn)), ignore_errors=True)
                    values = [row["requests"] / row["seconds"], row["cpu_us_a_request"], row["latency_us"]["p50"] / 1000,
                              row["latency_us"]["p99"] / 1000, row["latency_us"].get("p999", row["latency_us"].get("p99.9", 0)) / 1000,
                              row["cpu_us_a_request"] / floor if floor else 0]
                    found.setdefault((name, label), []).append(values)
                    lines.append("\t".join([name, label, *("%.4f" % value for value in values)]))
                    print(lines[-1], file=sys.stderr, flush=True)
    finally:
        if nginx:
            nginx.stop()
        shutil.rmtree(folder, ignore_errors=True)
        if options.collect:
            with open(options.collect, "a") as out:
                out.write("".join(line + "\n" for line in lines))
    for (name, label), rows in found.items():
        print("%-55s %-7s" % (name, label), "  ".join("%.2f" % statistics.median(column) for column in zip(*rows)))


if __name__ == "__main__":
    main()

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


SLOW_DISK_MS = 0.2  # the disk of the first measurements takes 0.08; after much has been written or discarded it takes 4 to 8 for a while


def disk_floor(tool, folder):
    """Median of a bare write + fdatasync, in ms."""
    return tool.run("disk", "--dir", folder, "--body", 4096, "--duration", "200ms")[0]["latency_us"]["p50"] / 1000


def wait_for_disk(tool, folder):
    for _ in range(20):
        floor = disk_floor(tool, folder)
        if floor <= SLOW_DISK_MS:
            break
        time.sleep(0.5)
    return floor


def publish_loads(rate):
    # The light load first: some disks are slow for a while after much has been written.
    for label, flags in (("open loop, %d/s" % rate, ["--rate", rate]), ("closed loop, 64 connections", [])):
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
    parser.add_argument("--collect", help="adds what is measured to this file of tab-separated lines, so that several runs make one result")
    parser.add_argument("--results", help="write the medians of all lines of --collect (or of this run) to this .md file")
    parser.add_argument("--before-commit", default="", help="of --before, for the results")
    options = parser.parse_args()
    programs = ([("before", options.before)] if options.before else []) + [("now", options.fanfare)]
    tool = load.Tool(options.fanfare)
    flags = ["--connections", 64, "--duration", "%dms" % (options.seconds * 1000), "--warm-up", "400ms"]
    loads = (list(publish_loads(options.rate)) if "publish" in options.parts else []) + (list(send_loads()) if "send" in options.parts else [])
    began = load.conditions()
    folder = tempfile.mkdtemp(prefix="fanfare-publish-")
    os.chmod(folder, 0o755)
    nginx = load.start_nginx(folder) if "send" in options.parts else None
    lines = []
    try:
        for turn in range(options.rounds):
            begin, floor_before = len(lines), wait_for_disk(tool, folder)
            for name, workload, more, step in loads:
                floor = None
                if nginx and workload == "send":
                    floor = tool.run(workload, *flags, *more, server=nginx)[0]["cpu_us_a_request"]
                for label, program in programs:
                    # A fresh server each time: no load finds what another has left.
                    server = load.start_fanfare(program, folder, name="%s-%d" % (label, turn), data=os.path.join(folder, "data-%d" % len(lines)))
                    try:
                        row = [row for row in tool.run(workload, *flags, *more, server=server) if row["step"].startswith(step)][0]
                    finally:
                        # What it wrote stays until the end: where the file system discards what is removed, commits beside that take milliseconds.
                        server.process.kill()
                        server.stop()
                    values = [row["requests"] / row["seconds"], row["cpu_us_a_request"], row["latency_us"]["p50"] / 1000,
                              row["latency_us"]["p99"] / 1000, row["latency_us"].get("p999", row["latency_us"].get("p99.9", 0)) / 1000,
                              row["cpu_us_a_request"] / floor if floor else 0]
                    lines.append("\t".join([name, label, *("%.4f" % value for value in values)]))
                    print(lines[-1], file=sys.stderr, flush=True)
            floors = (floor_before, disk_floor(tool, folder))
            print("a bare write + fdatasync took %.2f ms before the round, %.2f ms after it" % floors, file=sys.stderr, flush=True)
            if max(floors) > SLOW_DISK_MS:
                print("the round does not count", file=sys.stderr, flush=True)
                del lines[begin:]
    finally:
        if nginx:
            nginx.stop()
        shutil.rmtree(folder, ignore_errors=True)
        if options.collect:
            with open(options.collect, "a") as out:
                out.write("".join(line + "\n" for line in lines))
    if options.collect:
        with open(options.collect) as kept:
            lines = kept.read().splitlines()
    if not lines:
        sys.exit("no round counted: the disk was slow")
    found = {}
    for line in lines:
        name, label, *values = line.split("\t")
        found.setdefault((name, label), []).append([float(value) for value in values])
    text = render(found, began, options)
    print(text)
    if options.results:
        with open(options.results, "w") as out:
            out.write(text)


def render(found, began, options):
    middle = {key: [statistics.median(column) for column in zip(*rows)] for key, rows in found.items()}
    text = ("# Publications to 100 queues, and what a send costs\n\nDate %s. Written by `bench/publish.py`. `fanfare serve --threads 1`, a fresh server for each "
            "measurement, synchronous durability; load: `fanfare bench`, one thread on the same machine, %g s after a warm-up of 0.4 s; other programs on the machine "
            "rested meanwhile. A round counts only if a bare write + fdatasync takes less than 0.2 ms (p50) before and after it. «before» is commit %s; the two take turns in each round. Medians of %d to %d rounds, in brackets the range. CPU is the server's own, all "
            "its threads.\n\n" % (began, options.seconds, options.before_commit or "?", min(map(len, found.values())), max(map(len, found.values()))))
    text += "| load | build | requests/s | CPU us/request | of nginx's CPU | p50 ms | p99 ms | p99.9 ms |\n|---|---|---|---|---|---|---|---|\n"
    for (name, label), row in middle.items():
        rows = found[(name, label)]
        p99 = [one[3] for one in rows]
        text += "| %s | %s | %s | %.1f | %s | %.2f | %.2f (%.2f to %.2f) | %.2f |\n" % (
            name, label, load.number(row[0]), row[1], "%.2f" % row[5] if row[5] else "", row[2], row[3], min(p99), max(p99), row[4])
    text += "\n| what | to reach | before | now |\n|---|---|---|---|\n"
    labels = ["before", "now"]

    def row(what, target, value):
        nonlocal text
        text += "| %s | %s | %s |\n" % (what, target, " | ".join(value(label) for label in labels))

    loops = sorted({name.split(", ", 1)[1] for name, _ in found if name.startswith("Publish")})
    for loop in loops:
        for column, what in ((3, "p99"), (2, "p50")):
            def ratio(label, loop=loop, column=column):
                pair = [middle.get(("Publish to %s, %s" % (queues, loop), label)) for queues in ("1 raw queue", "100 raw queues")]
                return "%.2f" % (pair[1][column] / pair[0][column]) if all(pair) else ""
            row("Publish to 100 queues, %s, of that to 1: %s" % (what, loop), "3" if column == 3 else "", ratio)
    send, batch = "SendMessage 400 B, 64 connections, durable, signed", "SendMessageBatch of 10, 64 connections, durable, signed"
    if any(name == send for name, _ in found):
        row("SendMessage, CPU of nginx's constant answer", "1.2", lambda label: "%.2f" % middle[(send, label)][5] if (send, label) in middle else "")
        row("SendMessageBatch of 10, us a message", "2.8", lambda label: "%.2f" % (middle[(batch, label)][1] / 10) if (batch, label) in middle else "")
        row("SendMessageBatch of 10, messages/s", "250,000", lambda label: load.number(middle[(batch, label)][0] * 10) if (batch, label) in middle else "")
    return text


if __name__ == "__main__":
    main()

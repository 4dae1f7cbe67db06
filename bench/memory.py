#!/usr/bin/env python3
"""Memory and cost of a backlog: fills one queue with messages of 1 KB and tells what the server took for it: memory while it fills and
after, CPU of a send at the begin and at the end, snapshots and the longest time that they held the engine; then kills it and tells how
long the next start takes and what memory that one has.

  bench/memory.py --messages 2000000 "today=build/release/fanfare" ["before=/path/to/another"] [--results bench/results/NAME.md]

The loads of several programs follow one another in the same run; the first is the load generator for all.
"""
import argparse
import os
import re
import shutil
import tempfile
import threading
import time
import urllib.request

import load

MIB = 1024.0 * 1024.0


class Watch(threading.Thread):
    """The resident memory of a process, five times a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.ends = pid, 0.0, threading.Event()

    def run(self):
        while not self.ends.wait(0.2):
            try:
                self.most = max(self.most, load.resident_mib(self.pid))
            except (OSError, AttributeError):
                return


def high_water_mib(pid):
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) / 1024


def ports_of(pid):
    inodes = set()
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            found = re.match(r"socket:\[(\d+)\]", os.readlink("/proc/%d/fd/%s" % (pid, name)))
        except OSError:
            continue
        if found:
            inodes.add(found.group(1))
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[9] in inodes and row[3] == "0A"]


def metrics(pid):
    """Names without labels, from whichever of the server's ports has them."""
    for port in ports_of(pid):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            continue
        return {name: float(value) for name, value in re.findall(r"^(fanfare_journal_\w+) (\S+)$", text, re.M)}
    return {}


def measure(tool, name, program, messages, folder, kills):
    data = os.path.join(folder, "data-" + name)
    server = load.start_fanfare(program, folder, name=name, data=data)
    out = {}
    try:
        time.sleep(0.2)
        empty = load.resident_mib(server.process.pid)
        watch = Watch(server.process.pid)
        watch.start()
        rows = {row["workload"] + " " + row["step"]: row for row in tool.run("backlog", "--messages", messages, "--keep", server=server, seconds=1500)}
        watch.ends.set()
        for part in ("begin", "between", "end"):
            row = next(row for key, row in rows.items() if key.startswith("backlog, %s" % part))
            out["CPU of a send, %s, us" % part] = row["cpu_us_a_message"]
            out["messages/s, %s" % part] = row["messages"] / row["seconds"]
            out["p99 of a batch of 10, %s, ms" % part] = row["latency_us"]["p99"] / 1000
            if "resident_mib" in row:
                out["memory when filled, MiB"] = row["resident_mib"]
                out["the same, bytes a message"] = (row["resident_mib"] - empty) * MIB / messages
        out["highest memory, MiB"] = high_water_mib(server.process.pid)
        out["the same, bytes a message "] = (out["highest memory, MiB"] - empty) * MIB / messages
        told = metrics(server.process.pid)
        out["snapshots"] = told.get("fanfare_journal_snapshots_total")
        hold = told.get("fanfare_journal_upkeep_longest_hold_seconds")
        out["longest hold of the engine for upkeep, by the clock, ms"] = hold * 1000 if hold is not None else None
        for what, metric in (("the same, processor time, ms", "longest_work_seconds"), ("all holds, processor time, ms", "work_seconds_total")):
            if "fanfare_journal_upkeep_" + metric in told:
                out[what] = told["fanfare_journal_upkeep_" + metric] * 1000
        for _ in range(kills):
            server.process.kill()
            server.process.wait()
            out["snapshot, bytes"] = sum(os.path.getsize(os.path.join(base, one)) for base, _, names in os.walk(data) for one in names
                                         if one.endswith(".snapshot"))
            begin = time.monotonic()
            server = load.start_fanfare(program, folder, name=name, data=data)
            out["start after kill -9, ms"] = (time.monotonic() - begin) * 1000
            time.sleep(0.5)
            out["memory after it, MiB"] = load.resident_mib(server.process.pid)
            out["highest memory of it, MiB"] = high_water_mib(server.process.pid)
    finally:
        server.process.kill()
        server.stop()
        shutil.rmtree(data, ignore_errors=True)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", help="NAME=PROGRAM")
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--results", help="append the table to this .md file")
    parser.add_argument("--no-restart", action="store_true")
    options = parser.parse_args()
    programs = [one.split("=", 1) for one in options.programs]
    tool = load.Tool(programs[0][1])
    began = load.conditions()
    folder = tempfile.mkdtemp(prefix="fanfare-memory-")
    try:
        found = {name: measure(tool, name, os.path.abspath(program), options.messages, folder, 0 if options.no_restart else 1)
                 for name, program in programs}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = "\n## {:,} waiting messages of 1 KB\n\n{}. `fanfare serve --threads 1`, synchronous durability, signed batches of 10 over 64 connections; load: `fanfare bench backlog`.\n\n".format(options.messages, began)
    text += "| | " + " | ".join(found) + " |\n|---|" + "---|" * len(found) + "\n"
    for what in dict.fromkeys(key for one in found.values() for key in one):
        text += "| %s | %s |\n" % (what.strip(), " | ".join(load.number(one.get(what)) for one in found.values()))
    print(text)
    if options.results:
        fresh = not os.path.exists(options.results)
        with open(options.results, "a") as out:
            if fresh:
                out.write("# What a backlog takes\n\nWritten by `bench/memory.py`, one table a run.\n")
            out.write(text)


if __name__ == "__main__":
    main()

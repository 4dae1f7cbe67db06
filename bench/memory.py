#!/usr/bin/env python3
"""Memory and cost of a backlog: fills one queue with messages of 1 KB and tells what the server took for it: CPU of a send with fewer than
500,000 waiting and for the last 2,000,000 (some snapshots long), memory while it fills and after, snapshots, and the longest time that each
part of upkeep held the engine. Then it kills the server and tells how long the next start takes and what memory that one has.

  bench/memory.py --messages 2000000 "today=build/release/fanfare" ["before=/path/to/another"] [--control] [--results bench/results/NAME.md]

--control: another server of the first program gets as many messages, 500,000 to a queue that is then deleted. It is as old, its log has
grown as much, but hardly anything waits. The loads of several programs follow one another in the same run; the first is the load generator
for all.
"""
import argparse
import os
import re
import shutil
import subprocess
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
    """{name: {part or None: value}} of the journal's, from whichever of the server's ports has them."""
    for port in ports_of(pid):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            continue
        out = {}
        for name, part, value in re.findall(r'^fanfare_journal_(\w+)(?:\{part="(\w+)"\})? (\S+)$', text, re.M):
            out.setdefault(name, {})[part or None] = float(value)
        return out
    return {}


def make_queue(tool, server):
    """Its URL."""
    done = subprocess.run([tool.program, "bench", "backlog", "--messages", "10", "--keep", "--endpoint", server.endpoint, *server.flags],
                          capture_output=True, text=True, env=dict(os.environ, AWS_SECRET_ACCESS_KEY=load.SECRET))
    return re.search(r"http://\S+/\d{12}/\S+", done.stderr + done.stdout).group(0)


def send(tool, server, messages, url=None):
    """Without a queue: to one that is made for it and deleted after."""
    row = tool.run("send-batch", "-n", messages // 10, "-b", 1024, *(["--queue-url", url] if url else []), server=server)[0]
    return row["cpu_us_a_message"], row["messages"] / row["seconds"], row["latency_us"]["p99"] / 1000


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows)]


def told_of(out, what, rows):
    cpu, rate, p99 = mean(rows)
    out["CPU of a send, %s, us" % what] = cpu
    out["messages/s, %s" % what] = rate
    out["p99 of a batch of 10, %s, ms" % what] = p99
    return cpu


def measure(tool, name, program, messages, folder, kills, waiting=True):
    data = os.path.join(folder, "data-" + name)
    server = load.start_fanfare(program, folder, name=name, data=data)
    part = min(500_000, messages // 4)
    out = {}
    try:
        time.sleep(0.2)
        empty = load.resident_mib(server.process.pid)
        watch = Watch(server.process.pid)
        watch.start()
        url = make_queue(tool, server) if waiting else None
        rows = []
        for _ in range(messages // part):
            rows.append(send(tool, server, part, url))
            if not waiting:
                time.sleep(1)  # until the deleted queue's messages are freed
        watch.ends.set()
        begin = told_of(out, "the first {:,}".format(part), rows[:1])
        end = told_of(out, "the last {:,}".format(4 * part), rows[-4:])
        out["the last cost more, %"] = 100 * (end / begin - 1)
        if waiting:
            out["memory when filled, MiB"] = load.resident_mib(server.process.pid)
            out["highest memory, MiB"] = high_water_mib(server.process.pid)
            out["the same, bytes a message"] = (out["highest memory, MiB"] - empty) * MIB / messages
        told = metrics(server.process.pid)
        out["snapshots"] = told.get("snapshots_total", {}).get(None)
        for what, metric, over in (("longest hold of the engine for upkeep, by the clock", "longest_hold_seconds", max),
                                   ("the same, processor time", "longest_work_seconds", max), ("all holds, processor time", "work_seconds_total", sum)):
            parts = told.get("upkeep_" + metric, {})
            if parts:
                out[what + ", ms"] = over(parts.values()) * 1000
            if None not in parts and over is max:
                for part_name, value in sorted(parts.items(), key=lambda one: -one[1])[:4]:
                    out["%s: %s, ms" % (what, part_name)] = value * 1000
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
    parser.add_argument("--control", action="store_true", help="as many messages, none of which stays")
    options = parser.parse_args()
    programs = [one.split("=", 1) for one in options.programs]
    tool = load.Tool(programs[0][1])
    began = load.conditions()
    folder = tempfile.mkdtemp(prefix="fanfare-memory-")
    try:
        found = {name: measure(tool, name, os.path.abspath(program), options.messages, folder, 0 if options.no_restart else 1)
                 for name, program in programs}
        if options.control:
            found["nothing waits"] = measure(tool, "control", os.path.abspath(programs[0][1]), options.messages, folder, 0, waiting=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = "\n## {:,} waiting messages of 1 KB\n\n{}. `fanfare serve --threads 1`, synchronous durability, signed batches of 10 over 64 connections; load: `fanfare bench send-batch`.\n\n".format(options.messages, began)
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

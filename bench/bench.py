#!/usr/bin/env python3
"""Measures the broker by `fanfare bench`, beside the floors of the day: nginx answering a constant under the same load by the
same tool, and bare write + fdatasync. CPU is the server process's own. Load generator and server share the machine, so
requests per second say less than CPU per request; the ratio to nginx in the same run says most. Medians over rounds in
which the servers take turns. Signed loads have their signatures checked: the server knows the secret of the access key.
"""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

import load

MiB = 1024.0 * 1024.0


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.tool = load.Tool(options.tool or options.fanfare)
        self.short = options.short
        self.lines = []    # (load, server, {column: value}) of the table
        self.single = []   # (what, value, unit) of the list below it

    def timed(self, connections=64):
        return ["--connections", connections, "--duration", "%dms" % (self.options.seconds * 1000), "--warm-up", "100ms" if self.short else "500ms"]

    def take_turns(self, name, servers, workload, flags, step, floor=None):
        """One line a server; `floor` is the server whose CPU a request the others are compared with."""
        print(name, file=sys.stderr, flush=True)
        rows = {server.name: [] for server in servers}
        for _ in range(self.options.rounds):
            for server in servers:
                for row in self.tool.run(workload, *flags, server=server):
                    if row["step"].startswith(step):
                        rows[server.name].append(row)
        for server in servers:
            mine = rows[server.name]
            line = {"rate": median(row["messages"] / row["seconds"] for row in mine),
                    "cpu": median(row.get("cpu_us_a_request") for row in mine), "cpu_message": median(row.get("cpu_us_a_message") for row in mine),
                    "p50": median(row["latency_us"]["p50"] / 1000 for row in mine), "p99": median(row["latency_us"]["p99"] / 1000 for row in mine)}
            if floor and server is not floor:
                # Of each round, not of the medians: what the machine does besides changes from round to round.
                ratios = [a["cpu_us_a_request"] / b["cpu_us_a_request"] for a, b in zip(mine, rows[floor.name])]
                line["ratio"] = median(ratios)
            self.lines.append((name, server.name, line))
        return rows

    def sends(self, nginx, servers):
        floor = [nginx, *servers]
        self.take_turns("SendMessage 400 B, 64 connections, durable, unsigned", floor, "send", [*self.timed(), "--unsigned"], "SendMessage", nginx)
        self.take_turns("SendMessage 400 B, 64 connections, durable, signed", floor, "send", self.timed(), "SendMessage", nginx)
        self.take_turns("SendMessage 400 B, 1 connection, durable, signed", floor, "send", self.timed(1), "SendMessage", nginx)
        self.take_turns("SendMessageBatch of 10, 64 connections, durable, signed", servers, "send-batch", self.timed(), "SendMessageBatch")

    def others(self, server):
        one = [server]
        queues, messages = (1, 20_000) if self.short else (10, 1_000_000)
        print("receives and deletes", file=sys.stderr, flush=True)
        found = {"ReceiveMessage": [], "DeleteMessageBatch": []}
        for _ in range(self.options.rounds):
            for row in self.tool.run("receive-delete", "--queues", queues, "--messages", messages, server=server):
                found[row["step"]].append(row)
        for step, rows in found.items():
            self.lines.append((step + " in tens, 64 connections, signed", server.name,
                               {"rate": median(row["messages"] / row["seconds"] for row in rows), "cpu": median(row["cpu_us_a_request"] for row in rows),
                                "cpu_message": median(row["cpu_us_a_message"] for row in rows),
                                "p50": median(row["latency_us"]["p50"] / 1000 for row in rows), "p99": median(row["latency_us"]["p99"] / 1000 for row in rows)}))
        self.take_turns("send + receive + delete in tens, 64 connections, signed", one, "round-trip", self.timed(), "cycle")
        self.take_turns("send + receive + delete one by one, 1 connection, signed", one, "round-trip", [*self.timed(1), "--batch", 1], "cycle")
        self.take_turns("Publish to 1 raw queue, 64 connections, signed", one, "fan-out", [*self.timed(), "--queues", 1], "Publish")
        self.take_turns("Publish to 4 raw queues, 64 connections, signed", one, "fan-out", [*self.timed(), "--queues", 4], "Publish")
        if not self.short:
            self.take_turns("Publish to 100 raw queues, 64 connections, signed", one, "fan-out", [*self.timed(), "--queues", 100], "Publish")
        self.take_turns("Publish to 4 enveloped queues, 64 connections, signed", one, "fan-out", [*self.timed(), "--queues", 4, "--envelope"], "Publish")

    def fifo(self):
        """A backlog beside almost none: each on a server of its own, so that neither pays for the other's upkeep, with a queue made
        and filled anew for each round. What counts is the ratio within a round: they follow each other at once."""
        full, groups = (2_000, 100) if self.short else (216_000, 1_000)
        print("FIFO backlog", file=sys.stderr, flush=True)
        servers = {}
        rows = {100: [], full: []}
        try:
            for waiting in rows:
                servers[waiting] = load.start_fanfare(self.options.fanfare, self.folder, name="fanfare fifo %d" % waiting, threads=self.options.threads)
            for _ in range(self.options.rounds):
                for waiting, server in servers.items():
                    rows[waiting] += [row for row in self.tool.run("round-trip", "--fifo", *self.timed(), "--messages", waiting, "--groups", groups, server=server)
                                      if row["step"] == "cycle"]
        except RuntimeError as error:
            print("FIFO: %s" % error, file=sys.stderr)
            return
        finally:
            for server in servers.values():
                server.stop()
        rates = {waiting: [row["messages"] / row["seconds"] for row in rows[waiting]] for waiting in rows}
        for waiting in rows:
            line = {"rate": median(rates[waiting])}
            for key, column in (("cpu", "cpu_us_a_request"), ("cpu_message", "cpu_us_a_message")):
                line[key] = median(row[column] for row in rows[waiting])
            for key in ("p50", "p99"):
                line[key] = median(row["latency_us"][key] / 1000 for row in rows[waiting])
            self.lines.append(("FIFO send + receive + delete in tens, %d waiting, 64 connections" % waiting, "fanfare", line))
        ratios = [there / here for here, there in zip(rates[100], rates[full])]
        self.single.append(("FIFO: rate with %d waiting, of that with 100: median of the rounds" % full, median(ratios), ""))
        self.single.append(("the same, least and most of a round", min(ratios), "to %.3g" % max(ratios)))

    def idle(self):
        connections, seconds = (200, "1s") if self.short else (10_000, "22s")
        print("idle long polls", file=sys.stderr, flush=True)
        server = load.start_fanfare(self.options.fanfare, self.folder, name="fanfare idle", threads=self.options.threads)
        try:
            time.sleep(0.2 if self.short else 2)
            self.single.append(("idle program, memory", load.resident_mib(server.process.pid), "MiB"))
            row = self.tool.run("idle", "--connections", connections, "--duration", seconds, server=server)[0]
            self.single.append(("%d idle long polls, CPU" % connections, row["cpu_percent_of_a_core"], "% of a core"))
            self.single.append(("%d idle long polls, memory each" % connections, row["kib_a_connection"], "KiB"))
        finally:
            server.stop()

    def backlog(self):
        messages = 20_000 if self.short else self.options.backlog
        if not messages:
            return
        print("backlog of %d" % messages, file=sys.stderr, flush=True)
        server = load.start_fanfare(self.options.fanfare, self.folder, name="fanfare backlog", threads=self.options.threads)
        try:
            for row in self.tool.run("backlog", "--messages", messages, server=server, seconds=1200):
                self.lines.append(("%s: %s of 1 KB" % (row["workload"], row["step"]), server.name,
                                   {"rate": row["messages"] / row["seconds"], "cpu": row["cpu_us_a_request"], "cpu_message": row["cpu_us_a_message"],
                                    "p50": row["latency_us"]["p50"] / 1000, "p99": row["latency_us"]["p99"] / 1000}))
                if "resident_mib" in row:
                    self.single.append(("%d waiting messages of 1 KB, memory" % messages, row["resident_mib"], "MiB"))
                    self.single.append(("the same, a message", row["bytes_a_message"], "bytes"))
        finally:
            server.stop()

    def restart(self):
        waiting = 10_000 if self.short else 1_000_000
        print("restart", file=sys.stderr, flush=True)
        for label, messages in (("empty", 0), ("%d waiting messages" % waiting, waiting)):
            times = {"kill -9": [], "orderly": []}
            for how in times:
                data = os.path.join(self.folder, "restart-%d-%s" % (messages, how.replace(" ", "")))
                server = load.start_fanfare(self.options.fanfare, self.folder, name="fanfare restart", data=data, threads=self.options.threads)
                if messages:
                    self.tool.run("send-batch", "--requests", messages // 10, "--keep", "--warm-up", "0s", server=server)
                if how == "orderly":
                    server.stop()
                else:
                    server.process.kill()
                    server.process.wait()
                begin = time.monotonic()
                server = load.start_fanfare(self.options.fanfare, self.folder, name="fanfare restart", data=data, threads=self.options.threads)
                times[how].append((time.monotonic() - begin) * 1000)
                server.stop()
                shutil.rmtree(data)
            for how, values in times.items():
                self.single.append(("start, %s, after %s" % (label, how), median(values), "ms"))

    def disk(self):
        for size in (512, 4096, 65536):
            row = self.tool.run("disk", "--dir", self.folder, "--body", size, "--duration", "200ms" if self.short else "1s")[0]
            self.single.append(("floor: write %d + fdatasync, one after the other, p50" % size, row["latency_us"]["p50"] / 1000, "ms"))

    def run(self):
        began = load.conditions()
        if "send" in self.options.parts:
            self.disk()
        nginx = load.start_nginx(self.folder)
        servers = []
        try:
            for loop in (["auto"] if self.short else ["io_uring", "epoll"]):
                servers.append(load.start_fanfare(self.options.fanfare, self.folder, loop=loop, threads=self.options.threads))
            wanted = self.options.parts
            if "send" in wanted:
                self.sends(nginx, servers)
            if "messages" in wanted:
                self.others(servers[0])
        finally:
            for server in [nginx, *servers]:
                server.stop()
        if "fifo" in wanted:
            self.fifo()
        if "idle" in wanted:
            self.idle()
        if "restart" in wanted:
            self.restart()
        if "backlog" in wanted:
            self.backlog()
        return began


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def collect(bench, began):
    """With --collect: the parts of several runs as one."""
    path = bench.options.collect
    if not path:
        return began
    kept = {"began": [], "lines": [], "single": []}
    if os.path.exists(path):
        with open(path) as earlier:
            kept = json.load(earlier)
    kept["began"].append("%s (%s)" % (began, ",".join(bench.options.parts)))
    kept["lines"] += bench.lines
    kept["single"] += bench.single
    with open(path, "w") as out:
        json.dump(kept, out)
    bench.lines, bench.single = kept["lines"], kept["single"]
    return "; ".join(kept["began"])


def render(bench, began):
    options = bench.options
    text = ("# The broker, and the floors of the day\n\nDate %s, %s. `fanfare serve --threads %d`, synchronous durability, policies on; load: `fanfare bench`, "
            "one thread on the same machine; %s s a measurement, median of %d interleaved rounds. CPU is the server's own.\n\n" %
            (began, load.first_line("nginx", "-v").replace("nginx version: ", ""), options.threads, options.seconds, options.rounds))
    text += "| load | server | CPU us/request | CPU us/message | of nginx's CPU | messages/s | p50 ms | p99 ms |\n|---|---|---|---|---|---|---|---|\n"
    for name, server, line in bench.lines:
        text += "| %s | %s | %s | %s | %s | %s | %s | %s |\n" % (name, server, *(load.number(line.get(key)) for key in
                                                                            ("cpu", "cpu_message", "ratio", "rate", "p50", "p99")))
    text += "\n| what | measured |\n|---|---|\n"
    for what, value, unit in bench.single:
        text += "| %s | %s %s |\n" % (what, load.number(value), unit)
    return text


def main():
    parts = ["send", "messages", "fifo", "idle", "restart", "backlog"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanfare", required=True)
    parser.add_argument("--tool", help="another version's program makes the load: to measure two versions by one tool")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="data-plane loops of the server")
    parser.add_argument("--parts", default=",".join(parts), help="some of " + ",".join(parts))
    parser.add_argument("--backlog", type=int, default=1_000_000, help="waiting messages of the backlog (10,000,000 take some 15 GB of disk)")
    parser.add_argument("--short", action="store_true", help="a run of seconds that only shows that everything works")
    parser.add_argument("--results", help="write the table to this .md file, and a chart beside it")
    parser.add_argument("--collect", help="keep what is measured in this file as well, and tell with it what earlier runs (of other parts) kept there")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if options.short:
        options.rounds, options.seconds = 1, 0.4
    folder = tempfile.mkdtemp(prefix="fanfare-bench-")
    os.chmod(folder, 0o755)
    try:
        bench = Bench(options, folder)
        began = bench.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    began = collect(bench, began)
    text = render(bench, began)
    print(text)
    if options.results:
        with open(options.results, "w") as out:
            out.write(text)
        bars = [("%s %s" % (server, name.replace(", 64 connections", "").replace(", durable", "")), line["cpu"]) for name, server, line in bench.lines
                if name.startswith("Send") and line["cpu"] and "1 connection" not in name]
        with open(os.path.splitext(options.results)[0] + ".svg", "w") as out:
            out.write(load.chart("CPU of the server", "microseconds a request", bars))
    print("%d passed, 0 failed" % (len(bench.lines) + len(bench.single)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

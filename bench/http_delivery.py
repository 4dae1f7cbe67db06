#!/usr/bin/env python3
"""1,000 HTTP subscriptions of one topic: how long after a publish do messages arrive, with all well and with 10 that hang?

usage: bench/http_delivery.py [--fanfare build/release/fanfare] [--rounds 20] [--results docs/evidence/http-deliveries.md]

Two brokers, alike but for the 10 endpoints that hang (they take a connection and never answer), take turns; who begins changes.
Each publishes once a round and is idle before the next. nginx receives with a constant answer, and its log says when a delivery
was there; it takes part of the same processors. A round's figure is over the 990 subscriptions that are well in both; the table
has medians over rounds.
"""
import argparse
import asyncio
import datetime
import glob
import json
import os
import random
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request

NGINX_CONF = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.err;
events {{ worker_connections 16384; }}
http {{
  log_format arrivals '$msec $http_x_amz_sns_message_id $request_uri';
  access_log {folder}/arrivals arrivals buffer=1m flush=100ms;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s; keepalive_requests 100000000; keepalive_timeout 600;
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200; }} }}
}}
"""


class Confirmations:
    """Takes confirmation messages on two ports until it is closed, and visits their links."""

    def __init__(self):
        self.urls, self.loop, ready = [], asyncio.new_event_loop(), threading.Event()

        async def begin():
            self.servers = [await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096) for _ in range(2)]
            self.ports = [server.sockets[0].getsockname()[1] for server in self.servers]
            ready.set()

        self.loop.create_task(begin())
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        ready.wait()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(next(line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")))
                self.urls.append(json.loads(await reader.readexactly(length))["SubscribeURL"])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
                writer.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def confirm(self, count):
        deadline = time.time() + 60
        while len(self.urls) < count and time.time() < deadline:
            time.sleep(0.02)
        for url in self.urls[:]:
            urllib.request.urlopen(url).read()

    def close(self):
        async def end():
            for server in self.servers:
                server.close()
                await server.wait_closed()
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join()


class Broker:
    def __init__(self, name, program, folder, threads):
        self.name, self.rounds = name, []
        data = os.path.join(folder, name.replace(" ", "-"))
        with open(data + ".log", "w") as log:
            self.process = subprocess.Popen([program, "serve", "--data", data, "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                                             "--threads", str(threads)], stdout=subprocess.PIPE, stderr=log)
        self.url = json.loads(self.process.stdout.readline())["aws"]
        self.topic = self.call("CreateTopic", Name="bench").split("<TopicArn>")[1].split("<")[0]

    def call(self, action, **parameters):
        data = urllib.parse.urlencode({"Action": action, "Version": "2010-03-31", **parameters}).encode()
        return urllib.request.urlopen(self.url, data).read().decode()

    def cpu_s(self):
        return sum(int(open(f).read().split()[0]) for f in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat")) / 1e9

    def publish(self):
        """(seconds since the epoch, message id)"""
        begin = time.time()
        return begin, self.call("Publish", TopicArn=self.topic, Message="m" * 300).split("<MessageId>")[1].split("<")[0]


def percentile(values, share):
    return values[min(int(len(values) * share), len(values) - 1)]


class Arrivals:
    def __init__(self, path):
        self.path, self.at = path, 0

    def wait(self, message, paths, seconds=30):
        """When each of `paths` got `message`; those that came late, or never, are missing."""
        times, deadline = {}, time.time() + seconds
        while len(times) < len(paths) and time.time() < deadline:
            with open(self.path) as log:
                log.seek(self.at)
                for line in log:
                    if not line.endswith("\n"):
                        break
                    self.at += len(line)
                    at, got, path = line.split()
                    if got == message and path in paths:
                        times[path] = float(at)
            time.sleep(0.02)
        return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--fanfare", default=os.path.join(here, "..", "build", "release", "fanfare"))
    parser.add_argument("--subscriptions", type=int, default=1000)
    parser.add_argument("--hanging", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", help="a Markdown file to write the table to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fanfare-deliveries.") as folder:
        brokers = [Broker("all well", options.fanfare, folder, options.threads), Broker("some hang", options.fanfare, folder, options.threads)]
        try:
            run(options, brokers, folder)
        finally:
            for broker in brokers:
                broker.process.kill()
                broker.process.wait()


def run(options, brokers, folder):
    well = {f"/{i}" for i in range(options.hanging, options.subscriptions)}
    confirmations = Confirmations()
    port, hung = confirmations.ports
    for broker in brokers:
        for i in range(options.subscriptions):
            at = hung if broker is brokers[1] and i < options.hanging else port
            broker.call("Subscribe", TopicArn=broker.topic, Protocol="http", Endpoint=f"http://127.0.0.1:{at}/{i}")
    confirmations.confirm(2 * options.subscriptions)
    confirmations.close()
    nobody_accepts = socket.create_server(("127.0.0.1", hung), backlog=4096)
    with open(os.path.join(folder, "nginx.conf"), "w") as file:
        file.write(NGINX_CONF.format(folder=folder, port=port))
    nginx = subprocess.Popen(["nginx", "-p", folder, "-c", file.name])
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        arrivals = Arrivals(os.path.join(folder, "arrivals"))
        lost = 0
        for number in range(-3, options.rounds):
            for broker in brokers if number % 2 else brokers[::-1]:
                time.sleep(0.1 + random.random() / 10)
                cpu = broker.cpu_s()
                begin, message = broker.publish()
                times = arrivals.wait(message, well)
                if number < 0:
                    continue  # warming up
                lost += len(well) - len(times)
                delays = sorted(1000 * (at - begin) for at in times.values())
                broker.rounds.append((statistics.median(delays), percentile(delays, 0.99), delays[-1], 1e6 * (broker.cpu_s() - cpu) / len(delays)))
        report(options, brokers, lost)
    finally:
        nginx.terminate()
        nginx.wait()
        nobody_accepts.close()


def report(options, brokers, lost):
    names = [broker.name.replace("some", str(options.hanging)) for broker in brokers]
    lines = [f"| {options.subscriptions} subscriptions | p50 ms | p99 ms | slowest ms | p99, middle half of the rounds | CPU us a delivery |", "|---|---|---|---|---|---|"]
    p99 = []
    for name, broker in zip(names, brokers):
        columns = [sorted(column) for column in zip(*broker.rounds)]
        middle = [statistics.median(column) for column in columns]
        p99.append(middle[1])
        n = len(columns[1])
        lines.append(f"| {name} | {middle[0]:.0f} | {middle[1]:.0f} | {middle[2]:.0f} | {columns[1][n // 4]:.0f} to {columns[1][n - 1 - n // 4]:.0f} | {middle[3]:.0f} |")
    pairs = statistics.median(hang[1] / fine[1] for fine, hang in zip(brokers[0].rounds, brokers[1].rounds))
    lines.append("")
    lines.append(f"p99 with {options.hanging} that hang, of p99 with all well: {p99[1] / p99[0]:.2f}; median of the rounds' ratios {pairs:.2f}. Missing deliveries: {lost}.")
    print("\n".join(lines))
    if not options.results:
        return
    version = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip().replace("nginx version: ", "")
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown processor")
    with open(options.results, "w") as file:
        file.write("# HTTP deliveries while some endpoints hang\n\n"
                   f"{datetime.date.today()}, {os.cpu_count()} cores ({model}), release build, {options.threads} request loop, {version}. Made by\n"
                   "`bench/http_delivery.py --results docs/evidence/http-deliveries.md`, which says at its top how it measures: two brokers take\n"
                   f"turns, {options.rounds} rounds, medians over rounds; nginx receives and shares the processors. A message has 300 bytes and an envelope\n"
                   "with its signature.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

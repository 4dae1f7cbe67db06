#!/usr/bin/env python3
"""1,000 HTTP subscriptions of one topic: how long after a publish do messages arrive, with all well and with 10 that hang?

    FANFARE_ENDPOINT=http://127.0.0.1:4566 bench/http_delivery.py

One line a case: p50, p99 and the slowest of the others, in milliseconds. Receiver and broker share the machine.
"""
import asyncio
import json
import os
import statistics
import threading
import time
import urllib.parse
import urllib.request

ENDPOINT = os.environ["FANFARE_ENDPOINT"]
SUBSCRIPTIONS, HANGING, ROUNDS = 1000, 10, 5
arrivals, confirmations, hang = {}, {}, set()
ready = threading.Event()
port = 0


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ", 2)[1]
            length = int(next(line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")))
            body = await reader.readexactly(length)
            arrivals.setdefault(path, []).append(time.perf_counter())
            if b"SubscriptionConfirmation" in body[:40]:
                confirmations[path] = json.loads(body)["SubscribeURL"]
            elif path in hang:
                await asyncio.sleep(60)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def run():
    global port
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    ready.set()
    await server.serve_forever()


def call(action, **parameters):
    data = urllib.parse.urlencode({"Action": action, "Version": "2010-03-31", **parameters}).encode()
    return urllib.request.urlopen(ENDPOINT, data).read().decode()


threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
ready.wait()
topic = call("CreateTopic", Name=f"bench-{time.time_ns()}").split("<TopicArn>")[1].split("<")[0]
for i in range(SUBSCRIPTIONS):
    call("Subscribe", TopicArn=topic, Protocol="http", Endpoint=f"http://127.0.0.1:{port}/{i}")
while len(confirmations) < SUBSCRIPTIONS:
    time.sleep(0.05)
for url in confirmations.values():
    urllib.request.urlopen(url).read()


def measure(name):
    latencies = []
    for _ in range(ROUNDS):
        arrivals.clear()
        begin = time.perf_counter()
        call("Publish", TopicArn=topic, Message="m")
        others = [f"/{i}" for i in range(HANGING, SUBSCRIPTIONS)]
        while not all(path in arrivals for path in others):
            time.sleep(0.005)
        latencies += [(arrivals[path][0] - begin) * 1000 for path in others]
    latencies.sort()
    print(f"{name:<12} p50 {statistics.median(latencies):7.1f} ms  p99 {latencies[int(len(latencies) * 0.99)]:7.1f} ms  max {latencies[-1]:7.1f} ms")


measure("warming up")
measure("all well")
hang.update(f"/{i}" for i in range(HANGING))
measure("10 hang")

#!/usr/bin/env python3
"""Measures the broker by wrk beside nginx's constant answer, and counts the CPU of the server process alone.

CPU is the time that the scheduler gave to the threads of the server (/proc/PID/task/*/schedstat, nanoseconds), divided by
the requests that wrk counted. Load generator and server share the machine, so requests per second say less than CPU per
request; the ratio to nginx under the same load in the same run says most. Medians over interleaved rounds.

Workloads that say «signed» have their signatures checked: the server knows the secret of the access key.
"""
import argparse
import datetime
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ACCOUNT, REGION = "000000000000", "us-east-1"


def sign(host, headers, body):
    """Adds X-Amz-Date and Authorization. [AWS Signature Version 4]"""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    headers = dict(headers, Host=host, **{"X-Amz-Date": now})
    names = sorted(headers, key=str.lower)
    signed = ";".join(name.lower() for name in names)
    canonical = "POST\n/\n\n" + "".join("%s:%s\n" % (name.lower(), headers[name]) for name in names) + "\n" + signed + "\n" + \
        hashlib.sha256(body).hexdigest()
    scope = "%s/%s/sqs/aws4_request" % (now[:8], REGION)
    text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (now, scope, hashlib.sha256(canonical.encode()).hexdigest())
    key = ("AWS4" + SECRET).encode()
    for part in (now[:8], REGION, "sqs", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (KEY, scope, signed, signature)
    return headers


def sqs_headers(action):
    return {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action, "x-amzn-query-mode": "true",
            "User-Agent": "fanfare-bench"}


class Server:
    """Any server process whose CPU is counted."""

    def __init__(self, name, host, process, pids):
        self.name, self.host, self.process, self.pids = name, host, process, pids

    def cpu_ns(self):
        total = 0
        for pid in self.pids():
            for task in os.listdir("/proc/%d/task" % pid):
                try:
                    with open("/proc/%d/task/%s/schedstat" % (pid, task)) as stat:
                        total += int(stat.read().split()[0])
                except FileNotFoundError:
                    pass
        return total

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def start_fanfare(program, folder, loop, threads):
    config = os.path.join(folder, "bench-%s.yaml" % loop)
    with open(config, "w") as out:
        out.write("auth:\n  access_keys:\n    %s: %s\n" % (KEY, SECRET))
    process = subprocess.Popen(
        [program, "serve", "--config", config, "--data", os.path.join(folder, "data-" + loop), "--loop", loop, "--threads", str(threads),
         "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=open(os.path.join(folder, loop + ".log"), "w"), text=True)
    line = process.stdout.readline()
    if not line:
        raise SystemExit("fanfare did not start with --loop %s; see its log" % loop)
    host = urllib.parse.urlsplit(json.loads(line)["aws"]).netloc
    return Server("fanfare " + loop, host, process, lambda: [process.pid])


def start_nginx(folder):
    answer = '{"MD5OfMessageBody":"%s","MessageId":"8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172"}' % ("0" * 32)
    port = free_port()
    config = os.path.join(folder, "nginx.conf")
    with open(config, "w") as out:
        out.write("daemon off; worker_processes 1; pid %s/nginx.pid; error_log %s/nginx.err;\n" % (folder, folder) +
                  "events { worker_connections 1024; }\n" +
                  "http { access_log off; keepalive_requests 100000000; client_body_temp_path %s; proxy_temp_path %s; "
                  "fastcgi_temp_path %s; uwsgi_temp_path %s; scgi_temp_path %s;\n" % ((folder + "/temp",) * 5) +
                  "server { listen 127.0.0.1:%d; location / { default_type application/x-amz-json-1.0; return 200 '%s'; } } }\n" % (port, answer))
    process = subprocess.Popen(["nginx", "-p", folder, "-c", config], stderr=subprocess.DEVNULL)
    wait_for_port(port)

    def workers():
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as children:
            return [int(pid) for pid in children.read().split()]
    return Server("nginx", "127.0.0.1:%d" % port, process, workers)


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for_port(port):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=1).connect()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("nginx does not listen")


def call(server, action, members):
    body = json.dumps(members).encode()
    connection = http.client.HTTPConnection(server.host, timeout=30)
    connection.request("POST", "/", body=body, headers=sign(server.host, sqs_headers(action), body))
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise SystemExit("%s: %d %s" % (action, answer.status, text[:300]))
    return json.loads(text) if text else {}


def wrk(folder, server, headers, body, connections, seconds):
    script = os.path.join(folder, "load.lua")
    with open(script, "w") as out:
        out.write('wrk.method = "POST"\nwrk.body = %s\n' % lua(body.decode()))
        for name, value in headers.items():
            out.write("wrk.headers[%s] = %s\n" % (lua(name), lua(value)))
    before = server.cpu_ns()
    text = subprocess.run(["wrk", "-t1", "-c%d" % connections, "-d%ds" % seconds, "--latency", "-s", script, "http://%s/" % server.host],
                          capture_output=True, text=True, check=True).stdout
    cpu = server.cpu_ns() - before
    requests = int(re.search(r"(\d+) requests in", text).group(1))
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    if errors:
        raise SystemExit("%s answered %s errors" % (server.name, errors.group(1)))
    latency = {p: in_ms(re.search(r"\s%s%%\s+([\d.]+)(us|ms|s)" % p, text)) for p in ("50", "99")}
    return {"cpu_us": cpu / 1000 / requests, "rate": requests / seconds, "p50_ms": latency["50"], "p99_ms": latency["99"]}


def lua(text):
    return '"' + "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else "\\%03d" % ord(c) for c in text) + '"'


def in_ms(match):
    return float(match.group(1)) * {"us": 0.001, "ms": 1, "s": 1000}[match.group(2)]


class Workload:
    def __init__(self, name, action, members, connections, messages=1, floor=False, signed=True):
        self.name, self.action, self.members, self.connections = name, action, members, connections
        self.messages, self.floor, self.signed = messages, floor, signed


def workloads():
    def queue_url(host, queue):
        return "http://%s/%s/%s" % (host, ACCOUNT, queue)
    body = "x" * 400
    send = lambda host, queue: {"QueueUrl": queue_url(host, queue), "MessageBody": body}
    batch = lambda host, queue: {"QueueUrl": queue_url(host, queue),
                                 "Entries": [{"Id": str(i), "MessageBody": body} for i in range(10)]}
    return [
        Workload("SendMessage 400 B, 64 connections, durable", "SendMessage", send, 64, floor=True, signed=False),
        Workload("SendMessage 400 B, 64 connections, durable, signed", "SendMessage", send, 64, floor=True),
        Workload("SendMessage 400 B, 1 connection, durable, signed", "SendMessage", send, 1, floor=True),
        Workload("SendMessageBatch of 10, 64 connections, durable, signed", "SendMessageBatch", batch, 64, messages=10),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanfare", required=True)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="data-plane loops of the server")
    parser.add_argument("--results", help="write the table to this file as well")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="fanfare-bench-")
    os.chmod(folder, 0o755)
    servers, rows = [], []
    try:
        servers.append(start_nginx(folder))
        for loop in ("epoll", "io_uring"):
            servers.append(start_fanfare(os.path.abspath(options.fanfare), folder, loop, options.threads))
        for number, workload in enumerate(workloads()):
            results = {server.name: [] for server in servers}
            for round_number in range(options.rounds):
                for server in servers:
                    is_floor = server.name == "nginx"
                    if is_floor and not workload.floor:
                        continue
                    queue = "bench-%d-%d" % (number, round_number)
                    if not is_floor:
                        call(server, "CreateQueue", {"QueueName": queue})
                    body = json.dumps(workload.members(server.host, queue)).encode()
                    headers = sqs_headers(workload.action)
                    if workload.signed:
                        headers = sign(server.host, headers, body)
                    results[server.name].append(wrk(folder, server, headers, body, workload.connections, options.seconds))
                    if not is_floor:
                        call(server, "DeleteQueue", {"QueueUrl": "http://%s/%s/%s" % (server.host, ACCOUNT, queue)})
            for server in servers:
                if results[server.name]:
                    middle = {key: statistics.median(one[key] for one in results[server.name]) for key in results[server.name][0]}
                    floor = statistics.median(one["cpu_us"] for one in results["nginx"]) if workload.floor else None
                    rows.append((workload, server.name, middle, floor))
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder)
    table = render(rows)
    print(table)
    if options.results:
        with open(options.results, "w") as out:
            out.write(conditions(options) + table)
    print("%d passed, 0 failed" % len(rows))
    return 0


def render(rows):
    text = "| workload | server | CPU us/request | CPU us/message | of nginx's CPU | requests/s | p50 ms | p99 ms |\n|---|---|---|---|---|---|---|---|\n"
    for workload, server, middle, floor in rows:
        ratio = "%.2f" % (middle["cpu_us"] / floor) if floor else ""
        text += "| %s | %s | %.1f | %.2f | %s | %.0f | %.2f | %.2f |\n" % (
            workload.name, server, middle["cpu_us"], middle["cpu_us"] / workload.messages, ratio, middle["rate"], middle["p50_ms"], middle["p99_ms"])
    return text


def conditions(options):
    def output(*command):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
            return (done.stdout + done.stderr).strip().split("\n")[0]
        except FileNotFoundError:
            return "?"
    with open("/proc/cpuinfo") as cpus:
        models = [line.split(":")[1].strip() for line in cpus if line.startswith("model name")]
    return ("# Broker benchmarks\n\nDate %s, commit %s, %d x %s, Linux %s, %s, %s.\n\n"
            "Server with --threads %d, sync durability, signatures of signed workloads checked; load: one wrk thread on the same machine, %d s a measurement, "
            "median of %d interleaved rounds. CPU is the server's own.\n\n" %
            (time.strftime("%Y-%m-%d %H:%M"), output("git", "rev-parse", "--short", "HEAD"), len(models), models[0], os.uname().release,
             output("nginx", "-v").replace("nginx version: ", ""), output("wrk", "-v").split(" [")[0], options.threads, options.seconds, options.rounds))


if __name__ == "__main__":
    sys.exit(main())

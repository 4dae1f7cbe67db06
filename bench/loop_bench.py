#!/usr/bin/env python3
"""Measures the data-plane loop beside nginx, interleaved, in one run; medians.

usage: bench/loop_bench.py BUILD_DIR [--runs 5] [--seconds 3] [--connections 64]

CPU time is the server's, from /proc/PID/task/*/schedstat; wrk runs on the same cores. Prints a table."""
import argparse, glob, os, re, statistics, subprocess, tempfile, time

NGINX_CONF = """
worker_processes 1; daemon off; pid {dir}/pid; error_log /dev/null crit;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f;
  uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s; keepalive_requests 100000000;
  server {{ listen 127.0.0.1:{port} reuseport; location / {{ return 200 "{body}"; }} }} }}
"""

def cpu_us(pids):
    return sum(int(open(f).read().split()[0]) for pid in pids for f in glob.glob(f"/proc/{pid}/task/*/schedstat")) / 1000

def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

def start_loop(binary, kind):
    process = subprocess.Popen([binary, "serve", kind], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline()), [process.pid]

def start_nginx(directory):
    port = free_port()
    conf = os.path.join(directory, "nginx.conf")
    with open(conf, "w") as f:
        f.write(NGINX_CONF.format(dir=directory, port=port, body="x" * 300))
    process = subprocess.Popen(["nginx", "-p", directory, "-c", conf])
    workers = []
    while not workers:
        time.sleep(0.05)
        workers = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
    return process, port, workers

def measure(pids, port, connections, seconds, script):
    before = cpu_us(pids)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"http://127.0.0.1:{port}/"] + (["-s", script] if script else [])
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    return (cpu_us(pids) - before) / requests, requests / seconds

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, nargs="*", default=[64, 1])
    options = parser.parse_args()
    binary = os.path.join(options.build, "bench", "bench_loop")
    with tempfile.TemporaryDirectory() as directory:
        pipeline = os.path.join(directory, "pipeline.lua")
        with open(pipeline, "w") as f:
            f.write('init = function(args) local r = {} for i = 1, 8 do r[i] = wrk.format("GET", "/") end req = table.concat(r) end\n'
                    "request = function() return req end\n")
        servers = {"io_uring": start_loop(binary, "io_uring"), "epoll": start_loop(binary, "epoll"), "nginx": start_nginx(directory)}
        try:
            cases = [(f"{c} connections", c, None) for c in options.connections] + [("64 connections, 8 pipelined", 64, pipeline)]
            for name, connections, script in cases:
                figures = {server: [] for server in servers}
                for _ in range(options.runs):
                    for server, (_, port, pids) in servers.items():
                        figures[server].append(measure(pids, port, connections, options.seconds, script))
                print(name)
                for server, runs in figures.items():
                    print(f"  {server:9} {statistics.median(r[0] for r in runs):6.2f} CPU-us/request  "
                          f"{statistics.median(r[1] for r in runs):9.0f} requests/s   "
                          f"({min(r[0] for r in runs):.2f} to {max(r[0] for r in runs):.2f})")
        finally:
            for process, _, _ in servers.values():
                process.terminate()
                process.wait()
    for messages in (1, 8):
        print(f"fan-out to 9000 sockets, {messages} a tick")
        for kind in ("io_uring", "epoll"):
            lines = []
            for _ in range(max(1, options.runs // 2)):
                server = subprocess.Popen([binary, "fanout", kind, "9000", str(messages)], stdout=subprocess.PIPE, text=True)
                port = server.stdout.readline().strip()
                client = subprocess.Popen([binary, "listen", "9000", port])
                lines.append(server.stdout.readline().strip())
                server.wait()
                client.wait()
            print(f"  {kind:9} " + "; ".join(lines))

if __name__ == "__main__":
    main()

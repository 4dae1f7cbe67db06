"""Servers to be measured, and `fanfare bench` as the tool that measures them; for bench.py and peers.py."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise RuntimeError("%s: not within %d s" % (what, seconds))


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Server:
    """A server process with its endpoint."""

    def __init__(self, name, endpoint, process, flags=()):
        self.name, self.endpoint, self.process, self.flags = name, endpoint, process, list(flags)

    def stop(self):
        """SIGTERM, then SIGKILL, for the process and what it started (it has a session of its own)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def start(command, log, environment=None, folder=None, stdout=None):
    return subprocess.Popen(command, stdout=stdout or open(log, "w"), stderr=open(log, "a"), stdin=subprocess.DEVNULL,
                            env=environment, cwd=folder, text=True, start_new_session=True)


def start_fanfare(program, folder, loop="auto", threads=1, name=None, data=None, arguments=()):
    name = name or "fanfare " + loop
    label = re.sub(r"\W+", "-", name)
    config = os.path.join(folder, label + ".yaml")
    with open(config, "w") as out:
        out.write("auth:\n  access_keys:\n    %s: %s\n" % (KEY, SECRET))
    flags = ["serve", "--loop", loop, "--threads", str(threads), *arguments]
    process = start([program, *flags, "--config", config, "--data", data or os.path.join(folder, "data-" + label), "--listen", "127.0.0.1:0",
                     "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0"], os.path.join(folder, label + ".log"), stdout=subprocess.PIPE)
    line = process.stdout.readline()
    if not line:
        raise SystemExit("fanfare did not start (%s):\n%s" % (" ".join(flags), open(os.path.join(folder, label + ".log")).read()))
    return Server(name, json.loads(line)["aws"], process, ["--access-key", KEY])


def start_nginx(folder):
    """One worker that answers every request with the constant text of a SendMessage."""
    answer = '{"MD5OfMessageBody":"%s","MessageId":"8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172"}' % ("0" * 32)
    port = free_port()
    config = os.path.join(folder, "nginx.conf")
    with open(config, "w") as out:
        out.write("daemon off; worker_processes 1; pid %s/nginx.pid; error_log %s/nginx.err;\n" % (folder, folder) +
                  "events { worker_connections 1024; }\n" +
                  "http { access_log off; keepalive_requests 100000000; client_body_temp_path %s; proxy_temp_path %s; "
                  "fastcgi_temp_path %s; uwsgi_temp_path %s; scgi_temp_path %s;\n" % ((folder + "/temp",) * 5) +
                  "server { listen 127.0.0.1:%d; location / { default_type application/x-amz-json-1.0; return 200 '%s'; } } }\n" % (port, answer))
    process = start(["nginx", "-p", folder, "-c", config], os.path.join(folder, "nginx.log"))
    wait_for(lambda: listens(port), 10, "nginx listens")
    return Server("nginx", "http://127.0.0.1:%d" % port, process, ["--queue-url", "http://nginx/000000000000/any"])


class Tool:
    """`fanfare bench`. Its rows are dictionaries, as --json prints them."""

    def __init__(self, program):
        self.program = os.path.abspath(program)

    def run(self, workload, *flags, server=None, may_fail=False, seconds=600):
        command = [self.program, "bench", workload, "--json", "--quiet", *map(str, flags)]
        if server:
            command += ["--endpoint", server.endpoint, "--pid", str(server.process.pid), *server.flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=dict(os.environ, AWS_SECRET_ACCESS_KEY=SECRET))
        if done.returncode == 2 or not done.stdout:
            raise RuntimeError("%s: %s" % (" ".join(command[1:]), done.stderr.strip()[-500:]))
        rows = json.loads(done.stdout)["rows"]
        errors = sum(row["errors"] for row in rows)
        if errors and not may_fail:
            raise RuntimeError("%s: %d errors" % (" ".join(command[1:]), errors))
        return rows


def resident_mib(pid):
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        return (done.stdout + done.stderr).strip().split("\n")[0]
    except FileNotFoundError:
        return "?"


def conditions():
    with open("/proc/cpuinfo") as cpus:
        models = [line.split(":")[1].strip() for line in cpus if line.startswith("model name")]
    with open("/proc/meminfo") as memory:
        mib = int(memory.readline().split()[1]) // 1024
    return "%s, commit %s, %d x %s, %d MiB, Linux %s, load %.1f when it began" % (
        time.strftime("%Y-%m-%d %H:%M"), first_line("git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short", "HEAD"),
        len(models), models[0], mib, os.uname().release, os.getloadavg()[0])


def chart(title, unit, bars):
    """Horizontal bars as an SVG text: [(label, value)], on one scale from 0."""
    width, left, line, top = 900, 330, 26, 46
    most = max([value for _, value in bars] or [1]) or 1
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">' %
           (width, top + line * len(bars) + 12),
           '<rect width="100%" height="100%" fill="white"/>', '<text x="12" y="24" font-size="15">%s (%s)</text>' % (escape(title), escape(unit))]
    for i, (label, value) in enumerate(bars):
        y = top + i * line
        size = (width - left - 110) * value / most
        colour = "#2a6fb0" if label.startswith("fanfare") else "#9aa5b1"
        out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 8, y + 14, escape(label)))
        out.append('<rect x="%d" y="%d" width="%.1f" height="18" fill="%s"/>' % (left, y, max(size, 1), colour))
        out.append('<text x="%.1f" y="%d">%s</text>' % (left + size + 6, y + 14, number(value)))
    return "\n".join(out + ["</svg>", ""])


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def number(value):
    if value is None:
        return ""
    if value >= 1000:
        return "{:,.0f}".format(value)
    return "%.1f" % value if value >= 10 else "%.2f" % value

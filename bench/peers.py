#!/usr/bin/env python3
"""The broker beside other SQS servers: the same loads by the same tool (`fanfare bench`), interleaved in one run.

    bench/peers.py --fanfare build/release/fanfare            installs the peers into build/peers, measures, prints a table
    bench/peers.py --install-only
    bench/peers.py --results bench/results/NAME.md ...        writes the table, and a chart beside it, there

The peers come from their registries (Maven Central, PyPI, npm, the Go module proxy) by the clients of those, at the
versions below, into build/peers and nowhere else. What cannot be installed or does not start is named with the reason.
Peers keep messages in memory; Fanfare is measured durable (one write and fdatasync a turn) and in memory. No part of ./test.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import load

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.path.join(ROOT, "build", "peers")
ELASTICMQ, LOCALSTACK, MOTO, GOAWS, FAUXQS, NODE = "1.7.1", "4.14.0", "5.2.5", "v0.4.5", "2.4.1", "22"


def run(*command, folder=None, environment=None):
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, **(environment or {})), capture_output=True, text=True, timeout=2400)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (command[0], (done.stderr.strip() or done.stdout.strip()).split("\n")[-1][-300:]))
    return done.stdout


class Peer:
    """One server: how it is installed below build/peers/NAME, how it is started on a port."""
    name = version = flags = ""
    load_flags = ()

    @property
    def folder(self):
        return os.path.join(PEERS, self.name.lower())

    def installed(self):
        return os.path.exists(os.path.join(self.folder, "installed-" + self.version))

    def install(self):
        if self.installed():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.fetch()
        open(os.path.join(self.folder, "installed-" + self.version), "w").close()

    def start(self, scratch):
        port = load.free_port()
        process = load.start(self.command(port, scratch), os.path.join(scratch, self.name + ".log"),
                             environment=dict(os.environ, **self.environment(port)), folder=scratch)
        server = load.Server("%s %s" % (self.name, self.version), "http://127.0.0.1:%d" % port, process, ["--region", "us-east-1", *self.load_flags])
        try:
            load.wait_for(lambda: process.poll() is not None or self.answers(port), 120, self.name + " answers")
            if process.poll() is not None:
                raise RuntimeError("it ended at once: " + open(os.path.join(scratch, self.name + ".log")).read().strip()[-300:])
        except RuntimeError:
            server.stop()
            raise
        return server

    def environment(self, port):
        return {}

    def answers(self, port):
        return load.listens(port)


class ElasticMq(Peer):
    name, version, flags = "ElasticMQ", ELASTICMQ, "Debian's OpenJDK 17, -Xmx2g"

    def fetch(self):
        if not shutil.which("java"):
            raise RuntimeError("there is no Java (apt-get install openjdk-17-jre-headless)")
        if not shutil.which("mvn"):
            raise RuntimeError("there is no Maven (apt-get install maven)")
        with open(os.path.join(self.folder, "pom.xml"), "w") as pom:
            pom.write("<project><modelVersion>4.0.0</modelVersion><groupId>bench</groupId><artifactId>peer</artifactId><version>1</version>"
                      "<dependencies><dependency><groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId>"
                      "<version>%s</version></dependency></dependencies></project>" % self.version)
        run("mvn", "-q", "-B", "-Dmaven.repo.local=" + os.path.join(self.folder, "repository"), "dependency:copy-dependencies",
            "-DoutputDirectory=" + os.path.join(self.folder, "jars"), "-DincludeScope=runtime", folder=self.folder)

    def command(self, port, scratch):
        config = os.path.join(scratch, "elasticmq.conf")
        with open(config, "w") as out:
            out.write('include classpath("application.conf")\nnode-address { protocol = http, host = localhost, port = %d, context-path = "" }\n'
                      'rest-sqs { enabled = true, bind-port = %d, bind-hostname = "127.0.0.1", sqs-limits = strict }\n'
                      'rest-stats { enabled = false }\n' % (port, port))
        return ["java", "-Xmx2g", "-Dconfig.file=" + config, "-cp", os.path.join(self.folder, "jars", "*"), "org.elasticmq.server.Main"]


class Moto(Peer):
    name, version, flags = "moto", MOTO, "moto_server, threads"

    def fetch(self):
        run("python3", "-m", "venv", self.folder)
        run(os.path.join(self.folder, "bin", "pip"), "install", "-q", "moto[server]==" + self.version)

    def command(self, port, scratch):
        return [os.path.join(self.folder, "bin", "moto_server"), "-H", "127.0.0.1", "-p", str(port)]


class LocalStack(Peer):
    name, version, flags = "LocalStack", LOCALSTACK, "the last open release; Python 3.13, SERVICES=sqs,sns, no container"

    def fetch(self):
        python = next((found for found in map(shutil.which, ("python3.13", "python3.14")) if found), None)
        if not python:
            raise RuntimeError("it needs Python 3.13, which is not on the PATH")
        run(python, "-m", "venv", self.folder)
        # Newer ones lack what it imports: cbor2._decoder, and OpenSSL's X509.add_extensions.
        # A second step, because pip searches for ever when it is to find versions that agree with all others.
        pip = os.path.join(self.folder, "bin", "pip")
        run(pip, "install", "-q", "localstack-core[runtime]==" + self.version)
        run(pip, "install", "-q", "cbor2<5.8", "pyopenssl<24.3", "service_identity<24.3", "cryptography<44")

    def environment(self, port):
        return {"SERVICES": "sqs,sns", "GATEWAY_LISTEN": "127.0.0.1:%d" % port, "DISABLE_EVENTS": "1", "SKIP_SSL_CERT_DOWNLOAD": "1",
                "EAGER_SERVICE_LOADING": "1", "LOCALSTACK_HOST": "127.0.0.1:%d" % port, "DNS_ADDRESS": "0",
                "LOCALSTACK_VOLUME_DIR": os.path.join(self.folder, "volume"), "FILESYSTEM_ROOT": os.path.join(self.folder, "root")}

    def command(self, port, scratch):
        return [os.path.join(self.folder, "bin", "python"), "-m", "localstack.runtime.main"]

    def answers(self, port):
        try:
            return urllib.request.urlopen("http://127.0.0.1:%d/_localstack/health" % port, timeout=2).status == 200
        except OSError:
            return False


class GoAws(Peer):
    name, version, flags = "GoAWS", GOAWS, "go install; Query protocol, because its JSON CreateQueue answered 400 to the same request"
    load_flags = ("--protocol", "query")

    def fetch(self):
        if not shutil.which("go"):
            raise RuntimeError("there is no Go")
        run("go", "install", "github.com/Admiral-Piett/goaws/app/cmd@" + self.version, environment={
            "GOBIN": self.folder, "GOFLAGS": "-modcacherw", "GOMODCACHE": os.path.join(self.folder, "mod"), "GOCACHE": os.path.join(self.folder, "cache")})

    def command(self, port, scratch):
        config = os.path.join(scratch, "goaws.yaml")
        with open(config, "w") as out:
            out.write("Local:\n  Host: localhost\n  Port: %d\n  Region: us-east-1\n  AccountId: \"100010001000\"\n  LogToFile: false\n"
                      "  EnableDuplicates: false\n  QueueAttributeDefaults:\n    VisibilityTimeout: 30\n    ReceiveMessageWaitTimeSeconds: 0\n"
                      "    MaximumMessageSize: 262144\n" % port)
        return [os.path.join(self.folder, "cmd"), "-config", config]


class Fauxqs(Peer):
    name, version, flags = "fauxqs", FAUXQS, "Node.js %s from npm's package node, in memory" % NODE

    def fetch(self):
        if not shutil.which("npm"):
            raise RuntimeError("there is no npm")
        with open(os.path.join(self.folder, "package.json"), "w") as out:
            out.write("{}\n")
        run("npm", "install", "--silent", "fauxqs@" + self.version, "node@" + NODE, folder=self.folder)

    def environment(self, port):
        return {"FAUXQS_PORT": str(port), "FAUXQS_HOST": "127.0.0.1", "FAUXQS_LOGGER": "false"}

    def command(self, port, scratch):
        return [os.path.join(self.folder, "node_modules", ".bin", "node"), os.path.join(self.folder, "node_modules", "fauxqs", "dist", "cli.js")]


ALL = [ElasticMq(), LocalStack(), Moto(), GoAws(), Fauxqs()]


def loads(connections, options):
    """(what, step that is told, workload, flags). Counts are small enough for the slowest."""
    common = ["--connections", connections, "--duration", "%ds" % options.seconds, "--warm-up", "1s"]
    few = 500 if connections == 1 else 2000
    return [("send", "SendMessage", "send", common),
            ("send-batch", "SendMessageBatch", "send-batch", common),
            ("receive", "ReceiveMessage", "receive-delete", [*common, "--messages", few]),
            ("delete", "DeleteMessageBatch", "receive-delete", None),  # of the same run
            ("round trip", "cycle", "round-trip", [*common, "--batch", 1])]


def measure(tool, server, options, results, problems, hung):
    """All loads of one server, in one round. A load that came to no end goes into `hung` and is not tried again."""
    for connections in (1, 64):
        rows = []
        for what, step, workload, flags in loads(connections, options):
            try:
                if (server.name, workload, connections) in hung:
                    continue
                if flags is not None:
                    print("    %s, %d connections" % (workload, connections), file=sys.stderr, flush=True)
                    rows = []
                    rows = tool.run(workload, *flags, server=server, may_fail=True, seconds=60)
                for row in rows:
                    if row["step"] == step:
                        results.setdefault((what, connections, server.name), []).append(row)
                        if row["errors"]:
                            problems.add("%s: %s, %d connections: %d errors beside %d answers" % (server.name, what, connections, row["errors"], row["requests"]))
            except subprocess.TimeoutExpired as error:
                hung.add((server.name, workload, connections))
                problems.add("%s: %s, %d connections: no end after %d s" % (server.name, what, connections, error.timeout))
            except RuntimeError as error:
                problems.add("%s: %s, %d connections: %s" % (server.name, what, connections, str(error).split("\n")[0][-200:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fanfare", default=os.path.join(ROOT, "build", "release", "fanfare"))
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--install-only", action="store_true")
    parser.add_argument("--results", help="write the table to this .md file, and a chart beside it")
    options = parser.parse_args()
    wanted = [peer for peer in ALL if not options.only or peer.name.lower() in options.only.lower().split(",")]
    missing, servers = [], []
    for peer in wanted:
        print("installing %s %s" % (peer.name, peer.version), file=sys.stderr, flush=True)
        try:
            peer.install()
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            missing.append("%s %s could not be installed: %s" % (peer.name, peer.version, error))
    if options.install_only:
        print("\n".join(missing))
        return 0
    began = load.conditions()
    tool = load.Tool(options.fanfare)
    scratch = tempfile.mkdtemp(prefix="fanfare-peers-")
    results, problems, hung = {}, set(), set()
    names = []
    try:
        for number in range(options.rounds):
            # One server at a time, so that an idle neighbour's housekeeping is not measured; the rounds interleave them.
            starts = [("fanfare durable", lambda: load.start_fanfare(tool.program, scratch, name="fanfare durable"))]
            starts += [(peer.name, lambda peer=peer: peer.start(scratch)) for peer in wanted if peer.installed()]
            starts.append(("fanfare in memory", lambda: load.start_fanfare(tool.program, scratch, name="fanfare in memory", arguments=["--memory"])))
            for name, begin in starts:
                print("round %d: %s" % (number + 1, name), file=sys.stderr, flush=True)
                try:
                    server = begin()
                except (RuntimeError, OSError) as error:
                    problems.add("%s did not start: %s" % (name, str(error)[-300:]))
                    continue
                servers.append(server)
                if server.name not in names:
                    names.append(server.name)
                try:
                    measure(tool, server, options, results, problems, hung)
                finally:
                    server.stop()
                    servers.remove(server)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    text = render(results, names, missing, problems, options, began)
    print(text)
    if options.results:
        with open(options.results, "w") as out:
            out.write(text)
        bars = [(name, middle(results, ("send", 64, name), "rate")) for name in names]
        with open(os.path.splitext(options.results)[0] + ".svg", "w") as out:
            out.write(load.chart("SendMessage, 64 connections", "requests a second", [bar for bar in bars if bar[1] is not None]))
    return 0


def middle(results, key, what):
    rows = results.get(key)
    if not rows:
        return None
    values = {"rate": [row["messages"] / row["seconds"] for row in rows], "p50": [row["latency_us"]["p50"] / 1000 for row in rows],
              "p99": [row["latency_us"]["p99"] / 1000 for row in rows], "cpu": [row.get("cpu_us_a_message", 0) for row in rows]}[what]
    return statistics.median(values)


def render(results, names, missing, problems, options, began):
    text = ("# Beside other SQS servers\n\nDate %s. Load: `fanfare bench`, one thread, on the same machine, signed requests, JSON protocol, 400-byte bodies; "
            "%d s a measurement, median of %d rounds, one server at a time in turn. CPU is the server's own, all its threads. "
            "The peers keep messages in memory; «fanfare durable» has each message on disk before it answers, and checks signatures.\n\n"
            % (began, options.seconds, options.rounds))
    for peer in ALL:
        text += "- %s %s: %s\n" % (peer.name, peer.version, peer.flags)
    for connections in (1, 64):
        for what in ("send", "send-batch", "receive", "delete", "round trip"):
            text += "\n## %s, %d connection%s\n\n| server | messages/s | p50 ms | p99 ms | CPU us/message |\n|---|---|---|---|---|\n" % (
                what, connections, "" if connections == 1 else "s")
            for name in names:
                key = (what, connections, name)
                if key in results:
                    text += "| %s | %s | %s | %s | %s |\n" % (name, *(load.number(middle(results, key, one)) for one in ("rate", "p50", "p99", "cpu")))
    if missing or problems:
        text += "\n## What could not be measured\n\n" + "".join("- %s\n" % line for line in missing + sorted(problems))
    return text


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs fuzz targets, each for a time of the processor's (not the clock's), and writes the result with date, commit and machine.

    tools/fuzz_evidence.py --build build/fuzz --seconds 300 --out docs/evidence/fuzz-codecs.md http json aws_json aws_query

A target is asked to end (SIGUSR1, libFuzzer's graceful end) once it has used its seconds, so that other work on the machine
makes a run longer and never thinner. --at-once targets run side by side. libFuzzer times an input by the clock, which a
stopped machine makes long: an input that it calls slow is run again alone, and is a finding if it takes UNIT_SECONDS of the
processor.
"""
import argparse
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

UNIT_SECONDS = 10
PERIOD = 2.0  # seconds between looks at a target's processor time


def processor_seconds(pid):
    """User and system time of a process that still runs or is not waited for yet."""
    with open("/proc/%d/stat" % pid) as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fuzz(root, build, target, seconds):
    """Runs one target until it has used `seconds` or ends by itself: (target, folder of findings, inputs run, seconds used, exit code)."""
    found = tempfile.mkdtemp(prefix="fuzz-%s-" % target)
    command = [os.path.join(build, "fuzz", "fuzz_" + target), found, os.path.join(root, "fuzz", "corpus", target), "-timeout=300",
               "-report_slow_units=%d" % UNIT_SECONDS, "-print_final_stats=1", "-artifact_prefix=%s/" % found]
    with tempfile.TemporaryFile(mode="w+", errors="replace") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        asked = False
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if not asked and processor_seconds(process.pid) >= seconds:
                process.send_signal(signal.SIGUSR1)
                asked = True
            time.sleep(PERIOD)
        log.seek(0)
        runs = re.search(r"stat::number_of_executed_units:\s+(\d+)", log.read())
    return target, found, runs.group(1) if runs else "?", usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)


def is_slow(build, target, path):
    """Whether one input needs UNIT_SECONDS of processor time."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (UNIT_SECONDS, UNIT_SECONDS))
    return subprocess.run([os.path.join(build, "fuzz", "fuzz_" + target), path], preexec_fn=limit, capture_output=True).returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--out", required=True)
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), help="targets run side by side; default: one a processor")
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.at_once) as pool:
        results = list(pool.map(lambda target: fuzz(root, options.build, target, options.seconds), options.targets))
    minutes = (time.monotonic() - started) / 60
    rows, failed = [], 0
    for target, found, runs, used, code in results:
        names = os.listdir(found)
        findings = [name for name in names if name.startswith(("crash-", "leak-", "timeout-", "oom-"))]
        findings += [name for name in names if name.startswith("slow-unit-") and is_slow(options.build, target, os.path.join(found, name))]
        failed += bool(findings or code or used < options.seconds)
        rows.append("| %s | %s | %.0f | %d | %s |" % (target, runs, used, len(findings), code))
        if findings:
            print("FAILED %s: %s in %s" % (target, findings, found))
    with open("/proc/cpuinfo") as cpus:
        models = [line.split(":")[1].strip() for line in cpus if line.startswith("model name")]
    with open(options.out, "w") as out:
        out.write("# Fuzzing, %d seconds of processor time a target\n\nDate %s, commit %s, %d x %s, Linux %s; libFuzzer with address and undefined "
                  "sanitizers, %d targets side by side, %.0f minutes by the clock.\n\n"
                  "| target | inputs run | processor time, s | findings | exit code |\n|---|---|---|---|---|\n%s\n" %
                  (options.seconds, time.strftime("%Y-%m-%d"), commit, len(models), models[0], os.uname().release, options.at_once, minutes,
                   "\n".join(rows)))
    print("%d passed, %d failed" % (len(rows) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs fuzz targets side by side for a time and writes the result with date, commit and machine.

    tools/fuzz_evidence.py --build build/fuzz --seconds 300 --out docs/evidence/fuzz-codecs.md http json aws_json aws_query
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--out", required=True)
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    running = []
    for target in options.targets:
        corpus = os.path.join(root, "fuzz", "corpus", target)
        found = tempfile.mkdtemp(prefix="fuzz-%s-" % target)
        command = [os.path.join(options.build, "fuzz", "fuzz_" + target), found, corpus, "-max_total_time=%d" % options.seconds, "-timeout=10",
                   "-print_final_stats=1", "-artifact_prefix=%s/" % found]
        log = tempfile.TemporaryFile(mode="w+", errors="replace")
        running.append((target, found, log, subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)))
    rows, failed = [], 0
    for target, found, log, process in running:
        _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        log.seek(0)
        output = log.read()
        runs = re.search(r"stat::number_of_executed_units:\s+(\d+)", output)
        findings = [name for name in os.listdir(found) if name.startswith(("crash-", "leak-", "timeout-", "oom-"))]
        failed += bool(findings or code)
        rows.append("| %s | %s | %.0f | %d | %s |" % (target, runs.group(1) if runs else "?", usage.ru_utime + usage.ru_stime,
                                                      len(findings), code))
        if findings:
            print("FAILED %s: %s in %s" % (target, findings, found))
    with open("/proc/cpuinfo") as cpus:
        models = [line.split(":")[1].strip() for line in cpus if line.startswith("model name")]
    with open(options.out, "w") as out:
        out.write("# Fuzzing, %d seconds a target\n\nDate %s, commit %s, %d x %s, Linux %s; libFuzzer with address and undefined sanitizers, all targets side by side.\n\n"
                  "| target | inputs run | processor time, s | findings | exit code |\n|---|---|---|---|---|\n%s\n" %
                  (options.seconds, time.strftime("%Y-%m-%d"), commit, len(models), models[0], os.uname().release, "\n".join(rows)))
    print("%d passed, %d failed" % (len(rows) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

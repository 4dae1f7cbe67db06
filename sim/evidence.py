#!/usr/bin/env python3
"""Runs many seeds of the simulator, then each canary, and writes the result with date, commit, machine and command.

    sim/evidence.py --build build/ci --seeds 100000 --out docs/evidence/simulation.md
"""
import argparse
import os
import re
import subprocess
import sys
import time

CANARIES = ["no-sync", "early-reply"]  # those of sim/run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--seeds", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--once", action="store_true", help="each seed once: no comparison of traces, half the time")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    command = [os.path.join(options.build, "sim", "fanfare_sim"), "--seeds", str(options.seeds), "--from", str(options.first), *(["--once"] if options.once else [])]
    begun = time.monotonic()
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    seconds = time.monotonic() - begun
    summary = re.findall(r"^\d+ seeds in .*$", run.stdout, re.MULTILINE)
    failed = [line for line in run.stdout.splitlines() if re.match(r"seed \d+ FAILED ", line)]
    checks = [re.split(r"\s+", line.strip()) for line in run.stdout.splitlines() if re.match(r"  (always|never) ", line)]
    canaries = []
    for canary in CANARIES:
        found = subprocess.run([command[0], "--canary", canary, "--once", "--seeds", "200"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", check=False)
        lines = [line for line in found.stdout.splitlines() if line.startswith(("canary found", "CANARY NOT FOUND"))]
        canaries.append((canary, found.returncode, lines[0][:160] if lines else found.stdout[-160:]))
    states = [re.split(r"\s+", line.strip()) for line in run.stdout.splitlines() if line.startswith("  sometimes ")]
    with open("/proc/cpuinfo") as cpus:
        models = [line.split(":")[1].strip() for line in cpus if line.startswith("model name")]
    dirty = subprocess.run(["git", "-C", root, "status", "--porcelain", "src", "sim"], capture_output=True, text=True, check=True).stdout
    if dirty:
        commit += " with changes"
    with open(options.out, "w") as out:
        out.write("# The simulator over many seeds\n\nDate %s, commit %s, %d x %s, Linux %s. Command: `sim/fanfare_sim %s`, each seed %s; "
                  "it took %.0f s, exit code %d.\n\n" %
                  (time.strftime("%Y-%m-%d"), commit, len(models), models[0], os.uname().release, " ".join(command[1:]),
                   "once" if options.once else "twice with equal traces", seconds, run.returncode))
        out.write("%s\n\n" % (summary[-1] if summary else "It did not come to its summary."))
        if failed:
            out.write("Seeds that failed (repeat one with `sim/fanfare_sim --seed N`):\n\n%s\n\n" % "\n".join("- `%s`" % line[:200] for line in failed[:50]))
        out.write("Planted defects that must be found (`--canary`):\n\n%s\n\n" % "\n".join("- `%s`: `%s`" % (name, line) for name, _, line in canaries))
        out.write("| property checked | kind | times |\n|---|---|---|\n%s\n\n" % "\n".join("| %s | %s | %s |" % (row[1], row[0], row[2]) for row in checks if len(row) >= 3))
        out.write("| state reached | times |\n|---|---|\n%s\n" % "\n".join("| %s | %s |" % (row[1], row[2]) for row in states if len(row) >= 3))
    print(summary[-1] if summary else run.stdout[-2000:])
    return run.returncode or max(code for _, code, _ in canaries)


if __name__ == "__main__":
    sys.exit(main())

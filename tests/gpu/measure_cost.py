#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording with counters costs: processor time and memory of the recorder, losses, and the workload's own speed.

  measure_cost.py KVET FOLDER --seconds N --rounds N      FOLDER holds clock_rig and odd_rig; exit status 1: a limit is broken
"""
import argparse
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import time

MEMORY_BYTES, GROWTH = 500e6, 0.05
LOSSES = ("counters",)

parser = argparse.ArgumentParser()
parser.add_argument("kvet")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--seconds", type=int, default=180)
parser.add_argument("--rounds", type=int, default=4)
arguments = parser.parse_args()
kvet, folder = os.path.realpath(arguments.kvet), arguments.folder
failed = []


def judge(text, good):
    print(f"  {text}{'' if good else '  <-- outside'}", flush=True)
    if not good:
        failed.append(text)


def recorder_bytes(root):
    """Resident private memory of the recorder's processes: those below `root` that run kvet's own program."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = pathlib.Path(f"/proc/{entry}/stat").read_text()
                parents[int(entry)] = int(text.rpartition(")")[2].split()[1])
            except OSError:
                pass
    total = 0
    for pid in parents:
        above = pid
        while above in parents and above != root:
            above = parents[above]
        try:
            if above == root and os.path.samefile(f"/proc/{pid}/exe", kvet):
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                total += 1024 * sum(int(value) for value in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", rollup, re.M))
        except OSError:
            pass
    return total


def long_run(interval, seconds, cores_limit):
    path, out = folder / f"cost-{interval}.kvet", folder / f"cost-{interval}"
    out.mkdir(exist_ok=True)
    with open(folder / "cost.log", "w") as log:
        process = subprocess.Popen([kvet, "record", "-o", path, "--interval", interval, "--", folder / "clock_rig", "busy",
                                    "--seconds", str(seconds), "--out", out], stdout=log, stderr=log)
        memory = []
        while process.poll() is None:
            memory.append(recorder_bytes(process.pid))
            time.sleep(1)
    if process.returncode != 0:
        judge(f"{interval}: kvet record ended with {process.returncode}: {(folder / 'cost.log').read_text()[-300:]}", False)
        return
    file = sqlite3.connect(path)
    meta = dict(file.execute("SELECT key, value FROM meta"))
    count, first, last, longest = file.execute(
        "SELECT count(*), min(start_ns), max(start_ns + duration_ns), max(duration_ns) FROM sample WHERE device_id = 0").fetchone()
    if not count:
        judge(f"{interval}: no samples: {meta.get('counters.status')}", False)
        return
    covered = file.execute("SELECT sum(duration_ns) FROM sample WHERE device_id = 0").fetchone()[0]
    lost = file.execute("SELECT coalesce(sum(lost_count), 0) FROM loss l JOIN enumerator e ON e.enumeration = 'source' "
                        f"AND e.value = l.source WHERE e.name IN ({','.join('?' * len(LOSSES))})", LOSSES).fetchone()[0]
    everything = file.execute("SELECT coalesce(sum(lost_count), 0) FROM loss").fetchone()[0]
    span = (last - first) / 1e9
    cores = int(meta.get("counters.processor_time_ns", 0)) / 1e9 / span
    print(f"  {interval}: {count} samples over {span:.1f} s, longest {longest / 1e3:.0f} us; "
          f"{len(meta.get('counters.metrics', '').split(','))} metrics; {path.stat().st_size / 1e6:.0f} MB")
    judge(f"{interval}: lost counter samples {lost}, lost of all sources {everything}", lost == 0)
    # Bursts and changes of the metrics take planned pauses; with them nothing may be missing.
    paused = int(meta.get("counters.paused_ns", 0))
    judge(f"{interval}: time covered by samples {100 * covered / (last - first):.2f}%, by planned pauses "
          f"{100 * paused / (last - first):.2f}% (wanted: above 99.9% together)", covered + paused >= 0.999 * (last - first))
    parts = [int(meta.get(f"counters.processor_time_{part}_ns", 0)) / 1e3 / count for part in ("decode", "evaluate")]
    print(f"  {interval}: per sample {1e6 * cores * span / count:.1f} us, of it decoding {parts[0]:.1f}, evaluating {parts[1]:.1f}")
    judge(f"{interval}: {cores:.2f} cores (limit {cores_limit})", 0 < cores < cores_limit)
    # The first seconds fill buffers; flat means that the second half holds what the first did.
    steady = memory[min(10, len(memory) // 3):]
    half = len(steady) // 2
    if half:
        before, after = statistics.median(steady[:half]), statistics.median(steady[half:])
        judge(f"{interval}: memory at most {max(memory) / 1e6:.0f} MB (limit 500), halves {before / 1e6:.0f} and {after / 1e6:.0f} MB",
              0 < max(memory) < MEMORY_BYTES and after <= before * (1 + GROWTH) + 5e6)
    bursts = file.execute("SELECT count(*) FROM sample WHERE device_id = 0 AND duration_ns < 15000").fetchone()[0]
    print(f"  {interval}: {bursts} samples of bursts (shorter than 15 us)")


def step_ns(recorded, number):
    command = [folder / "odd_rig", "steps", "3"]
    if recorded:
        command = [kvet, "record", "-o", folder / f"cost-step-{number}.kvet", "--interval", "100us", "--"] + command
    run = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"step: median (\d+) ns, mean (\d+) ns", run.stdout)
    if run.returncode != 0 or not found:
        judge(f"steps ended with {run.returncode}: {run.stderr[-300:]}", False)
        return None
    return int(found[2])


print(f"cost: {arguments.seconds} s at 100 us")
long_run("100us", arguments.seconds, 0.5)
long_run("50us", max(20, arguments.seconds // 6), 1.0)
ratios = []
for number in range(arguments.rounds):
    # In turns, each order as often as the other: a clock that drifts then costs both.
    order = [False, True] if number % 2 == 0 else [True, False]
    times = {recorded: step_ns(recorded, number) for recorded in order}
    if None not in times.values():
        ratios.append(times[True] / times[False] - 1)
if ratios:
    middle = statistics.median(ratios)
    judge(f"cost to the workload {100 * middle:+.2f}% (limit 1%), rounds: {', '.join(f'{100 * r:+.2f}' for r in ratios)}", middle < 0.01)
print("cost: " + ("outside: " + "; ".join(failed) if failed else "within the limits"))
sys.exit(1 if failed else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edges in kvet's mapped samples against the edges that the kernels logged.

  score_clock.py CAPTURE FOLDER       exit status 1: a limit is broken

An edge in the samples is where the resident warps step from one level to another inside a sample: the sample's own mean says
where. Only steps with no other edge within the neighbouring samples count. What it is held against is the mean entry (or exit)
of the execution's warps, moved to CLOCK_MONOTONIC by the rig's own handshakes.
"""
import json
import pathlib
import sys

import numpy as np

from captures import Capture

MEDIAN_NS, TAIL_NS, LEAST_EDGES = 2000, 5000, 100

path, folder = sys.argv[1], pathlib.Path(sys.argv[2])
facts = json.loads((folder / "clock.json").read_text())
capture = Capture(path)
data = np.fromfile(folder / "clock.bin", np.uint64).reshape(-1, 5).astype(float)
pairs = np.array(facts["clock_pairs"], np.int64)
gpu = (pairs[:, 1] - facts["origin_globaltimer_ns"]).astype(float)
offset = (pairs[:, 0] - capture.base - (pairs[:, 1] - facts["origin_globaltimer_ns"])).astype(float)
monotonic = lambda t: t + np.interp(t, gpu, offset)

print(f"clock, {facts['mode']}: {path}: {len(capture.sample_start)} samples of "
      f"{np.median(capture.sample_end - capture.sample_start) / 1e3:.0f} us; globaltimer step {facts['granularity_ns']} ns, "
      f"clock brackets {np.median(pairs[:, 2]):.0f} ns wide (widest {pairs[:, 2].max()})")
failed = []
starts, ends, steps, all_edges = [], [], [], []
at = 0
for lane in facts["lanes"]:
    rows = data[at:at + lane["executions"]]
    at += lane["executions"]
    if not (rows[:, 4] == lane["warps"]).all():
        failed.append(f"{lane['name']}: {int((rows[:, 4] != lane['warps']).sum())} executions did not log every warp")
        rows = rows[rows[:, 4] == lane["warps"]]
    first, last = monotonic(rows[:, 0]), monotonic(rows[:, 1])
    entry, exit = monotonic(rows[:, 2] / rows[:, 4]), monotonic(rows[:, 3] / rows[:, 4])
    all_edges += [entry, exit]
    if "step" in lane["name"]:
        steps += [(entry, "start"), (exit, "end")]
    # CUPTI's own start and end beside the first entry and the last exit.
    chosen = capture.execution_name == lane["name"]
    start, end = capture.execution_start[chosen], capture.execution_end[chosen]
    if len(start) == len(first):
        for what, difference in (("start", start - first), ("end", end - last)):
            low, middle, high = np.percentile(difference, [5, 50, 95])
            print(f"  CUPTI {what} - log, {lane['name']:14} median {middle / 1e3:+7.2f} us, 5% {low / 1e3:+7.2f}, "
                  f"95% {high / 1e3:+7.2f}")
    else:
        print(f"  CUPTI saw {len(start)} executions of {lane['name']}, the log {len(first)}: not compared")

all_edges = np.sort(np.concatenate(all_edges))
errors, kinds, moments = [], [], []
level = capture.resident
for times, kind in steps:
    sample = np.searchsorted(capture.sample_start, times, side="right") - 1
    good = (sample >= 1) & (sample + 1 < len(level))
    times, sample = times[good], sample[good]
    # Alone: just this edge between the beginning of the sample before and the end of the one behind.
    count = (np.searchsorted(all_edges, capture.sample_end[sample + 1], side="right")
             - np.searchsorted(all_edges, capture.sample_start[sample - 1], side="left"))
    contiguous = ((capture.sample_start[sample] - capture.sample_end[sample - 1] < 1000)
                  & (capture.sample_start[sample + 1] - capture.sample_end[sample] < 1000))
    before, after = level[sample - 1], level[sample + 1]
    step = after - before
    part = (level[sample] - before) / np.where(step == 0, np.nan, step)
    keep = (count == 1) & contiguous & (np.abs(step) > 300) & (part > 0.02) & (part < 0.98)
    edge = capture.sample_end[sample] - part * (capture.sample_end[sample] - capture.sample_start[sample])
    errors.append((edge - times)[keep])
    kinds.append((kind, len(errors[-1])))
    moments.append(times[keep])
for (kind, number), error in zip(kinds, errors):
    if number:
        print(f"  {kind:5} edges: {number:6d}, samples - log: median {np.median(error) / 1e3:+.2f} us")
errors, moments = np.concatenate(errors), np.concatenate(moments)
if len(errors) < LEAST_EDGES:
    failed.append(f"only {len(errors)} edges could be compared")
else:
    size = np.abs(errors)
    median, tail = np.median(size), np.percentile(size, 95)
    span = (moments.max() - moments.min()) / 1e9
    quarters = [np.median(errors[(moments >= a) & (moments <= b)]) / 1e3 for a, b in
                zip(np.linspace(moments.min(), moments.max(), 7)[:-1], np.linspace(moments.min(), moments.max(), 7)[1:])
                if ((moments >= a) & (moments <= b)).any()]
    print(f"  residual over {span:.0f} s, {len(errors)} edges: median {median / 1e3:.2f} us (limit 2), 95% {tail / 1e3:.2f} us (limit 5)")
    print(f"  signed median by sixths of the time, us: {', '.join(f'{q:+.2f}' for q in quarters)}")
    if median > MEDIAN_NS:
        failed.append("median residual")
    if tail > TAIL_NS:
        failed.append("95th percentile")
columns = {row[1] for row in capture.file.execute("PRAGMA table_info(clock_mapping)")}
for column in ("residual_p95_ns", "start_bias_ns", "end_bias_ns"):
    if column in columns:
        said = [row[0] for row in capture.file.execute(
            f"SELECT {column} FROM clock_mapping WHERE source = 2 AND {column} IS NOT NULL")]
        print(f"  kvet's own: {column} {f'median {np.median(said):.0f}, {min(said)} to {max(said)}' if said else 'not known'}")
print(f"  kvet's own: residual {capture.residual_ns} ns; {capture.meta.get('counters.alignment', 'nothing said')}")
print("clock: " + ("outside: " + ", ".join(failed) if failed else "within the limits"))
sys.exit(1 if failed else 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of counters-check: what the counters read against what the pattern planted.

  counters_table.py FOLDER INTERVAL_NS      exit status 1: a figure is outside its limit
"""
import bisect
import csv
import pathlib
import statistics
import sys

folder, interval = pathlib.Path(sys.argv[1]), int(sys.argv[2])


def rows(name):
    with open(folder / name, newline="") as file:
        return [{key: float(value) if value not in ("", None) else None for key, value in row.items() if key != "phase"}
                | ({"phase": row["phase"]} if "phase" in row else {}) for row in csv.DictReader(file)]


samples = [row for row in rows("samples.csv") if row["device"] == 0]
phases = {row["phase"]: row for row in rows("phases.csv")}
executions = [row for row in rows("executions.csv") if row["device"] == 0]
readings = [row for row in rows("readings.csv") if row["device"] == 0]
facts = (folder / "facts.txt").read_text().splitlines()
# Integers of 19 digits do not fit a double: the mapping is applied to differences.
with open(folder / "mappings.csv", newline="") as file:
    mappings = [row for row in csv.DictReader(file) if int(row["device"]) == 0]
with open(folder / "samples.csv", newline="") as file:
    raw = [(int(row["start"]), int(row["end"])) for row in csv.DictReader(file) if int(row["device"]) == 0]
starts = [int(row["from"]) for row in mappings]


def monotonic(raw_ns):
    row = mappings[max(0, bisect.bisect_right(starts, raw_ns) - 1)]
    return raw_ns + int(row["offset"]) + float(row["drift_ns_per_s"]) * (raw_ns - int(row["from"])) / 1e9


for sample, (start, end) in zip(samples, raw):
    sample["start"], sample["end"] = monotonic(start), monotonic(end)

failed = []


def show(name, value, expected="", good=True):
    print(f"  {name:34} {value:>26}  {expected}{'' if good else '   <-- outside'}")
    if not good:
        failed.append(name)


def inside(begin, end, margin=0):
    return [s for s in samples if s["start"] >= begin + margin and s["end"] <= end - margin]


def total(selected, field):
    values = [s[field] for s in selected]
    return None if not values or None in values else sum(values)


print(f"interval {interval / 1e3:g} us")
if not samples:
    sys.exit("  no samples")
for line in facts:
    if line.startswith(("device 0", "counters.mode", "counters.status", "counters.alignment", "driver_version", "lost.")):
        print("  " + line)
metrics = [line for line in facts if line.startswith("counters.metrics")]
print("  metrics: " + (metrics[0].split(": ", 1)[1].replace(",", "\n           ") if metrics else "none"))

span = (samples[-1]["end"] - samples[0]["start"]) / 1e9
cpu = next((int(line.split(": ")[1]) / 1e9 for line in facts if line.startswith("counters.processor_time_ns")), None)
show("samples", f"{len(samples)} over {span:.2f} s")
show("samples per second", f"{len(samples) / span:.0f}", f"{1e9 / interval:.0f} asked for",
     abs(len(samples) / span * interval / 1e9 - 1) < 0.02)
show("longest sample, us", f"{max(b - a for a, b in raw) / 1e3:.1f}")
show("processor time, s", "unknown" if cpu is None else f"{cpu:.2f}", f"{cpu / span:.2f} cores" if cpu else "")

for name in ("full", "three"):
    if name not in phases:
        continue
    phase = phases[name]
    # The kernel itself lies inside the phase: 10 ms off each end leaves only its steady part.
    steady = inside(phase["start_ns"], phase["end_ns"], 10e6)
    warps, cycles = total(steady, "warp_cycles"), total(steady, "cycles_elapsed")
    if warps is None or not cycles:
        show(f"{name}: warps resident", "unknown")
        continue
    value = warps / cycles
    show(f"{name}: warps resident", f"{value:.1f}", f"{phase['warps']:.0f} planted", abs(value / phase["warps"] - 1) < 0.01)
    for field in ("warps_max", "warps_min", "register_cycles", "shared_byte_cycles", "sm_active_cycles"):
        part = total(steady, field)
        show(f"{name}: {field} per cycle", "unknown" if part is None else f"{part / cycles:.1f}")

if "copy" in phases:
    phase = phases["copy"]
    window = inside(phase["start_ns"] - 20e6, phase["end_ns"] + 20e6)
    for field in ("dram_read_bytes", "dram_write_bytes"):
        value, planted = total(window, field), phase[field.replace("dram_", "")]
        show(f"copy: {field}, GiB", "unknown" if value is None else f"{value / 2**30:.2f}", f"{planted / 2**30:.2f} planted",
             value is not None and abs(value / planted - 1) < 0.03)
    busy = inside(phase["start_ns"], phase["end_ns"], 3 * interval)
    bytes_moved = [(s["dram_read_bytes"] + s["dram_write_bytes"]) / (s["end"] - s["start"]) for s in busy
                   if s["dram_read_bytes"] is not None]
    if bytes_moved:
        show("copy: median throughput, GB/s", f"{statistics.median(bytes_moved):.0f}")

# Flows over everything that the samples cover.
covered = [e for e in executions if e["start_ns"] >= samples[0]["end"] and e["end_ns"] <= samples[-1]["start"]]
planted_blocks = sum(e["blocks"] for e in covered)
planted_warps = sum(e["blocks"] * ((e["threads"] + 31) // 32) for e in covered)
if not covered:
    sys.exit("  no execution lies inside the samples")
for field, planted in (("blocks_completed", planted_blocks), ("warps_launched", planted_warps)):
    value = total(samples, field)
    show(f"{field}, all", "unknown" if value is None else f"{value:.0f}", f"{planted:.0f} by CUPTI activity",
         value is not None and abs(value / planted - 1) < 0.01)

# An independent look at the alignment: where activity begins and ends, against the executions of the phase with pauses.
if "edges" in phases and len(mappings) > 1:
    phase = phases["edges"]
    selected = inside(phase["start_ns"], phase["end_ns"])
    level = statistics.quantiles([s["sm_active_cycles"] / s["cycles_elapsed"] for s in selected], n=20)[-1]
    busy = [s["sm_active_cycles"] / s["cycles_elapsed"] / level for s in selected]
    edge_times = []
    for i in range(1, len(selected) - 1):
        if busy[i - 1] < 0.01 and busy[i + 1] > 0.9:
            edge_times.append(("start_ns", selected[i]["end"] - busy[i] * (selected[i]["end"] - selected[i]["start"])))
        elif busy[i - 1] > 0.9 and busy[i + 1] < 0.01:
            edge_times.append(("end_ns", selected[i]["start"] + busy[i] * (selected[i]["end"] - selected[i]["start"])))
    for which in ("start_ns", "end_ns"):
        known = sorted(e[which] for e in executions)
        errors = []
        for kind, time in edge_times:
            if kind == which:
                place = bisect.bisect(known, time)
                errors.append(min((time - k for k in known[max(0, place - 1):place + 1]), key=abs))
        if errors:
            errors.sort()
            show(f"edges: {which.split('_')[0]}s, us beside CUPTI", f"median {statistics.median(errors) / 1e3:+.2f}",
                 f"{len(errors)} edges, middle half {errors[len(errors) // 4] / 1e3:+.2f} to "
                 f"{errors[3 * len(errors) // 4] / 1e3:+.2f}", abs(statistics.median(errors)) < 5e3)
    coarse = mappings[0]
    at = raw[len(raw) // 2][0]
    beside = at + int(coarse["offset"]) - monotonic(at)
    show("coarse offset, us beside aligned", f"{beside / 1e3:+.1f}", "searched: 3000 us each way", abs(beside) < 3e6)
    show("residual, drift", f"{mappings[-1]['residual']} ns, {float(mappings[-1]['drift_ns_per_s']):+.0f} ns/s",
         f"{len(mappings) - 1} mappings")

gpm = [r for r in readings if r["gpm_occupancy"] is not None]
show("NVML readings", f"{len(readings)}", f"{len(readings) / span:.1f} per second")
if gpm and "full" in phases:
    show("GPM readings", f"{len(gpm)}", "occupancy " + ", ".join(f"{r['gpm_occupancy']:.0f}%" for r in gpm[:8]))
powers = [r["power_milliwatts"] / 1e3 for r in readings if r["power_milliwatts"] is not None]
if powers:
    show("power, W", f"{min(powers):.0f} to {max(powers):.0f}")
print(f"  {'all within their limits' if not failed else 'outside: ' + ', '.join(failed)}")
sys.exit(1 if failed else 0)

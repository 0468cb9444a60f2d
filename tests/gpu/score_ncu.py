#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ncu beside kvet on six kernels that run alone, same denominators.

  score_ncu.py KVET CAPTURE NCU_CSV       exit status 1: more than 2 points apart
"""
import csv
import json
import subprocess
import sys

LIMIT_POINTS = 2.0
KERNELS = ["ncu_copy", "ncu_gemm", "ncu_softmax", "ncu_reduction", "ncu_low", "ncu_tensor"]
ELAPSED = "sm__warps_active.avg.pct_of_peak_sustained_elapsed"
ACTIVE = "sm__warps_active.avg.pct_of_peak_sustained_active"
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"

kvet, path, ncu_file = sys.argv[1:4]


def read_ncu(name):
    """{kernel: {metric: value}}; the lines of the program and of ncu itself stand before the table."""
    with open(name, newline="") as file:
        lines = file.read().splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        sys.exit("ncu printed no table:\n" + "\n".join(lines[-20:]))
    result = {}
    for row in csv.DictReader(lines[begin:]):
        kernel = (row.get("Kernel Name") or "").split("(")[0]
        try:
            result.setdefault(kernel, {})[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        except (ValueError, KeyError, AttributeError):
            continue
    return result


command = [kvet, "report", path, "--json"] + [word for name in KERNELS for word in ("--kernel", f"^{name}$")]
answer = subprocess.run(command, capture_output=True, text=True)
if answer.returncode != 0:
    sys.exit(f"kvet report: {answer.stderr}")
kernels = {kernel["name"]: {finding["id"]: finding for finding in kernel["findings"] if not finding["beside"]}
           for kernel in json.loads(answer.stdout)["captures"][0]["kernels"]}
ncu = read_ncu(ncu_file)
failed = []
print(f"ncu: {path}")
print("  kernel         figure                          ncu      kvet  difference")
for name in KERNELS:
    measured = ncu.get(name, {})
    # ncu's throughput is the busiest of several parts of the memory system; bytes over time ÷ peak is what kvet's is.
    for title, metric, identity in (("occupancy, elapsed", ELAPSED, "occupancy.solo"),
                                    ("occupancy, active", ACTIVE, "occupancy.solo.active"),
                                    ("DRAM throughput, % of peak", DRAM, "dram.solo.percent")):
        finding = kernels.get(name, {}).get(identity)
        left, right = measured.get(metric), finding and finding["value"]
        if left is None or right is None:
            why = "no such metric from ncu" if left is None else (finding["reason"] if finding else "no such finding")
            print(f"  {name:14} {title:28} {'-' if left is None else f'{left:.2f}':>7} {'-' if right is None else f'{right:.2f}':>9}  {why[:90]}  <-- outside")
            failed.append(f"{name} {title}")
            continue
        bad = abs(right - left) > LIMIT_POINTS
        print(f"  {name:14} {title:28} {left:7.2f} {right:9.2f} {right - left:+9.2f}{'  <-- outside' if bad else ''}")
        if bad:
            failed.append(f"{name} {title}")
    read, write = measured.get("dram__bytes_read.sum"), measured.get("dram__bytes_write.sum")
    finding = kernels.get(name, {}).get("dram.bytes_per_execution")
    if read is not None and write is not None and finding and finding["value"] is not None:
        print(f"  {name:14} {'DRAM bytes per execution, MB':28} {(read + write) / 1e6:7.1f} {finding['value'] / 1e6:9.1f}")
    seconds = measured.get("gpu__time_duration.sum")
    if seconds:
        print(f"  {name:14} {'duration by ncu, us':28} {seconds / 1e3:7.1f}")
print("ncu: " + ("outside: " + ", ".join(failed) if failed else "within the limits"))
sys.exit(1 if failed else 0)

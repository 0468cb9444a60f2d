#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known bytes beside kvet's DRAM findings.   score_dram.py KVET CAPTURE FOLDER      exit status 1: a limit is broken"""
import json
import pathlib
import sys

import numpy as np

from captures import Capture, Spans, States
from residency_truth import wholly
from score_occupancy import report

kvet, path, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
facts = json.loads((folder / "dram.json").read_text())
capture = Capture(path)
failed = []


def show(what, kvet_value, truth, good, note=""):
    """good: None where nothing is judged."""
    print(f"  {what:46} {kvet_value:>14} {truth:>14}  {note}{'  <-- outside' if good is False else ''}")
    if good is False:
        failed.append(what)


def text(value, scale=1.0, form="{:.2f}"):
    return "unavailable" if value is None else form.format(value / scale)


def findings(phase):
    since = capture.start_ns
    window = [max(0, phase["from_ns"] - since), phase["to_ns"] - since]
    answer = report(kvet, path, window, [kernel["name"] for kernel in phase["kernels"]])
    if "error" in answer:
        failed.append(f"report of {phase['name']}: {answer['error']}")
        return {}
    return answer


def value(answer, kernel, identity):
    for finding in answer.get(kernel, []):
        if finding["id"] == identity:
            return finding
    return {"value": None, "reason": "no such finding", "interval": None, "evidence": "absent"}


def device_bytes(chosen):
    return (float(np.nansum(capture.dram_read_bytes[chosen])), float(np.nansum(capture.dram_write_bytes[chosen])))


phases = {phase["name"]: phase for phase in facts["phases"]}
print(f"dram: {path}: reads reach {facts['reachable_read'] / 1e9:.0f} GB/s, copies {facts['reachable_copy'] / 1e9:.0f} GB/s "
      f"({100 * facts['reachable_copy'] / capture.bandwidth:.1f}% of the theoretical peak)")
print(f"  {'':46} {'kvet':>14} {'truth':>14}")

# What the device counted, with idle time on both sides: the rig's own gate, and the recorder's losses.
for name, phase in phases.items():
    margin = 4_000_000
    chosen = ((capture.sample_start >= phase["from_ns"] - capture.base - margin)
              & (capture.sample_end <= phase["to_ns"] - capture.base + margin))
    read, write = device_bytes(chosen)
    known = [sum(kernel["launches"] * kernel[way] for kernel in phase["kernels"]) for way in ("read_bytes", "write_bytes")]
    judged = name in ("copy", "beside")
    for way, counted, truth in (("read", read, known[0]), ("write", write, known[1])):
        show(f"{name}: device {way}, GB", text(counted, 1e9), text(truth, 1e9),
             (abs(counted / truth - 1) < 0.02) if judged and truth else None,
             f"{100 * (counted / truth - 1):+.2f}%" if truth else "")

answer = findings(phases["copy"])
kernel = phases["copy"]["kernels"][0]
found, truth = value(answer, "dram_copy", "dram.bytes_per_execution"), kernel["read_bytes"] + kernel["write_bytes"]
show("copy: bytes per execution, GB", text(found["value"], 1e9, "{:.3f}"), f"{truth / 1e9:.3f}",
     found["value"] is not None and abs(found["value"] / truth - 1) < 0.02, found.get("reason", ""))
runs = Spans([s for s in capture.spans("dram_copy").tolist()
              if s[0] >= phases["copy"]["from_ns"] - capture.base and s[1] <= phases["copy"]["to_ns"] - capture.base])
if len(runs.spans):
    seconds = float(np.mean(runs.spans[:, 1] - runs.spans[:, 0])) * 1e-9
    for identity, known in (("dram.solo", truth), ("dram.solo.read", kernel["read_bytes"]), ("dram.solo.write", kernel["write_bytes"])):
        found = value(answer, "dram_copy", identity)
        show(f"copy: {identity}, GB/s", text(found["value"], 1e9, "{:.1f}"), f"{known / seconds / 1e9:.1f}",
             found["value"] is not None and abs(found["value"] / (known / seconds) - 1) < 0.02, found["evidence"])

# Own share: what each kernel's own log says in the samples that lie in its co-run time.
phase = phases["beside"]
answer = findings(phase)
data = np.fromfile(folder / "dram.bin", np.uint64).reshape(-1, facts["bins"]).astype(float)
pairs = np.array(facts["clock_pairs"], np.int64)
gpu = (pairs[:, 1] - facts["origin_globaltimer_ns"]).astype(float)
offset = (pairs[:, 0] - capture.base - (pairs[:, 1] - facts["origin_globaltimer_ns"])).astype(float)
edges = np.arange(facts["bins"] + 1) * float(facts["bin_ns"])
edges = edges + np.interp(edges, gpu, offset)
sums = np.concatenate([np.zeros((len(data), 1)), np.cumsum(data, 1)], 1)
names = [kernel["name"] for kernel in phase["kernels"]]
states = States(capture, names)
inside = ((capture.sample_start >= phase["from_ns"] - capture.base) & (capture.sample_end <= phase["to_ns"] - capture.base))
for number, name in enumerate(names[:len(data)]):
    corun = states.spans(lambda mask: bool(mask >> number & 1) and mask != 1 << number)
    chosen = inside & wholly(capture, corun)
    start, end = capture.sample_start[chosen], capture.sample_end[chosen]
    seconds = float((end - start).sum()) * 1e-9
    at = lambda t, row=number: np.interp(t, edges, sums[row])
    truth = float((at(end) - at(start)).sum()) / seconds if seconds else None
    known = phase["kernels"][number]
    logged, planned = sums[number, -1], known["launches"] * (known["read_bytes"] + known["write_bytes"])
    show(f"beside: {name} logged of planned bytes, GB", text(logged, 1e9), text(planned, 1e9), abs(logged / planned - 1) < 1e-3)
    shares = [f for f in answer.get(name, []) if f["id"].startswith(("dram.own", "dram.corun.own")) and f["unit"] == "bytes/s"
              and not f["beside"] and not f["id"].endswith((".read", ".write"))]
    if not shares:
        show(f"beside: {name} own share, GB/s", "no finding", text(truth, 1e9, "{:.1f}"), None, f"{seconds * 1e3:.0f} ms of samples")
    for found in shares:
        error = None if found["value"] is None or not truth else found["value"] / truth - 1
        interval = found["interval"]
        note = found["reason"][:80] if error is None else f"{100 * error:+.1f}%" + (
            f", interval {interval['low'] / 1e9:.0f} to {interval['high'] / 1e9:.0f}" if interval else "")
        show(f"beside: {name} {found['id']}, GB/s", text(found["value"], 1e9, "{:.1f}"), text(truth, 1e9, "{:.1f}"),
             error is not None and abs(error) < 0.05, note)
    found = value(answer, name, "dram.corun.device")
    read, write = device_bytes(chosen)
    show(f"beside: {name} dram.corun.device, GB/s", text(found["value"], 1e9, "{:.1f}"),
         text((read + write) / seconds if seconds else None, 1e9, "{:.1f}"), None, "truth: the capture's own samples")
found = [f for f in answer.get("dram_compute", []) if f["id"].startswith(("dram.own", "dram.corun.own")) and f["unit"] == "bytes/s"
         and not f["beside"]]
for finding in found[:1]:
    everybody = value(answer, "dram_compute", "dram.corun.device")["value"]
    show("beside: dram_compute own share, GB/s", text(finding["value"], 1e9, "{:.1f}"), "0.0",
         finding["value"] is not None and everybody is not None and finding["value"] < 0.05 * everybody)

# A working set that lives in L2.
answer = findings(phases["loop"])
kernel = phases["loop"]["kernels"][0]
found = value(answer, "dram_loop", "dram.bytes_per_execution")
show("loop: DRAM bytes per execution, MB", text(found["value"], 1e6, "{:.1f}"),
     f"of {kernel['read_bytes'] / 1e6:.0f} read", found["value"] is not None and found["value"] < 0.05 * kernel["read_bytes"],
     found.get("reason", ""))
for finding in answer.get("dram_loop", []):
    if finding["id"].startswith(("dram.locality", "dram.l2")):
        show(f"loop: {finding['id']}", text(finding["value"]), "", None, (finding["sentence"] or finding["reason"])[:110])

for name, kernel, expect in (("saturate", "dram_saturate", True), ("read", "dram_read", True), ("read80", "dram_read80", False)):
    answer = findings(phases[name])
    found = value(answer, kernel, "dram.saturated")
    share = facts["held_read"] / facts["reachable_read"]
    judged = name != "read80" or 0.76 <= share <= 0.84
    good = found["value"] is not None and (found["value"] >= 80 if expect else found["value"] <= 10)
    show(f"{name}: dram.saturated, %", text(found["value"], 1, "{:.1f}"), "above 80" if expect else "below 10",
         good if judged else None, (found.get("reason") or found.get("sentence", ""))[:110]
         if judged else f"the rig held {100 * share:.0f}% instead of 80: may not judge")
print("dram: " + ("outside: " + ", ".join(failed) if failed else "within the limits"))
sys.exit(1 if failed else 0)

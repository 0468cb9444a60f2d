#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kvet says about odd recordings: nothing may crash, and every answer is a figure or a reason.

  score_odd.py KVET NAME=CAPTURE...       exit status 1: a crash, or a figure without a label
"""
import json
import pathlib
import subprocess
import sys

SHOWN = ["occupancy.solo", "occupancy.corun.device", "occupancy.corun.own", "occupancy.time.other_context", "dram.solo",
         "occupancy.unexplained_warps"]
EVIDENCE = {"measured", "attributed", "modelled", "unavailable"}

kvet, failed = sys.argv[1], []


def fault(name, what):
    failed.append(f"{name}: {what}")
    print(f"  <-- {what}")


for word in sys.argv[2:]:
    name, _, path = word.partition("=")
    print(f"odd, {name}:")
    if not pathlib.Path(path).exists():
        fault(name, "there is no capture")
        continue
    text = subprocess.run([kvet, "report", path], capture_output=True, text=True, errors="replace")
    run = subprocess.run([kvet, "report", path, "--json"], capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        said = run.stderr.strip()
        print(f"  exit status {run.returncode}: {said[:300]}")
        # A refusal is an answer as long as it is one: a known status, and a sentence.
        if run.returncode not in (64, 65, 69) or not said:
            fault(name, f"exit status {run.returncode} is no labelled answer")
        continue
    if text.returncode != 0:
        fault(name, f"the text report ends with {text.returncode}: {text.stderr.strip()[:200]}")
    capture = json.loads(run.stdout)["captures"][0]
    counts = capture["counts"]
    print(f"  tier {capture['tier']}, counters: {capture['counters'][:80]}; {counts['processes']} processes, "
          f"{counts['executions']} executions, {counts['samples']} samples, {counts['lost']} lost; "
          f"kernels left out: {capture['left_out']['kernels']}")
    findings = list(capture["findings"])
    for kernel in capture["kernels"]:
        findings += kernel["findings"]
    for finding in findings:
        if finding["evidence"] not in EVIDENCE:
            fault(name, f"{finding['id']}: evidence {finding['evidence']}")
        elif finding["evidence"] == "unavailable" and (not finding["reason"] or finding["value"] is not None):
            fault(name, f"{finding['id']}: unavailable without a reason, or with a value")
        elif finding["evidence"] != "unavailable" and not finding["sentence"]:
            fault(name, f"{finding['id']}: no sentence")
    silent = sorted({f["id"] for f in findings if f["evidence"] == "unavailable" and not f["advice"]})
    if silent:
        print(f"  unavailable without advice: {', '.join(silent)}")
    for kernel in capture["kernels"][:1]:
        print(f"  {kernel['short_name'][:60]}: {kernel['executions']} executions, {kernel['time_ns'] / 1e6:.1f} ms")
        for identity in SHOWN:
            for finding in [f for f in kernel["findings"] if f["id"] == identity][:1]:
                value = "unavailable: " + finding["reason"] if finding["value"] is None else f"{finding['value']:.4g} {finding['unit']} ({finding['evidence']}) {finding['sentence']}"
                print(f"    {identity}: {value[:170]}")
    for finding in capture["findings"]:
        if finding["id"] in ("quality.blocks", "quality.executions", "quality.loss"):
            value = finding["reason"] if finding["value"] is None else f"{finding['value']:.6g} {finding['sentence']}"
            print(f"    {finding['id']}: {value[:170]}")
print("odd: " + ("outside: " + "; ".join(failed) if failed else "nothing crashed, all is labelled"))
sys.exit(1 if failed else 0)

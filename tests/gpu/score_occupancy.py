#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Truth beside kvet: solo, device and own occupancy of every kernel, per set of siblings, with the rig's own gate.

  score_occupancy.py KVET CAPTURE TRUTH_FOLDER [CAPTURE TRUTH_FOLDER...]       exit status 1: a limit is broken
"""
import concurrent.futures
import contextlib
import io
import json
import re
import sqlite3
import subprocess
import sys

import numpy as np

from residency_truth import MOST_UNLOGGED_NS, Scored, gate, least_squares, log_is_short, set_label, truths

SOLO_POINTS = 1.0
FULL_RANK_POINTS = {"three": 2.0}
OTHER_POINTS = 5.0
LEAST_SET_NS = 20e6
LEAST_INTERVALS, COVERAGE = 400, (92, 98)


def report(kvet, path, window, names):
    command = [kvet, "report", path, "--json", "--window", ",".join(f"{t}ns" for t in window)]
    for name in names:
        command += ["--kernel", f"^{name}$"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return {"error": run.stderr.strip()}
    kernels = json.loads(run.stdout)["captures"][0]["kernels"]
    return {kernel["name"]: kernel["findings"] for kernel in kernels}


def beside_mask(names, kernel, text):
    """Which siblings a finding's `beside` names; 0: none of the rig's."""
    words = set(text.replace("+", " ").replace(",", " ").split())
    return sum(1 << k for k, name in enumerate(names) if k != kernel and name in words)


class Row:
    def __init__(self, what, round, finding, known, mask):
        self.what, self.round, self.finding, self.mask = what, round, finding, mask
        self.truth, self.time_ns, self.workload = known
        self.value = finding["value"]
        self.interval = finding["interval"] if self.value is not None else None
        # Unresolved: what the data allow stands in the reason, or in the interval.
        self.allowed = None
        if self.value is None:
            said = re.search(r"([0-9.]+)% to ([0-9.]+)%", finding["reason"])
            if finding["interval"]:
                self.allowed = finding["interval"]["low"], finding["interval"]["high"]
            elif said:
                self.allowed = float(said[1]), float(said[2])


def score(kvet, path, folder):
    scored = Scored(path, folder)
    capture, truth = scored.capture, scored.truth
    lost = sum(round.facts["missing"] for round in truth.rounds)
    print(f"\n{scored.case}: {path}")
    print(f"  samples {len(capture.sample_start)}, median length "
          f"{np.median(capture.sample_end - capture.sample_start) / 1e3 if len(capture.sample_start) else 0:.1f} us; residual "
          f"{capture.residual_ns} ns; globaltimer step {truth.facts['granularity_ns']} ns; widest clock bracket "
          f"{truth.widest_bracket_ns} ns; warps not logged: {lost}")
    for k, kernel in enumerate(truth.kernels):
        warps = kernel["threads"] // 32
        print(f"  {kernel['name']:12} {warps:3d} warps {kernel['registers']:4d} registers {kernel['shared_bytes'] / 1024:6.0f} KiB, "
              f"grid {kernel['grid']:4d}: unlogged {scored.unlogged[k]:7.0f} ns per warp, {scored.unlogged[k] * warps:8.0f} warp ns per block")
    if capture.residual_ns is None or not len(capture.sample_start):
        print("  the counters' clock is not aligned: nothing can be scored")
        return scored, [], set(), True
    passed = gate(scored)
    if log_is_short(scored):
        print(f"  the time outside the log is unknown or above {MOST_UNLOGGED_NS} ns per warp: no set may judge")
        passed = set()
    rows = []
    numbers = range(1, len(truth.rounds))

    def one(number):
        round = truth.rounds[number]
        since = capture.start_ns - capture.base
        window = [max(0, int(round.start - since)), int(round.end - since)]
        return number, report(kvet, path, window, scored.names)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, numbers))
    errors = False
    for number, answer in answers:
        if "error" in answer:
            print(f"  round {number}: kvet report: {answer['error']}")
            errors = True
            continue
        squares = least_squares(scored, number)
        for kernel, name in enumerate(scored.names):
            wanted = truths(scored, number, kernel)
            flags = squares[kernel]
            for finding in answer.get(name, []):
                if not finding["id"].startswith(("occupancy.solo", "occupancy.corun")):
                    continue
                mask = beside_mask(scored.names, kernel, finding["beside"])
                what = next((known for known in ("occupancy.corun.own", "occupancy.corun.device", "occupancy.solo")
                             if finding["id"] == known or (mask and finding["id"].startswith(known + "."))), None)
                found = wanted.get((what, mask))
                if found is None:
                    continue
                row = Row(what, number, finding, found, mask)
                row.kernel, row.flags, row.case, row.interval_ns = kernel, flags, scored.case, scored.interval_ns
                row.steady = wanted.get(("own, steady", 0), (None,))[0] if what == "occupancy.corun.own" and not mask else None
                rows.append(row)
    return scored, rows, passed, errors or lost > 0 or not passed


def table(scored, rows, passed):
    """One line per kernel, finding and set: over the rounds. Returns whether a limit is broken."""
    broken, worst_own, worst_flags = False, 0.0, 0.0
    print("  kernel       finding        beside               ms    truth    kvet  error  worst  least squares   inside")
    keys = sorted({(row.kernel, row.what, row.mask) for row in rows})
    for kernel, what, mask in keys:
        chosen = [row for row in rows if (row.kernel, row.what, row.mask) == (kernel, what, mask)]
        known = [row for row in chosen if row.value is not None]
        time = sum(row.time_ns for row in chosen) / 1e6
        beside = set_label(scored.names, mask) if mask else ("any" if "corun" in what else "")
        head = f"  {scored.names[kernel]:12} {what.removeprefix('occupancy.'):14} {beside:14} {time:8.1f} {np.mean([r.truth for r in chosen]):8.2f}"
        own_lane = sum(1 << k for k in range(len(scored.names)) if scored.lane[k] == scored.lane[kernel])
        # The gate must have seen every state that the figure covers; a dependent kernel of the own stream may run or not.
        judged = bool(passed) if mask == 0 else all(
            one in passed for one in range(1 << len(scored.names))
            if one >> kernel & 1 and one & ~own_lane == mask and scored.set_spans(one).total() > 0)
        enough = judged and time >= LEAST_SET_NS / 1e6
        allowed = [row for row in chosen if row.allowed]
        misses = [row for row in allowed if not row.allowed[0] <= row.truth <= row.allowed[1]]
        if allowed:
            low, high = np.mean([row.allowed[0] for row in allowed]), np.mean([row.allowed[1] for row in allowed])
            bad = enough and len(misses) > 0
            broken |= bad
            print(f"{head}   unresolved in {len(allowed)} rounds, {low:.1f} to {high:.1f} allowed, truth inside in "
                  f"{len(allowed) - len(misses)}{'  <-- outside' if bad else ''}")
        elif not known:
            bad = enough and what != "occupancy.corun.device"
            broken |= bad
            print(f"{head}   unavailable: {chosen[0].finding['reason'][:110]}{'  <-- outside' if bad else ''}")
        if not known:
            continue
        weight = np.array([row.time_ns for row in known])
        errors = np.array([row.value - row.truth for row in known])
        worst = errors[np.argmax(np.abs(errors))]
        pooled = float((errors * weight).sum() / weight.sum())
        flags = np.mean([row.flags - row.truth for row in known])
        if what == "occupancy.corun.own" and enough:
            worst_own, worst_flags = max(worst_own, abs(pooled)), max(worst_flags, abs(flags))
        held = [row.interval["low"] <= row.truth <= row.interval["high"] for row in known if row.interval]
        limit = SOLO_POINTS if "solo" in what else FULL_RANK_POINTS.get(scored.case, OTHER_POINTS)
        bad = enough and what != "occupancy.corun.device" and abs(pooled) > limit
        steady = [row.steady for row in known if row.steady is not None]
        note = f"  (in steady samples the truth is {np.mean(steady):.2f})" if steady else ""
        broken |= bad
        print(f"{head} {np.mean([r.value for r in known]):7.2f} {pooled:+6.2f} {worst:+6.2f} {'-' if 'device' in what else f'{flags:+.2f}':>11} "
              f"{sum(held):9d}/{len(held)}{note}{'' if judged else '  not judged'}{'  <-- outside' if bad else ''}")
    print(f"  {scored.case}: worst error of an own share: {worst_own:.2f} points; of least squares on run flags: {worst_flags:.2f}")
    return broken


def coverage(rows):
    """How many intervals there are, and how many hold: the truth of the same samples; the mean of all rounds of that workload
    and sampling interval; the same over all of the time that the figure is about, sampled or not."""
    own = pooled = workload = count = 0
    for key in {(row.case, row.interval_ns, row.kernel, row.what, row.mask) for row in rows}:
        chosen = [row for row in rows if (row.case, row.interval_ns, row.kernel, row.what, row.mask) == key and row.interval]
        if not chosen:
            continue
        weight = np.array([row.time_ns for row in chosen])
        mean = lambda values: float((np.array(values) * weight).sum() / weight.sum())
        inside = lambda row, value: row.interval["low"] <= value <= row.interval["high"]
        sampled, everything = mean([row.truth for row in chosen]), mean([row.workload for row in chosen])
        count += len(chosen)
        own += sum(inside(row, row.truth) for row in chosen)
        pooled += sum(inside(row, sampled) for row in chosen)
        workload += sum(inside(row, everything) for row in chosen)
    return count, own, pooled, workload


def score_and_print(kvet, path, folder):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            scored, rows, passed, failed = score(kvet, path, folder)
            if rows:
                failed |= table(scored, rows, passed)
        except (OSError, ValueError, KeyError, sqlite3.Error) as problem:
            print(f"\n{path}: cannot be scored: {problem!r}")
            rows, failed = [], True
    return printed.getvalue(), rows, failed


def main():
    kvet, rest = sys.argv[1], sys.argv[2:]
    if not rest or len(rest) % 2:
        sys.exit(__doc__)
    broken, everything = False, []
    # One process per capture: time on a GPU machine is scarce.
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for printed, rows, failed in pool.map(score_and_print, [kvet] * (len(rest) // 2), rest[::2], rest[1::2]):
            print(printed, end="", flush=True)
            broken |= failed
            everything += rows
    count, *held = coverage(everything)
    if count:
        own, pooled, workload = (100 * value / count for value in held)
        bad = count >= LEAST_INTERVALS and not COVERAGE[0] <= pooled <= COVERAGE[1]
        broken |= bad
        print(f"\nintervals: {count}. Inside: the truth of the same samples {own:.1f}%, the mean of all rounds {pooled:.1f}%, that of "
              f"all the time in question {workload:.1f}% (wanted: 92 to 98% of at least {LEAST_INTERVALS})"
              f"{'  <-- outside' if bad else ''}")
    print("occupancy: " + ("a limit is broken" if broken else "within the limits"))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

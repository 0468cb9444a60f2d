#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Truth beside kvet: solo, device and own occupancy of every kernel, per set of siblings, with the rig's own gate.

  score_occupancy.py KVET CAPTURE TRUTH_FOLDER [CAPTURE TRUTH_FOLDER...]       exit status 1: a limit is broken

The truth is the rig's log + the time per warp that a log cannot see (launch before the first stamp, drain after the last),
which is measured on the solo phases of each capture's round 0. Round 0 is scored nowhere.
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

from captures import Capture, Spans, States
from truth import Truth

GATE_POINTS = 0.5
SOLO_POINTS = 1.0
FULL_RANK_POINTS = {"three": 2.0}
OTHER_POINTS = 5.0
LEAST_SET_NS = 20e6
IDLE_MARGIN_NS = 1_000_000


class Scored:
    """One capture with its truth."""

    def __init__(self, path, folder):
        self.path = path
        self.capture = Capture(path)
        self.truth = Truth(folder, self.capture.base)
        self.case, self.names = self.truth.facts["case"], self.truth.names
        self.states = States(self.capture, self.names)
        self.lane = [kernel["lane"] for kernel in self.truth.kernels]
        self.unlogged = self._unlogged(0)

    def _unlogged(self, number):
        """ns per warp that the device counts beyond the log, per kernel, from solo phases with idle time around them."""
        capture, round = self.capture, self.truth.rounds[number]
        result = np.full(len(self.names), np.nan)
        lengths = (capture.sample_end - capture.sample_start).astype(float)
        for name, begin, end in round.phases:
            if name not in self.names:
                continue
            lane = self.names.index(name)
            members = [k for k in range(len(self.names)) if self.lane[k] == lane]
            inside = (capture.sample_start >= begin - IDLE_MARGIN_NS) & (capture.sample_end <= end + IDLE_MARGIN_NS)
            if not inside.any():
                continue
            start, stop = capture.sample_start[inside], capture.sample_end[inside]
            device = np.nansum(capture.resident[inside] * lengths[inside])
            logged = sum(round.resident_ns(k, start, stop).sum() for k in members)
            warps = sum(round.warps(k, start, stop).sum() for k in members)
            if warps:
                result[members] = (device - logged) / warps
        return result

    def resident(self, round, kernel, start, end):
        """Warp·ns: the log + what it cannot see."""
        extra = self.unlogged[kernel] if np.isfinite(self.unlogged[kernel]) else 0
        return round.resident_ns(kernel, start, end) + extra * round.warps(kernel, start, end)

    def siblings_run(self, kernel):
        """Predicate on a mask: the kernel runs, and one of another stream too."""
        others = sum(1 << k for k in range(len(self.names)) if self.lane[k] != self.lane[kernel])
        return lambda mask: bool(mask >> kernel & 1) and bool(mask & others)

    def samples_of(self, round, phase="mixed"):
        for name, begin, end in round.phases:
            if name == phase:
                return (self.capture.sample_start >= begin) & (self.capture.sample_end <= end)
        return np.zeros(len(self.capture.sample_start), bool)


def wholly(capture, spans):
    """Samples that lie in the spans from end to end, guard included."""
    start, end = capture.sample_start - capture.guard_ns, capture.sample_end + capture.guard_ns
    return spans.covered(start, end) >= (end - start) - 0.5


# A block is launched and drained within this; more is not unlogged time but a log with holes.
MOST_UNLOGGED_NS = 5000


def log_is_short(scored):
    return bool((np.abs(scored.unlogged[np.isfinite(scored.unlogged)]) > MOST_UNLOGGED_NS).any()
                or not np.isfinite(scored.unlogged).all())


def set_label(names, mask):
    return "+".join(name.removeprefix("rig_") for bit, name in enumerate(names) if mask >> bit & 1)


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
    def __init__(self, what, round, finding, truth, time_ns, mask):
        self.what, self.round, self.finding, self.truth, self.time_ns, self.mask = what, round, finding, truth, time_ns, mask
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


def truths(scored, number, kernel):
    """What each finding of one kernel in one round should say: {(id, mask of siblings): (percent, ns of samples)}.

    Co-run figures are held against all samples inside co-run time, as questions.md defines them; "own, steady" are those in
    which nothing begins or ends. A sample belongs to the set that ran for the longest part of it.
    """
    capture, round = scored.capture, scored.truth.rounds[number]
    inside_round = (capture.sample_start >= round.start) & (capture.sample_end <= round.end)
    everybody = range(len(scored.names))

    def mean(chosen, kernels):
        start, end = capture.sample_start[chosen], capture.sample_end[chosen]
        time = float((end - start).sum())
        warps = sum(scored.resident(round, k, start, end).sum() for k in kernels)
        return (100 * warps / time / capture.slots if time else None), time

    result = {}
    start, end = capture.sample_start - capture.guard_ns, capture.sample_end + capture.guard_ns
    own = Spans(capture.spans(scored.names[kernel]))
    beside = scored.states.spans(scored.siblings_run(kernel))
    others = scored.states.spans(lambda mask: bool(mask & ~(1 << kernel)))
    # Solo: the whole samples of solo executions, against the kernel's time in them. Those that saw a sibling leave their
    # solo head and tail out, as the definition has it.
    met_sibling = beside.covered(own.spans[:, 0], own.spans[:, 1]) > 0
    solo, overlapped = Spans(own.spans[~met_sibling]), Spans(own.spans[met_sibling])
    chosen = (inside_round & (solo.covered(start, end) > 0) & (overlapped.covered(start, end) == 0)
              & (others.covered(start, end) == 0))
    a, b = capture.sample_start[chosen], capture.sample_end[chosen]
    time = solo.covered(a, b).sum()
    if time:
        result["occupancy.solo", 0] = 100 * scored.resident(round, kernel, a, b).sum() / time / capture.slots, time
    in_corun = inside_round & wholly(capture, beside)
    result["occupancy.corun.device", 0] = mean(in_corun, everybody)
    result["occupancy.corun.own", 0] = mean(in_corun, [kernel])
    result["own, steady", 0] = mean(in_corun & steady_samples(scored), [kernel])
    for mask in range(1, 1 << len(scored.names)):
        if mask >> kernel & 1 and mask != 1 << kernel:
            chosen = in_corun & (dominant_sets(scored) == mask)
            if chosen.any():
                result["occupancy.corun.own", mask & ~(1 << kernel)] = mean(chosen, [kernel])
    return {key: value for key, value in result.items() if value[0] is not None}


def dominant_sets(scored):
    """Per sample: the mask that ran for the longest part of it."""
    if not hasattr(scored, "dominant_"):
        capture = scored.capture
        scored.dominant_ = np.zeros(len(capture.sample_start), int)
        longest = np.zeros(len(capture.sample_start))
        for mask in range(1 << len(scored.names)):
            time = scored.states.spans(lambda m, mask=mask: m == mask).covered(capture.sample_start, capture.sample_end)
            scored.dominant_[time > longest] = mask
            longest = np.maximum(longest, time)
    return scored.dominant_


def steady_samples(scored):
    """No execution of anybody begins or ends in the sample, guard included."""
    if not hasattr(scored, "steady_"):
        capture = scored.capture
        times = np.sort(np.concatenate([capture.execution_start, capture.execution_end]))
        start, end = capture.sample_start - capture.guard_ns, capture.sample_end + capture.guard_ns
        scored.steady_ = np.searchsorted(times, end, side="left") == np.searchsorted(times, start, side="right")
    return scored.steady_


def gate(scored):
    """The rig's own: log + unlogged against the device figure, per set, over rounds 1 and on. Returns masks that may judge."""
    capture = scored.capture
    print("  set                 ms of samples   device %   log %   log + unlogged %   difference")
    passed, steady = set(), steady_samples(scored)
    for mask in range(1, 1 << len(scored.names)):
        spans = scored.states.spans(lambda m, mask=mask: m == mask)
        whole = wholly(capture, spans) & steady
        device = logged = full = time = 0.0
        for round in scored.truth.rounds[1:]:
            chosen = whole & (capture.sample_start >= round.start) & (capture.sample_end <= round.end)
            start, end = capture.sample_start[chosen], capture.sample_end[chosen]
            time += float((end - start).sum())
            device += float(np.nansum(capture.resident[chosen] * (end - start)))
            for kernel in range(len(scored.names)):
                logged += round.resident_ns(kernel, start, end).sum()
                full += scored.resident(round, kernel, start, end).sum()
        if time == 0:
            continue
        device, logged, full = (100 * value / time / capture.slots for value in (device, logged, full))
        good = abs(full - device) <= GATE_POINTS
        if good:
            passed.add(mask)
        note = "" if good else "   <-- this set may not judge"
        print(f"  {set_label(scored.names, mask):20} {time / 1e6:12.1f} {device:10.2f} {logged:7.2f} {full:12.2f} "
              f"{full - device:+12.2f}{note}")
    return passed


def least_squares(scored, number):
    """What regression of the device figure on run flags would say: percent per kernel while it runs."""
    capture, round = scored.capture, scored.truth.rounds[number]
    chosen = (capture.sample_start >= round.start) & (capture.sample_end <= round.end) & np.isfinite(capture.resident)
    start, end = capture.sample_start[chosen], capture.sample_end[chosen]
    flags = np.stack([Spans(capture.spans(name)).covered(start, end) / (end - start) for name in scored.names], 1)
    answer = np.linalg.lstsq(flags, 100 * capture.resident[chosen] / capture.slots, rcond=None)[0]
    return answer


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
        for kernel, name in enumerate(scored.names):
            wanted = truths(scored, number, kernel)
            flags = least_squares(scored, number)[kernel]
            for finding in answer.get(name, []):
                if not finding["id"].startswith(("occupancy.solo", "occupancy.corun")):
                    continue
                mask = beside_mask(scored.names, kernel, finding["beside"])
                what = next((known for known in ("occupancy.corun.own", "occupancy.corun.device", "occupancy.solo")
                             if finding["id"] == known or (mask and finding["id"].startswith(known + "."))), None)
                found = wanted.get((what, mask))
                if found is None:
                    continue
                row = Row(what, number, finding, found[0], found[1], mask)
                row.kernel, row.flags, row.case = kernel, flags, scored.case
                row.steady = wanted.get(("own, steady", 0), (None,))[0] if what == "occupancy.corun.own" and not mask else None
                rows.append(row)
    return scored, rows, passed, errors or lost > 0 or not passed


def table(scored, rows, passed):
    """One line per kernel, finding and set: over the rounds. Returns whether a limit is broken."""
    broken = False
    print("  kernel       finding        beside               ms    truth    kvet  error  worst  least squares   inside")
    keys = sorted({(row.kernel, row.what, row.mask) for row in rows})
    for kernel, what, mask in keys:
        chosen = [row for row in rows if (row.kernel, row.what, row.mask) == (kernel, what, mask)]
        known = [row for row in chosen if row.value is not None]
        time = sum(row.time_ns for row in chosen) / 1e6
        beside = set_label(scored.names, mask) if mask else ("any" if "corun" in what else "")
        head = f"  {scored.names[kernel]:12} {what.removeprefix('occupancy.'):14} {beside:14} {time:8.1f} {np.mean([r.truth for r in chosen]):8.2f}"
        judged = bool(passed) if mask == 0 else (mask | 1 << kernel) in passed
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
        held = [row.interval["low"] <= row.truth <= row.interval["high"] for row in known if row.interval]
        limit = SOLO_POINTS if "solo" in what else FULL_RANK_POINTS.get(scored.case, OTHER_POINTS)
        bad = enough and what != "occupancy.corun.device" and abs(pooled) > limit
        steady = [row.steady for row in known if row.steady is not None]
        note = f"  (in steady samples the truth is {np.mean(steady):.2f})" if steady else ""
        broken |= bad
        print(f"{head} {np.mean([r.value for r in known]):7.2f} {pooled:+6.2f} {worst:+6.2f} {flags:+11.2f} "
              f"{sum(held):9d}/{len(held)}{note}{'' if judged else '  not judged'}{'  <-- outside' if bad else ''}")
    return broken


def coverage(rows):
    """Own truth of the same samples, and the mean of all rounds."""
    own = pooled = count = 0
    for key in {(row.case, row.kernel, row.what, row.mask) for row in rows}:
        chosen = [row for row in rows if (row.case, row.kernel, row.what, row.mask) == key and row.interval]
        if not chosen:
            continue
        weight = np.array([row.time_ns for row in chosen])
        mean = float((np.array([row.truth for row in chosen]) * weight).sum() / weight.sum())
        for row in chosen:
            count += 1
            own += row.interval["low"] <= row.truth <= row.interval["high"]
            pooled += row.interval["low"] <= mean <= row.interval["high"]
    return count, own, pooled


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
    count, own, pooled = coverage(everything)
    if count:
        print(f"\nintervals: {count}; the same samples' truth inside {100 * own / count:.1f}%, the pooled truth inside "
              f"{100 * pooled / count:.1f}% (wanted: 92 to 98%, of at least 400)")
    print("occupancy: " + ("a limit is broken" if broken else "within the limits"))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A capture with its truth: what the figures of one kernel should be, and whether the truth may judge at all.

The truth is the rig's log + the time per warp that a log cannot see (launch before the first stamp, drain after the last),
which is measured on the solo phases of each capture's round 0. Round 0 is scored nowhere.
"""
import typing

import numpy as np

from captures import Capture, Spans, States
from truth import Truth

GATE_POINTS = 0.5
IDLE_MARGIN_NS = 1_000_000


class Scored:
    """One capture with its truth."""

    def __init__(self, path, folder):
        self.path = path
        self.capture = Capture(path)
        self.truth = Truth(folder, self.capture.base)
        self.case, self.names = self.truth.facts["case"], self.truth.names
        self.states = States(self.capture, self.names)
        self.interval_ns = int(self.capture.meta.get("counters.interval_ns", 0))
        self.lane = [kernel["lane"] for kernel in self.truth.kernels]
        self.unlogged = self._unlogged(0)
        self.samples_, self.sets_ = {}, {}

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

    def samples(self, kernel):
        if kernel not in self.samples_:
            self.samples_[kernel] = KernelSamples(self, kernel)
        return self.samples_[kernel]

    def beside_spans(self, kernel, siblings, own_lane):
        """Time in which the kernel runs, and of other streams' just these."""
        key = kernel, siblings
        if key not in self.sets_:
            self.sets_[key] = self.states.spans(lambda m: bool(m >> kernel & 1) and m & ~own_lane == siblings)
        return self.sets_[key]

    def set_spans(self, mask):
        """Time in which just these kernels run."""
        if mask not in self.sets_:
            self.sets_[mask] = self.states.spans(lambda m: m == mask)
        return self.sets_[mask]


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


class KernelSamples:
    """What holds of every sample of a capture for one kernel, worked out once."""

    def __init__(self, scored, kernel):
        capture = scored.capture
        start, end = capture.sample_start - capture.guard_ns, capture.sample_end + capture.guard_ns
        own = Spans(capture.spans(scored.names[kernel]))
        self.beside = scored.states.spans(scored.siblings_run(kernel))
        others = scored.states.spans(lambda mask: bool(mask & ~(1 << kernel)))
        # Solo: the whole samples of solo executions, against the kernel's time in them. Those that saw a sibling leave their
        # solo head and tail out, as the definition has it.
        met_sibling = self.beside.covered(own.spans[:, 0], own.spans[:, 1]) > 0
        self.solo, overlapped = Spans(own.spans[~met_sibling]), Spans(own.spans[met_sibling])
        self.is_solo = ((self.solo.covered(start, end) > 0) & (overlapped.covered(start, end) == 0)
                        & (others.covered(start, end) == 0))
        self.in_corun = wholly(capture, self.beside)


class Known(typing.NamedTuple):
    percent: float  # of the warp slots, in the samples that a figure may use
    time_ns: float  # of these samples
    workload: float  # percent over all of the time that the figure is about, sampled or not


def truths(scored, number, kernel):
    """What each finding of one kernel in one round should say: {(id, mask of siblings): Known}.

    Own figures are held against all of the co-run time, as questions.md defines them ("own, steady" is the truth in samples in
    which nothing begins or ends); solo and device figures, which are means over samples, against the same samples.
    """
    capture, round = scored.capture, scored.truth.rounds[number]
    first, last = np.searchsorted(capture.sample_start, round.start), np.searchsorted(capture.sample_end, round.end)
    part = slice(first, max(first, last))
    samples = scored.samples(kernel)
    start, end = capture.sample_start[part], capture.sample_end[part]
    steady = steady_samples(scored)[part]
    result = {}

    def percent(kernels, begin, stop, time):
        return 100 * sum(scored.resident(round, k, begin, stop).sum() for k in kernels) / time / capture.slots

    def in_round(spans):
        return spans[(spans[:, 0] >= round.start) & (spans[:, 1] <= round.end)]

    def over(spans, kernels):
        spans = in_round(spans)
        time = float((spans[:, 1] - spans[:, 0]).sum())
        return (percent(kernels, spans[:, 0], spans[:, 1], time) if time > 0 else None), time

    def add_sampled(key, chosen, kernels, time, spans):
        whole, _ = over(spans, kernels)
        if time > 0 and whole is not None:
            result[key] = Known(percent(kernels, start[chosen], end[chosen], time), time, whole)

    chosen = samples.is_solo[part]
    add_sampled(("occupancy.solo", 0), chosen, [kernel], samples.solo.covered(start[chosen], end[chosen]).sum(),
                samples.solo.spans)
    corun = samples.in_corun[part]
    length = (end - start).astype(float)
    add_sampled(("occupancy.corun.device", 0), corun, range(len(scored.names)), length[corun].sum(), samples.beside.spans)
    add_sampled(("own, steady", 0), corun & steady, [kernel], length[corun & steady].sum(), samples.beside.spans)
    own_lane = sum(1 << k for k in range(len(scored.names)) if scored.lane[k] == scored.lane[kernel])
    whole, time = over(samples.beside.spans, [kernel])
    if whole is not None:
        result["occupancy.corun.own", 0] = Known(whole, time, whole)
    for siblings in range(1, 1 << len(scored.names)):
        if siblings & own_lane:
            continue
        # The other one of a dependent pair is no sibling: it may run or not.
        whole, time = over(scored.beside_spans(kernel, siblings, own_lane).spans, [kernel])
        if whole is not None:
            result["occupancy.corun.own", siblings] = Known(whole, time, whole)
    return result


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
        whole = wholly(capture, scored.set_spans(mask)) & steady
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

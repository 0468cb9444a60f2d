# SPDX-License-Identifier: Apache-2.0
"""Reads what occupancy_rig wrote: resident warps per kernel over time, on CLOCK_MONOTONIC."""
import json
import pathlib

import numpy as np


class Truth:
    def __init__(self, folder, base):
        folder = pathlib.Path(folder)
        self.facts = json.loads((folder / "truth.json").read_text())
        self.kernels = self.facts["kernels"]
        self.names = [kernel["name"] for kernel in self.kernels]
        self.bin_ns = self.facts["bin_ns"]
        pairs = np.array(self.facts["clock_pairs"], np.int64)
        self.widest_bracket_ns = int(pairs[:, 2].max())
        self.rounds = []
        data = np.fromfile(folder / "truth.bin", np.uint16)
        at = 0
        for facts in self.facts["rounds"]:
            bins, count = facts["bins"], len(self.kernels)
            quarters = data[at:at + bins * count].reshape(count, bins)
            events = data[at + bins * count:at + 2 * bins * count].reshape(count, bins)
            at += 2 * bins * count
            self.rounds.append(Round(facts, quarters, events, pairs, self.bin_ns, base))
        if at != len(data):
            raise SystemExit(f"{folder}: truth.bin does not fit truth.json")


class Round:
    def __init__(self, facts, quarters, events, pairs, bin_ns, base):
        self.facts = facts
        self.start, self.end = facts["from_ns"] - base, facts["to_ns"] - base
        self.phases = [(name, begin - base, end - base) for name, begin, end in facts["phases"]]
        # Differences first: integers of 19 digits do not fit a double.
        edges = np.arange(quarters.shape[1] + 1) * float(bin_ns)
        beside = (pairs[:, 1] - facts["origin_globaltimer_ns"]).astype(float)
        offset = (pairs[:, 0] - base - (pairs[:, 1] - facts["origin_globaltimer_ns"])).astype(float)
        self.edges = edges + np.interp(edges, beside, offset)
        zero = np.zeros((quarters.shape[0], 1))
        self._resident = np.concatenate([zero, np.cumsum(quarters * (bin_ns / 4.0), 1)], 1)  # warp·ns up to each edge
        self._events = np.concatenate([zero, np.cumsum(events / 2.0, 1)], 1)  # warps up to each edge

    def resident_ns(self, kernel, start, end):
        """Warp·ns of a kernel in each interval, as logged."""
        at = lambda t: np.interp(t, self.edges, self._resident[kernel])
        return at(end) - at(start)

    def warps(self, kernel, start, end):
        """How many warps came and went in each interval (half an entry and half an exit count one)."""
        at = lambda t: np.interp(t, self.edges, self._events[kernel])
        return at(end) - at(start)

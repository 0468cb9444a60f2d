# SPDX-License-Identifier: Apache-2.0
"""Plants a capture and the truth beside it, with residencies known by construction, for the test of the scoring itself."""
import heapq
import json
import sqlite3

import numpy as np

START_NS = 500_000_000_000
GLOBALTIMER = 1_796_063_000_000_000_000
DRIFT = 2.8e-6
LAUNCH_NS, DRAIN_NS = 700, 400  # of a warp, outside its log
SLOTS, MULTIPROCESSORS = 8448, 132
KERNELS = [("rig_a", 797, 128, 158, 4096), ("rig_b", 611, 512, 24, 8192)]  # name, grid, threads, registers, shared

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE string(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE device(id INTEGER, multiprocessors INTEGER, max_warps_per_multiprocessor INTEGER, memory_bandwidth_bytes_per_s INTEGER);
CREATE TABLE kernel_shape(id INTEGER PRIMARY KEY, name_id INTEGER);
CREATE TABLE execution(process_id INTEGER, device_id INTEGER, shape_id INTEGER, stream_id INTEGER, start_ns INTEGER, duration_ns INTEGER);
CREATE TABLE sample(device_id INTEGER, start_ns INTEGER, duration_ns INTEGER, cycles_elapsed REAL, sm_active_cycles REAL,
                    warp_cycles REAL, register_cycles REAL, shared_byte_cycles REAL, dram_read_bytes REAL, dram_write_bytes REAL);
CREATE TABLE clock_mapping(source INTEGER, device_id INTEGER, from_ns INTEGER, offset_ns INTEGER, drift_ns_per_s REAL, residual_ns INTEGER);
"""


def globaltimer(times):
    times = np.asarray(times, np.int64)
    return times - START_NS + GLOBALTIMER + np.rint((times - START_NS) * DRIFT).astype(np.int64)


def execution(random, number, start):
    """Entries and exits of the warps as logged, and when the execution ends."""
    _, grid, threads, registers, _ = KERNELS[number]
    capacity = MULTIPROCESSORS * min(65536 // (-(-registers // 8) * 8 * threads), 2048 // threads, 32) // 2
    durations = random.integers(5_000, 1_000_000, grid)
    running, entries = [], []
    for duration in durations:
        begin = start + 1500 if len(running) < capacity else heapq.heappop(running) + LAUNCH_NS
        entries.append(begin)
        heapq.heappush(running, begin + int(duration) + DRAIN_NS)
    entries = np.repeat(np.array(entries, np.int64), threads // 32)
    exits = entries + np.repeat(durations, threads // 32)
    return entries, exits, int(exits.max()) + DRAIN_NS + 300


class Plant:
    def __init__(self, seed=1, rounds=3, interval_ns=100_000, logged_share=1.0):
        """logged_share: less than 1 leaves warps out of the log, as a rig does that is broken."""
        random = np.random.default_rng(seed)
        self.interval_ns = interval_ns
        self.executions, self.rounds, self.pairs = [], [], []
        now = START_NS + 20_000_000
        for _ in range(rounds):
            begin, phases, warps = now, [], []
            self._pair(now)
            now += 3_000_000
            for number in range(len(KERNELS)):
                phase, until = now, now + 20_000_000
                while now < until:
                    now = self._run(random, warps, number, now + int(random.integers(0, 200_000)))
                phases.append([KERNELS[number][0], phase, now])
                now += 6_000_000
            phase, until, ends = now, now + 100_000_000, []
            for number in range(len(KERNELS)):
                now = phase
                while now < until:
                    now = self._run(random, warps, number, now + int(random.integers(0, 2_000_000)))
                ends.append(now)
            now = max(ends)
            phases.append(["mixed", phase, now])
            now += 3_000_000
            self._pair(now)
            self.rounds.append((begin, now, phases, warps))
            now += 3_000_000
        self.end = now + 20_000_000
        self.kept = np.random.default_rng(seed + 1), logged_share

    def _pair(self, time):
        self.pairs.append([int(time), int(globaltimer(time)), 1500])

    def _run(self, random, warps, number, start):
        entries, exits, end = execution(random, number, start)
        warps.append((number, entries, exits))
        self.executions.append((number, start, end))
        return end

    def resident(self, edges, number, before=LAUNCH_NS, after=DRAIN_NS):
        """Mean warps between consecutive edges, straight from the warps' own times."""
        total = np.zeros(len(edges))
        for _, _, _, warps in self.rounds:
            for kernel, entries, exits in warps:
                if kernel == number:
                    for times, sign in ((np.sort(entries - before), 1), (np.sort(exits + after), -1)):
                        sums = np.concatenate([[0], np.cumsum(times - START_NS)])
                        count = np.searchsorted(times, edges)
                        total += sign * (count * (edges - START_NS) - sums[count])
        return np.diff(total) / np.diff(edges)

    def write_truth(self, folder):
        folder.mkdir(parents=True)
        random, share = self.kept
        rounds = []
        with open(folder / "truth.bin", "wb") as file:
            for begin, end, phases, warps in self.rounds:
                origin, bins = int(globaltimer(begin)) - 1_000_000, (end - begin + 3_000_000) // 2000
                resident, events = np.zeros((len(KERNELS), bins + 2)), np.zeros((len(KERNELS), bins), np.int64)
                for number, entries, exits in warps:
                    keep = random.random(len(entries)) < share
                    for times, sign in ((entries[keep], 1), (exits[keep], -1)):
                        since = globaltimer(times) - origin
                        since -= since % 32
                        np.add.at(resident[number], since // 2000, sign * (2000 - since % 2000))
                        np.add.at(resident[number], since // 2000 + 1, sign * (since % 2000))
                        np.add.at(events[number], since // 2000, 1)
                np.rint(np.cumsum(resident, 1)[:, :bins] / 500).astype(np.uint16).tofile(file)
                events.astype(np.uint16).tofile(file)
                rounds.append({"from_ns": int(begin), "to_ns": int(end), "origin_globaltimer_ns": origin, "bins": int(bins),
                               "missing": 0, "warps": 0, "launches": [],
                               "phases": [[name, int(a), int(b)] for name, a, b in phases]})
        kernels = [{"name": name, "grid": grid, "threads": threads, "registers": registers, "shared_bytes": shared,
                    "early_warps": 0, "lane": lane} for lane, (name, grid, threads, registers, shared) in enumerate(KERNELS)]
        (folder / "truth.json").write_text(json.dumps(
            {"case": "three", "seed": 1, "bin_ns": 2000, "granularity_ns": 32, "kernels": kernels,
             "clock_pairs": self.pairs, "rounds": rounds}))

    def write_capture(self, path):
        file = sqlite3.connect(path)
        file.executescript(TABLES)
        file.executemany("INSERT INTO meta VALUES (?, ?)", [("record.start_ns", str(START_NS)), ("counters.status", "ok")])
        file.executemany("INSERT INTO string VALUES (?, ?)", [(i + 1, kernel[0]) for i, kernel in enumerate(KERNELS)])
        file.executemany("INSERT INTO kernel_shape VALUES (?, ?)", [(i, i + 1) for i in range(len(KERNELS))])
        file.execute("INSERT INTO device VALUES (0, ?, ?, 4814304000000)", (MULTIPROCESSORS, SLOTS // MULTIPROCESSORS))
        file.executemany("INSERT INTO execution VALUES (0, 0, ?, ?, ?, ?)",
                         [(number, number + 1, start, end - start) for number, start, end in self.executions])
        edges = np.arange(START_NS, self.end, self.interval_ns)
        warps = sum(self.resident(edges, number) for number in range(len(KERNELS)))
        raw, cycles = globaltimer(edges), self.interval_ns * 1.98
        file.executemany("INSERT INTO sample VALUES (0, ?, ?, ?, NULL, ?, NULL, NULL, NULL, NULL)",
                         [(int(a), int(b - a), cycles, float(w) * cycles) for a, b, w in zip(raw[:-1], raw[1:], warps)])
        file.execute("INSERT INTO clock_mapping VALUES (2, 0, 0, ?, 0, NULL)", (START_NS - GLOBALTIMER,))
        file.execute("INSERT INTO clock_mapping VALUES (2, 0, ?, ?, ?, 1000)",
                     (GLOBALTIMER, START_NS - GLOBALTIMER, -DRIFT * 1e9))
        file.commit()
        file.close()

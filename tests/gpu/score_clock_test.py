#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scoring of clocks is held against a capture whose samples are off by a planted time.   Needs numpy; no GPU, no kvet."""
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not here")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from planted import DRIFT, GLOBALTIMER, START_NS, TABLES, globaltimer

SECONDS, INTERVAL_NS = 4, 100_000
LANES = {"idle": [("clock_step_a", 2112, 200_000, 2_000_000, 3_000_000)],
         "busy": [("clock_floor_a", 528, 1_500_000, 4_500_000, 0), ("clock_floor_b", 396, 1_500_000, 4_500_000, 0),
                  ("clock_step_a", 2112, 400_000, 2_000_000, 1_500_000)]}


def plant(folder, mode, error_ns):
    """Executions whose warps enter over 600 ns; samples that carry `error_ns` after mapping."""
    random = np.random.default_rng(5)
    end = START_NS + SECONDS * 10**9
    origin = int(globaltimer(START_NS + 1_000_000))
    rows, facts, executions, entries, exits = [], [], [], [], []
    for lane, (name, warps, shortest, longest, gap) in enumerate(LANES[mode]):
        now, count = START_NS + 2_000_000, 0
        while now < end - 10_000_000:
            now += int(random.integers(50_000, 50_000 + gap)) if gap else 1500
            entry = now + 1500 + random.integers(0, 600, warps)
            exit = entry + int(random.integers(shortest, longest))
            enter, leave = globaltimer(entry) - origin, globaltimer(exit) - origin
            rows.append((enter.min(), leave.max(), enter.sum(), leave.sum(), warps))
            executions.append((lane, now, int(exit.max()) + 500))
            entries.append(entry)
            exits.append(exit)
            now, count = executions[-1][2], count + 1
        facts.append({"name": name, "executions": count, "warps": warps})
    np.array(rows, np.uint64).tofile(folder / "clock.bin")
    pairs = [[time, int(globaltimer(time)), 1200] for time in range(START_NS, end + 1, 10**9)]
    (folder / "clock.json").write_text(json.dumps({"mode": mode, "origin_globaltimer_ns": origin, "granularity_ns": 32,
                                                   "clock_pairs": pairs, "lanes": facts}))
    edges, total = np.arange(START_NS, end, INTERVAL_NS), 0
    for times, sign in ((entries, 1), (exits, -1)):
        times = np.sort(np.concatenate(times))
        sums, count = np.concatenate([[0], np.cumsum(times - START_NS)]), np.searchsorted(times, edges)
        total = total + sign * (count * (edges - START_NS) - sums[count])
    resident, raw, cycles = np.diff(total) / INTERVAL_NS, globaltimer(edges), INTERVAL_NS * 1.98
    file = sqlite3.connect(folder / "capture.kvet")
    file.executescript(TABLES)
    file.execute("INSERT INTO meta VALUES ('record.start_ns', ?)", (str(START_NS),))
    file.execute("INSERT INTO device VALUES (0, 132, 64, 4814304000000)")
    file.executemany("INSERT INTO string VALUES (?, ?)", [(i + 1, lane[0]) for i, lane in enumerate(LANES[mode])])
    file.executemany("INSERT INTO kernel_shape VALUES (?, ?)", [(i, i + 1) for i in range(len(LANES[mode]))])
    file.executemany("INSERT INTO execution VALUES (0, 0, ?, ?, ?, ?)", [(n, n + 1, a, b - a) for n, a, b in executions])
    file.executemany("INSERT INTO sample VALUES (0, ?, ?, ?, NULL, ?, NULL, NULL, NULL, NULL)",
                     [(int(a), int(b - a), cycles, float(w) * cycles) for a, b, w in zip(raw[:-1], raw[1:], resident)])
    file.execute("INSERT INTO clock_mapping VALUES (2, 0, ?, ?, ?, 1000)",
                 (GLOBALTIMER, START_NS - GLOBALTIMER + error_ns, -DRIFT * 1e9))
    file.commit()
    file.close()


class Clocks(unittest.TestCase):
    def residual_us(self, mode, error_ns):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="score-clock-"))
        plant(folder, mode, error_ns)
        run = subprocess.run([sys.executable, HERE / "score_clock.py", folder / "capture.kvet", folder], capture_output=True, text=True)
        found = re.search(r"edges: median ([0-9.]+) us", run.stdout)
        self.assertTrue(found, run.stdout + run.stderr)
        start_bias = re.search(r"CUPTI start - log, clock_step_a +median +([-+0-9.]+) us", run.stdout)
        return float(found[1]), run.returncode, float(start_bias[1])

    def test_planted_errors_come_back(self):
        for mode in LANES:
            for error_ns in (0, 1500, -3000):
                residual, status, start_bias = self.residual_us(mode, error_ns)
                self.assertAlmostEqual(residual, abs(error_ns) / 1000, delta=0.1)
                self.assertEqual(status, 1 if abs(error_ns) > 2000 else 0)
                self.assertAlmostEqual(start_bias, -1.5, delta=0.05)  # planted: the first warp enters 1.5 µs after CUPTI's start


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scoring is held against captures whose residencies are planted: it must find the time that a log cannot see, must not
judge by a log that is short, and must notice a report that is wrong.   Needs numpy; no GPU, no kvet."""
import contextlib
import io
import json
import pathlib
import stat
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not here")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import planted
import residency_truth
import score_occupancy

REPORTER = """#!{python}
# Stands for kvet report: says what the test planted for the window that it is asked about.
import json, sys
window = sys.argv[sys.argv.index("--window") + 1]
print(json.dumps({{"captures": [{{"kernels": json.load(open({answers!r}))[window]}}]}}))
"""


class Scoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="score-occupancy-"))
        cls.plant = planted.Plant()
        cls.plant.write_capture(cls.folder / "whole.kvet")
        cls.plant.write_truth(cls.folder / "whole")
        cls.short = planted.Plant(logged_share=0.9)
        cls.short.write_capture(cls.folder / "short.kvet")
        cls.short.write_truth(cls.folder / "short")

    def answers(self, plant, error, half, unresolved=None):
        """What a report would say: the residency by the warps' own times over co-run time (the scoring sees whole samples of it
        alone, so they differ by some tenths), plus a planted error."""
        windows = {}
        for begin, end, phases, _ in plant.rounds:
            edges = np.arange(begin, end, 10_000)
            middle = (edges[:-1] + edges[1:]) / 2
            running = [np.zeros(len(middle), bool) for _ in planted.KERNELS]
            for number, start, stop in plant.executions:
                running[number] |= (middle > start) & (middle < stop)
            kernels = []
            for number, kernel in enumerate(planted.KERNELS):
                corun = running[0] & running[1]
                value = 100 * plant.resident(edges, number)[corun].mean() / planted.SLOTS + error
                finding = {"id": "occupancy.corun.own", "beside": "", "value": value, "reason": "",
                           "interval": {"low": value - half, "high": value + half}}
                if unresolved:
                    low, high = value + unresolved[0], value + unresolved[1]
                    finding |= {"value": None, "interval": None,
                                "reason": f"unresolved: the data allow {low:.1f}% to {high:.1f}% of the warp slots"}
                kernels.append({"name": kernel[0], "findings": [finding]})
            since = planted.START_NS
            windows[f"{begin - since}ns,{end - since}ns"] = kernels
        (self.folder / "answers.json").write_text(json.dumps(windows))
        program = self.folder / "reporter"
        program.write_text(REPORTER.format(python=sys.executable, answers=str(self.folder / "answers.json")))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)

    def score(self, name, reporter):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            scored, rows, passed, failed = score_occupancy.score(reporter, self.folder / f"{name}.kvet", self.folder / name)
            broken = score_occupancy.table(scored, rows, passed)
        return scored, rows, passed, failed or broken, printed.getvalue()

    def test_finds_the_time_outside_the_log(self):
        scored = residency_truth.Scored(self.folder / "whole.kvet", self.folder / "whole")
        for number in range(len(planted.KERNELS)):
            self.assertAlmostEqual(scored.unlogged[number], planted.LAUNCH_NS + planted.DRAIN_NS, delta=20)

    def test_a_right_report_passes(self):
        _, rows, passed, broken, printed = self.score("whole", self.answers(self.plant, 0, 1.0))
        self.assertFalse(broken, printed)
        self.assertEqual(passed, {1, 2, 3})  # a, b, and both
        self.assertEqual(len(rows), 4)  # two kernels in each round but the first
        self.assertEqual(score_occupancy.coverage(rows)[:2], (4, 4))
        self.assertGreater(min(row.truth for row in rows), 3)  # so that two points are something

    def test_an_error_of_three_points_is_noticed(self):
        _, rows, _, broken, printed = self.score("whole", self.answers(self.plant, 3, 0.5))
        self.assertTrue(broken, printed)
        self.assertEqual(score_occupancy.coverage(rows)[:2], (4, 0))

    def test_unresolved_needs_a_range_that_holds_the_truth(self):
        self.assertFalse(self.score("whole", self.answers(self.plant, 0, 0, (-4, 4)))[3])
        self.assertTrue(self.score("whole", self.answers(self.plant, 0, 0, (1, 4)))[3])

    def test_a_log_that_is_short_may_not_judge(self):
        # What is missing in the log goes into the time per warp, and then does not fit where the mix is another.
        scored, _, passed, _, printed = self.score("short", self.answers(self.short, 0, 0.5))
        self.assertGreater(min(scored.unlogged), 10_000, printed)
        self.assertTrue(residency_truth.log_is_short(scored), printed)


if __name__ == "__main__":
    unittest.main()

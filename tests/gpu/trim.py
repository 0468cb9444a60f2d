#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a capture and its truth small enough to carry: only the samples and the truth of the first two rounds stay, and the
beginning, from which the clock was aligned.   trim.py CAPTURE TRUTH_FOLDER      both are changed in place"""
import json
import pathlib
import sqlite3
import sys

capture, folder = sys.argv[1], pathlib.Path(sys.argv[2])
KEPT_ROUNDS = 2
facts = json.loads((folder / "truth.json").read_text())
kept = facts["rounds"][:KEPT_ROUNDS]
cells = sum(round["bins"] for round in kept) * len(facts["kernels"]) * 2
with open(folder / "truth.bin", "r+b") as file:
    file.truncate(cells * 2)  # 16-bit integers
facts["rounds"] = kept
(folder / "truth.json").write_text(json.dumps(facts))

file = sqlite3.connect(capture)
# The samples' clock is near enough to globaltimer here: a margin of 100 ms is kept.
last = kept[-1]["origin_globaltimer_ns"] + kept[-1]["bins"] * facts["bin_ns"] + 100_000_000
first = kept[0]["origin_globaltimer_ns"] - 100_000_000
file.execute("DELETE FROM sample WHERE start_ns > ? OR start_ns < ?", (last, first))
file.commit()
file.execute("VACUUM")

#!/usr/bin/env python3
"""Holds imported captures against their source files, both read without kvet's code.

    import_truth.py --build BUILD [FOLDER]      every file of the folder; without one ../shared/data (or $KVET_DATA)

For each file: number of kernels, their total device time, the first kernel's start and the last one's end, from the source by Python
(fractions of µs exactly) and from the capture by SQL. Equal to the nanosecond, or exit status 1. 77: there is no such folder.
"""
import argparse
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from decimal import Decimal

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.environ.get("KVET_DATA", os.path.join(ROOT, "..", "shared", "data"))


def kineto_truth(path):
    """From Kineto's JSON: times are µs, with digits behind the point or without."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        trace = json.load(file, parse_float=Decimal, parse_int=Decimal)
    kernels = [event for event in trace["traceEvents"] if event.get("cat", "").lower() == "kernel" and event["ph"] == "X"]
    spans = [(event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000) for event in kernels]
    assert all(time == int(time) for span in spans for time in span), "a time has more digits than nanoseconds"
    return (len(spans), int(sum(end - start for start, end in spans)), int(min(start for start, _ in spans)),
            int(max(end for _, end in spans)))


def nsys_truth(path):
    """From an Nsight Systems export, by SQL."""
    database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    row = database.execute("SELECT count(*), sum(end - start), min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    database.close()
    return row if row[0] > 0 else None


# What a file's name ends with, and what reads the truth out of such a file. A reader gives None for a file that has no kernels.
READERS = [
    ("kineto*.json", kineto_truth),
    ("kineto*.json.gz", kineto_truth),
    ("nsys*.sqlite", nsys_truth),
]


def imported(kvet, path, folder):
    capture = os.path.join(folder, "imported.kvet")
    done = subprocess.run([kvet, "import", path, "-o", capture], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    database = sqlite3.connect(capture)
    row = database.execute("SELECT count(*), sum(duration_ns), min(start_ns), max(start_ns + duration_ns) FROM execution").fetchone()
    mapping = database.execute("SELECT offset_ns, drift_ns_per_s FROM clock_mapping").fetchall()
    database.close()
    os.remove(capture)
    return row if mapping == [(0, 0.0)] else f"the clock mapping is {mapping}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("folder", nargs="?", default=DATA)
    arguments = parser.parse_args()
    if not os.path.isdir(arguments.folder):
        print(f"skipped: there is no {arguments.folder}")
        sys.exit(77)
    wrong = checked = 0
    print(f"{'file':36} {'kernels':>8} {'device time, ns':>16} {'first start, ns':>20} {'last end, ns':>20}")
    for pattern, read in READERS:
        for path in sorted(glob.glob(os.path.join(arguments.folder, pattern))):
            truth = read(path)
            if truth is None:
                continue
            with tempfile.TemporaryDirectory() as folder:
                got = imported(os.path.join(arguments.build, "bin", "kvet"), path, folder)
            print(f"{os.path.basename(path)[:36]:36} {truth[0]:8d} {truth[1]:16d} {truth[2]:20d} {truth[3]:20d} "
                  f"{'equal' if got == truth else f'NOT EQUAL: {got}'}")
            checked += 1
            wrong += got != truth
    print(f"{checked} files, {wrong} not equal")
    if checked == 0:
        print("skipped: the folder has no such file")
        sys.exit(77)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

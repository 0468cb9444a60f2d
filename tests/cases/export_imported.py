"""kvet export of other tools' files: what they hold comes out in every format, and nothing that they don't hold.

KVET_DATA=FOLDER: real files of other people (nsys_*.sqlite, kineto_*.json.gz), which are not part of the project.
"""
import csv
import decimal
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess

from harness import TESTS, Skipped, case, check, kvet

DATA = os.environ.get("KVET_DATA", os.path.join(TESTS, "..", "..", "shared", "data"))


def files():
    return sorted(glob.glob(os.path.join(DATA, "nsys_*.sqlite")) + glob.glob(os.path.join(DATA, "kineto_*.json.gz")))


def data():
    if not files():
        raise Skipped(f"needs the files of {DATA} (KVET_DATA)")


def kernels_of(path):
    """How many executions there are and how long they took, by the source alone."""
    if path.endswith(".sqlite"):
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute(
            "SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        durations = [event["dur"] for event in json.load(file)["traceEvents"] if event.get("cat", "").lower() == "kernel" and
                     event.get("ph") == "X"]
    return len(durations), round(sum(durations) * 1000)


def close(got, expected):
    """Counts are equal; times may differ by the rounding of each to nanoseconds."""
    return got[0] == expected[0] and abs(got[1] - expected[1]) <= expected[0]


@case(data)
def tables(folder):
    for index, path in enumerate(files()):
        out = os.path.join(folder, str(index))
        kvet("export", path, "--format", "csv", "-o", out).expect(0)
        with open(os.path.join(out, "execution.csv"), encoding="utf-8", newline="") as file:
            durations = [int(row["duration_ns"]) for row in csv.DictReader(file, strict=True)]
        expected = kernels_of(path)
        check(close((len(durations), sum(durations)), expected), f"{path}: {len(durations)}, {sum(durations)}, not {expected}")
        print(f"{os.path.basename(path)}: {len(durations)} executions, {sum(durations)} ns")


@case(data)
def prometheus_text(folder):
    for path in files():
        text = kvet("export", path, "--format", "prometheus").expect(0).out
        values = {name: [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{")]
                  for name in ("kvet_kernel_executions_total", "kvet_kernel_time_seconds_total")}
        got = (sum(values["kvet_kernel_executions_total"]), round(sum(values["kvet_kernel_time_seconds_total"]) * 1e9))
        check(close(got, kernels_of(path)), f"{path}: {got}, not {kernels_of(path)}")
        # What was not measured has no number.
        for name in ("hw_power", "hw_temperature", "DCGM_FI_PROF", "kvet_dram_solo", "NaN", "Inf"):
            check(name not in text, f"{path}: {name} although the file does not say")


@case(data)
def spans(folder):
    if not shutil.which("protoc"):
        raise Skipped("needs protoc (Debian: apt-get install protobuf-compiler)")
    for path in files():
        out = os.path.join(folder, "traces")
        kvet("export", path, "--format", "otlp", "--signals", "traces", "-o", out).expect(0)
        with open(out, "rb") as file:
            text = subprocess.run(["protoc", f"--proto_path={TESTS}/data", "--decode=otlp.ExportTraceServiceRequest",
                                   f"{TESTS}/data/otlp.proto"], stdin=file, capture_output=True, check=True).stdout.decode()
        executions = [span for span in text.split("    spans {\n")[1:] if "\n      kind: 5\n" in span]
        length = sum(int(re.search(r"end_time_unix_nano: (\d+)", span)[1]) -
                     int((re.search(r"start_time_unix_nano: (\d+)", span) or ["", "0"])[1]) for span in executions)
        check(close((len(executions), length), kernels_of(path)), f"{path}: {len(executions)}, {length}, not {kernels_of(path)}")


def first_kernel_unix_ns(path):
    """By the source alone; empty where it does not say."""
    if path.endswith(".sqlite"):
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute(
            "SELECT utcEpochNs + (SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL) FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    first = min(event["ts"] for event in trace["traceEvents"] if event.get("cat", "").lower() == "kernel" and event.get("ph") == "X")
    return int(trace.get("baseTimeNanoseconds", 0) + first * 1000)


@case(data)
def times_are_those_of_the_calendar(folder):
    if not shutil.which("protoc"):
        raise Skipped("needs protoc (Debian: apt-get install protobuf-compiler)")
    for path in files():
        out = os.path.join(folder, "traces")
        error = kvet("export", path, "--format", "otlp", "--signals", "traces", "-o", out).expect(0).err
        check("1970" not in error, f"{path}: {error}")
        with open(out, "rb") as file:
            text = subprocess.run(["protoc", f"--proto_path={TESTS}/data", "--decode=otlp.ExportTraceServiceRequest",
                                   f"{TESTS}/data/otlp.proto"], stdin=file, capture_output=True, check=True).stdout.decode()
        got = min(int(re.search(r"start_time_unix_nano: (\d+)", span)[1]) for span in text.split("    spans {\n")[1:]
                  if "\n      kind: 5\n" in span)
        expected = first_kernel_unix_ns(path)
        check(abs(got - expected) <= 1, f"{path}: {got}, not {expected}")
        print(f"{os.path.basename(path)}: first kernel at {got / 1e9:.3f} s since 1970")

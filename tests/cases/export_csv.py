"""kvet export --format csv, read by Python's csv module and held against the capture by SQL."""
import csv
import json
import os
import sqlite3

from example_capture import example_capture
from harness import BAD_INPUT, OUTPUT_LOST, USAGE, case, check, kvet

# Table, column: what can be summed. Times differ by the clock mapping, so durations stand for them.
SUMS = [("execution", "duration_ns"), ("execution", "shape_id"), ("api_call", "duration_ns"), ("api_call", "correlation_id"),
        ("transfer", "size_bytes"), ("transfer", "duration_ns"), ("nvtx_range", "duration_ns"), ("off_cpu", "blocked_ns"),
        ("device_reading", "power_milliwatts"), ("device_reading", "gpm_dram_percent"), ("loss", "lost_count"),
        ("kernel_shape", "registers_per_thread"), ("sample", "duration_ns")]


def rows(folder, table):
    with open(os.path.join(folder, f"{table}.csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@case()
def tables_hold_what_the_capture_holds(folder):
    capture, out = example_capture(folder), os.path.join(folder, "tables")
    kvet("export", capture, "--format", "csv", "-o", out).expect(0)
    sql = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    tables = [name for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
              if name not in ("string", "enumerator")]
    check(len(tables) > 10, f"only {tables}")
    for table in tables:
        count = sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        got = rows(out, table)
        check(len(got) == count, f"{table}: {len(got)} rows, not {count}")
    for table, column in SUMS:
        expected = sql.execute(f"SELECT coalesce(total({column}), 0) FROM {table}").fetchone()[0]
        got = sum(float(row[column]) for row in rows(out, table) if row[column])
        check(abs(got - expected) <= 1e-9 * abs(expected), f"{table}.{column}: {got}, not {expected}")
    names = [row["name"] for row in rows(out, "kernel_shape")]
    expected = [name for (name,) in sql.execute(
        "SELECT value FROM kernel_shape JOIN string ON string.id = name_id ORDER BY kernel_shape.id")]
    check(names == expected, "kernel names differ")


@case()
def findings_are_those_of_the_report(folder):
    capture, out = example_capture(folder), os.path.join(folder, "tables")
    kvet("export", capture, "--format", "csv", "-o", out).expect(0)
    report = json.loads(kvet("report", capture, "--json").expect(0).out)["captures"][0]
    expected = [(f["id"], f["value"], f["unit"], f["evidence"])
                for f in report["findings"] + [f for k in report["kernels"] for f in k["findings"]]]
    got = [(row["id"], float(row["value"]) if row["value"] else None, row["unit"], row["evidence"])
           for row in rows(out, "findings")]
    check(got == expected, f"{len(got)} findings, {len(expected)} in the report")


@case()
def a_folder_is_whole_or_not_there(folder):
    capture, out = example_capture(folder), os.path.join(folder, "tables")
    kvet("export", capture, "--format", "csv").expect(USAGE, "-o")
    kvet("export", capture, "--format", "csv", "-o", os.path.join(folder, "absent", "tables")).expect(OUTPUT_LOST)
    kvet("export", capture, "--format", "csv", "-o", out, "--kernel", "no such kernel").expect(BAD_INPUT)
    check(not os.path.exists(out), "a folder without findings was left")
    os.mkdir(out)
    kvet("export", capture, "--format", "csv", "-o", out).expect(0)  # an empty one is taken
    check(os.path.exists(os.path.join(out, "findings.csv")), "no findings")
    kvet("export", capture, "--format", "csv", "-o", out).expect(USAGE, "is there already")
    check(sorted(os.listdir(folder)) == sorted([os.path.basename(capture), "tables"]), f"left: {os.listdir(folder)}")


@case()
def links_and_dots_lead_to_a_folder(folder):
    capture = example_capture(folder)
    for name in ("behind", "dotted", "current"):
        os.mkdir(os.path.join(folder, name))
    os.symlink("behind", os.path.join(folder, "link"))
    os.symlink("nowhere", os.path.join(folder, "dangling"))
    kvet("export", capture, "--format", "csv", "-o", os.path.join(folder, "link")).expect(0)
    check(os.path.islink(os.path.join(folder, "link")), "the link was replaced")
    check(os.path.exists(os.path.join(folder, "behind", "findings.csv")), "nothing where the link leads")
    kvet("export", capture, "--format", "csv", "-o", os.path.join(folder, "dotted", ".")).expect(0)
    check(os.path.exists(os.path.join(folder, "dotted", "findings.csv")), "nothing in dotted/.")
    kvet("export", capture, "--format", "csv", "-o", os.path.join(folder, "dangling")).expect(USAGE, "is there already")
    before = os.getcwd()
    os.chdir(os.path.join(folder, "current"))
    try:
        kvet("export", capture, "--format", "csv", "-o", ".").expect(USAGE, "current folder")
    finally:
        os.chdir(before)
    check(not [name for name in os.listdir(folder) if "unfinished" in name], f"left: {os.listdir(folder)}")


@case()
def kernels_are_refused_where_they_would_be_ignored(folder):
    capture = example_capture(folder)
    for format in ("perfetto", "chrome"):
        out = os.path.join(folder, format)
        kvet("export", capture, "--format", format, "--kernel", "nvjet", "-o", out).expect(USAGE, "--kernel")
        check(not os.path.exists(out), "something was written")


@case()
def markdown_fits_a_comment(folder):
    text = kvet("report", example_capture(folder), "--format", "markdown").expect(0).out
    check(10_000 < len(text) < 60_000, f"{len(text)} characters")  # GitHub takes 65,536
    check("more rows in `kvet report --json`" in text, "not said that there is more")
    kvet("report", example_capture(folder), "--format", "markdown", "--json").expect(USAGE, "--json", "--format")

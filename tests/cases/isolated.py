"""Nsight Compute's CSV beside a capture: figures as written there, held against the capture's own; and files that are refused."""
import csv
import io
import json
import os

from harness import BAD_INPUT, case, check, kvet, simcuda_environment, workload

HEADINGS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
            "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
METRICS = [("Achieved Occupancy", "%", "50.00"), ("Elapsed Cycles", "cycle", "90,000"), ("SM Active Cycles", "cycle", "45,000.0"),
           ("Duration", "usecond", "30.00"), ("dram__bytes_read.sum", "Mbyte", "1.5"), ("dram__bytes_write.sum", "Kbyte", "500"),
           ("Memory Throughput", "%", "12.5")]
DURATION_US, ISOLATED_US = 60, 30


def record(folder, name, kernel, microseconds):
    capture = os.path.join(folder, name)
    kvet("record", "-o", capture, "--counters", "off", "--tier", "unprivileged", "--", workload("variant"), "--kernel", kernel,
         "--kernel-us", microseconds, "--steps", 40, environment=simcuda_environment(folder)).expect(0)
    return capture


def shape_of(capture, kernel):
    """Grid and block as kvet recorded them, by SQL."""
    import sqlite3
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    rows = database.execute("SELECT grid_x, grid_y, grid_z, block_x, block_y, block_z FROM kernel_shape s JOIN string n ON n.id = s.name_id "
                            "WHERE n.value LIKE ?", (f"%{kernel}%",)).fetchall()
    check(len(rows) == 1, f"{kernel} has {len(rows)} shapes")
    return rows[0][:3], rows[0][3:]


def profile(folder, name, kernel, shape, cc="9.0", metrics=METRICS):
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(HEADINGS)
    grid, block = (f"({x}, {y}, {z})" for x, y, z in shape)
    for metric, unit, value in metrics:
        writer.writerow(["0", "1", "app", "host", kernel, "1", "7", block, grid, "0", cc, "S", metric, unit, value])
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("==PROF== Connected to process 1\nhello, world\n" + out.getvalue() + "==PROF== Disconnected from process 1\n")
    return path


def findings(document):
    kernels = [kernel for kernel in document["captures"][0]["kernels"] if "fused" in kernel["name"]]
    check(len(kernels) == 1, "the kernel is not in the report")
    return {finding["id"]: finding for finding in kernels[0]["findings"]}


@case()
def figures_come_from_the_file(folder):
    base, candidate = record(folder, "base.kvet", "_Z11norm_kernelPf", 90), record(folder, "candidate.kvet", "_Z10fused_normPf", DURATION_US)
    path = profile(folder, "ncu.csv", "fused_norm(float *)", shape_of(candidate, "fused_norm"))
    outcome = kvet("report", candidate, "--isolated", path, "--json").expect(0)
    by_id = findings(json.loads(outcome.out))
    for name, value in (("occupancy.isolated", 25), ("occupancy.isolated.active", 50), ("occupancy.isolated.cycles", 90_000),
                        ("dram.isolated", 2e6)):
        check(abs(by_id[name]["value"] / value - 1) < 1e-9, f"{name} is {by_id[name]['value']}, written was {value}", outcome)
        check("replayed alone" in by_id[name]["sentence"], f"{name} does not say that it was replayed", outcome)
    slow_down = by_id["occupancy.isolated.slow_down"]["value"]
    check(abs(slow_down / (DURATION_US / ISOLATED_US) - 1) < 0.05, f"slow-down {slow_down}: 60 µs here, 30 µs there", outcome)
    outcome = kvet("compare", base, "--against", candidate, "--claim", "1.5", "--isolated", path)
    check("Isolated" in outcome.out and "occupancy 25" in outcome.out, "the verdict does not show it", outcome)
    document = json.loads(kvet("compare", base, "--against", candidate, "--isolated", path, "--json").out)
    ids = {finding["id"] for line in document["questions"] for finding in line["candidate"]}
    check({"occupancy.isolated", "dram.isolated", "dram.locality"} <= ids, f"not in the JSON: {ids}")


@case()
def what_does_not_match_is_said(folder):
    candidate = record(folder, "candidate.kvet", "_Z10fused_normPf", DURATION_US)
    shape = shape_of(candidate, "fused_norm")
    for name, path, words in (
            ("name", profile(folder, "a.csv", "\x1b[31m\u202escatter<script>(int)", shape), "scatter"),
            ("shape", profile(folder, "b.csv", "fused_norm(float *)", ((7, 1, 1), (32, 1, 1))), "grid 7 × 1 × 1"),
            ("GPU", profile(folder, "c.csv", "fused_norm(float *)", shape, cc="7.5"), "compute capability 7.5")):
        outcome = kvet("report", candidate, "--isolated", path, "--json").expect(0)
        finding = findings(json.loads(outcome.out))["occupancy.isolated"]
        check(finding["value"] is None and words in finding["reason"], f"{name}: {finding['reason']}", outcome)
        text = kvet("report", candidate, "--isolated", path).expect(0)
        check("\x1b" not in text.out and "\u202e" not in text.out, "a hostile name reached the terminal", text)


@case()
def files_that_are_none(folder):
    candidate = record(folder, "candidate.kvet", "_Z10fused_normPf", DURATION_US)
    good = profile(folder, "good.csv", "k", ((1, 1, 1), (1, 1, 1)))
    with open(good, encoding="utf-8") as file:
        text = file.read()
    for name, content in {
            "empty.csv": "", "text.csv": "no table\n" * 1000, "cut.csv": text[:text.rindex('"cycle"') + 3], "headings.csv": text.split("\n")[2] + "\n",
            "nan.csv": text.replace("50.00", "NaN"), "negative.csv": text.replace("50.00", "-50.00"), "unit.csv": text.replace("usecond", "fortnight"),
            "two.csv": text + text.split("\n", 3)[3].replace("90,000", "91,000"), "locale.csv": text.replace("45,000.0", "45.000,0")}.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        outcome = kvet("report", candidate, "--isolated", path).expect(BAD_INPUT, name)
        check(len(outcome.err.splitlines()) == 1 and outcome.out == "", f"{name}: not one message", outcome)
        kvet("compare", candidate, "--against", candidate, "--isolated", path).expect(BAD_INPUT, name)

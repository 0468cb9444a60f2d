"""kvet export --format prometheus, scraped by a real Prometheus and read back by its API."""
import collections
import csv
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from example_capture import example_capture, with_hostile_names
from harness import BAD_INPUT, OUTPUT_LOST, Skipped, case, check, kvet, run

# What docs/export.md says of units, written down once more.
UNITS = {"%": ("_ratio", 100), "ratio": ("_ratio", 1), "ns": ("_seconds", 1e9), "bytes": ("_bytes", 1),
         "bytes/s": ("_bytes_per_second", 1), "Hz": ("_hertz", 1), "instructions/cycle": ("_instructions_per_cycle", 1),
         "%/(100 GB/s)": ("_seconds_per_byte", 1e13)}
STATISTICS = {"p50", "p90", "p99", "max", "min"}


def prometheus():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        raise Skipped("needs Prometheus (Debian: apt-get install prometheus)")


def expected_series(report):
    """Values by name, kernel, statistic and evidence, from what kvet report --json says."""
    series = collections.defaultdict(list)
    sections = [("", report["findings"])] + [(k["short_name"], k["findings"]) for k in report["kernels"]]
    for kernel, findings in sections:
        for finding in findings:
            if finding["value"] is None:
                continue
            parts = finding["id"].split(".")
            statistic = parts.pop() if parts[-1] in STATISTICS else ""
            if parts[-1] == "percent":
                parts[-1] = "utilization"
            suffix, divisor = UNITS.get(finding["unit"], ("", 1))
            name = "kvet_" + "_".join(parts)
            series[(name + suffix, kernel, statistic, finding["evidence"])].append(finding["value"] / divisor)
            if finding["interval"]:
                for bound in ("low", "high"):
                    series[(f"{name}_interval_{bound}{suffix}", kernel, statistic, finding["evidence"])].append(
                        finding["interval"][bound] / divisor)
    return {key: sorted(values) for key, values in series.items()}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def scraped(folder, text):
    """All series that Prometheus has after it scraped the text: labels (with __name__) and value."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    configuration = os.path.join(folder, "prometheus.yml")
    with open(configuration, "w") as file:
        file.write("scrape_configs:\n- job_name: kvet\n  scrape_interval: 1s\n  honor_labels: true\n  static_configs:\n"
                   f"  - targets: ['127.0.0.1:{server.server_port}']\n")
    with open(os.path.join(folder, "prometheus.log"), "w+") as log:
        process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            query = urllib.parse.urlencode({"query": '{__name__=~".+",job="kvet"}'})
            up = urllib.parse.urlencode({"query": 'up{job="kvet"}'})
            for _ in range(300):  # 30 s
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{up}") as answer:
                        state = json.load(answer)["data"]["result"]
                    if state:
                        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets") as answer:
                            error = json.load(answer)["data"]["activeTargets"][0]["lastError"]
                        check(state[0]["value"][1] == "1", f"Prometheus refused the text: {error}")
                        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}") as answer:
                            result = json.load(answer)["data"]["result"]
                        return [(each["metric"], float(each["value"][1])) for each in result]
                except OSError:
                    pass
                time.sleep(0.1)
            log.seek(0)
            raise AssertionError("Prometheus scraped nothing in 30 s\n" + log.read()[-2000:])
        finally:
            process.terminate()
            process.wait()
            server.shutdown()
            server.server_close()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def lint(path):
    """What promtool finds, without the labels that are DCGM's."""
    with open(path, "rb") as file:
        outcome = run(["promtool", "check", "metrics"], stdin=file)
    lines = [line for line in (outcome.out + outcome.err).splitlines()
             if not re.fullmatch(r"DCGM_\w+ label names should be written in 'snake_case' not 'camelCase'", line)]
    check(not lines, "promtool complains", outcome)


@case(prometheus)
def values_survive_a_scrape(folder):
    capture, path = example_capture(folder), os.path.join(folder, "metrics")
    kvet("export", capture, "--format", "prometheus", "-o", path).expect(0)
    lint(path)
    report = json.loads(kvet("report", capture, "--json").expect(0).out)["captures"][0]
    expected = expected_series(report)
    check(len(expected) > 100, f"only {len(expected)} series in the report")
    everything = scraped(folder, read(path))
    got, unexplained = collections.defaultdict(list), 0
    for labels, value in everything:
        name = labels["__name__"]
        kernel = re.sub(r"~[0-9a-f]+$", "", labels.get("kernel", ""))  # the mark of names that would be alike
        key = (name, kernel, labels.get("statistic", ""), labels.get("evidence", ""))
        if key in expected:
            got[key].append(value)
        elif not name.startswith(("hw_", "DCGM_", "kvet_nvml_", "kvet_capture_", "kvet_kernel_", "kvet_device_power_limit",
                                  "up", "scrape_")):
            unexplained += 1
    check(unexplained == 0, f"{unexplained} series that the report does not have")
    for key, values in expected.items():
        check(sorted(got[key]) == values, f"{key}: {sorted(got[key])}, not {values}")
    print(f"{sum(map(len, got.values()))} values of findings, {len(everything)} series")


@case(prometheus)
def device_readings_are_means(folder):
    capture, path = example_capture(folder), os.path.join(folder, "metrics")
    kvet("export", capture, "--format", "prometheus", "-o", path).expect(0)
    import sqlite3
    sql = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    power, temperature, clock, occupancy, dram, last = sql.execute(
        "WITH meta_time AS (SELECT max(CASE key WHEN 'window.from_ns' THEN CAST(value AS INTEGER) END) AS begin_ns, "
        "max(CASE key WHEN 'window.to_ns' THEN CAST(value AS INTEGER) END) AS end_ns FROM meta) "
        "SELECT avg(power_milliwatts) / 1e3, avg(temperature_celsius), avg(sm_clock_mhz), avg(gpm_sm_occupancy_percent) / 100,"
        " avg(gpm_dram_percent) / 100, (SELECT throttle_reasons FROM device_reading r, meta_time m WHERE throttle_reasons "
        "IS NOT NULL AND r.time_ns >= m.begin_ns AND r.time_ns < m.end_ns ORDER BY r.time_ns DESC LIMIT 1) "
        "FROM device_reading, meta_time WHERE time_ns >= begin_ns AND time_ns < end_ns").fetchone()
    got = {labels["__name__"]: (labels, value) for labels, value in scraped(folder, read(path))}
    uuid = sql.execute("SELECT lower(hex(uuid)) FROM device").fetchone()[0]
    uuid = "GPU-" + "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))
    for name, value in {"hw_power_watts": power, "DCGM_FI_DEV_POWER_USAGE": power, "hw_temperature_celsius": temperature,
                        "DCGM_FI_DEV_GPU_TEMP": temperature, "kvet_nvml_sm_clock_hertz": clock * 1e6,
                        "DCGM_FI_DEV_SM_CLOCK": clock, "DCGM_FI_PROF_SM_OCCUPANCY": occupancy,
                        "DCGM_FI_PROF_DRAM_ACTIVE": dram, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": last}.items():
        labels, there = got[name]
        check(abs(there - value) <= 1e-9 * abs(value), f"{name}: {there}, not {value}")
        if name.startswith("DCGM_"):
            check((labels["UUID"], labels["gpu"], labels["modelName"]) == (uuid, "0", "NVIDIA H200"), f"{labels}")


@case(prometheus)
def hostile_names_are_labels_and_nothing_else(folder):
    capture, path = with_hostile_names(example_capture(folder)), os.path.join(folder, "metrics")
    kvet("export", capture, "--format", "prometheus", "-o", path).expect(0)
    lint(path)
    series = scraped(folder, read(path))
    kernels = {labels["kernel"] for labels, _ in series if "kernel" in labels}
    check("<script>alert(1)</script>" in kernels, "the first hostile name is not there")
    check(any("kvet_evil 1" in kernel for kernel in kernels), "the name with line feeds is not there")
    check(not any(labels["__name__"] == "kvet_evil" for labels, _ in series), "a name became a metric")
    check(all(letter >= " " and letter not in "\x7f\u202e" for labels, _ in series for value in labels.values()
              for letter in value), "a control character came through")
    check(max(len(value) for labels, _ in series for value in labels.values()) <= 256, "a label of more than 256")


@case()
def what_cannot_be_exported_leaves_nothing(folder):
    capture, path = example_capture(folder), os.path.join(folder, "metrics")
    kvet("export", capture, "--format", "prometheus", "-o", path, "--kernel", "no such kernel").expect(BAD_INPUT)
    kvet("export", capture, "--format", "prometheus", "-o", os.path.join(folder, "absent", "metrics")).expect(OUTPUT_LOST)
    check(os.listdir(folder) == [os.path.basename(capture)], f"left: {os.listdir(folder)}")
    kvet("export", capture, "--format", "prometheus", "-o", "/dev/full").expect(OUTPUT_LOST)


@case()
def utilization_is_the_time_with_a_kernel(folder):
    capture, tables = example_capture(folder), os.path.join(folder, "tables")
    text = kvet("export", capture, "--format", "prometheus").expect(0).out
    got = float(re.search(r"^hw_gpu_utilization_ratio\{[^\n]*\} (\S+)$", text, re.MULTILINE)[1])
    kvet("export", capture, "--format", "csv", "-o", tables).expect(0)
    with open(os.path.join(tables, "meta.csv"), newline="") as file:
        meta = dict(row for row in csv.reader(file))
    begin, end = int(meta["window.from_ns"]), int(meta["window.to_ns"])
    with open(os.path.join(tables, "execution.csv"), newline="") as file:
        spans = sorted((int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])) for row in csv.DictReader(file)
                       if begin <= int(row["start_ns"]) < end)
    busy, until = 0, begin
    for first, last in spans:  # overlaps count once
        busy += max(0, last - max(first, until))
        until = max(until, last)
    check(abs(got - busy / (end - begin)) < 1e-12, f"{got}, not {busy / (end - begin)}")

"""`kvet export --format perfetto` and `chrome`: read back without kvet, and held against SQL on the same capture."""
import os
import sqlite3
import subprocess
import tarfile

from harness import BAD_INPUT, KVET, OUTPUT_LOST, TESTS, bpf, case, check, kvet, simcuda_environment, workload
from trace_readers import protoc, read_chrome, read_perfetto

ARCHIVE = os.path.join(TESTS, "..", "examples", "rmsnorm-serving", "captures", "h200-2026-11-30.tar.xz")
WITH_SAMPLES = "captures/ab-01-0-baseline.kvet"


def bundled(folder):
    """A capture that was recorded on an H200, with counter samples and CUDA graphs."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extract(WITH_SAMPLES, folder)
    return os.path.join(folder, WITH_SAMPLES)


def part(folder, length_ns, samples):
    """The beginning of the part of it that counts: the whole takes long to read back."""
    capture = bundled(folder)
    database = sqlite3.connect(capture)
    begin, = database.execute("SELECT value + 0 FROM meta WHERE key = 'window.from_ns'").fetchone()
    for table in ("api_call", "execution", "transfer", "nvtx_range", "off_cpu"):
        database.execute(f"DELETE FROM {table} WHERE start_ns NOT BETWEEN ? AND ?", (begin, begin + length_ns))
    database.execute("DELETE FROM sample WHERE rowid > ?", (samples,))
    database.commit()
    database.close()
    return capture


def short(folder):
    return part(folder, 200_000_000, 500)


def export(capture, name, form):
    path = os.path.join(os.path.dirname(capture), name)
    kvet("export", capture, "--format", form, "-o", path).expect(0)
    check(not [other for other in os.listdir(os.path.dirname(capture)) if "unfinished" in other], "an unfinished file is left")
    return path


def truth_of(capture):
    """What must be in a trace: category -> (slices, sum of durations), counter -> (values, sum), flows, first start."""
    database = sqlite3.connect(capture)
    sql = lambda text: database.execute(text).fetchall()
    kinds = {(name, value): number for name, value, number in sql("SELECT enumeration, name, value FROM enumerator")}
    slices = {}
    # Work of devices
    slices["kernel"] = sql("SELECT count(*), sum(duration_ns) FROM execution")[0]
    memset = kinds["transfer_kind", "memset"]
    slices["copy"] = sql(f"SELECT count(*), sum(duration_ns) FROM transfer WHERE kind <> {memset}")[0]
    slices["memset"] = sql(f"SELECT count(*), sum(duration_ns) FROM transfer WHERE kind = {memset}")[0]
    slices["graph replay"] = sql("""
        SELECT count(*), sum(length) FROM (
          SELECT max(start_ns + duration_ns) - min(start_ns) AS length FROM (
            SELECT process_id, device_id, correlation_id, graph_node_id, start_ns, duration_ns FROM execution UNION ALL
            SELECT process_id, device_id, correlation_id, graph_node_id, start_ns, duration_ns FROM transfer)
          WHERE graph_node_id <> 0 AND correlation_id <> 0 GROUP BY process_id, device_id, correlation_id)""")[0]
    # Threads
    for category, names in {
        "launch": ("launch_kernel", "launch_cooperative", "launch_graph", "launch_host_function"),
        "synchronize": ("synchronize_stream", "synchronize_context", "synchronize_event", "synchronize_copy"),
        "copy call": ("copy_async",),
        "queue": ("wait_for_queue",),
    }.items():
        wanted = ",".join(str(kinds["api_kind", name]) for name in names)
        slices[category] = sql(f"SELECT count(*), sum(duration_ns) FROM api_call WHERE kind IN ({wanted})")[0]
    slices["nvtx"] = sql("SELECT count(*), sum(duration_ns) FROM nvtx_range")[0]
    dispatchers = "(SELECT process_id, thread_id FROM api_call UNION SELECT process_id, thread_id FROM collective_call)"
    of_dispatchers = f"FROM off_cpu WHERE (process_id, thread_id) IN {dispatchers}"
    whole = {"preempted", "throttled"}
    for name in (name for field, name in kinds if field == "off_cpu_reason"):
        reason = f"reason = {kinds['off_cpu_reason', name]}"
        part = "duration_ns" if name in whole else "blocked_ns"
        slices[name] = sql(f"SELECT count(*), sum({part}) {of_dispatchers} AND {reason} AND {part} > 0")[0]
    not_whole = " AND ".join(f"reason <> {kinds['off_cpu_reason', name]}" for name in whole)
    slices["waiting_for_cpu"] = sql(f"""SELECT count(*), sum(duration_ns - blocked_ns) {of_dispatchers}
                                        AND {not_whole} AND duration_ns > blocked_ns""")[0]
    # A thread runs where it is not off the CPU, from the first thing known of it to the last.
    running = sql(f"""
        WITH known AS (
          SELECT process_id, thread_id, start_ns, start_ns + duration_ns AS end_ns, 0 AS away FROM api_call UNION ALL
          SELECT process_id, thread_id, start_ns, start_ns + duration_ns, 0 FROM collective_call UNION ALL
          SELECT process_id, thread_id, start_ns, start_ns + duration_ns, duration_ns {of_dispatchers})
        SELECT sum(length) FROM (
          SELECT max(end_ns) - min(start_ns) - sum(away) AS length FROM known GROUP BY process_id, thread_id)""")[0][0]
    slices["running"] = (None, running)
    slices["loss"] = (sql("SELECT count(*) FROM loss")[0][0], None)
    # Flows
    call = f"(SELECT process_id, correlation_id FROM api_call WHERE kind <> {kinds['api_kind', 'wait_for_queue']} AND correlation_id <> 0)"
    flows = sum(sql(f"SELECT count(*) FROM {table} WHERE (process_id, correlation_id) IN {call}")[0][0]
                for table in ("execution", "transfer"))
    # Counters: samples before the counters' clock was verified are not used.
    counted = """FROM sample JOIN device ON device.id = device_id WHERE start_ns >= (
        SELECT min(from_ns) FROM clock_mapping WHERE source = 2 AND residual_ns IS NOT NULL)"""
    counters = {
        "SM occupancy": sql(f"""SELECT count(*), sum(100.0 * warp_cycles / (cycles_elapsed * multiprocessors * max_warps_per_multiprocessor))
                               {counted} AND cycles_elapsed > 0""")[0],
        "DRAM read": sql(f"SELECT count(*), sum(1e9 * dram_read_bytes / duration_ns) {counted}")[0],
        "DRAM write": sql(f"SELECT count(*), sum(1e9 * dram_write_bytes / duration_ns) {counted}")[0],
        "DRAM, of theoretical peak": sql(f"""SELECT count(*), sum(1e11 * (dram_read_bytes + dram_write_bytes) / duration_ns
                                            / memory_bandwidth_bytes_per_s) {counted}""")[0],
        "SM clock": sql(f"SELECT count(*), sum(1e3 * cycles_elapsed / duration_ns) {counted}")[0],
        "Power": sql("SELECT count(*), sum(power_milliwatts / 1e3) FROM device_reading WHERE power_milliwatts IS NOT NULL")[0],
        "SM clock (NVML)": sql("SELECT count(*), sum(sm_clock_mhz) FROM device_reading WHERE sm_clock_mhz IS NOT NULL")[0],
    }
    # Without a calibration: 90% of 92% of the theoretical peak.
    slices["saturation"] = (None, sql(f"""SELECT sum(duration_ns) {counted} AND
        (dram_read_bytes + dram_write_bytes) * 1e9 >= 0.9 * 0.92 * memory_bandwidth_bytes_per_s * duration_ns""")[0][0])
    return slices, counters, flows, sql("SELECT min(start_ns) FROM execution")[0][0], dict(sql("SELECT key, value FROM meta"))


def compare(trace, capture):
    slices, counters, flows, first, _ = truth_of(capture)
    trace.check_nesting()
    for category, (count, total) in slices.items():
        found = trace.of(category)
        seen = sum(s.end - s.start for s in found)
        check(count is None or len(found) == count, f"{len(found)} slices of {category!r}, not {count}")
        # Samples' times went through the counters' clock mapping, and were rounded.
        allowed = 1e-5 * (total or 0) if category == "saturation" else 0
        check(total is None and category != "saturation" or abs(seen - (total or 0)) <= allowed,
              f"{category!r} lasts {seen} ns, not {total}")
    for name, (count, total) in counters.items():
        found = trace.counter(name)
        check(len(found) == count and count > 0, f"{len(found)} values of {name!r}, not {count}")
        seen = sum(v.value for v in found)
        check(abs(seen - total) <= 1e-5 * abs(total), f"the values of {name!r} add up to {seen}, not {total}")
    check(trace.flows() == flows and flows > 0, f"{trace.flows()} flows, not {flows}")
    check(min(s.start for s in trace.of("kernel")) == first, "the first kernel begins at another time")


@case(protoc)
def perfetto_holds_what_the_capture_holds(folder):
    capture = part(folder, 4_000_000_000, 5000)
    trace = read_perfetto(export(capture, "out.perfetto-trace", "perfetto"))
    compare(trace, capture)
    facts = truth_of(capture)[4]
    check(trace.clock_id == 3, "the time stamps are not CLOCK_MONOTONIC")
    check(trace.clocks == {3: int(facts["clock.monotonic_ns"]), 1: int(facts["clock.realtime_ns"])}, "the clocks are others")


@case()
def chrome_holds_what_the_capture_holds(folder):
    capture = part(folder, 4_000_000_000, 5000)
    compare(read_chrome(export(capture, "out.json", "chrome")), capture)


HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "two\nlines", "x" * 100_000, "\u202egnp.exe", 'quote"back\\slash',
           "_Z" + "9" * 400, "\ufeffnul\x7f", "</script><!--"]


def with_names(capture, names):
    """Every kernel, NVTX range, process and device of the capture gets one of these names."""
    database = sqlite3.connect(capture)
    fields = [("kernel_shape", "name_id"), ("nvtx_range", "name_id"), ("nvtx_range", "domain_id"), ("process", "name_id"),
              ("device", "name_id"), ("off_cpu", "taker_name_id")]
    used = sorted({row[0] for table, column in fields for row in database.execute(f"SELECT DISTINCT {column} FROM {table}")} - {0})
    for index, string in enumerate(used):
        # CAST keeps bytes that are no UTF-8, as a file from a stranger may hold them.
        database.execute("UPDATE string SET value = CAST(? AS TEXT) WHERE id = ?", (names[index % len(names)], string))
    database.commit()
    database.close()


def hostile(capture):
    raw = [name.encode() for name in HOSTILE] + [b"bad \xff\xfe utf-8", b"lone \xed\xa0\x80 surrogate", b"cut \xe2\x82"]
    with_names(capture, [bytes(name) for name in raw])


def check_harmless(trace):
    texts = {s.name for s in trace.slices} | {name for track in trace.tracks.values() for name in track.path}
    texts |= {value for s in trace.slices for value in s.arguments.values() if isinstance(value, str)}
    for text in texts:
        check(len(text) < 20_000, f"a name of {len(text)} characters came out whole")
        check(not any(ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or ord(c) in (0x202e, 0xfeff) for c in text), f"{text!r} holds a control character")
    check(any("\ufffd" in text for text in texts), "bytes that are no UTF-8 left no trace")
    check(any("\\x1b[31mred" in text for text in texts), "the escape sequence is not spelled out")


@case(protoc)
def hostile_names_come_out_harmless(folder):
    capture = short(folder)
    hostile(capture)
    perfetto = read_perfetto(export(capture, "out.perfetto-trace", "perfetto"))  # fails on what is no UTF-8
    check_harmless(perfetto)
    path = export(capture, "out.json", "chrome")
    check_harmless(read_chrome(path))
    with open(path, "rb") as file:
        text = file.read()
    check(b"<" not in text, "a script element could begin in the JSON")
    check(all(byte >= 0x20 or byte == 0x0a for byte in set(text)), "the JSON holds control characters")
    check(len(perfetto.of("kernel")) > 100, "slices are missing")


@case()
def output_is_there_whole_or_not_at_all(folder):
    capture = short(folder)
    for form in ("perfetto", "chrome"):
        kvet("export", capture, "--format", form, "-o", "/dev/full").expect(OUTPUT_LOST, "No space left on device")
        kvet("export", capture, "--format", form, "-o", os.path.join(folder, "no", "such")).expect(OUTPUT_LOST, "No such file")
        kvet("export", os.path.join(folder, "missing.kvet"), "--format", form, "-o", os.path.join(folder, "x")).expect(BAD_INPUT)
        # A disk that is full in the middle: a tmpfs would need root, a limit on the size of files does not.
        small = os.path.join(folder, "small")
        limited = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 100; exec "$@"', "-", KVET, "export", capture, "--format", form,
                                  "-o", small], capture_output=True, text=True, check=False)
        check(limited.returncode == OUTPUT_LOST, f"exit status {limited.returncode} where the file may not grow")
        check("File too large" in limited.stderr, "stderr does not say why")
    check(sorted(os.listdir(folder)) == ["captures"], f"left behind: {os.listdir(folder)}")


@case()
def a_terminal_gets_no_binary(folder):
    capture = short(folder)
    ours, theirs = os.openpty()
    done = subprocess.run([KVET, "export", capture, "--format", "perfetto"], stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 64 and "-o" in done.stderr, f"exit status {done.returncode}: {done.stderr}")
    os.close(theirs)
    os.close(ours)
    piped = subprocess.run([KVET, "export", capture, "--format", "chrome"], capture_output=True, check=True)
    with open(export(capture, "out.json", "chrome"), "rb") as file:
        check(piped.stdout == file.read(), "a pipe gets something else than a file")


@case(bpf, protoc)
def collectives_wait_and_transfer_apart(folder):
    """Four ranks on the stand-ins: what each waited and transferred is known from the device model."""
    ranks, steps = 4, 10
    truth, capture = os.path.join(folder, "truth"), os.path.join(folder, "ranks.kvet")
    os.mkdir(truth)
    kvet("record", "-o", capture, "--counters", "off", "--", workload("ranks"), "--truth", truth, "--ranks", ranks, "--steps", steps,
         environment=simcuda_environment(folder, devices=ranks)).expect(0)
    collectives = {}  # by sequence number: rank -> (start, end)
    for name in os.listdir(truth):
        with open(os.path.join(truth, name), encoding="utf-8") as lines:
            for row in (line.rstrip("\n").split("\t") for line in lines):
                if row[0] == "execution" and row[12] == "1" and "AllReduce" in row[2]:
                    collectives.setdefault(int(row[14]), {})[int(row[13])] = (int(row[9]), int(row[10]))
    check(len(collectives) == 4 * steps and all(len(one) == ranks for one in collectives.values()), "the truth lacks collectives")
    trace = read_perfetto(export(capture, "ranks.perfetto-trace", "perfetto"))
    all_waits = 0
    for rank in range(ranks):
        found = [s for s in trace.slices if trace.tracks[s.track].path[-1] == f"Collectives of rank {rank}"]
        waits = [s for s in found if s.category == "arrival wait"]
        transfers = [s for s in found if s.category == "transfer"]
        latest = {sequence: max(start for start, _ in one.values()) for sequence, one in collectives.items()}
        expected_wait = sum(latest[sequence] - one[rank][0] for sequence, one in collectives.items())
        expected_transfer = sum(one[rank][1] - latest[sequence] for sequence, one in collectives.items())
        check(expected_transfer > 0 and expected_wait >= 0, "the truth says nothing")
        all_waits += expected_wait
        check(len(transfers) == len(collectives), f"{len(transfers)} transfers, not {len(collectives)}")
        for what, slices, expected in (("waited", waits, expected_wait), ("transferred", transfers, expected_transfer)):
            seen = sum(s.end - s.start for s in slices)
            # Ranks' clocks are aligned by the ends of collectives, which costs some nanoseconds each.
            check(abs(seen - expected) <= 1e-3 * expected + 1000, f"rank {rank} {what} {seen} ns, not {expected}")
    check(all_waits > len(collectives) * 1000, f"nobody waited: {all_waits} ns in {len(collectives)} collectives")

"""PyTorch profiler traces on the command line: one message for bad ones and nothing left behind, and what a good one answers."""
import gzip
import json
import os
import shutil
import sqlite3

from harness import BAD_INPUT, case, check, kvet


def kernel(name="gemm", ts=1000.25, dur=7.5, device=0, correlation=1):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": device, "context": 1, "stream": 7, "correlation": correlation, "registers per thread": 32,
                     "shared memory": 0, "grid": [864, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 13}}


def launch(correlation=1, ts=990):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 500, "tid": 500, "ts": ts, "dur": 5,
            "args": {"cbid": 211, "correlation": correlation}}


OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 500, "tid": 500, "ts": 980, "dur": 20, "args": {}}
A100 = {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048,
        "regsPerMultiprocessor": 65536, "warpSize": 32, "sharedMemPerMultiprocessor": 167936, "numSms": 108}


def trace(events, rank=None, **more):
    content = {"schemaVersion": 1, "deviceProperties": [A100], "traceEvents": events, **more}
    if rank is not None:
        content["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return json.dumps(content)


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def refused(folder, files, *words):
    """One line, 65, every word in it, and no file that was not there before."""
    before = sorted(os.listdir(folder))
    outcome = kvet("import", *files, "-o", os.path.join(folder, "out.kvet")).expect(BAD_INPUT, *words)
    lines = outcome.err.splitlines()
    check(len(lines) == 1 and lines[0].startswith("kvet: "), "stderr is not one line from kvet", outcome)
    check(outcome.out == "", "something on stdout", outcome)
    check(sorted(os.listdir(folder)) == before, f"files are left: {os.listdir(folder)}", outcome)
    if len(files) == 1:
        kvet("report", files[0]).expect(BAD_INPUT, *words)


def findings_of(path):
    """The findings of a report, by id."""
    findings = {}

    def collect(node):
        if isinstance(node, dict):
            if "id" in node and "evidence" in node:
                findings.setdefault(node["id"], []).append(node)
            for value in node.values():
                collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    collect(json.loads(kvet("report", path, "--json").expect(0).out))
    return findings


@case()
def bad_traces(folder):
    good = trace([kernel(), launch()])
    packed = gzip.compress(good.encode())
    for name, content, words in (
            ("garbage.json", good + " garbage", [f"at byte {len(good) + 1}", "follows"]),
            ("cut.json.gz", packed[:-20], ["cut short", f"byte {len(packed) - 20}"]),
            ("middle.json", good[:150], ["ends in the middle", "at byte 150"]),
            ("no_events.json", json.dumps({"schemaVersion": 1}), ["traceEvents"]),
            ("cpu_only.json", trace([OPERATOR]), ["no kernels", "ProfilerActivity.CUDA"]),
            ("no_kernels.json", trace([launch()]), ["no kernels"]),
            ("deep.json", "{\"a\":" + "[" * 100_000, ["deeper than 1000"]),
            ("nan.json", trace([kernel(ts=float("nan"))]), ["number is expected", "at byte"]),
            ("twice.json", good.replace('"ts": 1000.25', '"ts": 1000.25, "ts": 3'), ['two values for "ts"']),
            ("bytes.json", good.replace("gemm", "g~mm").encode().replace(b"~", b"\xff"), ["not UTF-8", "at byte"]),
            ("zeros.json", trace([kernel(ts=0, dur=0)]), ["no event with a possible time"])):
        refused(folder, [write(folder, name, content)], name, *words)


@case()
def bad_sets_of_files(folder):
    first = write(folder, "first.json", trace([kernel(), launch()], rank=0))
    same = write(folder, "same.json", trace([kernel(ts=1001), launch()], rank=0))
    later = write(folder, "later.json", trace([kernel(ts=9e6)], rank=1))
    refused(folder, [first, same], "rank 0", "first.json", "same.json")
    refused(folder, [first, later], "clocks disagree", "later.json")
    refused(folder, [first, first], "given twice")
    sqlite = os.path.join(folder, "other.sqlite")
    database = sqlite3.connect(sqlite)
    database.execute("CREATE TABLE a(b)")
    database.close()
    refused(folder, [first, sqlite], "another format")
    refused(folder, [first, os.path.join(folder, "nowhere.json")], "nowhere.json", "could not be opened")


@case()
def an_older_capture_survives_a_failed_import(folder):
    good = write(folder, "good.json", trace([kernel(), launch()]))
    bad = write(folder, "bad.json", trace([kernel()])[:-1])
    out = os.path.join(folder, "out.kvet")
    kvet("import", good, "-o", out).expect(0)
    with open(out, "rb") as file:
        before = file.read()
    kvet("import", bad, "-o", out).expect(BAD_INPUT)
    with open(out, "rb") as file:
        check(file.read() == before, "the older capture changed")


@case()
def impossible_times_are_counted(folder):
    path = write(folder, "odd.json", trace([kernel(), kernel(dur=-1), kernel(ts=0, dur=0), kernel(ts=1e300), launch()]))
    out = os.path.join(folder, "out.kvet")
    kvet("import", path, "-o", out).expect(0)
    database = sqlite3.connect(out)
    executions, = database.execute("SELECT count(*) FROM execution").fetchone()
    lost, = database.execute("SELECT sum(lost_count) FROM loss WHERE source = 9 AND kind = 1").fetchone()
    database.close()
    check((executions, lost) == (1, 3), f"executions and losses are {executions}, {lost}")


@case()
def two_ranks_become_one_capture(folder):
    base = {"baseTimeNanoseconds": 1_711_964_646_000_000_000}
    files = [write(folder, f"rank{rank}.json.gz", gzip.compress(trace([kernel(ts=1000 + rank), launch()], rank, **base).encode()))
             for rank in (0, 1)]
    out = os.path.join(folder, "run.kvet")
    kvet("import", *files, "-o", out).expect(0)
    database = sqlite3.connect(out)
    rows = database.execute("SELECT process_id, device_id, start_ns FROM execution ORDER BY start_ns").fetchall()
    database.close()
    check(rows == [(0, 0, 1_000_000), (1, 1, 1_001_000)], f"executions are {rows}")


@case()
def what_a_trace_can_and_cannot_answer(folder):
    """Theoretical occupancy is modelled; nothing that needs counters or the scheduler is claimed, and the reasons say what adds them."""
    path = write(folder, "good.json", trace([kernel(ts=1000 + 50 * i, correlation=i + 1) for i in range(20)] +
                                            [launch(i + 1, 990 + 50 * i) for i in range(20)]))
    findings = findings_of(path)
    # 256 threads of 32 registers: 8 blocks of 8 warps fill the 64 warp slots of compute capability 8.0.
    theoretical = findings["occupancy.theoretical"][0]
    check(theoretical["evidence"] == "modelled" and theoretical["value"] == 100, f"theoretical is {theoretical}")
    waves = findings["occupancy.waves"][0]
    check(waves["value"] == 1, f"864 blocks are one wave of 8 on each of 108 SMs: {waves}")
    for name in ("occupancy.solo", "dram.solo", "dispatch.off_cpu.total"):
        check(all(each["evidence"] == "unavailable" for each in findings[name]), f"{name} is {findings[name]}")
    check("est. achieved occupancy" in json.dumps(findings["occupancy.solo"]), "the estimate is not spoken of")
    cost = [each for name, some in findings.items() if name.startswith("dispatch.eager.launch_cost") for each in some]
    check(any(each["evidence"] == "measured" for each in cost), f"launch cost is {cost}")


def reducing_rank(folder, number, clock_ahead_us=0):
    """20 all-reduces, which rank 1 enters 40 µs after rank 0; both end together. The clock of the file is so far ahead."""
    events = []
    for step in range(20):
        begin = 1000 + 500 * step + 13 * step * step + clock_ahead_us  # no period to mistake for another
        events += [
            {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 500, "tid": 500, "ts": begin - 20, "dur": 15,
             "args": {"Collective name": "allreduce", "In msg nelems": 262144, "Out msg nelems": 262144, "Group size": 2,
                      "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}},
            launch(step + 1, begin - 15),
            kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin + 40 * number, 100 - 40 * number, correlation=step + 1)]
    return write(folder, f"rank{number}.json", trace(events, number, baseTimeNanoseconds=1_711_964_646_000_000_000))


@case()
def a_rank_that_comes_late_is_waited_for(folder):
    """Rank 1 begins each all-reduce 40 µs after rank 0, and both end together: rank 0 waits 40 µs, in all 20 times."""
    out = os.path.join(folder, "run.kvet")
    kvet("import", reducing_rank(folder, 0), reducing_rank(folder, 1), "-o", out).expect(0)
    findings = findings_of(out)
    totals = {each["beside"]: each["value"] for each in findings["nccl.arrival_wait.total"]}
    check(totals == {"rank 0": 20 * 40_000, "rank 1": 0}, f"waits are {totals}")
    check(all(each["evidence"] == "measured" for each in findings["nccl.arrival_wait.total"]), "all ranks are in sight")
    subject = json.dumps(findings["nccl.arrival_wait.total"])
    check("all-reduce of 1 MiB" in subject or "1 MiB" in subject, f"262144 floats are 1 MiB: {subject}")


@case()
def ranks_whose_clocks_differ_are_aligned_by_merge(folder):
    """7 ms apart: one import leaves the clocks as they are and says what to do; doing that finds the 40 µs again."""
    ranks = [reducing_rank(folder, 0), reducing_rank(folder, 1, clock_ahead_us=7130)]
    together = os.path.join(folder, "together.kvet")
    kvet("import", *ranks, "-o", together).expect(0)
    (missing, *_) = findings_of(together)["nccl.arrival_wait"]
    check(missing["evidence"] == "unavailable" and "never overlap" in missing["reason"], f"they were matched: {missing}")
    check("kvet merge" in missing["advice"], f"the advice is {missing['advice']}")
    parts = [os.path.join(folder, f"{number}.kvet") for number in (0, 1)]
    for path, part in zip(ranks, parts):
        kvet("import", path, "-o", part).expect(0)
    merged = os.path.join(folder, "merged.kvet")
    kvet("merge", *parts, "-o", merged).expect(0)
    totals = {each["beside"]: each["value"] for each in findings_of(merged)["nccl.arrival_wait.total"]}
    check(totals == {"rank 0": 20 * 40_000, "rank 1": 0}, f"waits are {totals}")


@case()
def one_recording_is_not_read_twice(folder):
    path, out = write(folder, "a.json", trace([kernel()])), os.path.join(folder, "out.kvet")
    copy, link = os.path.join(folder, "copy.json"), os.path.join(folder, "link.json")
    shutil.copyfile(path, copy)
    os.link(path, link)
    kvet("import", path, path, "-o", out).expect(BAD_INPUT, "a.json", "is given twice")
    kvet("import", path, link, "-o", out).expect(BAD_INPUT, "link.json", "is given twice")
    kvet("import", path, copy, "-o", out).expect(BAD_INPUT, "copy.json", "has the same content as")
    check(not os.path.exists(out), "a capture was left")


@case()
def what_is_no_trace_is_named(folder):
    """Encodings that JSON does not have, and a file that needs no import."""
    out, text = os.path.join(folder, "out.kvet"), trace([kernel()])
    for name, content, what in (("bom.json", b"\xef\xbb\xbf" + text.encode(), "byte-order mark"),
                                ("utf16.json", text.encode("utf-16"), "UTF-16"),
                                ("utf16le.json", text.encode("utf-16-le"), "UTF-16"),
                                ("utf16be.json", text.encode("utf-16-be"), "UTF-16")):
        outcome = kvet("import", write(folder, name, content), "-o", out).expect(BAD_INPUT, name, what)
        check("nsys-rep" not in outcome.err, "advice about another tool", outcome)
    kvet("import", write(folder, "good.json", text), "-o", out).expect(0)
    kvet("import", out, "-o", os.path.join(folder, "again.kvet")).expect(BAD_INPUT, "is a capture already")

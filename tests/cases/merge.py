"""Captures of several hosts as one: clocks that are apart and drift are brought together by the collectives, and the blame is the same."""
import json
import os
import shutil
import sqlite3
import subprocess

from harness import BAD_INPUT, KVET, bpf, case, check, kvet, simcuda_environment, workload

RANKS, STEPS, SLOW, SLOW_US = 4, 40, 2, 2000
SHIFT_NS, DRIFT_PPM = 3_000_000_000, 20
TIMES = {"process": "start_ns", "api_call": "start_ns", "execution": "start_ns", "transfer": "start_ns", "nvtx_range": "start_ns", "off_cpu": "start_ns",
         "collective_call": "start_ns", "communicator": "created_ns", "device_reading": "time_ns", "sample": "start_ns"}


def recorded(capture, folder, *options):
    """A command that records ranks on the machine of that folder."""
    truth = capture + ".truth"
    os.mkdir(truth)
    return ["record", "-o", capture, "--counters", "off", "--", workload("ranks"), "--truth", truth, "--ranks", str(RANKS), "--steps", str(STEPS),
            "--slow-rank", str(SLOW), "--slow-us", str(SLOW_US), *options]


def other_host(capture):
    """The capture as a host would have made it whose clock is SHIFT_NS ahead and gains DRIFT_PPM µs each second."""
    with sqlite3.connect(capture) as database:
        (begin,), = database.execute("SELECT min(start_ns) FROM execution")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table, column in TIMES.items():
            check(table in tables, f"no table {table}")
            database.execute(f"UPDATE {table} SET {column} = {column} + ? + ({column} - ?) * ? / 1000000", (SHIFT_NS, begin, DRIFT_PPM))
        database.execute("UPDATE meta SET value = 'another' WHERE key = 'hostname'")
        database.execute("UPDATE meta SET value = 'another boot' WHERE key = 'boot_id'")
        for key in ("record.start_ns", "record.end_ns", "clock.monotonic_ns"):
            database.execute("UPDATE meta SET value = value + ? + (value - ?) * ? / 1000000 WHERE key = ?", (SHIFT_NS, begin, DRIFT_PPM, key))
        # The hosts' time of day is wrong by an hour: nothing may depend on it where collectives tell.
        database.execute("UPDATE meta SET value = value + 3600000000000 WHERE key = 'clock.realtime_ns'")


def only_ranks(capture, ranks):
    """Leaves the events of these ranks, as if the others had run elsewhere."""
    with sqlite3.connect(capture) as database:
        mine = [row[0] for row in database.execute("SELECT process_id, rank FROM communicator") if row[1] in ranks]
        check(len(mine) == len(ranks), f"{len(mine)} processes have the ranks {ranks}")
        for table in ("api_call", "execution", "transfer", "nvtx_range", "off_cpu", "collective_call", "communicator", "context"):
            database.execute(f"DELETE FROM {table} WHERE process_id NOT IN ({','.join(map(str, mine))})")


def blame(capture):
    """By rank, what k_kernel is blamed for, and the interval."""
    document, = json.loads(kvet("report", capture, "--kernel", "k_kernel", "--json").expect(0).out)["captures"]
    found = {f["beside"]: f for f in document["kernels"][0]["findings"] + document["findings"]
             if f["id"] == "nccl.blame" and f["subject"] == "k_kernel"}
    check(len(found) == RANKS and all(f["value"] is not None for f in found.values()), f"blame: {found}")
    return {rank: f["value"] for rank, f in found.items()}


def merged(folder, one, other):
    """The merged capture, and what it says of the other's clock."""
    result = os.path.join(folder, "merged.kvet")
    kvet("merge", one, other, "-o", result).expect(0)
    with sqlite3.connect(result) as database:
        facts = dict(database.execute("SELECT key, value FROM meta"))
    check(facts["merge.1.clock.by"] == "collectives", f"linked by {facts['merge.1.clock.by']}")
    check(int(facts["merge.1.clock.residual_ns"]) < 50_000, f"residual {facts['merge.1.clock.residual_ns']} ns")
    check(int(facts["merge.1.clock.residual_p95_ns"]) < 50_000, f"95th percentile {facts['merge.1.clock.residual_p95_ns']} ns")
    return result, facts


@case(bpf)
def halves_of_one_recording_give_the_blame_of_the_whole(folder):
    for mode in ("0", "1"):
        whole, one, other = (os.path.join(folder, f"{name}{mode}.kvet") for name in ("whole", "one", "other"))
        kvet(*recorded(whole, folder, "--graph", mode), environment=simcuda_environment(folder, devices=RANKS)).expect(0)
        shutil.copy(whole, one)
        shutil.copy(whole, other)
        only_ranks(one, (0, 1))
        only_ranks(other, (2, 3))
        other_host(other)
        result, facts = merged(folder, one, other)
        check(abs(float(facts["merge.1.clock.drift_ns_per_s"]) - DRIFT_PPM * 1000) < 2000, f"drift {facts['merge.1.clock.drift_ns_per_s']} ns/s")
        check(abs(int(facts["merge.1.clock.offset_ns"]) - SHIFT_NS) < 50_000, f"offset {facts['merge.1.clock.offset_ns']} ns")
        expected, found = blame(whole), blame(result)
        check(expected[f"rank {SLOW}"] > 0, f"the whole blames nobody: {expected}")
        for rank, value in expected.items():
            check(abs(found[rank] - value) <= max(0.01 * value, 1000), f"{rank} is blamed for {found[rank]} ns, the whole says {value}")
        os.remove(result)


@case(bpf)
def two_recorders_of_one_job_find_the_planted_kernel(folder):
    """As on two hosts: each recorder sees two of the ranks, from start-up to end."""
    environment = simcuda_environment(folder, devices=RANKS)
    captures = [os.path.join(folder, f"host{first}.kvet") for first in (0, 2)]
    commands = [recorded(capture, folder, "--graph", "1", "--first", str(first), "--count", "2", "--rendezvous", os.path.join(folder, "ids"))
                for capture, first in zip(captures, (0, 2))]
    recorders = [subprocess.Popen([KVET, *command], env=environment, stderr=subprocess.PIPE, text=True) for command in commands]
    for recorder in recorders:
        try:
            _, err = recorder.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            recorder.kill()
            raise
        check(recorder.returncode == 0, f"status {recorder.returncode}: {err}")
    other_host(captures[1])
    result, _ = merged(folder, *captures)
    found = blame(result)
    planted = (RANKS - 1) * SLOW_US * 1000
    check(abs(found[f"rank {SLOW}"] - planted) <= 0.01 * planted, f"blamed for {found[f'rank {SLOW}']} ns, planted {planted}")
    check(all(value == 0 for rank, value in found.items() if rank != f"rank {SLOW}"), f"others are blamed, too: {found}")


@case(bpf)
def what_nothing_links_is_not_merged_unasked(folder):
    whole, other, result = (os.path.join(folder, f"{name}.kvet") for name in ("whole", "other", "merged"))
    kvet(*recorded(whole, folder), environment=simcuda_environment(folder, devices=RANKS)).expect(0)
    shutil.copy(whole, other)
    other_host(other)
    with sqlite3.connect(other) as database:
        database.execute("DELETE FROM communicator")
        database.execute("DELETE FROM collective_call")
    kvet("merge", whole, other, "-o", result).expect(BAD_INPUT, "no collective links it", "--wall-clock")
    check(not [name for name in os.listdir(folder) if "merged" in name], "something was left behind")
    kvet("merge", whole, other, "--wall-clock", "-o", result).expect(0)
    with sqlite3.connect(result) as database:
        facts = dict(database.execute("SELECT key, value FROM meta"))
    check(facts["merge.1.clock.by"] == "wall_clock" and "merge.1.clock.residual_ns" not in facts, f"{facts}")
    with sqlite3.connect(whole) as database:
        database.execute("DELETE FROM meta WHERE key = 'complete'")
    kvet("merge", whole, other, "-o", result).expect(BAD_INPUT, "not complete")

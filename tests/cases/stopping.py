"""However a recording ends, the file is usable and says what it is, and the target is unharmed."""
import os
import signal
import sqlite3
import struct
import subprocess
import time

from harness import KVET, bpf, case, check, kvet, simcuda_environment, workload

# Long enough that the recording is stopped in the middle; the workload ends by itself.
LONG = ["--steps", "2000", "--think-us", "1000"]


def wait_for_executions(recorder, capture, count, patience_s=120):
    """Until the file that is being written holds so many executions, and as many launches.

    The patience is for a machine that does much else; a recorder that has given up is not waited for."""
    end = time.monotonic() + patience_s
    seen = "no file"
    while time.monotonic() < end:
        over = recorder.poll() is not None  # asked before the look: what it wrote last counts
        try:
            database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
            seen = database.execute("SELECT (SELECT count(*) FROM execution), (SELECT count(*) FROM api_call)").fetchone()
            database.close()
            if min(seen) >= count:
                return
        except sqlite3.Error as error:
            seen = error
        if over:
            break
        time.sleep(0.05)
    raise AssertionError(f"no {count} executions and launches in {capture} but {seen}; the recorder's exit status: "
                         f"{recorder.poll()}; it said: {text(os.path.dirname(capture), 'err')}")


def start(folder, *command, **environment):
    """A recorder in the background, in a process group of its own; its output goes to files."""
    out, err = open(os.path.join(folder, "out"), "w"), open(os.path.join(folder, "err"), "w")
    return subprocess.Popen([KVET, "record", *command], env=simcuda_environment(folder, **environment), stdout=out, stderr=err,
                            start_new_session=True)


def fact(capture, key):
    row = sqlite3.connect(f"file:{capture}?mode=ro", uri=True).execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else ""


def text(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def end_group(process):
    """What is left of the recorder and its target is ended: it is this test's own process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@case(bpf)
def an_interrupt_leaves_a_complete_file(folder):
    capture = os.path.join(folder, "x.kvet")
    recorder = start(folder, "-o", capture, "--counters", "off", "--", workload("variant"), *LONG)
    try:
        wait_for_executions(recorder, capture, 100)
        os.kill(recorder.pid, signal.SIGINT)
        recorder.wait(timeout=30)
        check(fact(capture, "complete") == "1", "the file is not complete")
        check(fact(capture, "record.stop") == "interrupt", f"record.stop is {fact(capture, 'record.stop')}")
        outcome = kvet("report", capture, "--kernel", "norm_kernel").expect(0)
        check("norm_kernel" in outcome.out, "the report lacks the kernel", outcome)
    finally:
        end_group(recorder)


@case(bpf)
def a_killed_recorder_leaves_a_readable_file_and_an_unharmed_target(folder):
    capture = os.path.join(folder, "x.kvet")
    recorder = start(folder, "-o", capture, "--counters", "off", "--", workload("variant"), *LONG)
    try:
        wait_for_executions(recorder, capture, 100)
        os.kill(recorder.pid, signal.SIGKILL)
        recorder.wait()
        end = time.monotonic() + 60
        while "throughput: " not in text(folder, "out") and time.monotonic() < end:
            time.sleep(0.1)
        check("throughput: " in text(folder, "out"), "the target did not finish: " + text(folder, "err"))
        outcome = kvet("report", capture).expect(0)
        check("incomplete" in outcome.out.lower(), "the report does not say that the capture is incomplete", outcome)
        executions, launches = sqlite3.connect(capture).execute("SELECT count(*), (SELECT count(*) FROM api_call) FROM execution").fetchone()
        check(executions >= 100, f"{executions} executions are left of 100")
        check(launches >= 100, f"{launches} launches are left beside {executions} executions")
    finally:
        end_group(recorder)


def inject_status(pid):
    """What the injected library says in its table (kvet_table::status, src/abi/records.h); None: the process is gone."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            line = next(line for line in maps if "memfd:kvet-table" in line)
        with open(f"/proc/{pid}/map_files/{line.split()[0]}", "rb") as table:
            return struct.unpack_from("<I", table.read(64), 36)[0]
    except (OSError, StopIteration):
        return None


@case(bpf)
def a_killed_recorder_gives_the_target_its_speed_back(folder):
    """The kernel lowers the probe's semaphore; the library in the target then switches CUPTI off."""
    capture = os.path.join(folder, "x.kvet")
    targets = []
    recorder = start(folder, "-o", capture, "--counters", "off", "--", workload("variant"), "--steps", "20000", "--think-us", "1000",
                     KVET_READER_PATIENCE_MS="500")
    try:
        wait_for_executions(recorder, capture, 100)
        with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="utf-8") as children:
            targets = [int(pid) for pid in children.read().split() if inject_status(int(pid)) is not None]
        recording, reader_gone = 1, 8
        check([inject_status(pid) for pid in targets] == [recording], f"processes with a table: {targets}")
        os.kill(recorder.pid, signal.SIGKILL)
        recorder.wait()
        status, end = recording, time.monotonic() + 60
        while status == recording and time.monotonic() < end:
            time.sleep(0.05)
            status = inject_status(targets[0])
        check(status == reader_gone, f"the library's status is {status}")
    finally:
        for pid in targets:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        end_group(recorder)


@case(bpf)
def after_its_duration_the_command_runs_on(folder):
    capture = os.path.join(folder, "x.kvet")
    recorder = start(folder, "-o", capture, "--counters", "off", "--duration", "1s", "--", workload("variant"), *LONG)
    try:
        recorder.wait(timeout=30)
        check(fact(capture, "complete") == "1", "the file is not complete")
        check(fact(capture, "record.stop") == "duration", f"record.stop is {fact(capture, 'record.stop')}")
        end = time.monotonic() + 60
        while "throughput: " not in text(folder, "out") and time.monotonic() < end:
            time.sleep(0.1)
        check("throughput: " in text(folder, "out"), "the command did not run on to its end: " + text(folder, "err"))
        start_ns, end_ns = int(fact(capture, "record.start_ns")), int(fact(capture, "record.end_ns"))
        check(end_ns - start_ns >= 1_000_000_000, "the recording was shorter than its duration")
    finally:
        end_group(recorder)


@case(bpf)
def a_running_process_is_recorded_without_restart(folder):
    """--pid: the host tier. Launches from uprobes, with their threads; no kernel names, and nothing injected."""
    capture = os.path.join(folder, "x.kvet")
    environment = simcuda_environment(folder)
    with open(os.path.join(folder, "out"), "w") as out:
        target = subprocess.Popen([workload("variant"), *LONG], env=environment, stdout=out, start_new_session=True)
    try:
        time.sleep(0.5)
        outcome = kvet("record", "--pid", target.pid, "-o", capture, "--counters", "off", "--duration", "2s",
                       environment=environment).expect(0)
        check(fact(capture, "tier") == "host", f"the tier is {fact(capture, 'tier')}", outcome)
        database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
        launches, threads = database.execute("""
          SELECT count(*), count(DISTINCT thread_id) FROM api_call a JOIN enumerator k ON k.enumeration = 'api_kind'
          AND k.value = a.kind WHERE k.name = 'launch_kernel'""").fetchone()
        check(launches >= 12 and threads == 1, f"{launches} launches by {threads} threads", outcome)
        thread, = database.execute("SELECT DISTINCT thread_id FROM api_call").fetchone()
        check(thread == target.pid, f"launches by thread {thread}, not {target.pid}", outcome)
        check(database.execute("SELECT count(*) FROM execution").fetchone() == (0,), "executions in the host tier", outcome)
        with open(f"/proc/{target.pid}/maps", encoding="utf-8") as maps:
            check("kvet_inject" not in maps.read(), "something was injected")
        target.wait(timeout=60)
        check(target.returncode == 0 and "throughput: " in text(folder, "out"), "the target was harmed")
    finally:
        end_group(target)


@case(bpf)
def a_process_that_is_not_there_is_named(folder):
    capture = os.path.join(folder, "x.kvet")
    gone = subprocess.Popen(["true"])
    gone.wait()
    outcome = kvet("record", "--pid", gone.pid, "-o", capture, "--duration", "1s")
    check(outcome.status in (65, 69) and str(gone.pid) in outcome.err, "the process is not named", outcome)
    check(not os.path.exists(capture), "a file was left behind", outcome)

"""Waits that a workload plants (tests/workloads/waits.cpp), made by the kernel's real scheduler, against what kvet says of them:
every class within 1% or 20 µs a wait, the stream's starvation for just that reason, and the competitor named."""
import json
import os
import signal
import sqlite3

from harness import Skipped, bpf, case, check, kvet, simcuda_environment, workload

ROUNDS, WAIT_US = 20, 10000
NOT_ALLOWED = 77
REASON = {"preempted": 0, "throttled": 1, "futex": 2, "poll": 3, "io": 4, "sleep": 5}


class Recording:
    """One phase of the workload: the capture's own rows, the findings of the kernel that came late, the truth."""

    def __init__(self, folder, phase, *more, wait_us=WAIT_US):
        self.capture, truth = os.path.join(folder, "waits.kvet"), os.path.join(folder, "truth")
        outcome = kvet("record", "-o", self.capture, "--counters", "off", "--", workload("waits"), "--phase", phase, "--truth", truth,
                       "--rounds", ROUNDS, "--wait-us", wait_us, *more, environment=simcuda_environment(folder))
        if outcome.status == NOT_ALLOWED:
            raise Skipped(outcome.err.strip().splitlines()[-1])
        outcome.expect(0)
        self.rows = []
        for path in (truth, truth + ".competitor"):
            if os.path.exists(path):
                with open(path, encoding="utf-8") as lines:
                    self.rows += [line.rstrip("\n").split("\t") for line in lines]
        document, = json.loads(kvet("report", self.capture, "--kernel", "late_kernel", "--json").expect(0).out)["captures"]
        self.findings = document["kernels"][0]["findings"]

    def truth(self, kind):
        """Rows of that kind: thread, start, end, and what else there is, as numbers."""
        return [tuple(map(int, row[1:])) for row in self.rows if row[0] == kind]

    def value(self, wanted):
        """The sum of the findings of that id: one where a single thread launches; 0 where there is none."""
        found = [finding for finding in self.findings if finding["id"] == wanted]
        for finding in found:
            check(finding["value"] is not None, f"{wanted} is unavailable: {finding['reason']}")
        return sum(finding["value"] for finding in found)

    def off_cpu_ns(self, activity):
        span = self.value("dispatch.off_cpu.total") / (self.value("dispatch.off_cpu.share") / 100)
        return self.value(f"dispatch.off_cpu.{activity}") / 100 * span

    def of_thread(self, thread):
        """Off-CPU intervals of a thread, from the file: reason, start, wake-up, end."""
        with sqlite3.connect(f"file:{self.capture}?mode=ro", uri=True) as database:
            return list(database.execute("SELECT reason, start_ns, start_ns + blocked_ns, start_ns + duration_ns FROM off_cpu "
                                         "WHERE thread_id = ?", (thread,)))

    def named(self, wanted):
        return {finding["beside"]: finding["value"] for finding in self.findings if finding["id"] == wanted}


def agree(what, found_ns, planted_ns, waits):
    allowed = max(0.01 * planted_ns, 20_000 * waits)
    check(abs(found_ns - planted_ns) <= allowed,
          f"{what}: {found_ns / 1e3:.0f} µs, planted {planted_ns / 1e3:.0f} µs in {waits} waits, {allowed / 1e3:.0f} µs allowed")


def overlap(one, other):
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def each_agrees(what, planted, found):
    """Wait by wait, not only in sum, where errors may cancel. A machine that is stopped now and then may spoil one in four."""
    good = 0
    for wait in planted:
        length = wait[1] - wait[0]
        meets = sum(end - start for start, end in found if overlap((start, end), wait) > 0)
        good += abs(meets - length) <= max(0.01 * length, 20_000)
    check(good >= 0.75 * len(planted), f"{what}: {good} of {len(planted)} waits agree")


def blocked(folder, phase, reason=None):
    """`reason`: the phase's own name, unless another is given."""
    recording, reason = Recording(folder, phase), reason or phase
    planted = recording.truth(phase)
    check(len(planted) == ROUNDS, f"{len(planted)} rows of truth, not {ROUNDS}")
    total = sum(end - start for _, start, end in planted)
    check(total >= 0.9 * ROUNDS * WAIT_US * 1000, f"planted {total} ns in all: the workload did not do what it was asked")
    rows = recording.of_thread(planted[0][0])
    found = [(start, wake) for why, start, wake, _ in rows if why == REASON[reason]]
    each_agrees(phase, [wait[1:] for wait in planted], found)
    agree(f"off the CPU by {reason}", recording.off_cpu_ns(reason), total, ROUNDS)
    agree(f"starvation by {reason}", recording.value(f"dispatch.starvation.stream.by.{reason}"), total, ROUNDS)
    agree(f"device starvation by {reason}", recording.value(f"dispatch.starvation.device.by.{reason}"), total, ROUNDS)
    (helper,), = recording.truth("helper")
    caused = recording.named("dispatch.starvation.cause").get(f"thread {helper} of waits", 0)
    agree("caused by the helper", caused, total, ROUNDS)


@case(bpf)
def planted_sleeps(folder):
    recording = Recording(folder, "sleep", wait_us=3 * WAIT_US)  # timers of virtual machines are 0.1 ms late
    planted = recording.truth("sleep")
    check(len(planted) == ROUNDS, f"{len(planted)} rows of truth, not {ROUNDS}")
    asked, slept = sum(end - start for _, start, end, _ in planted), sum(row[3] for row in planted)
    rows = [row for row in recording.of_thread(planted[0][0]) if row[0] == REASON["sleep"]]
    found = sum(wake - start for _, start, wake, _ in rows for row in planted if overlap((start, wake), row[1:3]) > 0)
    agree("asleep", found, slept, ROUNDS)
    agree("starvation by sleep", recording.value("dispatch.starvation.stream.by.sleep"), slept, ROUNDS)
    agree("device starvation by sleep", recording.value("dispatch.starvation.device.by.sleep"), slept, ROUNDS)
    if abs(slept - asked) > 0.008 * asked:
        raise Skipped(f"agrees with the kernel's accounts, but this machine's timers are late: {slept} ns instead of {asked}")
    agree("asleep, as planned", found, asked, ROUNDS)


@case(bpf)
def a_mutex_that_another_thread_holds(folder):
    blocked(folder, "futex")


@case(bpf)
def a_pipe_that_is_polled(folder):
    blocked(folder, "poll")


@case(bpf)
def a_pipe_that_is_read(folder):
    blocked(folder, "io")


@case(bpf)
def work_that_passes_two_threads(folder):
    blocked(folder, "relay", "io")


def competitor(recording, wanted):
    """Of the time in the findings `wanted`, how much the workload's competitors had."""
    threads = {row[0] for row in recording.truth("competitor")}
    check(threads, "the workload named no competitor")
    named = recording.named(wanted)
    by_them = sum(value for beside, value in named.items() if beside in {f"competitor ({thread})" for thread in threads})
    check(by_them > 0, f"{wanted} names {sorted(named)}, not the competitor {sorted(threads)}")
    return by_them


@case(bpf)
def preempted_by_a_competitor(folder):
    recording = Recording(folder, "preempted")
    planted = [row[1:] for row in recording.truth("ran")]
    check(len(planted) == ROUNDS, f"{len(planted)} rows of truth, not {ROUNDS}")
    total = sum(end - start for start, end in planted)
    agree("preempted", recording.off_cpu_ns("preempted"), total, ROUNDS)
    agree("starvation by preempted", recording.value("dispatch.starvation.stream.by.preempted"), total, ROUNDS)
    agree("taken by the competitor", competitor(recording, "dispatch.cpu_taker"), total, ROUNDS)


@case(bpf)
def woken_behind_a_competitor(folder):
    recording = Recording(folder, "queue")
    ends = [row[2] for row in recording.truth("ran")]
    woken = recording.truth("woken")
    check(len(woken) == len(ends) == ROUNDS, f"{len(woken)} and {len(ends)} rows of truth, not {ROUNDS}")
    planted = [(wake, end) for (_, _, wake), end in zip(woken, ends)]
    total = sum(end - start for start, end in planted)
    found = [(wake, end) for reason, _, wake, end in recording.of_thread(woken[0][0]) if reason == REASON["sleep"]]
    each_agrees("waiting for a CPU", planted, found)
    agree("waiting for a CPU", recording.off_cpu_ns("waiting_for_cpu"), total, 3 * ROUNDS)  # its other sleeps end too
    agree("starvation by waiting for a CPU", recording.value("dispatch.starvation.stream.by.waiting_for_cpu"), total, 2 * ROUNDS)
    agree("held by the competitor", competitor(recording, "dispatch.cpu_holder"), total, ROUNDS)


@case(bpf)
def sharing_its_cpu_with_a_crowd(folder):
    """Three busy threads of the same priority: what the kernel accounts to the dispatcher as time on a run queue."""
    recording = Recording(folder, "crowd")
    planted = recording.truth("crowd")
    check(len(planted) == ROUNDS, f"{len(planted)} rows of truth, not {ROUNDS}")
    total = sum(row[3] for row in planted)
    check(total > 0, "nobody took the CPU: the workload did not do what it was asked")
    intervals = [(start, end) for reason, start, _, end in recording.of_thread(planted[0][0]) if reason == REASON["preempted"]]
    found = sum(overlap(interval, row[1:3]) for row in planted for interval in intervals)
    agree("preempted", found, total, len(intervals))
    taken = competitor(recording, "dispatch.cpu_taker")
    # Others of this machine may have their share of the CPU too, but not three quarters of it against four that are always ready.
    check(taken >= 0.25 * total, f"the crowd is said to have taken {taken} of {total} ns")


class Cgroup:
    """A cgroup of its own for CPU time, of version 1 or 2: 20 ms in each 100."""

    def __init__(self, name):
        self.path = None
        for root, quota, period in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"), ("/sys/fs/cgroup", "cpu.max", None)):
            path = os.path.join(root, name)
            try:
                if period is None and "cpu" not in open(os.path.join(root, "cgroup.subtree_control"), encoding="ascii").read().split():
                    continue
                os.mkdir(path)
                self.path = path
                if period is None:
                    self.write(quota, "20000 100000")
                else:
                    self.write(period, "100000")
                    self.write(quota, "20000")
                return
            except OSError:
                self.remove()
        raise Skipped("needs a cgroup with a quota of CPU time: none can be made here")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(value)

    def remove(self):
        if self.path is not None:
            os.rmdir(self.path)
            self.path = None


    def throttled_ns(self):
        """What the kernel itself says of the group: for how long it was kept from the CPU."""
        with open(os.path.join(self.path, "cpu.stat"), encoding="ascii") as lines:
            figures = dict(line.split() for line in lines)
        return int(figures["throttled_time"]) if "throttled_time" in figures else 1000 * int(figures["throttled_usec"])


@case(bpf)
def out_of_its_quota(folder):
    cgroup = Cgroup(f"kvet-test-{os.getpid()}")
    try:
        recording = Recording(folder, "quota", "--cgroup", cgroup.path)
        said = cgroup.throttled_ns()
    finally:
        cgroup.remove()
    planted = recording.truth("quota")
    check(len(planted) == ROUNDS, f"{len(planted)} rows of truth, not {ROUNDS}")
    total, wall = sum(row[3] for row in planted), sum(end - start for _, start, end, _ in planted)
    # 20 ms in each 100, and it spins all the time: kept from the CPU for four fifths where nobody else wants it. Where others do,
    # it takes longer to use its quota up.
    check(said >= 0.2 * wall, f"throttled for {said} of {wall} ns: the quota did not do what it was asked")
    times = {"preempted": 0, "throttled": 0}
    for reason, start, _, end in recording.of_thread(planted[0][0]):
        for name in times:
            if reason == REASON[name]:
                times[name] += sum(overlap((start, end), row[1:3]) for row in planted)
    agree("off the CPU", sum(times.values()), total, ROUNDS)
    # Where other processes share the CPU, a thread may lose it to them at the moment at which its quota ends.
    check(abs(times["throttled"] - said) <= 0.01 * said + times["preempted"], f"throttled {times}, and the kernel says {said}")
    starved = recording.value("dispatch.starvation.stream.by.throttled")
    agree("starvation by throttling", starved, times["throttled"], 2 * ROUNDS)


@case(bpf)
def the_parts_of_a_step_add_up(folder):
    """Against the serving workload's own stopwatch around each step."""
    truth, capture = os.path.join(folder, "truth"), os.path.join(folder, "serving.kvet")
    os.mkdir(truth)
    kvet("record", "-o", capture, "--counters", "off", "--", workload("serving"), "--truth", truth, "--executions", 12000, "--steps", 40,
         environment=simcuda_environment(folder, devices=3)).expect(0)
    steps, process_of = {}, {}
    for name in os.listdir(truth):
        pid = int(name.split(".")[0])
        with open(os.path.join(truth, name), encoding="utf-8") as lines:
            for row in (line.rstrip("\n").split("\t") for line in lines):
                if row[0] == "launch":
                    process_of[int(row[1])] = pid
                elif row[0] == "range":
                    steps.setdefault(pid, []).append(int(row[4]) - int(row[3]))
    check(len(steps) == 3 and all(len(walls) == 40 for walls in steps.values()), "the truth lacks steps")
    document, = json.loads(kvet("report", capture, "--kernel", "gemm_kernel", "--json").expect(0).out)["captures"]
    findings = document["kernels"][0]["findings"]
    threads = {finding["beside"] for finding in findings if finding["id"] == "dispatch.eager.launches"}
    check(len(threads) == 6, f"{len(threads)} threads launch the kernel, not 6")
    for thread in threads:
        mine = {finding["id"]: finding["value"] for finding in findings if finding["beside"] == thread}
        walls = steps[process_of[int(thread.split()[1])]]
        wall = mine["dispatch.step.wall"]
        check(abs(wall - sum(walls) / len(walls)) <= 0.01 * wall, f"{thread}: a step of {wall} ns, measured {sum(walls) / len(walls)}")
        parts = sum(value for name, value in mine.items() if name.startswith("dispatch.step.part."))
        check(abs(parts - wall) <= 1e-6 * wall, f"{thread}: parts of {parts} ns in a step of {wall}")


def switches():
    with open("/proc/stat", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("ctxt "))


@case(bpf)
def switches_of_others_are_not_recorded(folder):
    """Two bystanders hand a byte to and fro as fast as they can, while a target sleeps for two seconds."""
    there, back = os.pipe(), os.pipe()
    bystanders = []
    for source, sink in ((there[0], back[1]), (back[0], there[1])):
        child = os.fork()
        if child == 0:
            while os.read(source, 1):
                os.write(sink, b"x")
            os._exit(0)
        bystanders.append(child)
    capture = os.path.join(folder, "asleep.kvet")
    try:
        os.write(there[1], b"x")
        before = switches()
        kvet("record", "-o", capture, "--counters", "off", "--", "sleep", 2, environment=simcuda_environment(folder)).expect(0)
        happened = switches() - before
    finally:
        for child in bystanders:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    check(happened > 10_000, f"only {happened} switches: the bystanders did not do what they were asked")
    with sqlite3.connect(f"file:{capture}?mode=ro", uri=True) as database:
        kept, = database.execute("SELECT count(*) FROM off_cpu").fetchone()
        pids = {row[0] for row in database.execute("SELECT p.pid FROM off_cpu o JOIN process p ON p.id = o.process_id")}
        slept, = database.execute("SELECT max(duration_ns) FROM off_cpu WHERE reason = ?", (REASON["sleep"],)).fetchone()
    check(not pids & set(bystanders), f"bystanders {sorted(pids & set(bystanders))} are recorded")
    check(0 < kept < happened / 50, f"{kept} intervals kept of {happened} switches")
    agree("the target's sleep", slept, 2e9, 1)

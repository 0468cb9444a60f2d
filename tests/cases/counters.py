"""Hardware counters: sampled from another process on a clock of its own, held against what the kernels were made to do."""
import math
import os
import sqlite3

from harness import bpf, case, check, kvet, simcuda_environment, workload

STEPS, LAUNCHES = 300, 8
# variant.cpp's kernels: blocks, warps per block, time of a block (ns), bytes read per block.
KERNEL = (132, 8, None, 0)
GEMM = (132, 4, 40000, 262144)
CLOCK_CYCLES_PER_NS = 1.755  # simcuda/device/limits.h
# The counters' clock, planted: CLOCK_MONOTONIC + offset + drift × seconds. Ten years from now, to be well apart.
PLANTED_OFFSET_NS = 315_360_000_000_000_000
PLANTED_DRIFT = 2800  # ns per s


def kernel_ns(step):
    return round(100 * 1000 * (1 + 0.03 * math.sin(step)))


# Around a burst there are moments without samples, in which a kernel may end.
EVERY_KERNEL = ("--interval", "50us", "--burst", "0s")


def record(folder, *options, **environment):
    capture = os.path.join(folder, "counters.kvet")
    planted = {"KVET_SIMCUDA_COUNTER_OFFSET_NS": str(PLANTED_OFFSET_NS), **environment}
    outcome = kvet("record", *options, "-o", capture, "--", workload("variant"), "--steps", STEPS, "--think-us", 3000,
                   environment=simcuda_environment(folder, **planted)).expect(0)
    return sqlite3.connect(f"file:{capture}?mode=ro", uri=True), outcome


def fact(database, key):
    row = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else ""


def sums_differ(database):
    """What of the sums over all samples is not what the kernels did: a list of sentences."""
    blocks, warps, warp_cycles, read_bytes, lost = database.execute(
        "SELECT sum(blocks_completed), sum(warps_launched), sum(warp_cycles), sum(dram_read_bytes), "
        "(SELECT coalesce(sum(lost_count), 0) FROM loss) FROM sample").fetchone()
    gemms = STEPS * LAUNCHES // 2
    planted_warp_ns = sum(kernel_ns(step) for step in range(STEPS)) * LAUNCHES * KERNEL[0] * KERNEL[1]
    planted_warp_ns += gemms * GEMM[0] * GEMM[1] * GEMM[2]
    expected = [
        ("losses", lost, 0),
        ("blocks completed", blocks, STEPS * LAUNCHES * KERNEL[0] + gemms * GEMM[0]),
        ("warps launched", warps, STEPS * LAUNCHES * KERNEL[0] * KERNEL[1] + gemms * GEMM[0] * GEMM[1]),
        ("ns of resident warps", warp_cycles / CLOCK_CYCLES_PER_NS, planted_warp_ns),
        ("bytes read", read_bytes, gemms * GEMM[0] * GEMM[3]),
    ]
    return [f"{seen} {what}, {planted} planted" for what, seen, planted in expected if abs(seen - planted) > 1e-6 * planted]


@case(bpf)
def sums_are_what_the_kernels_did(folder):
    database, outcome = record(folder, *EVERY_KERNEL)
    check(fact(database, "tier") == "full", f"tier {fact(database, 'tier')}, not full", outcome)
    differences = sums_differ(database)
    check(not differences, "; ".join(differences), outcome)


@case(bpf)
def blanked_samples_are_caught(folder):
    database, outcome = record(folder, "--interval", "50us", KVET_SIMCUDA_MUTANT="blank_every_100th_sample")
    differences = sums_differ(database)
    check(any("resident warps" in one for one in differences), f"not caught: {differences}", outcome)


def clock_error_ns(database):
    """How far the first and the last sample, mapped to CLOCK_MONOTONIC, lie from where the planted clock puts them: the worse one."""
    mappings = database.execute(
        "SELECT from_ns, offset_ns, drift_ns_per_s FROM clock_mapping JOIN enumerator e ON e.enumeration = 'clock_source' "
        "AND e.value = source WHERE e.name = 'counters' ORDER BY from_ns").fetchall()
    check(mappings, "no mapping of the counters' clock")
    errors = []
    for raw in database.execute("SELECT min(start_ns), max(start_ns) FROM sample").fetchone():
        from_ns, offset, drift = [m for m in mappings if m[0] <= raw][-1] if mappings[0][0] <= raw else mappings[0]
        # Differences first: a double does not hold today's date to the nanosecond.
        mapped = raw + offset + round(drift * (raw - from_ns) / 1e9)
        planted = (raw - PLANTED_OFFSET_NS) - round((raw - PLANTED_OFFSET_NS) * (1 - 1 / (1 + PLANTED_DRIFT / 1e9)))
        errors.append(mapped - planted)
    return max(errors, key=abs)


@case(bpf)
def the_counters_clock_is_found(folder):
    """To 5 µs at both ends of the recording."""
    database, outcome = record(folder, "--interval", "20us")
    error = clock_error_ns(database)
    check(abs(error) < 5000, f"a sample is {error:.0f} ns off", outcome)


@case(bpf)
def a_counters_clock_100us_off_is_caught(folder):
    database, outcome = record(folder, "--interval", "20us", KVET_SIMCUDA_COUNTER_OFFSET_NS=str(PLANTED_OFFSET_NS - 100_000))
    error = clock_error_ns(database)
    check(abs(error - 100_000) < 5000, f"100 µs were not noticed: a sample is {error:.0f} ns off", outcome)


def anchors(database):
    """What the pulses said, before and after."""
    return [fact(database, f"counters.pulses_{moment}") for moment in ("before", "after")]


@case(bpf)
def pulses_fix_the_clock_at_both_ends(folder):
    """They and the executions agree: the stand-in's kernels begin and end exactly where they say."""
    database, outcome = record(folder, *EVERY_KERNEL)
    for said in anchors(database):
        check(said.startswith("GPU 0: ok: "), f"pulses: {said}", outcome)
    said = fact(database, "counters.alignment")
    check(said.startswith("ok: ") and "contradict" not in said and "pulses, known to" in said, f"alignment: {said}", outcome)
    error = clock_error_ns(database)
    check(abs(error) < 3000, f"a sample is {error:.0f} ns off", outcome)
    differences = sums_differ(database)
    check(not differences, "pulses are in the recording: " + "; ".join(differences), outcome)


def by_pulses_alone(folder, planted_error_ns, **environment):
    """Each recording must know how far off its clock may be; one of eight must know it to a half of what is planted. A busy
    machine keeps the handshakes of some waiting, at one end or at both."""
    for number in range(8):
        part = os.path.join(folder, str(number))
        os.mkdir(part)
        database, outcome = record(part, "--interval", "50us", "--tier", "host", **environment)
        executions, = database.execute("SELECT count(*) FROM execution").fetchone()
        check(executions == 0, f"{executions} executions in the host tier", outcome)
        said = fact(database, "counters.alignment")
        residuals = database.execute(
            "SELECT residual_ns, residual_p95_ns FROM clock_mapping WHERE residual_ns IS NOT NULL").fetchall()
        check(residuals and all(0 < median <= high for median, high in residuals), f"residuals: {residuals}; {said}", outcome)
        known_ns = max(high for _, high in residuals)
        error = clock_error_ns(database) - planted_error_ns
        check(abs(error) < known_ns + 3000, f"a sample is {error:.0f} ns off, and it says {known_ns}: {said}", outcome)
        if known_ns < 50_000:
            return
    check(False, f"no recording of eight was aligned by pulses: {said}; pulses: {anchors(database)}", outcome)


@case(bpf)
def pulses_alone_fix_the_clock_in_the_host_tier(folder):
    by_pulses_alone(folder, 0)


@case(bpf)
def a_counters_clock_off_is_caught_by_pulses_too(folder):
    by_pulses_alone(folder, 100_000, KVET_SIMCUDA_COUNTER_OFFSET_NS=str(PLANTED_OFFSET_NS - 100_000))


@case(bpf)
def no_pulses_means_none(folder):
    database, outcome = record(folder, "--interval", "50us", "--no-pulses")
    check(anchors(database) == ["", ""], f"pulses: {anchors(database)}", outcome)
    said = fact(database, "counters.alignment")
    check(said.startswith("ok: ") and "pulses" not in said, f"alignment: {said}", outcome)


@case(bpf)
def refused_counters_drop_one_tier(folder):
    database, outcome = record(folder, KVET_SIMCUDA_COUNTERS="refused")
    check(fact(database, "tier") == "device", f"tier {fact(database, 'tier')}, not device", outcome)
    check("administrators" in fact(database, "counters.status"), f"counters.status: {fact(database, 'counters.status')}", outcome)
    executions, = database.execute("SELECT count(*) FROM execution").fetchone()
    check(executions == STEPS * LAUNCHES * 3 // 2, f"{executions} executions", outcome)


@case(bpf)
def held_counters_name_the_cause(folder):
    database, outcome = record(folder, KVET_SIMCUDA_COUNTERS="held")
    check(fact(database, "tier") == "device", f"tier {fact(database, 'tier')}, not device", outcome)
    check("another client" in fact(database, "counters.status"), f"counters.status: {fact(database, 'counters.status')}", outcome)

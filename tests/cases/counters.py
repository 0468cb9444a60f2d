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
PLANTED_LEAD_NS = 250_000    # the counters' times lie that much before the same moment elsewhere
PLANTED_DRIFT = 2800         # ns per s


def kernel_ns(step):
    return round(100 * 1000 * (1 + 0.03 * math.sin(step)))


def record(folder, *options, **environment):
    capture = os.path.join(folder, "counters.kvet")
    outcome = kvet("record", *options, "-o", capture, "--", workload("variant"), "--steps", STEPS, "--think-us", 3000,
                   environment=simcuda_environment(folder, **environment)).expect(0)
    return sqlite3.connect(f"file:{capture}?mode=ro", uri=True), outcome


def fact(database, key):
    row = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else ""


@case(bpf)
def sums_are_what_the_kernels_did(folder):
    database, outcome = record(folder, "--interval", "50us")
    check(fact(database, "tier") == "full", f"tier {fact(database, 'tier')}, not full", outcome)
    blocks, warps, warp_cycles, read_bytes, lost = database.execute(
        "SELECT sum(blocks_completed), sum(warps_launched), sum(warp_cycles), sum(dram_read_bytes), "
        "(SELECT coalesce(sum(lost_count), 0) FROM loss) FROM sample").fetchone()
    gemms = STEPS * LAUNCHES // 2
    planted_blocks = STEPS * LAUNCHES * KERNEL[0] + gemms * GEMM[0]
    planted_warps = STEPS * LAUNCHES * KERNEL[0] * KERNEL[1] + gemms * GEMM[0] * GEMM[1]
    planted_warp_ns = sum(kernel_ns(step) for step in range(STEPS)) * LAUNCHES * KERNEL[0] * KERNEL[1]
    planted_warp_ns += gemms * GEMM[0] * GEMM[1] * GEMM[2]
    check(lost == 0, f"{lost} losses", outcome)
    check(blocks == planted_blocks, f"{blocks} blocks completed, {planted_blocks} planted")
    check(warps == planted_warps, f"{warps} warps launched, {planted_warps} planted")
    seen_warp_ns = warp_cycles / CLOCK_CYCLES_PER_NS
    check(abs(seen_warp_ns / planted_warp_ns - 1) < 1e-6, f"{seen_warp_ns} ns of resident warps, {planted_warp_ns} planted")
    planted_bytes = gemms * GEMM[0] * GEMM[3]
    check(abs(read_bytes / planted_bytes - 1) < 1e-6, f"{read_bytes} bytes read, {planted_bytes} planted")


@case(bpf)
def the_counters_clock_is_found(folder):
    """Mapped to CLOCK_MONOTONIC, every sample lies where the planted clock says, to 5 µs, at both ends of the recording."""
    database, outcome = record(folder, "--interval", "20us")
    pair = int(fact(database, "clock.realtime_ns")) - int(fact(database, "clock.monotonic_ns"))
    mappings = database.execute(
        "SELECT from_ns, offset_ns, drift_ns_per_s FROM clock_mapping JOIN enumerator e ON e.enumeration = 'clock_source' "
        "AND e.value = source WHERE e.name = 'counters' ORDER BY from_ns").fetchall()
    check(mappings, "no mapping of the counters' clock", outcome)
    first, last = database.execute("SELECT min(start_ns), max(start_ns) FROM sample").fetchone()
    for raw in (first, last):
        from_ns, offset, drift = [m for m in mappings if m[0] <= raw][-1] if mappings[0][0] <= raw else mappings[0]
        mapped = raw + offset + drift * (raw - from_ns) / 1e9
        # The planted clock, but for the drift since the machine was made, at most a few seconds before.
        planted = raw - pair + PLANTED_LEAD_NS
        drifted = PLANTED_DRIFT * (last - first) / 1e9
        check(abs(mapped - planted) < 5000 + drifted, f"a sample is {mapped - planted:.0f} ns off", outcome)


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

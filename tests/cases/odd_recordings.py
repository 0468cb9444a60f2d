"""Recordings at the edge of what can be said: each ends in a figure or in a labelled absence, never in a zero or a guess."""
import json
import os
import sqlite3

from harness import bpf, case, check, kvet, simcuda_environment, workload


def record(folder, options, arguments, **environment):
    capture = os.path.join(folder, "odd.kvet")
    outcome = kvet("record", *options, "-o", capture, "--", workload("variant"), *arguments,
                   environment=simcuda_environment(folder, **environment)).expect(0)
    return capture, outcome


def report(capture, *options):
    outcome = kvet("report", capture, "--json", *options).expect(0)
    return json.loads(outcome.out)["captures"][0], outcome


def finding(findings, name, outcome):
    named = [one for one in findings if one["id"] == name]
    check(named, f"no finding {name}", outcome)
    return named[0]


def said(one, outcome):
    """It has a value, or says why not and what to do."""
    check(one["value"] is not None or (one["reason"] and one["advice"]), f"{one['id']} has neither a value nor a reason", outcome)


@case(bpf)
def kernels_of_two_microseconds(folder):
    capture, _ = record(folder, [], ["--kernel-us", 2, "--steps", 40, "--think-us", 2000])
    seen, outcome = report(capture, "--kernel", "norm_kernel")
    kernel = seen["kernels"][0]
    check(kernel["executions"] == 320, f"{kernel['executions']} executions, not 40 x 8", outcome)
    for name in ("occupancy.solo", "dram.solo", "conditions.sm_clock"):
        said(finding(kernel["findings"], name, outcome), outcome)


@case(bpf)
def a_kernel_that_outlives_the_recording(folder):
    capture, _ = record(folder, ["--duration", "1s"], ["--kernel-us", 4_000_000, "--steps", 1, "--launches", 1])
    seen, outcome = report(capture)
    executions = finding(seen["findings"], "quality.executions", outcome)
    check(executions["value"] is None and "no kernel had ended" in executions["reason"], f"it says: {executions}", outcome)


@case(bpf)
def one_kernel_that_fills_the_recording(folder):
    capture, _ = record(folder, [], ["--kernel-us", 3_000_000, "--steps", 1, "--launches", 1])
    seen, outcome = report(capture, "--kernel", "norm_kernel")
    kernel = seen["kernels"][0]
    solo = finding(kernel["findings"], "occupancy.time.solo", outcome)
    check(abs(solo["value"] - 3e9) < 1e6, f"alone for {solo['value']} ns, not 3 s", outcome)
    said(finding(kernel["findings"], "occupancy.solo", outcome), outcome)


@case(bpf)
def clients_of_mps_are_said(folder):
    capture, _ = record(folder, [], ["--steps", 20], KVET_SIMCUDA_MPS="1", CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="12.5")
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    contexts = database.execute("SELECT name, green, mps_thread_percent FROM context JOIN enumerator "
                                "ON enumeration = 'context_sharing' AND value = sharing").fetchall()
    check(contexts == [("mps", 0, 12.5)], f"contexts: {contexts}")
    seen, outcome = report(capture)
    clients = finding(seen["findings"], "device.mps_clients", outcome)
    check(clients["value"] == 1, f"{clients['value']} clients", outcome)


@case(bpf)
def a_device_that_is_lost(folder):
    capture, _ = record(folder, [], ["--steps", 100, "--think-us", 30000], KVET_SIMCUDA_LOST_AFTER_MS="1000")
    seen, outcome = report(capture)
    lost = finding(seen["findings"], "device.lost", outcome)
    check(lost["value"] > 0 and "the GPU is lost" in lost["sentence"], f"it says: {lost}", outcome)


def record_two_processes(folder, **environment):
    """The model overlaps the kernels of all processes; what differs is what the context records say about them."""
    capture = os.path.join(folder, "two.kvet")
    program = workload("variant")
    command = f"{program} --steps 60 --kernel-us 300 & {program} --steps 60 --kernel-us 300; wait"
    kvet("record", "-o", capture, "--", "sh", "-c", command,
         environment=simcuda_environment(folder, **environment)).expect(0)
    seen, outcome = report(capture, "--kernel", "norm_kernel")
    times = {name: finding(seen["kernels"][0]["findings"], name, outcome)["value"] for name in
             ("occupancy.time.solo", "occupancy.time.corun")}
    return times, finding(seen["findings"], "device.time_sliced", outcome), seen, outcome


@case(bpf)
def two_contexts_take_turns(folder):
    times, turns, seen, outcome = record_two_processes(folder)
    check(turns["value"] > 1 and turns["advice"], f"it says: {turns}", outcome)
    check(times["occupancy.time.corun"] == 0, f"siblings without MPS: {times}", outcome)
    kernel = finding(seen["kernels"][0]["findings"], "conditions.time_sliced", outcome)
    check(kernel["value"] > 1, f"it says: {kernel}", outcome)


@case(bpf)
def two_clients_of_mps_are_siblings(folder):
    times, turns, _, outcome = record_two_processes(folder, KVET_SIMCUDA_MPS="1")
    check(turns["value"] == 0, f"it says: {turns}", outcome)
    check(times["occupancy.time.corun"] > 0, f"no siblings under MPS: {times}", outcome)

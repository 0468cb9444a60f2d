"""kvet doctor --calibrate on the stand-in, whose memory gives 4800 bytes per nanosecond (simcuda/device/limits.h), and what
recordings make of it."""
import ctypes
import glob
import json
import os
import sqlite3
import subprocess
import time

from harness import UNAVAILABLE, WORKLOADS, Skipped, case, check, kvet, simcuda_environment

BANDWIDTH = 4800e9
# The stand-in counts 64 bytes for each random sector of 32, as HBM moves them.
EXPECTED = {"read": BANDWIDTH, "write": BANDWIDTH, "read_write_1_1": BANDWIDTH, "read_write_2_1": BANDWIDTH,
            "random_sectors": BANDWIDTH / 2}


def environment(folder, **more):
    return simcuda_environment(folder, XDG_CACHE_HOME=os.path.join(folder, "cache"), **more)


def files(folder):
    return sorted(glob.glob(os.path.join(folder, "cache", "kvet", "*")))


def calibrate(folder, devices=1):
    outcome = kvet("doctor", "--calibrate", "--json", environment=environment(folder, devices=devices), timeout=120)
    outcome.expect(0)
    return json.loads(outcome.out)["calibrations"]


def no_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    raise Skipped("needs a machine without NVIDIA's driver")


@case()
def the_planted_bandwidth_comes_out(folder):
    calibrations = calibrate(folder, devices=2)
    check(len(calibrations) == 2, f"{len(calibrations)} calibrations of 2 GPUs")
    for calibration in calibrations:
        check(calibration["ignored"] == "", calibration["ignored"])
        check(calibration["peak_bytes_per_second"] == BANDWIDTH, f"peak {calibration['peak_bytes_per_second']}")
        for name, expected in EXPECTED.items():
            rate = calibration["dram"][name]
            # Launch latency and the gap between operations: below 0.1% of 50 ms.
            check(0.999 * expected < rate["bytes_per_second"] <= 1.0001 * expected, f"{name}: {rate}")
            check(0.999 * expected < rate["globaltimer_bytes_per_second"] <= 1.0001 * expected, f"{name}: {rate}")
    check(len(files(folder)) == 2, f"files: {files(folder)}")


@case()
def a_recording_carries_it(folder):
    calibration = calibrate(folder)[0]
    capture = os.path.join(folder, "capture.kvet")
    here = environment(folder)
    kvet("record", "--tier", "unprivileged", "-o", capture, "--", os.path.join(WORKLOADS, "variant"), environment=here,
         timeout=120).expect(0)
    meta = dict(sqlite3.connect(capture).execute("select key, value from meta where key like 'calibration.%'"))
    prefix = f"calibration.dram.{calibration['uuid']}."
    expected = {prefix + name: str(rate["bytes_per_second"]) for name, rate in calibration["dram"].items()}
    expected[prefix + "time"] = calibration["time"]
    check(meta == expected, f"{meta} is not {expected}")

    # Made with another driver: not carried, and a sentence says so.
    path, = files(folder)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("580.0.simcuda", "570.0"))
    os.unlink(capture)
    kvet("record", "--tier", "unprivileged", "-o", capture, "--", os.path.join(WORKLOADS, "variant"), environment=here,
         timeout=120).expect(0, "made with driver 570.0, and 580.0.simcuda runs now")
    rows = sqlite3.connect(capture).execute("select count(*) from meta where key like 'calibration.%'").fetchone()
    check(rows == (0,), f"{rows} facts of a calibration that does not count")


@case()
def a_gpu_in_use_is_refused(folder):
    here = environment(folder)
    # A block on each multiprocessor, 160 s of it.
    busy = subprocess.Popen([os.path.join(WORKLOADS, "variant"), "--kernel-us", "1000", "--steps", "20000"], env=here,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        kvet("doctor", "--calibrate", environment=here, timeout=120).expect(UNAVAILABLE, "the GPU is in use")
    finally:
        busy.kill()
        busy.wait()
    check(files(folder) == [], f"files: {files(folder)}")


@case(no_driver)
def without_a_gpu_it_says_so(folder):
    here = environment(folder)
    del here["LD_LIBRARY_PATH"]
    outcome = kvet("doctor", "--calibrate", "--json", environment=here, timeout=60)
    outcome.expect(UNAVAILABLE, "no NVIDIA driver here")
    check(outcome.out == "", "something on stdout", outcome)


@case()
def a_place_that_cannot_be_written_is_named(folder):
    here = environment(folder)
    with open(here["XDG_CACHE_HOME"], "w"):
        pass  # a file where a folder has to be
    kvet("doctor", "--calibrate", environment=here, timeout=120).expect(UNAVAILABLE, "cache/kvet", "XDG_CACHE_HOME")

#!/usr/bin/env python3
"""How fast traces are imported, as a ratio to Python's json.load on the same bytes in the same run, on one core.

    import_speed.py --build BUILD [--rounds N] [FILE...]     without files: the traces of ../shared/data (or $KVET_DATA)
    import_speed.py --build BUILD --synthetic GIB            memory: a trace of that size, most of it operators of the CPU

Both sides start from decompressed bytes in memory. Rounds are interleaved; each side's best counts, and the ratio of the two bests,
beside the median ratio of the rounds. Storing is timed apart.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("KVET_DATA", os.path.join(ROOT, "..", "shared", "data"))

PYTHON_SIDE = """
import gzip, io, json, sys, time
with (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rb") as file:
    data = io.BytesIO(file.read())
begin = time.perf_counter()
json.load(data)
print(time.perf_counter() - begin)
"""


def one_core():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=one_core).stdout


def compare(build, path, rounds):
    program = os.path.join(build, "tests", "bench", "import_speed")
    python, view, store = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            python.append(float(run([sys.executable, "-c", PYTHON_SIDE, path])))
            # The capture of the first round alone: storing is slow, and not what is compared.
            capture = [os.path.join(folder, "out.kvet")] if number == 0 else []
            result = json.loads(run([program, path, *capture]))
            view.append(result["view_s"])
            store.append(result["store_s"])
    megabytes = result["bytes"] / 1e6
    ratio = statistics.median(p / v for p, v in zip(python, view))
    print(f"{os.path.basename(path)[:34]:34} {megabytes:8.1f} {result['executions']:9d} {min(python):9.3f} {min(view):9.3f} "
          f"{megabytes / min(view):7.0f} {min(python) / min(view):7.1f} {ratio:8.1f} {store[0]:8.3f}")
    return min(python) / min(view)


def synthetic(path, size):
    """Operators with their inputs, and for every ten of them a launch and a kernel."""
    head = ('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, '
            '"maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536, "warpSize": 32, '
            '"sharedMemPerMultiprocessor": 167936, "numSms": 108}], "traceEvents": [\n')
    written = kernels = 0
    with open(path, "w") as file:
        written += file.write(head)
        number, clock = 1, 1000.125
        while written < size:
            lines = []
            for _ in range(200):
                for operator in range(10):
                    lines.append(
                        f'  {{"ph": "X", "cat": "cpu_op", "name": "aten::operator_{operator}", "pid": 100, "tid": 100,\n'
                        f'    "ts": {clock:.3f}, "dur": 3.500,\n    "args": {{"External id": {number}, "Input Dims": [[64, 4096], '
                        f'[4096, 4096], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"], "Concrete Inputs": '
                        f'["", "", "1"], "Call stack": "model.py({operator}): forward;train.py(17): step", "Ev Idx": {number}}}\n  }}')
                lines.append(
                    f'  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100,\n'
                    f'    "ts": {clock:.3f}, "dur": 4.250, "args": {{"cbid": 211, "correlation": {number}}}}}')
                lines.append(
                    f'  {{"ph": "X", "cat": "kernel", "name": "void kernel_{number % 50}<float>(float*)", "pid": 0, "tid": 7,\n'
                    f'    "ts": {clock + 10:.3f}, "dur": 21.375, "args": {{"device": 0, "context": 1, "stream": 7, "correlation": '
                    f'{number}, "registers per thread": 64, "shared memory": 0, "grid": [{number % 7 + 1}, 1, 1], "block": [256, 1, 1]}}}}')
                number += 1
                kernels += 1
                clock += 40
            written += file.write((",\n" if kernels > 200 else "") + ",\n".join(lines))
        file.write("\n]}\n")
    return kernels


def memory(build, gibibytes):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        path = os.path.join(folder, "big.json")
        kernels = synthetic(path, int(gibibytes * 2**30))
        print(f"{os.path.getsize(path) / 2**30:.2f} GiB, {kernels} kernels and as many launches")
        capture = os.path.join(folder, "out.kvet")
        kvet = os.path.join(build, "bin", "kvet")
        for words in (["import", path, "-o", capture], ["kernels", path]):
            begin = time.perf_counter()
            process = subprocess.Popen([kvet, *words], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            print(f"kvet {words[0]:8} status {os.waitstatus_to_exitcode(status)}, {time.perf_counter() - begin:6.1f} s, "
                  f"{usage.ru_utime:6.1f} s of processor time, peak {usage.ru_maxrss / 1024:.0f} MiB resident")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--synthetic", type=float, metavar="GIB")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    if arguments.synthetic:
        memory(arguments.build, arguments.synthetic)
        return
    files = arguments.files or sorted(glob.glob(os.path.join(DATA, "kineto*.json.gz")))
    if not files:
        sys.exit(f"no traces in {DATA}")
    print(f"{'file':34} {'MB':>8} {'kernels':>9} {'json.load':>9} {'kvet':>9} {'MB/s':>7} {'ratio':>7} {'median':>8} {'store s':>8}")
    ratios = [compare(arguments.build, path, arguments.rounds) for path in files]
    print(f"least ratio: {min(ratios):.1f}")


if __name__ == "__main__":
    main()

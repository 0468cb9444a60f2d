"""What tests that drive the kvet program share: where things are, what this machine allows, running a command, checks.

A test file is a list of functions decorated with @case. `run_cases.py FILE` runs them. Each gets a folder of its own.
"""
import ctypes
import os
import signal
import subprocess
import sys

BUILD = os.environ.get("KVET_BUILD", "")
SIMCUDA = os.path.join(BUILD, "simcuda", "lib")
WORKLOADS = os.path.join(BUILD, "tests")
TESTS = os.path.dirname(os.path.abspath(__file__))
KVET = os.environ.get("KVET_PROGRAM", os.path.join(BUILD, "bin", "kvet"))

# docs/exit-status.md
USAGE, BAD_INPUT, UNAVAILABLE, OUTPUT_LOST = 64, 65, 69, 70

CASES = []


class Skipped(Exception):
    """The machine lacks something that the case needs; the message says what."""


def case(*needs):
    """Declares a test function and what it needs: each of `needs` is a function that raises Skipped."""
    def declare(function):
        CASES.append((function, needs))
        return function
    return declare


def root():
    if os.geteuid() != 0:
        raise Skipped("needs root")


def bpf():
    """BPF programs can be loaded, and the kernel says how its structures lie."""
    root()
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        raise Skipped("needs a kernel with BTF (/sys/kernel/btf/vmlinux)")
    # BPF_PROG_GET_NEXT_ID is allowed to whoever may load programs, and refused by the filters of most containers.
    numbers = {"x86_64": 321, "aarch64": 280}
    attributes = ctypes.create_string_buffer(128)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(numbers[os.uname().machine], 11, attributes, len(attributes))
    if ctypes.get_errno() == 1:
        raise Skipped("needs the bpf system call")


def simcuda_environment(folder, devices=1, **more):
    """The environment of a command that shall find the stand-ins, with a machine of its own in `folder`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KVET_", "CUDA_INJECTION", "NVTX_"))}
    environment.update({
        "LD_LIBRARY_PATH": SIMCUDA,
        "KVET_CUPTI_PATH": os.path.join(SIMCUDA, "libcupti.so.13"),
        "KVET_SIMCUDA_DEVICE": os.path.join(folder, "device"),
        "KVET_SIMCUDA_DEVICES": str(devices),
    })
    environment.update(more)
    return environment


class Outcome:
    def __init__(self, command, status, out, err):
        self.command, self.status, self.out, self.err = command, status, out, err

    def expect(self, status, *texts):
        """The exit status, and texts that stderr must contain."""
        check(self.status == status, f"exit status {self.status}, not {status}", self)
        for text in texts:
            check(text in self.err, f"stderr does not say {text!r}", self)
        return self


def run(command, environment=None, timeout=60, **more):
    """Runs a command in a process group of its own, which is ended if it takes longer than `timeout` seconds."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, errors="replace", **more)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"{' '.join(command)} did not end within {timeout} s\n{out}{err}") from None
    return Outcome(command, process.returncode, out, err)


def kvet(*arguments, **more):
    return run([KVET, *map(str, arguments)], **more)


def check(holds, message, outcome=None):
    if not holds:
        text = message
        if outcome is not None:
            text += f"\n  $ {' '.join(outcome.command)}\n  exit status {outcome.status}"
            text += "".join(f"\n  | {line}" for line in (outcome.err + outcome.out).splitlines()[:40])
        raise AssertionError(text)


def workload(name):
    return os.path.join(WORKLOADS, name)


def compare_truth(capture, truth, *more):
    """The codes of what differs between a capture and the truth, with the line that each came with."""
    outcome = run([sys.executable, os.path.join(TESTS, "compare_truth.py"), capture, truth, *map(str, more)])
    check(outcome.status in (0, 1), "compare_truth.py failed", outcome)
    differences = {line.split("\t")[0]: line for line in outcome.out.splitlines()}
    check((outcome.status == 1) == bool(differences), "status and output disagree", outcome)
    return differences

#!/usr/bin/env python3
"""Runs the cases of one file.

    run_cases.py --build BUILD_FOLDER FILE [CASE]

One line per case. Exit status: 0 all hold, 1 one does not, 77 none could run here.
"""
import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import time
import traceback


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("file")
    parser.add_argument("case", nargs="?")
    arguments = parser.parse_args()
    os.environ["KVET_BUILD"] = os.path.abspath(arguments.build)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import harness
    specification = importlib.util.spec_from_file_location("cases", arguments.file)
    specification.loader.exec_module(importlib.util.module_from_spec(specification))
    chosen = [(f, needs) for f, needs in harness.CASES if arguments.case in (None, f.__name__)]
    if not chosen:
        sys.exit(f"{arguments.file} has no case {arguments.case}")
    failed = skipped = 0
    for function, needs in chosen:
        folder = tempfile.mkdtemp(prefix=f"kvet-{function.__name__}-")
        begin = time.monotonic()
        try:
            for need in needs:
                need()
            function(folder)
        except harness.Skipped as reason:
            skipped += 1
            print(f"skipped {function.__name__}: {reason}", flush=True)
        except AssertionError as reason:
            failed += 1
            print(f"FAILED  {function.__name__}: {reason}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {function.__name__}:\n{traceback.format_exc()}", flush=True)
        else:
            print(f"ok      {function.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 77 if skipped == len(chosen) else 0)


if __name__ == "__main__":
    main()

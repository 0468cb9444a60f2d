"""Bad input: one clear message each, the documented exit status, no half file presented as whole."""
import os
import shutil
import sqlite3

from harness import (BAD_INPUT, KVET, OUTPUT_LOST, UNAVAILABLE, USAGE, Skipped, bpf, case, check, kvet, root, run,
                     simcuda_environment, workload)


def one_line(outcome):
    """Exactly one line on stderr, from kvet, and no JSON or table on stdout."""
    lines = outcome.err.splitlines()
    check(len(lines) == 1 and lines[0].startswith("kvet: "), "stderr is not one line from kvet", outcome)
    check(outcome.out == "", "something on stdout", outcome)
    return outcome


def make_capture(folder, name="good.kvet", *arguments):
    capture = os.path.join(folder, name)
    kvet("record", "-o", capture, "--counters", "off", "--", workload("variant"), "--steps", 20, *arguments,
         environment=simcuda_environment(folder)).expect(0)
    return capture


@case()
def wrong_command_lines(folder):
    for arguments in (["no-such-command"], ["report", "--no-such-option", "x.kvet"], ["record"], ["record", "--pid", "1", "--", "true"],
                      ["record", "--interval", "soon", "--", "true"]):
        one_line(kvet(*arguments).expect(USAGE))


@case()
def files_that_are_not_captures(folder):
    empty, text, other = (os.path.join(folder, name) for name in ("empty", "text.kvet", "other.sqlite"))
    open(empty, "w").close()
    with open(text, "w") as file:
        file.write("this is not a capture\n" * 1000)
    database = sqlite3.connect(other)
    database.execute("CREATE TABLE execution(x)")
    database.close()
    for path in (empty, text, other):
        for command in (["report", path], ["kernels", path], ["compare", path, "--against", path]):
            one_line(kvet(*command).expect(BAD_INPUT, path))
    one_line(kvet("report", folder).expect(BAD_INPUT, folder))


@case()
def a_missing_file_is_named(folder):
    path = os.path.join(folder, "nowhere.kvet")
    outcome = one_line(kvet("report", path))
    check(outcome.status in (BAD_INPUT, UNAVAILABLE), "status", outcome)
    check(path in outcome.err, "the file is not named", outcome)


@case(bpf)
def truncated_captures(folder):
    good = make_capture(folder)
    size = os.path.getsize(good)
    for keep in (100, 4096, size // 2, size - 4096):
        cut = os.path.join(folder, f"cut{keep}.kvet")
        shutil.copy(good, cut)
        os.truncate(cut, keep)
        one_line(kvet("report", cut).expect(BAD_INPUT, cut))


@case(bpf)
def a_capture_of_a_newer_version_is_refused_with_both_versions(folder):
    good = make_capture(folder)
    database = sqlite3.connect(good)
    version, = database.execute("PRAGMA user_version").fetchone()
    database.execute("PRAGMA user_version = 4242")
    database.close()
    one_line(kvet("report", good).expect(BAD_INPUT, "4242", str(version)))


@case(bpf)
def an_incomplete_capture_is_read_and_said_to_be_incomplete(folder):
    good = make_capture(folder)
    database = sqlite3.connect(good)
    database.execute("DELETE FROM meta WHERE key = 'complete'")
    database.commit()
    database.close()
    outcome = kvet("report", good).expect(0)
    check("incomplete" in outcome.out.lower(), "the report does not say that the capture is incomplete", outcome)
    refused = kvet("compare", good, "--against", good, "--kernel", "norm", "--claim", "1.2")
    check(refused.status == 15, "an incomplete capture was not REFUSED", refused)


@case(bpf)
def a_pattern_that_matches_nothing_names_what_was_seen(folder):
    good = make_capture(folder)
    one_line(kvet("report", good, "--kernel", "no_such_kernel").expect(BAD_INPUT, "no_such_kernel", "norm_kernel", "gemm_kernel"))
    outcome = one_line(kvet("report", good, "--kernel", "(").expect(USAGE))
    check("(" in outcome.err, "the pattern is not named", outcome)


@case()
def a_claim_in_percent_is_refused(folder):
    for claim in ("38%", "0", "-1.2", "fast"):
        one_line(kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", claim).expect(USAGE, claim))


@case(bpf)
def a_command_that_is_not_found(folder):
    capture = os.path.join(folder, "x.kvet")
    outcome = kvet("record", "-o", capture, "--", "no-such-program-anywhere", environment=simcuda_environment(folder))
    outcome.expect(UNAVAILABLE, "no-such-program-anywhere")
    check(not os.path.exists(capture), "a capture of nothing was left behind", outcome)


@case(bpf)
def the_commands_exit_status_is_passed_on(folder):
    capture = os.path.join(folder, "x.kvet")
    environment = simcuda_environment(folder)
    kvet("record", "-o", capture, "--counters", "off", "--", "sh", "-c", "exit 3", environment=environment).expect(3)
    kvet("record", "-o", capture, "--counters", "off", "--", "sh", "-c", "kill -TERM $$", environment=environment).expect(128 + 15)


@case(bpf)
def a_target_that_forks_and_exits(folder):
    """The parent ends at once; its child goes on with CUDA: recorded to its end, or a message says that it goes on unrecorded."""
    capture = os.path.join(folder, "x.kvet")
    outcome = kvet("record", "-o", capture, "--counters", "off", "--", "sh", "-c", f"{workload('variant')} --steps 100 & exit 0",
                   environment=simcuda_environment(folder)).expect(0)
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    executions, = database.execute("SELECT count(*) FROM execution").fetchone()
    check(executions == 100 * 12 or "still running" in outcome.err, f"{executions} executions, not 1200, and nothing said", outcome)


@case(bpf)
def a_taken_injection_variable_is_never_overridden(folder):
    """Its holder is named, and a tier is dropped."""
    capture = os.path.join(folder, "x.kvet")
    environment = simcuda_environment(folder, CUDA_INJECTION64_PATH="/opt/other/libprofiler.so")
    outcome = kvet("record", "-o", capture, "--counters", "off", "--", workload("variant"), "--steps", 20, environment=environment)
    outcome.expect(0, "/opt/other/libprofiler.so")
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    check(database.execute("SELECT value FROM meta WHERE key = 'tier'").fetchone() == ("host",), "the tier is not host", outcome)
    launches, = database.execute("SELECT count(*) FROM api_call WHERE kind = (SELECT value FROM enumerator WHERE "
                                 "enumeration = 'api_kind' AND name = 'launch_kernel')").fetchone()
    check(launches == 20 * 12, f"{launches} launches in the host tier, not 240", outcome)


@case(bpf)
def cupti_held_by_another_profiler(folder):
    capture = os.path.join(folder, "x.kvet")
    environment = simcuda_environment(folder, KVET_SIMCUDA_CUPTI="held")
    outcome = kvet("record", "-o", capture, "--counters", "off", "--", workload("variant"), "--steps", 20, environment=environment)
    outcome.expect(0)
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    status = database.execute("SELECT value FROM meta WHERE key = 'inject.status'").fetchone()[0]
    check("profiler" in status, f"inject.status: {status}", outcome)
    check(database.execute("SELECT count(*) FROM execution").fetchone() == (0,), "executions without CUPTI", outcome)
    check(database.execute("SELECT count(*) FROM api_call").fetchone()[0] >= 240, "no launches from uprobes", outcome)


@case(root)
def without_privileges_a_privileged_tier_is_refused(folder):
    os.chmod(folder, 0o777)
    capture = os.path.join(folder, "x.kvet")
    outcome = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", KVET, "record", "--tier",
                   "device", "-o", capture, "--", "true"], environment=simcuda_environment(folder))
    outcome.expect(UNAVAILABLE, "root")
    check(not os.path.exists(capture), "a file was left behind", outcome)


@case(root)
def a_folder_that_may_not_be_written(folder):
    os.chmod(folder, 0o555)
    capture = os.path.join(folder, "x.kvet")
    outcome = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", KVET, "record", "--tier", "unprivileged", "-o",
                   capture, "--", "true"])
    one_line(outcome.expect(OUTPUT_LOST, capture, "Permission denied"))


@case(root)
def without_privileges_the_unprivileged_tier_records(folder):
    os.chmod(folder, 0o777)
    capture = os.path.join(folder, "x.kvet")
    outcome = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", KVET, "record", "-o", capture,
                   "--counters", "off", "--", workload("variant"), "--steps", "50"], environment=simcuda_environment(folder))
    outcome.expect(0)
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    check(database.execute("SELECT value FROM meta WHERE key = 'tier'").fetchone() == ("unprivileged",), "the tier", outcome)
    executions, lost = database.execute("SELECT count(*), (SELECT coalesce(sum(lost_count), 0) FROM loss) FROM execution").fetchone()
    check((executions, lost) == (600, 0), f"{executions} executions, {lost} lost", outcome)


@case(bpf)
def a_full_disk_is_said_and_leaves_nothing(folder):
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    if run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]).status != 0:
        raise Skipped("needs to mount a small disk")
    try:
        with open(os.path.join(disk, "ballast"), "wb") as file:
            file.write(b"x" * 65536)
        for arguments in (["init", "-o", f"{disk}/plan.toml"], ["record", "--counters", "off", "-o", f"{disk}/x.kvet", "--", "true"]):
            one_line(kvet(*arguments).expect(OUTPUT_LOST, disk, "space"))
        check(os.listdir(disk) == ["ballast"], f"left behind: {os.listdir(disk)}")
    finally:
        run(["umount", disk])


@case()
def output_that_is_lost_is_no_answer(folder):
    """Neither success nor what doctor says of this machine, where nobody can read it."""
    for arguments in (["--help"], ["doctor"], ["doctor", "--json"]):
        outcome = run(["sh", "-c", '"$0" "$@" > /dev/full', KVET, *arguments])
        one_line(outcome.expect(OUTPUT_LOST, "could not be written"))


@case(bpf)
def a_command_that_ends_before_its_delay(folder):
    capture = os.path.join(folder, "x.kvet")
    outcome = kvet("record", "-o", capture, "--counters", "off", "--delay", "100s", "--", "true").expect(0, "0.0 s")
    check("-" not in outcome.err.split(": ", 2)[2], "a recording of negative length", outcome)
    database = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    facts = dict(database.execute("SELECT key, value FROM meta"))
    check(int(facts["record.start_ns"]) <= int(facts["record.end_ns"]), "it ends before it begins", outcome)


@case(bpf)
def a_capture_with_a_pattern_that_nobody_can_search_for(folder):
    """The steps of an experiment are named by its captures: a stranger's pattern, too."""
    good = make_capture(folder)
    for pattern in ("A" * 100_000, "(" * 50_000 + ")" * 50_000, "a\n\033[2J("):
        database = sqlite3.connect(good)
        database.execute("INSERT OR REPLACE INTO meta VALUES ('experiment.step', ?)", (pattern,))
        database.commit()
        database.close()
        outcome = one_line(kvet("compare", good, "--against", good, "--kernel", "norm"))
        check(outcome.status in (USAGE, BAD_INPUT), "status", outcome)

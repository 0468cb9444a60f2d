"""Claims from result files on the command line: the ratio they give, what is held against the captures, and files that are refused."""
import json
import os

from harness import BAD_INPUT, USAGE, case, check, kvet, simcuda_environment, workload

ESCAPES = "\x1b[31m\u202ehostile\n<script>"


def write(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return path


def record(folder, name, kernel, microseconds):
    capture = os.path.join(folder, name)
    kvet("record", "-o", capture, "--counters", "off", "--tier", "unprivileged", "--", workload("variant"), "--kernel", kernel,
         "--kernel-us", microseconds, "--steps", 40, environment=simcuda_environment(folder)).expect(0)
    return capture


def arms(folder):
    """Planted: 90 µs against 60 µs, a ratio of 1.5."""
    return [record(folder, "base.kvet", "_Z11norm_kernelPf", 90), "--against", record(folder, "candidate.kvet", "_Z10fused_normPf", 60)]


def sample(runtime_ms, reference_ms, hardware):
    return {"sample_id": 0, "compiled": True, "correctness": True, "metadata": {"hardware": hardware},
            "runtime": runtime_ms, "ref_runtime": reference_ms}


def verdict(captures, claim):
    outcome = kvet("compare", *captures, "--claim", claim, "--json")
    check(outcome.out.startswith("{"), "no JSON", outcome)
    return json.loads(outcome.out), kvet("compare", *captures, "--claim", claim)


def codes(document):
    return [caution["code"] for caution in document["cautions"] if caution["code"].startswith("claim_")]


@case()
def a_claim_is_read_and_held_against_the_captures(folder):
    captures = arms(folder)
    document, _ = verdict(captures, "1.5")
    check(document["claim_source"] is None, "a number has a source")
    device = json.loads(kvet("report", captures[0], "--json").expect(0).out)["captures"][0]["devices"][0]
    name = device if isinstance(device, str) else device["name"]
    path = write(folder, "eval_results.json", {
        "1": sample(0.06, 0.09, name), "2": sample(0.06, 0.09, "NVIDIA GB300 NVL"), "3": sample(60, 90, name),
        "4": sample(0.06, 0.09, ESCAPES), ESCAPES: sample(0.06, 0.09, name)})
    document, text = verdict(captures, path + "#1")
    check(abs(document["claim"] - 1.5) < 1e-9, f"the claim is {document['claim']}, written were 0.09 ÷ 0.06")
    check(document["claim_source"]["baseline_ns"] == 90000 and document["claim_source"]["id"] == "1", "the source is not the entry")
    check(codes(document) == [], f"a claim that fits has cautions: {codes(document)}")
    check("KernelBench" in text.out, "the text does not say where the claim comes from", text)
    document, text = verdict(captures, path + "#2")
    check(codes(document) == ["claim_other_gpu"], f"another GPU: {codes(document)}")
    check("claim measured on NVIDIA GB300 NVL, captures on" in text.out.replace("\n            ", " "), "not in the text", text)
    document, text = verdict(captures, path + "#3")
    check(codes(document) == ["claim_units"] and "times as long as the set" in text.out.replace("\n            ", " "), "ms for µs", text)
    for number in ("4", ESCAPES):
        outcome = kvet("compare", *captures, "--claim", path + "#" + number)
        check("\x1b" not in outcome.out and "\u202e" not in outcome.out, "a hostile name reached the terminal", outcome)
        check("hostile" in outcome.out, "the name is not shown at all", outcome)


@case()
def two_results_in_one_file_and_in_two(folder):
    captures = arms(folder)

    def run(name, microseconds):
        return {"name": name, "run_name": name, "run_type": "iteration", "real_time": microseconds, "time_unit": "us"}
    both = write(folder, "both.json", {"context": {}, "benchmarks": [run("BM_stock/8", 90), run("BM_fused/8", 60)]})
    stock, fused = (write(folder, name, {"context": {}, "benchmarks": [run("BM_norm", time)]})
                    for name, time in (("stock.json", 90), ("fused.json", 60)))
    for claim in (f"{both}#BM_stock/8 vs BM_fused/8", f"{stock} vs {fused}", f"{stock}#BM_norm vs {fused}#BM_norm"):
        document, _ = verdict(captures, claim)
        check(abs(document["claim"] - 1.5) < 1e-9, f"{claim}: {document['claim']}")


@case()
def files_that_are_no_claims(folder):
    """One message, exit status 65, nothing on stdout, and no result folder."""
    good = sample(1.0, 1.5, "NVIDIA H200")
    files = {
        "truncated.json": json.dumps({"1": good})[:-20],
        "deep.json": "[" * 100_000 + "]" * 100_000,
        "twice.json": '{"1": {"runtime": 1, "runtime": 2}}',
        "garbage.json": json.dumps({"1": good}) + " and more",
        "other.json": '{"traceEvents": []}',
        "none.json": '{"context": {}, "benchmarks": []}',
        "nan.json": '{"1": {"compiled": true, "runtime": NaN}}',
        "zero.json": json.dumps({"1": good | {"runtime": 0}}),
        "negative.json": json.dumps({"1": good | {"runtime": -3.5}}),
        "percent.json": json.dumps({"1": good | {"speedup": "50%"}}),
        "contradicts.json": json.dumps({"1": good | {"speedup": 15}}),
        "two.json": json.dumps({"1": good, "2": good}),
        "failed.json": json.dumps({"1": good | {"correctness": False}}),
        "same.tsv": "experiment\tlatency_us\n" + "1\t2\n1\t3\n",
        "cut.tsv": "experiment\ttag\tlatency_us\n1\ta\t2\n2\t",
        "empty.json": "",
        "binary.json": "\x00\x01\x02",
    }
    for name, content in files.items():
        path = write(folder, name, content)
        claim = path + "#1" if name == "same.tsv" else path
        outcome = kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", claim, "-o", os.path.join(folder, "out")).expect(BAD_INPUT, name)
        check(len(outcome.err.splitlines()) == 1 and outcome.out == "", f"{name}: not one message", outcome)
        check(not os.path.exists(os.path.join(folder, "out")), f"{name}: left a folder", outcome)
    huge = os.path.join(folder, "huge.json")
    with open(huge, "w", encoding="ascii") as file:
        file.truncate((64 << 20) + 1)
    kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", huge).expect(BAD_INPUT, "64 MiB")
    kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", os.path.join(folder, "two.json")).expect(BAD_INPUT, "1, 2")
    kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", os.path.join(folder, "two.json") + "#9").expect(BAD_INPUT, "'9'")
    kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", "38%").expect(USAGE, "two ways")
    for claim, what in ((write(folder, "results", {"1": good, "2": good}), "holds 2 results"), (folder, "is a folder"),
                        ("/dev/null", "is a pipe or device"), ("#", "names no file"), ("nofile.json", "Check the name")):
        kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", claim).expect(BAD_INPUT, what)
    kvet("compare", "a.kvet", "--against", "b.kvet", "--claim", "nofile").expect(USAGE, "is not a ratio")


@case()
def plans_take_claims_too(folder):
    write(folder, "claim.json", {"1": sample(0.06, 0.09, "NVIDIA H200")})
    plan = write(folder, "plan.toml", 'claim = "claim.json#1"\n[workload]\nrun = "true"\n[baseline]\nenv = { A = "1" }\n'
                                      '[candidate]\nenv = { A = "2" }\n')
    outcome = kvet("validate", plan, "--dry-run")
    check("1.5: SURVIVES from" in outcome.out and "KernelBench" in outcome.out, "the dry run does not show the claim", outcome)
    plan = write(folder, "wrong.toml", 'claim = "claim.json#2"\n[workload]\nrun = "true"\n[baseline]\nenv = { A = "1" }\n'
                                       '[candidate]\nenv = { A = "2" }\n')
    kvet("validate", plan, "--dry-run").expect(BAD_INPUT, "no result '2'")

"""Hostile names in a real capture go through every command and format: what comes out parses, and is harmless.

KVET_SARIF_SCHEMA=FILE: the published sarif-schema-2.1.0.json; with python3-jsonschema, results are held against it.
"""
import csv
import html.parser
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree

from example_capture import example_pairs
from harness import KVET, case, check, kvet

csv.field_size_limit(1 << 22)
NAMES = [b"<script>alert(1)</script>", b"<img src=x onerror=alert(1)>", b"\x1b[2J\x1b[31mred\x07\x08", b"a\nb\r\tc", b"'quotes\"\\",
         b"`code` ``` |cell| \\|", b"x" * 100_000, b"\xff\xfe\xc0\xaf\xed\xa0\x80", "\u202egnp.exe\u200b\u0085\u009b".encode(),
         b"@everyone #1 https://evil.example www.evil.example", b"[link](javascript:alert(1)) ![i](x)", b"]]>&amp;<!--", b"= 1 + 1",
         b"</details></summary>", "\ufffe\uffff".encode()]
WORDS = (0, 10, 11, 12, 13, 14, 15)


def hostile(capture):
    """Every kernel gets a name of NAMES in front of its own; so do process, device, range and stranger's texts in meta."""
    sql = sqlite3.connect(capture)
    kernels = [row[0] for row in sql.execute("SELECT DISTINCT name_id FROM kernel_shape ORDER BY 1")]
    others = [row[0] for row in sql.execute("SELECT name_id FROM device UNION SELECT name_id FROM process UNION "
                                            "SELECT command_line_id FROM process UNION SELECT taker_name_id FROM off_cpu")]
    value = dict(sql.execute("SELECT id, CAST(value AS BLOB) FROM string"))
    for number, id in enumerate(kernels + [other for other in others if other not in kernels and other != 0]):
        sql.execute("UPDATE string SET value = CAST(? AS TEXT) WHERE id = ?", (NAMES[number % len(NAMES)] + value[id], id))
    for number, key in enumerate(("command", "hostname", "inject.status", "experiment.id", "counters.metrics")):
        sql.execute("INSERT OR REPLACE INTO meta VALUES(?, CAST(? AS TEXT))", (key, NAMES[number]))
    sql.commit()
    sql.close()
    return capture


def captures(folder):
    baseline, candidate = example_pairs(folder, 1)
    return hostile(baseline[0]), hostile(candidate[0])


def output(*arguments, statuses=(0,)):
    """What a command writes to standard output, as bytes."""
    done = subprocess.run([KVET, *arguments], capture_output=True, timeout=240)
    check(done.returncode in statuses, f"{arguments}: status {done.returncode}: {done.stderr[:2000]!r}")
    harmless(done.stderr, "stderr of " + " ".join(arguments))
    return done.stdout


def harmless(out, what):
    """Valid UTF-8 without anything that a terminal obeys or hides."""
    text = out.decode("utf-8")
    bad = re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    check(bad is None, f"{what}: {bad and ascii(text[max(0, bad.start() - 60):bad.end() + 60])}")
    return text


class Markup(html.parser.HTMLParser):
    ALLOWED = {"h3", "h4", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "ol", "strong", "em", "code", "pre", "blockquote",
               "br", "details", "summary", "sub"}

    def handle_starttag(self, tag, attributes):
        check(tag in self.ALLOWED, f"the tag {tag} {attributes} came out of a name")
        check(all(name in ("align", "class") for name, _ in attributes), f"{tag} has {attributes}")


def markdown(text, columns):
    """No tag but ours, and tables whose rows all have as many cells as their head."""
    if shutil.which("cmark-gfm"):  # what GitHub uses
        html_text = subprocess.run(["cmark-gfm", "-e", "table", "-e", "strikethrough", "-e", "autolink", "--unsafe"], input=text,
                                   capture_output=True, text=True, check=True, timeout=60).stdout
        Markup().feed(html_text)
        check("<a " not in html_text and "<img" not in html_text, "a link came out of a name")
    outside = re.sub(r"(`+).*?\1", "", re.sub(r"(?m)^    .*$", "", text.replace("\\`", "")))
    tags = set(re.findall(r"</?(\w*)", outside)) - {"details", "summary", "sub"}
    check(not tags, f"tags outside code: {tags}")
    cells = 0
    for line in text.splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        now = len(re.findall(r"(?<!\\)\|", line)) - 1
        check(cells in (0, now), f"{now} cells, not {cells}: {line[:200]}")
        cells = now
        columns.add(now)


def junit(text):
    """Counts add up, and everything is there that the usual schema requires."""
    root = xml.etree.ElementTree.fromstring(text.encode())
    check(root.tag == "testsuites", root.tag)
    suites = root.findall("testsuite")
    check(len(suites) == 1, f"{len(suites)} suites")
    for element in (root, suites[0]):
        for attribute in ("name", "tests", "failures", "errors", "time"):
            check(attribute in element.attrib, f"{element.tag} lacks {attribute}")
        tests = root.findall(".//testcase")
        check(int(element.get("tests")) == len(tests), "tests do not add up")
        check(int(element.get("failures")) == len(root.findall(".//testcase/failure")), "failures do not add up")
        check(int(element.get("errors")) == 0, "errors")
    check(int(suites[0].get("skipped")) == len(root.findall(".//testcase/skipped")), "skipped do not add up")
    check([child.tag for child in suites[0]][:2] == ["properties", "testcase"], "the order of the suite")
    for test in tests:
        check(test.get("name") and test.get("classname") and float(test.get("time")) >= 0, f"{test.attrib}")
        check({child.tag for child in test} <= {"failure", "skipped", "system-out"}, f"{[child.tag for child in test]}")
        for failure in test.findall("failure"):
            check(failure.get("message") and failure.get("type") and failure.text, "a failure says nothing")
    return root


def sarif(text):
    root = json.loads(text)
    run, = root["runs"]
    rules = run["tool"]["driver"]["rules"]
    check(root["version"] == "2.1.0" and len({rule["id"] for rule in rules}) == len(rules), "rules")
    for result in run["results"]:
        check(rules[result["ruleIndex"]]["id"] == result["ruleId"], f"{result['ruleId']} has another rule's index")
        check(result["level"] in ("error", "warning", "note") and result["message"]["text"], f"{result}")
        check(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "no place")
    schema = os.environ.get("KVET_SARIF_SCHEMA")
    if schema:
        try:
            import jsonschema
        except ImportError:
            print("note    KVET_SARIF_SCHEMA is set, but there is no python3-jsonschema")
            return root
        with open(schema) as file:
            published = json.load(file)
        jsonschema.validators.validator_for(published)(published).validate(root)
    return root


@case()
def reports_and_lists(folder):
    baseline, candidate = captures(folder)
    harmless(output("report", candidate), "report")
    text = harmless(output("report", candidate, "--format", "json"), "report json")
    names = {kernel["name"] for kernel in json.loads(text)["captures"][0]["kernels"]}
    check(any(name.startswith(known.decode("utf-8", "replace")) for name in names for known in NAMES), f"no hostile name: {names}")
    check(text == harmless(output("report", candidate, "--json"), "report --json"), "--json is not --format json")
    columns = set()
    markdown(harmless(output("report", candidate, "--format", "markdown"), "report markdown"), columns)
    check(columns, "no table")
    harmless(output("kernels", baseline, candidate), "kernels")
    listed = json.loads(harmless(output("kernels", baseline, candidate, "--json"), "kernels json"))
    for known in NAMES[:6]:
        check(any(known.decode() in kernel["name"] for kernel in listed["kernels"]), f"{known} is not exact in JSON")


@case()
def verdicts(folder):
    baseline, candidate = captures(folder)
    result = os.path.join(folder, "result")
    arguments = ["compare", baseline, "--against", candidate, "--claim", "1.9"]
    text = harmless(output(*arguments, "-o", result, statuses=WORDS), "compare")
    said = json.load(open(os.path.join(result, "verdict.json")))
    check(text.startswith(("likely ", said["word"])), "the word is not first")

    def part(name):
        with open(os.path.join(result, name), "rb") as file:
            return harmless(file.read(), name)

    columns = set()
    markdown(part("verdict.md"), columns)
    check(f"kvet: {said['word']}" in part("verdict.md") and 4 in columns, "the Markdown has no word or no levels")
    root = junit(part("junit.xml"))
    check(root.find(".//property[@name='kvet.word']").get("value") == said["word"], "JUnit has another word")
    check((int(root.get("failures")) == 0) == (said["exit_status"] == 0), "JUnit and the exit status disagree")
    log = sarif(part("verdict.sarif"))
    check(log["runs"][0]["properties"]["word"] == said["word"], "SARIF has another word")
    for format, name in (("markdown", "verdict.md"), ("junit", "junit.xml"), ("sarif", "verdict.sarif"), ("json", "verdict.json")):
        check(output(*arguments, "--format", format, statuses=WORDS).decode() == part(name), f"--format {format} is not {name}")
    # A word that is accepted fails nothing.
    words = "SURVIVES,PARTIAL,VANISHES,REGRESSES,INVALID,INCONCLUSIVE,REFUSED"
    root = junit(harmless(output(*arguments, "--accept", words, "--format", "junit"), "accepted"))
    check(root.get("failures") == "0", "an accepted word fails")


@case()
def exports(folder):
    capture, _ = captures(folder)
    json.loads(harmless(output("export", capture, "--format", "chrome"), "chrome"))
    tables = os.path.join(folder, "tables")
    kvet("export", capture, "--format", "csv", "-o", tables, timeout=240).expect(0)
    for name in os.listdir(tables):
        with open(os.path.join(tables, name), encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
        check(all(len(row) == len(rows[0]) for row in rows), f"{name}: rows of different lengths")
    for line in harmless(output("export", capture, "--format", "prometheus"), "prometheus").splitlines():
        check(line.startswith("#") or re.fullmatch(r'[a-zA-Z_:][\w:]*(\{(\w+="([^"\\]|\\.)*",?)*\})? \S+( \d+)?', line) or not line,
              f"not the text format: {line[:200]}")
    perfetto = output_file(folder, capture, "perfetto", "trace.perfetto")
    if shutil.which("protoc"):
        decoded = subprocess.run(["protoc", "--decode_raw"], input=perfetto, capture_output=True, timeout=240)
        check(decoded.returncode == 0, f"protoc: {decoded.stderr[:500]!r}")


def output_file(folder, capture, format, name):
    path = os.path.join(folder, name)
    kvet("export", capture, "--format", format, "-o", path, timeout=240).expect(0)
    with open(path, "rb") as file:
        return file.read()


@case()
def rows_of_queries(folder):
    capture, _ = captures(folder)
    query = "SELECT name, command_line FROM processes UNION ALL SELECT name, hex(name) FROM kernel_shapes"
    expected = [tuple(value.decode("utf-8", "replace") for value in row) for row in sqlite3.connect(capture).execute(
        "SELECT CAST(n.value AS BLOB), CAST(c.value AS BLOB) FROM process JOIN string n ON n.id = name_id JOIN string c ON c.id = command_line_id "
        "UNION ALL SELECT CAST(value AS BLOB), CAST(hex(value) AS BLOB) FROM kernel_shape k JOIN string s ON s.id = k.name_id")]

    def alike(got, what):
        # How many U+FFFD stand for a run of bad bytes is the reader's choice.
        simple = [tuple(re.sub("\ufffd+", "\ufffd", value) for value in row) for row in got]
        check(sorted(simple) == sorted(tuple(re.sub("\ufffd+", "\ufffd", value) for value in row) for row in expected), f"{what} is not exact")

    harmless(output("sql", capture, query), "sql table")
    alike([tuple(row.values()) for row in json.loads(harmless(output("sql", capture, query, "--format", "json"), "sql json"))], "json")
    alike([tuple(json.loads(line).values()) for line in
           harmless(output("sql", capture, query, "--format", "jsonl"), "sql jsonl").splitlines()], "jsonl")
    table = output("sql", capture, query, "--format", "csv").decode("utf-8")
    alike([tuple(row) for row in csv.reader(io.StringIO(table, newline=""), strict=True)][1:], "csv")
    # A column may be called anything, too.
    named = 'SELECT 1 AS "\x1b[31m<script>`|\n", 2 AS "b"'
    for format in ("table", "json", "jsonl"):
        harmless(output("sql", capture, named, "--format", format), format)
    refused = kvet("sql", capture, 'SELECT "\x1b[31mx\n" FROM executions')
    check(refused.status == 64 and len(refused.err.splitlines()) == 1 and "\x1b" not in refused.err, "an error is not harmless", refused)

"""kvet export --format otlp, decoded by protoc, in files and by a receiver on loopback, and held against the capture by SQL.

KVET_OTLP_PROTO=FOLDER: a checkout of opentelemetry-proto. Everything is then decoded by the published files, too.
"""
import collections
import gzip
import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import threading

from example_capture import example_capture, with_hostile_names
from harness import TESTS, UNAVAILABLE, USAGE, Skipped, case, check, kvet, run

SUBSET = os.path.join(TESTS, "data", "otlp.proto")
REQUESTS = {"metrics": "ExportMetricsServiceRequest", "traces": "ExportTraceServiceRequest"}
PUBLISHED = {"metrics": "opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest "
                        "opentelemetry/proto/collector/metrics/v1/metrics_service.proto",
             "traces": "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest "
                       "opentelemetry/proto/collector/trace/v1/trace_service.proto"}
LAUNCHES = "('launch_kernel', 'launch_cooperative', 'launch_graph')"
TOKEN = re.compile(r'\s*(?:(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|\S+)|(\w+)\s*\{|(\}))')
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|(.))")


def protoc():
    if not shutil.which("protoc"):
        raise Skipped("needs protoc (Debian: apt-get install protobuf-compiler)")


def plain(text):
    """A scalar of protobuf's text format."""
    if not text.startswith('"'):
        return text
    named = {"n": "\n", "r": "\r", "t": "\t"}
    latin = ESCAPE.sub(lambda m: chr(int(m[1], 8)) if m[1] else named.get(m[2], m[2]), text[1:-1])
    return latin.encode("latin-1", "surrogateescape") if all(ord(c) < 256 for c in latin) else latin.encode()


def parsed(text):
    """Protobuf's text format: each message a dictionary of lists."""
    root = collections.defaultdict(list)
    stack = [root]
    for match in TOKEN.finditer(text):
        name, value, opened, closed = match.groups()
        if closed:
            stack.pop()
        elif opened:
            message = collections.defaultdict(list)
            stack[-1][opened].append(message)
            stack.append(message)
        else:
            stack[-1][name].append(plain(value))
    check(len(stack) == 1, "the text ends inside a message")
    return root


def decode(signal, body):
    def by(*arguments):
        process = subprocess.run(["protoc", *arguments], input=body, capture_output=True)
        check(process.returncode == 0 and not process.stderr, f"protoc: {process.stderr.decode()[:500]}")
        text = process.stdout.decode()
        check(not re.search(r"^\s*\d+(:| \{)", text, re.MULTILINE), "a field that the protocol does not have")
        return text

    text = by(f"--proto_path={os.path.dirname(SUBSET)}", f"--decode=otlp.{REQUESTS[signal]}", SUBSET)
    if os.environ.get("KVET_OTLP_PROTO"):
        message, file = PUBLISHED[signal].split()
        published = by(f"--proto_path={os.environ['KVET_OTLP_PROTO']}", f"--decode={message}", file)
        # The published files name what the subset leaves as numbers.
        names = {"SPAN_KIND_INTERNAL": "1", "SPAN_KIND_PRODUCER": "4", "SPAN_KIND_CONSUMER": "5", "STATUS_CODE_ERROR": "2",
                 "AGGREGATION_TEMPORALITY_CUMULATIVE": "2"}
        published = re.sub(r"\b(?:SPAN_KIND|STATUS_CODE|AGGREGATION_TEMPORALITY)_\w+", lambda m: names[m[0]], published)
        check(published == text, "the published files decode to something else")
    return parsed(text)


def attributes(message):
    out = {}
    for pair in message["attributes"]:
        value = pair["value"][0]
        out[pair["key"][0].decode()] = (int(value["int_value"][0]) if value["int_value"] else
                                        value["string_value"][0].decode() if value["string_value"] else value)
    return out


def spans_of(request):
    for resource in request["resource_spans"]:
        about = attributes(resource["resource"][0])
        for scope in resource["scope_spans"]:
            for span in scope["spans"]:
                span["resource"] = about
                yield span


def points_of(request):
    for resource in request["resource_metrics"]:
        for scope in resource["scope_metrics"]:
            for metric in scope["metrics"]:
                for data in metric["gauge"] + metric["sum"]:
                    for point in data["data_points"]:
                        yield metric["name"][0].decode(), metric["unit"][0].decode(), attributes(point), point


def to_file(folder, capture, signal):
    path = os.path.join(folder, f"{signal}.pb")
    kvet("export", capture, "--format", "otlp", "--signals", signal, "-o", path).expect(0)
    with open(path, "rb") as file:
        return file.read()


def database(capture):
    sql = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    return lambda query: sql.execute(query).fetchone()


def length(span):
    return int(span["end_time_unix_nano"][0]) - int(span["start_time_unix_nano"][0])


@case(protoc)
def spans_are_the_launches_and_executions_of_the_capture(folder):
    capture = example_capture(folder)
    body = to_file(folder, capture, "traces")
    check(body == to_file(folder, capture, "traces"), "the same file gives other ids the second time")
    spans = list(spans_of(decode("traces", body)))
    one = database(capture)
    launches = {s["span_id"][0]: s for s in spans if s["kind"] == ["4"]}
    executions = [s for s in spans if s["kind"] == ["5"]]
    roots = [s for s in spans if not s["parent_span_id"]]
    expected = one(f"SELECT count(*), sum(duration_ns) FROM api_call JOIN enumerator ON enumeration = 'api_kind' AND value = "
                   f"kind WHERE name IN {LAUNCHES}")
    check((len(launches), sum(map(length, launches.values()))) == expected, f"launches: {len(launches)}, not {expected}")
    expected = one("SELECT count(*), sum(duration_ns) FROM execution")
    check((len(executions), sum(map(length, executions))) == expected, f"executions: {len(executions)}, not {expected}")
    # Each execution lies under the launch of its correlation id, as many as SQL joins.
    joined = 0
    for span in executions:
        launch = launches.get(span["parent_span_id"][0])
        if launch:
            joined += 1
            check(attributes(launch)["kvet.correlation_id"] == attributes(span)["kvet.correlation_id"], "another launch's")
    expected = one(f"SELECT count(*) FROM execution e WHERE correlation_id <> 0 AND EXISTS (SELECT 1 FROM api_call a JOIN "
                   f"enumerator ON enumeration = 'api_kind' AND value = a.kind WHERE name IN {LAUNCHES} AND a.process_id = "
                   f"e.process_id AND a.correlation_id = e.correlation_id)")[0]
    check(joined == expected and joined > 10_000, f"{joined} executions under launches, not {expected}")
    # Ids are different, nothing has a parent that is not there or is in another trace.
    by_id = {s["span_id"][0]: s for s in spans}
    check(len(by_id) == len(spans), "two spans have one id")
    check(all(len(s["span_id"][0]) == 8 and len(s["trace_id"][0]) == 16 for s in spans), "an id of another length")
    for span in spans:
        for parent in span["parent_span_id"]:
            check(parent in by_id and by_id[parent]["trace_id"] == span["trace_id"], f"{span} has no parent in its trace")
    check(len({s["trace_id"][0] for s in roots}) == len(roots), "a trace has two roots")
    steps = one("SELECT count(*) FROM nvtx_range JOIN string ON string.id = name_id WHERE value = 'step'")[0]
    check(sum(s["name"] == [b"step"] for s in roots) == steps, f"not {steps} steps")
    # The clock: all of it within the recording.
    begin, end = one("SELECT max(CASE key WHEN 'record.start_ns' THEN CAST(value AS INTEGER) END) + offset, max(CASE key WHEN "
                     "'record.end_ns' THEN CAST(value AS INTEGER) END) + offset FROM meta, (SELECT max(CASE key WHEN "
                     "'clock.realtime_ns' THEN CAST(value AS INTEGER) END) - max(CASE key WHEN 'clock.monotonic_ns' THEN "
                     "CAST(value AS INTEGER) END) AS offset FROM meta)")
    check(all(begin <= int(s["start_time_unix_nano"][0]) <= end for s in executions), "executions outside the recording")
    about = executions[0]["resource"]
    check(about["service.name"] == "python3" and about["host.name"] == "vm" and
          about["process.pid"] in [row for row in one("SELECT pid FROM process WHERE id = 1")], f"resource: {about}")
    print(f"{len(roots)} traces, {len(launches)} launches, {len(executions)} executions, {joined} of them joined")


@case(protoc)
def points_are_the_readings_and_findings(folder):
    capture = example_capture(folder)
    points = list(points_of(decode("metrics", to_file(folder, capture, "metrics"))))
    power = [float(point["as_double"][0]) for name, unit, _, point in points if (name, unit) == ("hw.power", "W")]
    times = {int(point["time_unix_nano"][0]) for name, _, _, point in points if name == "hw.power"}
    count, total = database(capture)(
        "SELECT count(power_milliwatts), sum(power_milliwatts) / 1e3 FROM device_reading WHERE time_ns >= (SELECT CAST(value AS "
        "INTEGER) FROM meta WHERE key = 'window.from_ns') AND time_ns < (SELECT CAST(value AS INTEGER) FROM meta WHERE key = "
        "'window.to_ns')")
    check(len(power) == len(times) == count > 5, f"{len(power)} readings at {len(times)} times, not {count}")
    check(abs(sum(power) - total) < 1e-9 * total, f"{sum(power)} W, not {total}")
    report = json.loads(kvet("report", capture, "--json").expect(0).out)["captures"][0]
    findings = report["findings"] + [f for k in report["kernels"] for f in k["findings"]]
    expected = sorted(f["value"] / 1e9 for f in findings if f["id"].startswith("dispatch.eager.lead.") and f["value"] is not None)
    got = sorted(float(point["as_double"][0]) for name, unit, _, point in points if (name, unit) == ("kvet.dispatch.eager.lead", "s"))
    check(got == expected and len(got) >= 4, f"{got}, not {expected}")
    lost = sum(float(point["as_double"][0]) for name, _, _, point in points if name == "kvet.capture.lost_records")
    check(lost == database(capture)("SELECT sum(lost_count) FROM loss")[0], f"{lost} losses")
    check(not any(name.startswith("DCGM") for name, *_ in points), "DCGM's names are Prometheus'")


@case(protoc)
def hostile_names_are_valid_and_harmless(folder):
    capture = with_hostile_names(example_capture(folder))
    names = {span["name"][0].decode() for span in spans_of(decode("traces", to_file(folder, capture, "traces")))}
    texts = {value for _, _, about, _ in points_of(decode("metrics", to_file(folder, capture, "metrics")))
             for value in about.values() if isinstance(value, str)}
    check("<script>alert(1)</script>" in names & texts, "the first hostile name is not there")
    for text in names | texts:
        check(all(letter >= " " and letter not in "\x7f\u202e" for letter in text), f"{text!r}")
        check(len(text) <= 4096, f"{len(text)} letters")


class Receiver:
    """Keeps what is posted; `answers` are (status, headers, body) for the first requests, then 200."""
    def __init__(self, *answers):
        self.got, left = [], list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler):
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                status, headers, answer = left.pop(0) if left else (200, {}, b"")
                self.got.append((handler.path, dict(handler.headers), body, status))
                handler.send_response(status)
                for name, value in {"Content-Type": "application/x-protobuf", "Content-Length": str(len(answer)), **headers}.items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(answer)

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def bodies(self, signal):
        return [body for path, _, body, status in self.got if path == f"/v1/{signal}" and status == 200]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def environment(**more):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("OTEL_") and not name.lower().endswith("_proxy")}
    return {**clean, **more}


def export(capture, *arguments, **more):
    return kvet("export", capture, "--format", "otlp", *arguments, environment=environment(**more))


@case(protoc)
def a_receiver_gets_what_the_file_has(folder):
    capture = example_capture(folder)
    # It asks to come back once, and rejects three points of a later request: 0a 06 (08 03) (12 02 "no").
    receiver = Receiver((503, {"Retry-After": "1"}, b""), (429, {}, b""), (200, {}, b"\x0a\x06\x08\x03\x12\x02no"))
    outcome = export(capture, "--endpoint", receiver.url + "/",
                     OTEL_EXPORTER_OTLP_HEADERS="x-tenant=a%20b, authorization=Bearer%3D").expect(0, "rejected 3", "no")
    receiver.close()
    for signal in ("traces", "metrics"):
        check(b"".join(receiver.bodies(signal)) == to_file(folder, capture, signal), f"{signal} differ from the file's")
    for path, headers, _, _ in receiver.got:
        check(headers["Content-Type"] == "application/x-protobuf" and headers["x-tenant"] == "a b" and
              headers["authorization"] == "Bearer=", f"headers: {headers}")
    counts = [len(list(spans_of(decode("traces", body)))) for body in receiver.bodies("traces")[:3]]
    check(counts == [1000] * 3, f"{counts} spans in the first requests")
    check(receiver.got[0][2] == receiver.got[1][2] == receiver.got[2][2], "the repeated request is another one")
    print(f"{len(receiver.got)} requests, {outcome.err.strip()}")


@case()
def bodies_are_compressed_where_asked(folder):
    capture = example_capture(folder)
    receiver = Receiver()
    export(capture, "--endpoint", receiver.url, "--signals", "metrics", OTEL_EXPORTER_OTLP_COMPRESSION="gzip").expect(0)
    receiver.close()
    check(all(headers["Content-Encoding"] == "gzip" for _, headers, *_ in receiver.got), "not said to be gzip")
    check(b"".join(map(gzip.decompress, receiver.bodies("metrics"))) == to_file(folder, capture, "metrics"), "bodies differ")


@case()
def signals_and_endpoint_are_chosen(folder):
    capture = example_capture(folder)
    receiver = Receiver()
    export(capture, "--signals", "metrics", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url).expect(0)
    check({path for path, *_ in receiver.got} == {"/v1/metrics"}, "not metrics alone")
    # -o says file, whatever the environment has.
    path = os.path.join(folder, "metrics.pb")
    seen = len(receiver.got)
    export(capture, "--signals", "metrics", "-o", path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url).expect(0)
    check(len(receiver.got) == seen and os.path.getsize(path) > 1000, "sent although a file was named")
    receiver.close()
    export(capture, "-o", path + "2").expect(USAGE, "--signals")
    export(capture, "--signals", "logs", "-o", path).expect(USAGE, "metrics")
    export(capture, "--endpoint", receiver.url, "-o", path).expect(USAGE, "--endpoint and -o")
    kvet("export", capture, "--format", "csv", "--signals", "metrics", "-o", path + "3").expect(USAGE, "--format otlp")
    export(capture, "--endpoint", "ftp://127.0.0.1").expect(USAGE, "http://")
    export(capture, "--endpoint", receiver.url, OTEL_EXPORTER_OTLP_HEADERS="a=b%0d%0aEvil: 1").expect(
        USAGE, "OTEL_EXPORTER_OTLP_HEADERS")


@case()
def failures_are_said(folder):
    capture = example_capture(folder)
    receiver = Receiver((400, {}, b"nonsense"))
    export(capture, "--endpoint", receiver.url, "--signals", "metrics").expect(UNAVAILABLE, "status 400")
    check(len(receiver.got) == 1, "asked again although the receiver refused")
    receiver.close()
    export(capture, "--endpoint", receiver.url, "--signals", "metrics").expect(UNAVAILABLE, "no answer")
    # No libcurl: in its place something that is none.
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        with open(os.path.join(folder, name), "w") as file:
            file.write("no library")
    export(capture, "--endpoint", receiver.url, LD_LIBRARY_PATH=folder).expect(UNAVAILABLE, "libcurl", "apt-get install")


def delimited(field, content):
    length, out = len(content), bytes([field << 3 | 2])
    while length > 0x7f:
        out, length = out + bytes([length & 0x7f | 0x80]), length >> 7
    return out + bytes([length]) + content


@case()
def what_receivers_say_is_kept_apart_from_what_they_claim(folder):
    capture = example_capture(folder)

    def said(*answers):
        receiver = Receiver(*answers)
        outcome = export(capture, "--endpoint", receiver.url, "--signals", "metrics").expect(0)
        receiver.close()
        return outcome.err

    rejected = b"\x08\x03"
    error = said((200, {}, delimited(1, rejected + delimited(2, b"m" * 100_000))))
    check("rejected 3 of" in error, f"the count of an answer that is longer than what is kept: {error[:300]}")
    check(len(error) < 2000, f"{len(error)} letters of the receiver's")
    error = said((200, {}, delimited(1, b"\x08" + b"\xff" * 8 + b"\x7f")))
    check("the receiver claims to have rejected 9223372036854775807" in error, error)
    check("receiver rejected" not in error, error)
    error = said((200, {}, b"<html>welcome</html>"))
    check("could not be read" in error, error)
    error = said((200, {}, delimited(1, rejected + delimited(2, b"one\nkvet: error: two"))))
    check("\nkvet: error" not in error and "one" in error, error)


@case()
def a_failure_is_one_line_with_the_receivers_reason(folder):
    capture = example_capture(folder)
    sql = sqlite3.connect(capture)
    sql.execute("DELETE FROM meta WHERE key LIKE 'clock.%'")
    sql.commit()
    sql.close()
    for answer, text in (((400, {}, b"no such tenant\r\nmore"), "status 400: no such tenant"),
                         ((401, {}, b"\x08\x10\x12\x08no token"), "status 401: no token"),
                         ((302, {"Location": "/elsewhere"}, b""), "/elsewhere")):
        receiver = Receiver(answer)
        error = export(capture, "--endpoint", receiver.url, "--signals", "metrics").expect(UNAVAILABLE, text).err
        receiver.close()
        check("1970" not in error and "more" not in error, error)
    receiver = Receiver()
    export(capture, "--endpoint", receiver.url, "--signals", "metrics").expect(0, "1970")
    receiver.close()


@case()
def endpoints_and_headers_that_cannot_work_are_refused(folder):
    capture = example_capture(folder)
    for url in ("http://[::1", "http://127.0.0.1:99999", "http://127.0.0.1 :4318", "http://127.0.0.1\n", "http://127.0.0.1/?a=b",
                "http://127.0.0.1/#a"):
        export(capture, "--endpoint", url).expect(USAGE, "http")
    receiver = Receiver()
    for name in ("Content-Length", "host", "Transfer-Encoding", "content-type", "Connection"):
        export(capture, "--endpoint", receiver.url, OTEL_EXPORTER_OTLP_HEADERS=f"{name}=1").expect(
            USAGE, "OTEL_EXPORTER_OTLP_HEADERS", name)
    check(not receiver.got, "something was sent")
    export(capture, "--endpoint", receiver.url.replace("http", "HTTP"), "--signals", "metrics").expect(0)
    receiver.close()

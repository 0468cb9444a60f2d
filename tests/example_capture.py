"""A real capture, from the bundle of the example: recorded on an H200, with everything that a full tier has."""
import os
import sqlite3
import tarfile

from harness import TESTS, Skipped

BUNDLE = os.path.join(TESTS, "..", "examples", "rmsnorm-serving", "captures", "h200-2026-11-30.tar.xz")


def example_capture(folder, name="ab-03-1-baseline.kvet"):
    """Its path in `folder`."""
    if not os.path.exists(BUNDLE):
        raise Skipped(f"needs {BUNDLE}")
    path = os.path.join(folder, name)
    with tarfile.open(BUNDLE) as bundle, open(path, "wb") as out:
        out.write(bundle.extractfile(f"captures/{name}").read())
    return path


def example_pairs(folder, pairs):
    """The first captures of both arms: a list of the baseline's paths, and one of the candidate's."""
    if not os.path.exists(BUNDLE):
        raise Skipped(f"needs {BUNDLE}")
    arms = {"baseline": [], "candidate": []}
    with tarfile.open(BUNDLE) as bundle:
        for member in sorted((m for m in bundle.getmembers() if m.name.endswith(".kvet")), key=lambda m: m.name):
            arm = next(arm for arm in arms if arm in member.name)
            if len(arms[arm]) < pairs:
                arms[arm].append(os.path.join(folder, os.path.basename(member.name)))
                with open(arms[arm][-1], "wb") as out:
                    out.write(bundle.extractfile(member).read())
    return arms["baseline"], arms["candidate"]


# What a stranger may call a kernel.
HOSTILE = [b"<script>alert(1)</script>", b"=cmd|' /C calc'!A0", b"\x1b[2J\x1b[31mred\x07", b"a\nkvet_evil 1\n# HELP", b'"}, x\\"',
           b"\xff\xfe\xc0\xaf", b"x" * 100_000, "\u202egnp.exe".encode()]


def with_hostile_names(capture):
    """Gives the kernels that ran longest the names of HOSTILE, and the most frequent NVTX ranges too."""
    sql = sqlite3.connect(capture)
    ids = [row[0] for row in sql.execute(
        "SELECT name_id FROM execution JOIN kernel_shape s ON s.id = shape_id GROUP BY name_id "
        "ORDER BY sum(duration_ns) DESC LIMIT ?", (len(HOSTILE),))]
    ids_of_ranges = [row[0] for row in sql.execute(
        "SELECT name_id FROM nvtx_range GROUP BY name_id ORDER BY count(*) DESC LIMIT ?", (len(HOSTILE),))]
    for id, name in list(zip(ids, HOSTILE)) + list(zip(ids_of_ranges, HOSTILE)):
        # An alternative without a twin: texts are there once.
        sql.execute("UPDATE string SET value = CAST(? AS TEXT) WHERE id = ?", (name + b"!" * (id in ids_of_ranges), id))
    sql.commit()
    sql.close()
    return capture

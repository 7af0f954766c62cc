"""RESULTS.md and its plots, from the figures of results.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from perf.bench import Result
from perf.joining.plot import plot_joining
from perf.joining.report import JOINING_HEAD, JOINING_SECTIONS
from perf.markdown import measured, table, verdict

_PLOT = "results.png"
_JOINING_PLOT = "joining.png"
_LIMITS = """## What limits

- **Loads**: the processor, one core for each server process. What Treeline adds to a route from memory are its two looks into the store and
  about fifty Python calls; most of the rest is uvicorn's, which writes the head and the body of an answer to the socket one by one. More
  loads take more servers on the same catalog; they need not know of each other.
- **Commits on a local folder**: the disk. Each new file is synced, and so is its folder, once for the metadata and once for the root, and
  the clients of one version wait together.
- **Commits on S3**: two round trips one after the other, the metadata file and the root; that is the whole latency as soon as the store is
  some milliseconds away. Near the store it is the processor: each request costs the S3 client one to two milliseconds, and a commit to a
  table of its own is a request of its own. Commits to one table share one metadata file, so they go faster than those to many.
- **One client after the other never gets more than half a commit a round trip.** To publish the root together with the metadata file would
  mean versions that name files which are not there yet."""


def write(folder: Path, results: Result) -> None:
    """RESULTS.md in `folder`, with a plot if matplotlib is installed."""
    parts = [_head(results)]
    for name, section in _SECTIONS.items():
        if name in results:
            parts.append(section(results[name]))
    if _plot(folder / _PLOT, results):
        parts.insert(1, f"![Loads, commits, growth]({_PLOT})")
    if "profile" in results:
        parts.append(_LIMITS)
    if JOINING_SECTIONS.keys() & results.keys():
        parts.append(JOINING_HEAD)
        if plot_joining(folder / _JOINING_PLOT, results):
            parts.append(f"![Joined and repeated commits]({_JOINING_PLOT})")
        parts += [section(results[name]) for name, section in JOINING_SECTIONS.items() if name in results]
    (folder / "RESULTS.md").write_text("\n\n".join(parts) + "\n")


def _head(results: Result) -> str:
    machine = results["machine"]
    return f"""# How fast Treeline is

`make perf` (`python -m perf`) measures all of this and writes this page; `python -m perf loads` one part, `--quick` shortly.
What is compared is compared side by side in one run, in turn and round after round, and the ratio is the figure that counts:
times depend on the machine and on what else it does.

This run: {machine["cpu"]}, {machine["cores"]} cores (shared with other tenants of the host), {machine["memory_gib"]} GiB,
{machine["system"]}, Python {machine["python"]}. Server, clients, and where there is one the S3 server, share these cores.
Everything goes over HTTP to `treeline serve` as it is installed, one process, its log of requests on (to a file). Up to
"What limits" the clients are keep-alive connections of one process of their own (`perf/generator.py`), each sending its next request
when it has its answer; after that they are PyIceberg in processes of their own."""


def _loads(result: Result) -> str:
    limit = result["limit"]
    rows = [
        [
            f"{row['metadata']} ({row['bytes'] / 1024:.1f} KiB)",
            str(row["clients"]),
            f"{row['loads_per_s']:,.0f}",
            f"{row['memory_per_s']:,.0f}",
            f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})",
            verdict(row["ratio"] >= limit),
            f"{row['load_p50_ms']:.2f} / {row['load_p99_ms']:.2f}",
            f"{row['load_cpu_us']:.0f} / {row['memory_cpu_us']:.0f}",
        ]
        for row in result["rows"]
    ]
    header = ["metadata", "clients", "loads/s", "from memory/s", "ratio", f"at least {limit}", "load p50 / p99 ms", "CPU µs, load / memory"]
    first = result["rows"][0]
    return f"""## Loads, against the same bytes from memory

{result["tables"]} tables on a local folder, loaded in turn. The other side is a Starlette route in the same process, behind the same
middleware, that returns the same bytes from memory (`perf/reference_app.py`). {first["rounds"]} rounds of {first["seconds"]} s a side;
the ratio is the median of the rounds' ratios (lowest to highest). Each load looks into the store twice: whether there is a newer version,
and whether the metadata file is still there. {measured(result)}

{table(header, rows)}"""


def _commits(result: Result) -> str:
    rows = [
        [
            row["store"],
            str(row["tables"]),
            str(row["clients"]),
            f"{row['commits_per_s']:,.0f}",
            f"{row['group_size']:.1f}",
            f"{row['put_ms']:.2f}",
            f"{row['a_round_trip']:.2f}",
            f"{row['p50_ms']:.1f} / {row['p99_ms']:.1f}",
            f"{row['cores']:.2f}",
        ]
        for row in result["rows"]
    ]
    header = ["store", "tables", "clients", "commits/s", "commits a version", "put ms", "commits a put", "p50 / p99 ms", "cores used"]
    total = sum(row["acknowledged"] for row in result["rows"])
    return f"""## Commits, against one commit a round trip

Each commit sets a property of a table: {result["many"]} tables in turn, or all clients on one. "put" is the median time of putting a
file as large as a root, one after the other on the idle store in the same run; "commits a put" is commits/s times that, and 1 is what
a catalog reaches that publishes one commit a round trip. A commit is two puts in sequence (the metadata file, then the root), so a single
client cannot exceed 0.5; more clients share versions. After each row the tables are read back and the versions counted: all {total:,}
commits that were acknowledged are there, once each. {measured(result)}

{table(header, rows)}"""


def _scale(result: Result) -> str:
    limit = result["limit"]
    rows = [
        [
            f"{row['tables']:,}",
            f"{row['warm_p50_ms']:.2f} ({row['warm_growth']:.2f})",
            f"{row['commit_p50_ms']:.2f} ({row['commit_growth']:.2f})",
            verdict(max(row["warm_growth"], row["commit_growth"]) <= limit),
            f"{row['any_p50_ms']:.2f} ({row['any_growth']:.2f})",
            f"{row['start_s']:.2f}",
            f"{row['first_load_ms']:.1f}",
        ]
        for row in result["rows"]
    ]
    header = ["tables", "load p50 ms", "commit p50 ms", f"growth at most {limit}", "load of any table p50 ms", "start s", "first load ms"]
    memory = [
        [
            f"{row['tables']:,}",
            f"{row['at_start_mib']:.0f}",
            f"{row['after_loads_mib']:.0f}",
            f"{row['after_commits_mib']:.0f}",
            verdict(row["after_commits_mib"] <= result["resident_limit_mib"]),
            f"{row['loads']:,} / {row['commits']:,}",
        ]
        for row in result["memory"]
    ]
    memory_header = [
        "tables",
        "at the start MiB",
        "after loads",
        "after commits too",
        f"below {result['resident_limit_mib']}",
        "loads / commits",
    ]
    return f"""## A thousand tables, a hundred thousand, a million

One client; local folders, bulk-built through the tree; a server each, measured in turn. "load": 200 tables again and again;
"load of any table": a random one, so that its part of the tree may have to be read first, once the tree outgrows the cache of nodes.
In brackets: growth against the smallest catalog, median of the rounds. {result["own_files"]:,} tables (all, where there are fewer) have
a metadata file of {result["own_file_bytes"] / 1024:.0f} KiB to themselves, the others share a small one, to spare the disk a file for each.
{measured(result)}

{table(header, rows)}

Resident memory (VmRSS) of a new server: at the start; after loads of all tables with a file to themselves and of random ones, so that the
caches are full; after commits to the tables with a file to themselves.

{table(memory_header, memory)}"""


def _large_table(result: Result) -> str:
    limit, build_limit = result["limit"], result["build_limit_ms"]
    built = [
        [
            f"{row['snapshots']:,} ({row['bytes'] / 1024:,.0f} KiB)",
            f"{row['append_ms']:.2f}",
            f"{row['expire_ms']:.2f}",
            verdict(max(row["append_ms"], row["expire_ms"]) < build_limit),
            f"{row['shared']:,}",
            f"{row['parse_ms']:.1f}",
            f"{row['encode_ms']:.1f}",
        ]
        for row in result["builder"]
    ]
    built_header = [
        "snapshots",
        "append ms",
        "expire 50 ms",
        f"below {build_limit}",
        "snapshots shared, not copied",
        "parse ms",
        "encode ms",
    ]
    served = [
        [
            f"{row['snapshots']:,}",
            f"{row['load_p50_ms']:.2f}",
            f"{row['memory_p50_ms']:.2f}",
            f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})",
            verdict(row["ratio"] <= limit),
            f"{row['refs_p50_ms']:.2f} ({row['refs_bytes'] / 1024:,.0f} KiB)",
            f"{row['commit_p50_ms']:.1f}",
        ]
        for row in result["served"]
    ]
    served_header = [
        "snapshots",
        "load p50 ms",
        "from memory p50 ms",
        "ratio",
        f"at most {limit}",
        "`snapshots=refs` p50 ms",
        "commit p50 ms",
    ]
    first = result["served"][0]
    return f"""## A table with 5,000 snapshots

As many entries in the snapshot log, and summaries of fourteen members. First the CPU time of the metadata builder alone (median), beside
what reading and writing such a file costs; a commit on a table that the server has in its cache does not read it.

{table(built_header, built)}

Then one client on a local folder; the other side of a load is the same body from memory, as above. {first["rounds"]} rounds of
{first["seconds"]} s. What `snapshots=refs` leaves out is left out once a metadata file. A commit sets a property: the server writes the
whole file anew, and answers with it. {measured(result)}

{table(served_header, served)}"""


def _profiles(result: Result) -> str:
    parts = [
        f"""## Where the time goes

py-spy, {result["clients"]} clients, 200 tables on a local folder, after a warm-up: share of the samples of all busy threads, waiting for
the disk included, with what a part itself does. Sampling slows the server down: the rates here are not those above. {measured(result)}"""
    ]
    for profile in result["profiles"]:
        shares = [[part, f"{share:.0%}"] for part, share in profile["parts"]]
        functions = [[f"`{name}`", f"{own:.1%}", f"{all_of:.1%}"] for name, own, all_of in profile["functions"]]
        parts.append(
            f"**{profile['name'].capitalize()}s** ({profile['per_s']:,.0f}/s, {profile['samples']:,} samples)\n\n"
            + table(["part", "time"], shares)
            + "\n\n"
            + table(["function", "itself", "with what it calls"], functions)
        )
    return "\n\n".join(parts)


_SECTIONS: dict[str, Callable[[Result], str]] = {
    "loads": _loads,
    "commits": _commits,
    "scale": _scale,
    "large_table": _large_table,
    "profile": _profiles,
}


def _plot(file: Path, results: Result) -> bool:
    """Loads, commits and growth in one picture."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    if not {"loads", "commits", "scale"} <= results.keys():
        return False
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(15, 4.5))
    small = [row for row in results["loads"]["rows"] if row["metadata"] == results["loads"]["rows"][0]["metadata"]]
    places = range(len(small))
    left.bar([place - 0.2 for place in places], [row["memory_per_s"] for row in small], 0.4, label="from memory", color="#b9c4cc")
    left.bar([place + 0.2 for place in places], [row["loads_per_s"] for row in small], 0.4, label="load", color="#2f7d5b")
    left.set_xticks(list(places), [f"{row['clients']} clients" for row in small])
    left.set_title("Loads a second")
    left.legend()
    for store in dict.fromkeys(row["store"] for row in results["commits"]["rows"]):
        for tables, style in ((results["commits"]["many"], "-"), (1, "--")):
            rows = [row for row in results["commits"]["rows"] if row["store"] == store and row["tables"] == tables]
            label = f"{store}, {tables} table{'s' if tables > 1 else ''}"
            middle.plot([row["clients"] for row in rows], [row["a_round_trip"] for row in rows], f"o{style}", label=label)
    middle.axhline(1, color="#888888", linewidth=0.8)
    middle.set(xscale="log", yscale="log", xlabel="clients", title="Commits in the time of one put")
    middle.set_xticks([1, 16, 64], ["1", "16", "64"])
    middle.legend(fontsize=7)
    rows = results["scale"]["rows"]
    for kind, label in (("warm", "load"), ("any", "load of any table"), ("commit", "commit")):
        right.plot([row["tables"] for row in rows], [row[f"{kind}_p50_ms"] for row in rows], "o-", label=label)
    right.set(xscale="log", yscale="log", xlabel="tables", ylabel="ms", title="p50 by the number of tables")
    right.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=90)
    pyplot.close(figure)
    return True

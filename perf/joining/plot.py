"""A picture of what joining is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perf.bench import Result
from perf.joining.catalogs import TREELINE, UNJOINED

_WANTED = ("appenders", "disjoint", "ycsb", "tpcc")


def plot_joining(file: Path, results: Result) -> bool:
    """Rates and refusals of each way of working; False if something is missing, matplotlib for one."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    if not set(_WANTED) <= results.keys():
        return False
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(17, 5), width_ratios=(1, 1, 1.2))
    _bars(left, results["appenders"]["rows"], "16 appenders of one table: appends a second")
    _bars(middle, results["disjoint"]["rows"], "8 writers of disjoint partitions: updates a second")
    rows = [*results["ycsb"]["rows"], *results["tpcc"]["rows"]]
    mixes = list(dict.fromkeys(row["mix"] for row in rows))
    ways = list(dict.fromkeys((row["catalog"], row["how"]) for row in rows))
    for number, way in enumerate(ways):
        own = {row["mix"]: row["abort_rate"] for row in rows if (row["catalog"], row["how"]) == way}
        places = [place + (number - (len(ways) - 1) / 2) * 0.16 for place in range(len(mixes))]
        heights = [100 * own[mix] for mix in mixes]
        hatch = "//" if "serializable" in way[1] else None
        label = f"{way[0]}: {way[1]}".replace("`", "")
        right.bar(places, heights, 0.15, label=label, color=_color(way[0]), hatch=hatch, edgecolor="white")
    right.set_xticks(range(len(mixes)), mixes)
    right.set_ylim(0, 100)
    right.set_title("Transactions on several tables: refused commits, %")
    right.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, dpi=90)
    pyplot.close(figure)
    return True


def _bars(axes: Any, rows: Sequence[Mapping[str, Any]], title: str) -> None:
    places = range(len(rows))
    bars = axes.barh(places, [row["per_s"] for row in rows], 0.6, color=[_color(row["catalog"], row["how"]) for row in rows])
    axes.bar_label(bars, [f"{row['per_s']:.1f} ({row['abort_rate']:.0%} refused)" for row in rows], padding=3, fontsize=8)
    axes.set_yticks(places, [f"{row['catalog']}\n{row['how']}" for row in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, max(row["per_s"] for row in rows) * 1.45)
    axes.set_title(title)


def _color(catalog: str, how: str = "joined") -> str:
    if catalog == TREELINE:
        return "#2f7d5b" if "repeated" not in how else "#8fbfa8"
    return "#8fbfa8" if catalog == UNJOINED else "#b9c4cc"

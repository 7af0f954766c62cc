"""Two pictures of a run: the delays that were loaded, and how the catalog's versions and the reader went along."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib as mpl

# Before pyplot: files only, no window and no display needed.
mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from pipeline.history import COMMITTED, IN_TRANSACTION, PLAIN, ROLLED_BACK, Observation, Step

_INK = "#27303a"
_MUTED = "#7a8694"
_GRID = "#e4e8ec"
_BLUE = "#2f6f9f"
_GREEN = "#3a9d6e"
_RED = "#cf3f36"
_AMBER = "#e69f28"
_FEW_FLIGHTS = 5
_DAYS_WITH_NUMBERS = 16
_WORST_SHOWN = 90.0
_STYLE: Any = {
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "xtick.color": _INK,
    "ytick.color": _INK,
    "hatch.linewidth": 0.8,
}


def plot_delays(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], rolled_back: Sequence[date], path: Path) -> None:
    """Departure delays by carrier and day; a rolled back day is an empty column, for there is nothing of it."""
    days = sorted({row["day"] for row in rows} | set(rolled_back))
    worst = _mean_by(rows, "carrier")
    # A carrier none of whose flights left has no mean: it comes first, with cells that stay empty.
    carriers = sorted({row["carrier"] for row in rows}, key=lambda carrier: (worst.get(carrier, -np.inf), carrier))
    cells = np.full((len(carriers), len(days)), np.nan)
    flights = np.zeros_like(cells)
    for row in rows:
        at = carriers.index(row["carrier"]), days.index(row["day"])
        flights[at] = row["flights"]
        if row["mean_dep_delay"] is not None:
            cells[at] = row["mean_dep_delay"]
    with plt.rc_context(_STYLE):
        few_days = len(days) <= _DAYS_WITH_NUMBERS
        figure, (top, heat) = plt.subplots(
            2,
            1,
            figsize=(max(9.0, 3.6 + (0.74 if few_days else 0.34) * len(days)), 2.8 + 0.36 * len(carriers)),
            sharex=True,
            height_ratios=[1.9, 0.36 * len(carriers)],
            layout="constrained",
        )
        _draw_days(top, rows, days)
        image = heat.imshow(cells, aspect="auto", origin="lower", cmap="YlOrRd", vmin=0, vmax=_WORST_SHOWN)
        for (line, column), value in np.ndenumerate(cells):
            if not np.isnan(value) and few_days:
                few = flights[line, column] < _FEW_FLIGHTS
                color = "white" if value > 0.6 * _WORST_SHOWN else _INK
                heat.text(column, line, str(round(value)), ha="center", va="center", fontsize=6.5 if few else 9, color=color)
        for day in rolled_back:
            _draw_gap(top, heat, days.index(day), len(carriers))
        heat.set_yticks(range(len(carriers)), [names.get(carrier, carrier) for carrier in carriers])
        heat.set_xticks(range(len(days)), [f"{day:%a}\n{day.day} {day:%b}" if few_days else f"{day.day}\n{day:%b}" for day in days])
        heat.tick_params(length=0)
        small = f" (small figures: fewer than {_FEW_FLIGHTS} flights)" if few_days else ""
        heat.set_title(f"Mean departure delay by carrier, minutes{small}")
        for spine in heat.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=heat, extend="max", shrink=0.9, pad=0.015)
        bar.outline.set_visible(False)
        _save(figure, path)


def plot_catalog(steps: Sequence[Step], observations: Sequence[Observation], path: Path) -> None:
    """Versions over time with each transaction of the writer, and below them each look of the reader."""
    done = [step for step in steps if step.outcome in (COMMITTED, ROLLED_BACK)]
    zero = min([step.began for step in done] + [seen.began for seen in observations], default=0.0)
    with plt.rc_context(_STYLE):
        figure, (top, below) = plt.subplots(2, 1, figsize=(11, 6.4), sharex=True, height_ratios=[3.4, 1], layout="constrained")
        _draw_versions(top, done, zero)
        _draw_reader(below, observations, zero)
        below.set_xlabel("seconds")
        _save(figure, path)


def _draw_days(axes: Axes, rows: Sequence[Mapping[str, Any]], days: Sequence[date]) -> None:
    means = _mean_by(rows, "day")
    heights = [means.get(day, 0.0) for day in days]
    axes.bar(range(len(days)), heights, width=0.72, color=_BLUE)
    cancelled: dict[date, int] = defaultdict(int)
    for row in rows:
        cancelled[row["day"]] += row["cancelled"]
    for column, day in enumerate(days):
        if day in means and len(days) <= _DAYS_WITH_NUMBERS:
            note = f"{means[day]:.0f} min\n{cancelled[day]} cancelled"
            axes.annotate(note, (column, max(means[day], 0)), (0, 3), textcoords="offset points", ha="center", fontsize=8, color=_INK)
    axes.set_ylim(min(0.0, *heights), max(1.0, *heights) * 1.38)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(bottom=False)
    axes.set_title("All flights out of New York: mean departure delay by day")


def _draw_gap(top: Axes, heat: Axes, column: int, height: int) -> None:
    """Where a day was rolled back."""
    heat.add_patch(Rectangle((column - 0.5, -0.5), 1, height, facecolor="#f4f5f7", edgecolor="#c5ccd3", hatch="////", linewidth=0))
    heat.text(
        column,
        (height - 1) / 2,
        "rolled back: no trace",
        rotation=90,
        ha="center",
        va="center",
        color=_RED,
        fontweight="bold",
        bbox={"facecolor": "#f4f5f7", "edgecolor": "none", "pad": 3},
    )
    top.annotate("rolled\nback", (column, 0), (0, 3), textcoords="offset points", ha="center", fontsize=8, color=_RED)


def _draw_versions(axes: Axes, steps: Sequence[Step], zero: float) -> None:
    """Each transaction lies at the version it began on; where it commits, the catalog goes up to a new one."""
    times, levels = [0.0], [next((step.base_version or 0 for step in steps), 0)]
    previous_failed = False
    for step in steps:
        base = step.base_version if step.base_version is not None else levels[-1]
        color = _RED if step.outcome == ROLLED_BACK else _GREEN
        began, ended = step.began - zero, step.ended - zero
        axes.plot([began, ended], [base, base], color=color, linewidth=7, solid_capstyle="butt", alpha=0.85, zorder=3)
        if step.version is not None:
            times.append(ended)
            levels.append(step.version)
            axes.plot(ended, step.version, "o", color=_BLUE, markersize=5, zorder=4)
        else:
            axes.plot(ended, base, "X", color=_RED, markersize=9, markeredgecolor="white", zorder=5)
        far = began / max(steps[-1].ended - zero, 1e-9)
        # Left of its bar, unless the bar of a rolled back one is there.
        before = far > 0.3 and not previous_failed
        previous_failed = bool(step.problems)
        if step.problems:
            # Below its bar, where nothing else is: the next transaction begins on the same version, right beside it.
            late = far > 0.55
            side = "right" if late else "left"
            label, color = f"{step.name}: {'; '.join(step.problems)}", _RED
            at, offset = (steps[-1].ended - zero if late else began, base), (0, -13)
        elif len(steps) <= _DAYS_WITH_NUMBERS:
            side = "right" if before else "left"
            label, at, offset, color = step.name, (began if before else ended, base), (-9 if before else 9, 0), _INK
        else:
            continue
        axes.annotate(label, at, offset, textcoords="offset points", ha=side, va="center", fontsize=8.5, color=color, zorder=6)
    axes.step(times, levels, where="post", color=_BLUE, linewidth=1.4, zorder=2)
    axes.set_ylabel("catalog version")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(y=0.09)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    failed = any(step.problems for step in steps)
    axes.set_title(f"One version per transaction{', and none for the one that failed its check' if failed else ''}")
    axes.legend(
        handles=[
            Line2D([], [], color=_GREEN, linewidth=7, label="transaction, from BEGIN to COMMIT"),
            Line2D([], [], color=_RED, linewidth=7, label="rolled back"),
            Line2D([], [], color=_BLUE, marker="o", markersize=5, linewidth=1.4, label="version of the catalog"),
        ],
        loc="upper left",
        frameon=False,
        fontsize=9,
    )


def _draw_reader(axes: Axes, observations: Iterable[Observation], zero: float) -> None:
    """Each look of the reader as a stroke as long as it took."""
    seen = list(observations)
    for line, way in enumerate((PLAIN, IN_TRANSACTION)):
        for agrees, color in ((True, _GREEN), (False, _AMBER)):
            strokes = [(look.began - zero, look.ended - look.began) for look in seen if look.way == way and look.agrees == agrees]
            axes.broken_barh(strokes, (line - 0.32, 0.64), facecolors=color, edgecolor="white", linewidth=0.6)
    looks = {way: [look for look in seen if look.way == way] for way in (PLAIN, IN_TRANSACTION)}
    labels = [
        f"{name}\n{sum(not look.agrees for look in looks[way])} of {len(looks[way])} skewed"
        for way, name in ((PLAIN, "table after table"), (IN_TRANSACTION, "in a transaction"))
    ]
    axes.set_yticks(range(2), labels)
    axes.set_ylim(-0.6, 1.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title("What a second process read meanwhile: do the four tables fit together?")
    axes.legend(
        handles=[Patch(color=_GREEN, label="they do"), Patch(color=_AMBER, label="read skew")],
        loc="lower right",
        bbox_to_anchor=(1, 0.98),
        ncols=2,
        frameon=False,
        fontsize=9,
    )


def _mean_by(rows: Sequence[Mapping[str, Any]], key: str) -> dict[Any, float]:
    """The mean departure delay of all flights that share a day or a carrier."""
    minutes: dict[Any, float] = defaultdict(float)
    departed: dict[Any, int] = defaultdict(int)
    for row in rows:
        if row["mean_dep_delay"] is not None:
            count = row["flights"] - row["cancelled"]
            minutes[row[key]] += row["mean_dep_delay"] * count
            departed[row[key]] += count
    return {each: minutes[each] / departed[each] for each in minutes if departed[each]}


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=150, facecolor="white", bbox_inches="tight", pad_inches=0.2)
    plt.close(figure)

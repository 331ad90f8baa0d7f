"""Charts of measurements, as PNG and SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OURS, THEIRS, GUESSED = "#0b7a75", "#b8bcc2", "#dfe2e6"
WIDE_RANGE = 12.0
"""Bars whose lengths differ by more than this are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    ours: bool = False
    guessed: bool = False
    """Extrapolated from a sample."""


@dataclass(frozen=True)
class Panel:
    title: str
    axis: str
    bars: Sequence[Bar]
    digits: int = 2


@dataclass(frozen=True)
class Line:
    label: str
    x: Sequence[float]
    y: Sequence[float]


def bar_chart(rows: Sequence[Sequence[Panel]], stem: Path) -> None:
    """One row of panels per dataset; each panel has its own scale."""
    heights = [max(1.5, 0.45 * max(len(panel.bars) for panel in row) + 0.9) for row in rows]
    figure, axes = plt.subplots(
        len(rows), len(rows[0]), figsize=(6.4 * len(rows[0]), sum(heights)), squeeze=False, height_ratios=heights
    )
    for row, drawn in zip(rows, axes, strict=True):
        for panel, axis in zip(row, drawn, strict=True):
            _draw_bars(panel, axis)
    _save(figure, stem)


def _draw_bars(panel: Panel, axis: Axes) -> None:
    values = [bar.value for bar in panel.bars]
    colours = [OURS if bar.ours else GUESSED if bar.guessed else THEIRS for bar in panel.bars]
    drawn = axis.barh(range(len(values)), values, color=colours, height=0.7)
    axis.set_yticks(range(len(values)), [textwrap.fill(bar.label, 34) for bar in panel.bars], fontsize=8)
    axis.invert_yaxis()
    axis.bar_label(drawn, [f"{value:,.{panel.digits}f}" for value in values], padding=3, fontsize=8)
    if min(values) > 0 and max(values) / min(values) > WIDE_RANGE:
        axis.set_xscale("log")
        axis.set_xlim(min(values) / 2, max(values) * 3)
        axis.set_xlabel(f"{panel.axis} (logarithmic)", fontsize=8)
    else:
        axis.set_xlim(0, max(values) * 1.15)
        axis.set_xlabel(panel.axis, fontsize=8)
    axis.set_title(panel.title, fontsize=10, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(axis="x", labelsize=8)


def line_chart(panels: Sequence[tuple[str, str, str, Sequence[Line]]], stem: Path) -> None:
    """Panels of (title, label of x, label of y, lines), side by side, with a logarithmic x axis."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.6 * len(panels), 3.6), squeeze=False)
    for (title, below, beside, lines), axis in zip(panels, axes[0], strict=True):
        for number, line in enumerate(lines):
            axis.plot(line.x, line.y, marker="o", label=line.label, color=(OURS, "#c0504d", "#555555")[number % 3])
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xlabel(below, fontsize=8)
        axis.set_ylabel(beside, fontsize=8)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=8, frameon=False)
    _save(figure, stem)


def _save(figure: Figure, stem: Path) -> None:
    figure.tight_layout()
    mpl.rcParams["svg.hashsalt"] = stem.name
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)

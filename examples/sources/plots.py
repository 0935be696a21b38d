"""Plots of the example papers, drawn at the size at which they are printed (inches, 8 pt text)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import data
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

COLUMN, PAGE = 3.37, 7.0  # widths of one column and of the text, inches
RASTER_DPI = 250
COLOURS = dict(zip(data.METHODS, ("#1b4f9c", "#c8501e", "#2b8a4b", "#555555"), strict=True))
MARKERS = dict(zip(data.METHODS, "osD^", strict=True))
HULLS = {"flat": ("#1b4f9c", "o"), "keel": ("#c8501e", "s"), "twin": ("#2b8a4b", "D")}
SCHEDULERS = {"Lantern": ("#6a3d9a", "o"), "Polling": ("#c07a00", "s"), "Random access": ("#33777a", "D")}
STYLE = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}


def draw_all(folder: Path) -> None:
    """Every plot into `folder`, PDF or PNG by its name's ending; the same bytes each time."""
    with matplotlib.rc_context(STYLE):
        for name, plot in PLOTS.items():
            metadata = {"CreationDate": None} if name.endswith(".pdf") else {"Software": None}
            plot().savefig(folder / name, dpi=RASTER_DPI, metadata=metadata)


def _panel(ax: Axes, letter: str, title: str = "") -> None:
    ax.set_title(f"({letter}) {title}".strip(), loc="left", fontweight="bold" if not title else None)


# clean-two-column and, with one defect each, its twin


def accuracy_lines() -> Figure:
    fig = Figure((COLUMN, 2.35))
    ax = fig.subplots()
    _accuracy_lines(ax)
    ax.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.0))
    return fig


def accuracy_lines_unreadable() -> Figure:
    """Defect VC: tick labels, axis labels and legend at 3 pt in pale grey."""
    fig = Figure((COLUMN, 2.35))
    ax = fig.subplots()
    _accuracy_lines(ax)
    ax.tick_params(labelsize=3, labelcolor="#cfcfcf", pad=1)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(size=3, color="#c4c4c4")
    ax.legend(ncols=2, loc="lower right", fontsize=3, labelcolor="#cfcfcf")
    return fig


def _accuracy_lines(ax: Axes) -> None:
    sizes, curves = data.buffer_accuracy()
    for name, sample in curves.items():
        ax.errorbar(sizes, sample.mean, sample.sd, label=name, color=COLOURS[name], marker=MARKERS[name], capsize=2)
    ax.set(xlabel="Buffer size (samples)", ylabel="Final accuracy", ylim=(0, 1), xscale="log")
    ax.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    ax.minorticks_off()


def stream_panels() -> Figure:
    fig = Figure((PAGE, 2.15))
    a, b, c = fig.subplots(1, 3)
    _progress(a)
    _forgetting(b)
    _update_time(c)
    for ax, letter in zip((a, b, c), "abc", strict=True):
        _panel(ax, letter)
    handles, labels = a.get_legend_handles_labels()
    fig.legend(handles, labels, ncols=4, loc="outside lower center")
    return fig


def stream_panels_disordered() -> Figure:
    """Defect SL: panels in the order (a), (c), (b), of unlike sizes, running into each other."""
    fig = Figure((PAGE, 2.15), layout="none")
    a = fig.add_axes((0.06, 0.20, 0.36, 0.68))
    c = fig.add_axes((0.425, 0.50, 0.24, 0.47))
    b = fig.add_axes((0.665, 0.20, 0.33, 0.50))
    _progress(a)
    _forgetting(b)
    _update_time(c)
    a.set_title("(a)", loc="left", fontweight="bold")
    b.set_title("(b)", loc="center", y=0.76, fontweight="bold")
    c.set_title("(c)", loc="left", x=0.06, y=0.72, fontweight="bold")
    handles, labels = a.get_legend_handles_labels()
    fig.legend(handles, labels, ncols=2, loc=(0.31, 0.22), frameon=True)
    return fig


def _progress(ax: Axes) -> None:
    position, curves = data.stream_progress()
    for name, values in curves.items():
        ax.plot(position, values, label=name, color=COLOURS[name])
    for drift in (20, 40, 60):
        ax.axvline(drift, color="#999999", linestyle=":", linewidth=0.8)
    ax.set(xlabel="Stream position (thousands)", ylabel="Running accuracy", ylim=(0, 1), xlim=(0, 60))


def _forgetting(ax: Axes) -> None:
    for name, sample in data.forgetting().items():
        ax.errorbar([1, 2, 3], sample.mean, sample.sd, color=COLOURS[name], marker=MARKERS[name], capsize=2)
    ax.set(xlabel="Number of changes", ylabel="Forgetting", ylim=(0, 0.5), xticks=[1, 2, 3])


def _update_time(ax: Axes) -> None:
    sizes, _ = data.buffer_accuracy()
    for name, sample in data.update_time().items():
        ax.errorbar(sizes, sample.mean, sample.sd, color=COLOURS[name], marker=MARKERS[name], capsize=2)
    ax.set(xlabel="Buffer size (samples)", ylabel="Update time (ms)", ylim=(0, 6), xscale="log")
    ax.set_xticks([64, 256, 1024], ["64", "256", "1024"])
    ax.minorticks_off()


def stream_bars() -> Figure:
    fig = Figure((COLUMN, 2.2))
    ax = fig.subplots()
    _bars(ax, errors=True)
    ax.axhline(0.25, color="black", linestyle="--", linewidth=0.8, label="chance")
    ax.set(ylim=(0, 1.0))
    fig.legend(ncols=3, loc="outside upper center")
    return fig


def stream_bars_truncated() -> Figure:
    """Defect MR: the axis begins at 0.86; no error bars, no chance line."""
    fig = Figure((COLUMN, 2.2))
    ax = fig.subplots()
    _bars(ax, errors=False)
    ax.set(ylim=(0.86, 0.94))
    fig.legend(ncols=3, loc="outside upper center")
    return fig


def _bars(ax: Axes, errors: bool) -> None:
    for i, (name, sample) in enumerate(data.stream_accuracy().items()):
        x = np.arange(3) + (i - 1.5) * 0.19
        ax.bar(x, sample.mean, 0.17, yerr=sample.sd if errors else None, color=COLOURS[name], label=name, capsize=2)
    ax.set_xticks(range(3), data.STREAMS)
    ax.set(ylabel="Final accuracy")


def tuning_heatmap() -> Figure:
    ratios, rates, values = data.tuning_grid()
    fig = Figure((COLUMN, 2.3))
    ax = fig.subplots()
    picture = ax.imshow(values, cmap="viridis", vmin=0.6, vmax=0.95, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if value < 0.82 else "black")
    ax.set_xticks(range(len(rates)), rates)
    ax.set_yticks(range(len(ratios)), ratios)
    ax.set(xlabel="Learning rate", ylabel="Replay ratio")
    fig.colorbar(picture, label="Final accuracy")
    return fig


def throughput_lines() -> Figure:
    workers, curves = data.throughput()
    fig = Figure((COLUMN, 2.1))
    ax = fig.subplots()
    for name, values in curves.items():
        ax.plot(workers, values, label=name, color=COLOURS[name], marker=MARKERS[name])
    ax.plot(workers, 2.1 * workers, color="#999999", linestyle="--", linewidth=0.8, label="linear")
    ax.set(xlabel="Workers", ylabel="Throughput\n(thousand samples/s)", ylim=(0, 35), xticks=workers)
    ax.legend(loc="upper left")
    return fig


# one-column


def boat_drift() -> Figure:
    time, curves = data.boat_drift()
    fig = Figure((3.0, 2.1))
    ax = fig.subplots()
    for name, sample in curves.items():
        colour, marker = HULLS[name]
        ax.errorbar(time, sample.mean, sample.sd, label=name, color=colour, marker=marker, capsize=2)
    ax.set(xlabel="Time (s)", ylabel="Distance (cm)", ylim=(0, 120), xlim=(0, 63))
    ax.legend(loc="upper left", title="Hull", title_fontsize=7)
    return fig


def boat_wind() -> Figure:
    wind, drift, heading = data.boat_wind()
    fig = Figure((5.6, 2.2))
    axes = fig.subplots(1, 2)
    labels = ("Drift speed (cm/s)", "Heading error (degrees)")
    for ax, values, label, letter in zip(axes, (drift, heading), labels, "ab", strict=True):
        for name, curve in values.items():
            ax.plot(wind, curve, label=name, color=HULLS[name][0], marker=HULLS[name][1])
        ax.set(xlabel="Wind speed (m/s)", ylabel=label, ylim=(0, None))
        _panel(ax, letter)
    axes[0].legend(loc="upper left")
    return fig


def boat_soak() -> Figure:
    fig = Figure((3.6, 2.0))
    ax = fig.subplots()
    ax.hist(data.boat_soak(), bins=np.arange(0, 31, 1.5), color="#7a9cc6", edgecolor="white")
    ax.set(xlabel="Time until soaked (min)", ylabel="Boats", xlim=(0, 30))
    return fig


def boat_convergence() -> Figure:
    steps, residual = data.boat_convergence()
    fig = Figure((3.8, 2.0))
    ax = fig.subplots()
    ax.semilogy(steps, residual, color="#333333", marker=".")
    ax.axhline(1e-4, color="#c8501e", linestyle="--", linewidth=0.9, label="tolerance")
    ax.set(xlabel="Solver step", ylabel="Relative residual", xlim=(0, 41))
    ax.legend()
    return fig


# fig-style


def field_tile(index: int) -> Figure:
    """One temperature field without axes or text: the paper sets four of them as tiles."""
    fig = Figure((1.6, 1.067), layout="none")
    ax = fig.add_axes((0, 0, 1, 1))
    ax.imshow(data.field_tiles()[index][1], cmap="inferno", vmin=14, vmax=34, interpolation="nearest", aspect="auto")
    ax.set_axis_off()
    return fig


def field_scale() -> Figure:
    fig = Figure((COLUMN, 0.6))
    scale = ScalarMappable(Normalize(14, 34), "inferno")
    fig.colorbar(scale, cax=fig.subplots(), orientation="horizontal", label="Temperature (°C)")
    return fig


def ring_load() -> Figure:
    load, latency, loss = data.ring_latency()
    fig = Figure((PAGE, 2.2))
    axes = fig.subplots(1, 2)
    labels = ("Median latency (ms)", "Lost messages (%)")
    for ax, values, label, letter in zip(axes, (latency, loss), labels, "ab", strict=True):
        for name, curve in values.items():
            ax.plot(load, curve, label=name, color=SCHEDULERS[name][0], marker=SCHEDULERS[name][1])
        ax.set(xlabel="Offered load (messages/s)", ylabel=label, ylim=(0, None))
        _panel(ax, letter)
    axes[0].legend(loc="upper left")
    return fig


def ring_energy() -> Figure:
    fig = Figure((COLUMN, 1.9))
    ax = fig.subplots()
    samples = data.ring_energy()
    for name, sample in samples.items():
        ax.bar(name, sample.mean, 0.55, yerr=sample.sd, color=SCHEDULERS[name][0], capsize=3)
    ax.set(ylabel="Energy per node\nand day (J)", ylim=(0, 80))
    return fig


PLOTS: dict[str, Callable[[], Figure]] = {
    "accuracy_lines.pdf": accuracy_lines,
    "accuracy_lines_unreadable.pdf": accuracy_lines_unreadable,
    "stream_panels.pdf": stream_panels,
    "stream_panels_disordered.pdf": stream_panels_disordered,
    "stream_bars.pdf": stream_bars,
    "stream_bars_truncated.pdf": stream_bars_truncated,
    "tuning_heatmap.png": tuning_heatmap,
    "throughput_lines.pdf": throughput_lines,
    "boat_drift.pdf": boat_drift,
    "boat_wind.pdf": boat_wind,
    "boat_soak.pdf": boat_soak,
    "boat_convergence.pdf": boat_convergence,
    **{f"field_{index}.png": partial(field_tile, index) for index in range(4)},
    "field_scale.pdf": field_scale,
    "ring_load.pdf": ring_load,
    "ring_energy.pdf": ring_energy,
}

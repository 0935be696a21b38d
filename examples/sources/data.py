"""Synthetic measurements of the example papers, from fixed seeds. No real system was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

METHODS = ("RingReplay", "Reservoir", "FIFO", "NoReplay")
STREAMS = ("Slow-A", "Slow-B", "Slow-C")
SEEDS = 10


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation over ten seeds, per position."""

    mean: Array
    sd: Array


def _sample(rng: np.random.Generator, truth: Array, noise: float, digits: int = 3) -> Sample:
    runs = truth + rng.normal(0.0, noise, (SEEDS, *truth.shape))
    return Sample(np.round(runs.mean(axis=0), digits), np.round(runs.std(axis=0, ddof=1), digits))


# streaming classification: clean-two-column and its defective twin


def buffer_accuracy() -> tuple[Array, dict[str, Sample]]:
    """Buffer sizes (samples) and final accuracy (0..1) of each method."""
    rng = np.random.default_rng(11)
    sizes = np.array([64, 128, 256, 512, 1024, 2048], dtype=float)
    step = np.arange(6)
    truth = {
        "RingReplay": 0.64 + 0.29 * (1 - np.exp(-step / 1.7)),
        "Reservoir": 0.60 + 0.27 * (1 - np.exp(-step / 2.2)),
        "FIFO": 0.57 + 0.17 * (1 - np.exp(-step / 2.5)),
        "NoReplay": np.full(6, 0.55),
    }
    return sizes, {name: _sample(rng, values, 0.018) for name, values in truth.items()}


def stream_progress() -> tuple[Array, dict[str, Array]]:
    """Position in the stream (thousand samples) and running accuracy; the data change at 20, 40 and 60."""
    rng = np.random.default_rng(12)
    position = np.arange(1.0, 61.0)
    drop = {"RingReplay": 0.10, "Reservoir": 0.17, "FIFO": 0.26, "NoReplay": 0.34}
    level = {"RingReplay": 0.90, "Reservoir": 0.85, "FIFO": 0.74, "NoReplay": 0.62}
    curves = {}
    for name in METHODS:
        since = position % 20
        values = level[name] - np.where(position >= 20, drop[name], 0.3) * np.exp(-since / 4.0)
        curves[name] = np.round(values + rng.normal(0, 0.006, position.size), 3)
    return position, curves


def forgetting() -> dict[str, Sample]:
    """Accuracy lost on the first segment, per drift (three drifts)."""
    rng = np.random.default_rng(13)
    truth = {
        "RingReplay": [0.03, 0.05, 0.06],
        "Reservoir": [0.06, 0.09, 0.12],
        "FIFO": [0.13, 0.20, 0.25],
        "NoReplay": [0.22, 0.33, 0.41],
    }
    return {name: _sample(rng, np.array(values), 0.012) for name, values in truth.items()}


def update_time() -> dict[str, Sample]:
    """Time of one update (ms) at buffer sizes 64 to 2048."""
    rng = np.random.default_rng(14)
    step = np.arange(6)
    truth = {
        "RingReplay": 1.4 + 0.12 * step,
        "Reservoir": 1.3 + 0.75 * step,
        "FIFO": 1.2 + 0.10 * step,
        "NoReplay": np.full(6, 0.8),
    }
    return {name: _sample(rng, values, 0.06, 2) for name, values in truth.items()}


def stream_accuracy() -> dict[str, Sample]:
    """Final accuracy on three slowly changing streams at a buffer of 1,024 samples."""
    rng = np.random.default_rng(15)
    truth = {
        "RingReplay": [0.93, 0.91, 0.92],
        "Reservoir": [0.91, 0.89, 0.91],
        "FIFO": [0.89, 0.88, 0.89],
        "NoReplay": [0.88, 0.87, 0.88],
    }
    return {name: _sample(rng, np.array(values), 0.008) for name, values in truth.items()}


def tuning_grid() -> tuple[list[str], list[str], Array]:
    """Replay ratios (rows), learning rates (columns) and the accuracy of RingReplay."""
    rng = np.random.default_rng(16)
    ratios, rates = ["0.1", "0.25", "0.5", "0.75", "1.0"], ["0.001", "0.003", "0.01", "0.03", "0.1", "0.3"]
    row, column = np.mgrid[0:5, 0:6]
    truth = 0.91 - 0.018 * (row - 2) ** 2 - 0.022 * (column - 2) ** 2
    return ratios, rates, np.round(truth + rng.normal(0, 0.004, truth.shape), 2)


def throughput() -> tuple[Array, dict[str, Array]]:
    """Worker counts and throughput (thousand samples per second)."""
    rng = np.random.default_rng(17)
    workers = np.array([1, 2, 4, 8, 16], dtype=float)
    truth = {
        "RingReplay": 2.1 * workers**0.94,
        "Reservoir": 1.9 * workers**0.66,
        "FIFO": 2.3 * workers**0.93,
    }
    return workers, {k: np.round(v * (1 + rng.normal(0, 0.01, 5)), 1) for k, v in truth.items()}


# paper boats: one-column


def boat_drift() -> tuple[Array, dict[str, Sample]]:
    """Time (s) and distance drifted (cm) of three hull shapes."""
    rng = np.random.default_rng(21)
    time = np.arange(6.0, 61.0, 6.0)
    speed = {"flat": 2.6, "keel": 1.9, "twin": 1.2}
    return time, {k: _sample(rng, v * time**0.9, 1.0 + 0.5 * (v - 1), 1) for k, v in speed.items()}


def boat_wind() -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Wind speed (m/s), drift speed (cm/s) and heading error (degrees) of the hulls."""
    rng = np.random.default_rng(22)
    wind = np.arange(0.5, 4.1, 0.5)
    drift = {"flat": 0.86 * wind, "keel": 0.62 * wind, "twin": 0.39 * wind}
    heading = {"flat": 4 + 7.5 * wind, "keel": 3 + 2.2 * wind, "twin": 3 + 3.6 * wind}

    def noisy(values: Array, noise: float) -> Array:
        return np.round(values + rng.normal(0, noise, wind.size), 1)

    return wind, {k: noisy(v, 0.04) for k, v in drift.items()}, {k: noisy(v, 0.5) for k, v in heading.items()}


def boat_soak() -> Array:
    """Minutes until a boat has soaked through, 400 boats."""
    return np.round(np.random.default_rng(23).gamma(9.0, 1.4, 400), 1)


def boat_convergence() -> tuple[Array, Array]:
    """Steps of the solver and its relative residual."""
    rng = np.random.default_rng(24)
    steps = np.arange(1.0, 41.0)
    return steps, 10.0 ** (-0.11 * steps - 0.2 + rng.normal(0, 0.05, steps.size))


# greenhouse ring: fig-style


def field_tiles() -> list[tuple[str, Array]]:
    """Four temperature fields (degrees C, 48 x 72 cells) of a simulated greenhouse at four hours of a day."""
    rng = np.random.default_rng(31)
    y, x = np.mgrid[0:48, 0:72] / 47.0
    tiles = []
    for name, base, gain in (("06:00", 15.0, 1.0), ("10:00", 19.0, 4.0), ("14:00", 24.0, 9.0), ("20:00", 18.0, 2.5)):
        warm = gain * np.exp(-((x - 1.1) ** 2 + (y - 0.35) ** 2) / 0.22)
        tiles.append((name, base + warm + rng.normal(0, 0.15, x.shape)))
    return tiles


def ring_latency() -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Offered load (messages per second), median latency (ms) and loss (%) of three schedulers."""
    rng = np.random.default_rng(32)
    load = np.array([10.0, 20, 40, 60, 80, 100])
    latency = {"Lantern": 11 + 0.09 * load, "Polling": 18 + 0.38 * load, "Random access": 7 + 0.0125 * load**2}
    loss = {"Lantern": 0.02 * load, "Polling": 0.01 * load, "Random access": 0.0032 * load**2}

    def noisy(values: Array, noise: float) -> Array:
        return np.round(np.abs(values + rng.normal(0, noise, load.size)), 1)

    return load, {k: noisy(v, 0.5) for k, v in latency.items()}, {k: noisy(v, 0.1) for k, v in loss.items()}


def ring_energy() -> dict[str, Sample]:
    """Energy of a node per day (J) at 40 messages per second."""
    rng = np.random.default_rng(33)
    truth = {"Lantern": 41.0, "Polling": 66.0, "Random access": 58.0}
    return {k: _sample(rng, np.array([v]), 2.0, 1) for k, v in truth.items()}

"""A generator with a fixed seed, and datasets of the released layout."""

import numpy as np
import pytest
from dataset_made_up import write_dataset


@pytest.fixture
def rng():
    return np.random.default_rng(20261130)


@pytest.fixture
def dataset(tmp_path):
    """Makes a dataset of these records."""
    return lambda *records, **more: write_dataset(tmp_path / "DATA", *records, **more)

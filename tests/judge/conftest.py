"""The keys of the protocol server, where a test asks for them."""

import pytest
from hosted import ENVIRONMENT


@pytest.fixture
def keys(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

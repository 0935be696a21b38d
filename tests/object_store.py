"""A real S3 server on this machine (moto), and a bucket in it for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer

from sfq_ray.places import Bucket, place


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def environment(url: str) -> dict[str, str]:
    """Where clients look for the server and its keys."""
    return {
        "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "planted-secret",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip


@pytest.fixture
def bucket(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A prefix in a new bucket; processes started by the test see the server too."""
    for name, value in environment(s3_url).items():
        monkeypatch.setenv(name, value)
    name = f"tables-{uuid.uuid4().hex}"
    boto3.client("s3").create_bucket(Bucket=name)
    found = place(f"s3://{name}/corpus/out")
    assert isinstance(found, Bucket)
    return found

"""Where an output directory lies: on a file system, or under a prefix of an object store (s3://, gs:// ...).

A Bucket has that part of pathlib.Path's interface that the tables need, over the file systems that come with pyarrow
(Arrow documentation, Filesystem Interface), so what reads and writes tables need not know which it is. Keys come from
where the provider's own tools look for them; a store other than the provider's is named by AWS_ENDPOINT_URL.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from sfq_ray.config import ConfigError
from sfq_ray.errors import FatalError

PATIENCE_S = 900.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0  # between two attempts, beside those that the file system makes itself
PASSING = re.compile(
    r"NETWORK_CONNECTION|UNAVAILABLE|SLOW_DOWN|THROTTLING|REQUEST_TIMEOUT|INTERNAL_FAILURE|DEADLINE_EXCEEDED|"
    r"HTTP (?:status|response code) 5\d\d|timed? ?out|connection",
    re.IGNORECASE,
)
"""What an object store's errors of a while say (AWS SDK for C++, CoreErrors)."""

T = TypeVar("T")


@dataclass(frozen=True, order=True)
class Bucket:
    """An object, or a prefix of many. `root` is the URI as it was given, `under` the rest of the key.

    Methods raise FileNotFoundError for objects that are not there, FatalError where the store cannot be used.
    """

    root: str
    under: str = ""
    patience_s: float = field(default=0.0, compare=False)
    """How long an outage is waited out."""

    def __str__(self) -> str:
        return f"{self.root}/{self.under}" if self.under else self.root

    def __truediv__(self, name: str) -> Bucket:
        return replace(self, under=f"{self.under}/{name}" if self.under else name)

    @property
    def name(self) -> str:
        return PurePosixPath(self.under or self.root).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def parent(self) -> Bucket:
        return replace(self, under=self.under.rpartition("/")[0])

    @property
    def files(self) -> fs.FileSystem:
        return _opened(self.root)[0]

    @property
    def key(self) -> str:
        base = _opened(self.root)[1]
        return f"{base}/{self.under}" if self.under else base

    def reached(self, work: Callable[[], T]) -> T:
        """What `work` returns, after a while perhaps: a weekend's job must outlive an outage of minutes."""
        until, wait_s = time.monotonic() + self.patience_s, FIRST_WAIT_S
        while True:
            try:
                return work()
            except FileNotFoundError:
                raise
            except OSError as error:
                if not PASSING.search(str(error)) or time.monotonic() + wait_s > until:
                    raise FatalError(
                        f"{self}: cannot be used ({error}). Mend that and run the same command again; it continues."
                    ) from error
            time.sleep(wait_s)
            wait_s = min(LONGEST_WAIT_S, 2 * wait_s)

    def exists(self) -> bool:
        return bool(self.reached(lambda: self.files.get_file_info(self.key)).type != fs.FileType.NotFound)

    def glob(self, pattern: str) -> Iterator[Bucket]:
        """Objects right under this prefix whose name matches."""
        under = fs.FileSelector(self.key, allow_not_found=True)
        for info in self.reached(lambda: self.files.get_file_info(under)):
            if info.type == fs.FileType.File and fnmatchcase(info.base_name, pattern):
                yield self / info.base_name

    def open(self, mode: Literal["rb"] = "rb") -> pa.NativeFile:
        return self.files.open_input_file(self.key)

    def read_bytes(self) -> bytes:
        return self.reached(self._read)

    def _read(self) -> bytes:
        with self.open() as file:
            return bytes(file.read())

    def read_text(self, encoding: str = "utf-8") -> str:
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes | memoryview) -> None:
        """The object appears whole, when the upload is complete, or not at all."""
        self.reached(lambda: self._write(data))

    def _write(self, data: bytes | memoryview) -> None:
        with self.files.open_output_stream(self.key) as stream:
            stream.write(data)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        self.write_bytes(text.encode(encoding))

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            self.reached(lambda: self.files.delete_file(self.key))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a prefix is there as soon as an object under it is."""


Place: TypeAlias = Path | Bucket


def patient(place: Place) -> Place:
    """The same place for a worker, which has paid replies in memory that an outage must not take."""
    return replace(place, patience_s=PATIENCE_S) if isinstance(place, Bucket) else place


def place(location: str) -> Place:
    """A local path, or the prefix of an object store that a URI names. Raises ConfigError."""
    if "://" not in location:
        return Path(location)
    if "@" in urlsplit(location).netloc:
        raise ConfigError("keys must not stand in the address of an object store; set them in the environment")
    root = Bucket(location.rstrip("/"))
    try:
        if not urlsplit(location).netloc:
            raise ValueError("no bucket is named")
        root.files  # noqa: B018 - opened now, so that a wrong URI is said at once
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ConfigError(f"{location}: no place for tables ({error}); use a folder, s3:// or gs://") from error
    return root


def for_arrow(path: Place) -> tuple[str, fs.FileSystem | None]:
    """What pyarrow's readers are given to find a file: its name and the file system, None for the machine's own."""
    return (str(path), None) if isinstance(path, Path) else (path.key, path.files)


@lru_cache(16)
def _opened(root: str) -> tuple[fs.FileSystem, str]:
    files, path = fs.FileSystem.from_uri(root)
    return files, path.rstrip("/")

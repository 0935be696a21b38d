"""The server as a process of its own: prints its URL as the first line and serves until it is ended.

    python -m servers.run --port 0 --state accepted.jsonl [--latency 0.2]

The state file has one JSON line for each accepted call, so that calls can be counted after clients were killed.
"""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from servers.server import ProtocolServer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    arguments = parser.parse_args()
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    with ProtocolServer(
        port=arguments.port, state=arguments.state, latency_s=arguments.latency, keep_bodies=False
    ) as server:
        print(server.url, flush=True)  # noqa: T201 - this is the process's answer to its parent
        ended.wait()


if __name__ == "__main__":
    main()

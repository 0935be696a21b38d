"""As much of HTTP/1.1 as clients of these APIs use: requests with a length, connections that are kept."""

from __future__ import annotations

import asyncio
import http
import socket
import struct

from servers.asked import Call, Response

HEAD_LIMIT = 1 << 16
REASONS = {status.value: status.phrase for status in http.HTTPStatus} | {529: "Overloaded"}


async def read_call(reader: asyncio.StreamReader) -> Call | None:
    """The next request of the connection; None where the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Call(method, target.partition("?")[0], headers, body)


def encoded(response: Response) -> bytes:
    headers = {**response.headers, "content-length": str(len(response.body))}
    lines = [f"HTTP/1.1 {response.status} {REASONS[response.status]}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + response.body


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends the connection with RST instead of FIN, as a crashed or overloaded peer does."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()

"""A server on loopback that speaks as much S3 as reading takes, and counts what it hands out.

Objects are the files of a folder in one bucket, read from the disk range by range: an object of a gigabyte
that is sparse on the disk costs neither memory nor room. Source of the protocol: the Amazon S3 API
reference, HeadObject, GetObject and ListObjectsV2.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "runs"


class Bucket(ThreadingHTTPServer):
    """The server of one folder."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.sent_bytes = 0
        """Bytes of objects that were handed out."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a process finds this server."""
        return {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.server_port}",
        }


@contextmanager
def served(folder: Path) -> Iterator[Bucket]:
    """Serve a folder as long as the block lives."""
    server = Bucket(folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Bucket

    def do_HEAD(self) -> None:
        """Tell the size of an object."""
        path = self._object()
        self._answer(404 if path is None else 200, b"", 0 if path is None else path.stat().st_size)

    def do_GET(self) -> None:
        """Hand out a range of an object, or list the bucket."""
        if unquote(urlsplit(self.path).path).strip("/") == BUCKET:
            self._answer(200, self._listing())
            return
        path, wanted = self._object(), self.headers.get("Range", "")
        if path is None or not wanted.startswith("bytes="):
            self._answer(404, b"")
            return
        first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
        with path.open("rb") as file:
            file.seek(first)
            body = file.read(last - first + 1)
        self.server.sent_bytes += len(body)
        self._answer(206, body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what went wrong shows in the test."""

    def _object(self) -> Path | None:
        name = unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/")
        path = self.server.folder / name
        return path if path.is_file() else None

    def _listing(self) -> bytes:
        query = parse_qs(urlsplit(self.path).query)
        prefix = query.get("prefix", [""])[0]
        folder = self.server.folder
        keys = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{(folder / key).stat().st_size}</Size></Contents>"
            for key in keys
            if key.startswith(prefix)
        )
        return (
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        ).encode()

    def _answer(self, status: int, body: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

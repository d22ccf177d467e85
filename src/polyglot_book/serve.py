"""Shows the built site to this computer's browser."""

from __future__ import annotations

import functools
import http.server
from pathlib import Path

_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
_TRIES = 20


class SiteError(RuntimeError):
    """There is nothing to show, or nowhere to show it."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files quietly, and with the types that browsers insist on."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | _TYPES

    def end_headers(self) -> None:
        # A page rebuilt a second ago must not come out of the browser's cache.
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    # With SO_REUSEADDR some systems share a port that is taken.
    allow_reuse_address = False
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing when a browser hangs up."""


def make_server(site: Path, port: int) -> http.server.ThreadingHTTPServer:
    """Bind a server for a folder to the first free port from `port` on.

    Raises:
        SiteError: The site is not built, or no port is free.
    """
    if not (site / "index.html").is_file():
        raise SiteError(f"{site}: the site is not built yet; run `make site`")
    handler = functools.partial(_Handler, directory=str(site))
    for number in range(port, min(port + _TRIES, 65536)):
        try:
            return _Server(("127.0.0.1", number), handler)
        except OSError:
            continue
    raise SiteError(f"no free port between {port} and {port + _TRIES - 1}; name another with --port")


def serve(site: Path, port: int) -> None:
    """Serve a folder until Ctrl-C."""
    with make_server(site, port) as server:
        actual = server.server_address[1]
        if port not in (0, actual):
            print(f"port {port} is taken, using {actual}")
        print(f"http://127.0.0.1:{actual}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()

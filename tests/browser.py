"""Serves a built site on this machine and opens it in a real browser, for tests."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from polyhead_course.workshop import browser as workshop

# Without them a browser in a container does not start, or asks its maker for updates.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without writing a line for each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    """Says nothing when a page has left before it had all that it asked for."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serve(site: Path, port: int = 0) -> Iterator[str]:
    """Serve a folder at an address of this machine while the context lasts; give the address."""
    server = _Server(("127.0.0.1", port), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium; skip the test where there is none, but fail it where CI=true."""
    with contextlib.ExitStack() as stack:
        try:
            browser = stack.enter_context(workshop.chromium(*_FLAGS))
        except workshop.PrintError as error:
            if os.environ.get("CI", "").lower() == "true":
                pytest.fail(str(error))
            pytest.skip(str(error))
        yield browser


@dataclass
class Visit:
    """A page in a browser, with what its console said and what it asked for.

    Attributes:
        page: Playwright's page.
        errors: Errors and warnings of the console, and exceptions of scripts.
        failed: Addresses that were answered with an error, or not at all.
        elsewhere: Addresses of other hosts that were asked for.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Give everything that went wrong."""
        return [
            *self.errors,
            *(f"failed: {each}" for each in self.failed),
            *(f"elsewhere: {each}" for each in self.elsewhere),
        ]


@contextlib.contextmanager
def visit(browser: Browser, base: str, **options: Any) -> Iterator[Visit]:
    """Open a fresh page that notes every problem; options go to Playwright's `new_context`."""
    context = browser.new_context(base_url=base, **options)
    page = context.new_page()
    found = Visit(page)
    host = urlsplit(base).netloc

    def note_request(url: str) -> None:
        if urlsplit(url).scheme in {"http", "https"} and urlsplit(url).netloc != host:
            found.elsewhere.append(url)

    def note_failure(url: str, failure: str) -> None:
        # A browser that goes on to the next page gives up what the last one asked for late.
        late = ("/icon.svg", "/apple-touch-icon.png", "/narrow.js")
        if not (failure == "net::ERR_ABORTED" and urlsplit(url).path.endswith(late)):
            found.failed.append(f"{url}: {failure}")

    page.on(
        "console",
        lambda message: found.errors.append(message.text) if message.type in {"error", "warning"} else None,
    )
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("request", lambda request: note_request(request.url))
    page.on("requestfailed", lambda request: note_failure(request.url, request.failure or ""))
    page.on(
        "response",
        lambda response: (
            found.failed.append(f"{response.url}: {response.status}") if response.status >= 400 else None
        ),
    )
    try:
        yield found
    finally:
        context.close()

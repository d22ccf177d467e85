from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyglot_book import serve


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name in ("index.html", "a.mjs", "a.js", "a.svg", "a.wasm"):
        (tmp_path / name).write_text("<svg/>")
    return tmp_path


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with serve.make_server(site, 8700) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.mjs", "text/javascript"),
        ("a.js", "text/javascript"),
        ("a.svg", "image/svg+xml"),
        ("a.wasm", "application/wasm"),
        ("", "text/html"),
    ],
)
def test_files_have_the_types_that_browsers_insist_on(address: str, name: str, kind: str) -> None:
    with urllib.request.urlopen(f"{address}/{name}") as answer:
        assert answer.headers["Content-Type"] == kind


def test_only_this_machine_is_answered_and_a_taken_port_is_passed_over(site: Path) -> None:
    with serve.make_server(site, 8750) as first, serve.make_server(site, first.server_address[1]) as second:
        assert first.server_address[0] == second.server_address[0] == "127.0.0.1"
        assert second.server_address[1] > first.server_address[1]


def test_serve_says_where_and_ends_quietly(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(serve._Server, "serve_forever", interrupt)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        serve.serve(site, port)
        out = capsys.readouterr().out
    assert out.startswith(f"port {port} is taken, using ")
    assert "http://127.0.0.1:" in out


def test_a_site_that_is_not_built_is_named(tmp_path: Path) -> None:
    with pytest.raises(serve.SiteError, match="run `make site`"):
        serve.make_server(tmp_path, 8000)


def test_no_free_port_is_an_error(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(serve, "_Server", refuse)
    with pytest.raises(serve.SiteError, match="between 8000 and 8019"):
        serve.make_server(site, 8000)

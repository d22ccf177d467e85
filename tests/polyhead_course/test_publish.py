from __future__ import annotations

from pathlib import Path

import pytest

from polyhead_course.workshop import publish


@pytest.mark.parametrize("atomic", [True, False])
def test_a_site_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool) -> None:
    if not atomic:  # as on a disk without the system call
        monkeypatch.setattr(publish, "exchange", lambda *_: False)
    built, wheel, site = tmp_path / "built", tmp_path / "x.whl", tmp_path / "html"
    (built / "ko").mkdir(parents=True)
    wheel.write_text("wheel")
    for text, page in (("first", "old.html"), ("second", "new.html")):
        (built / "ko" / page).write_text(text)
        publish.publish(built, [wheel], site)
        (built / "ko" / page).unlink()
        assert {path.name: path.read_text() for path in site.rglob("*.*")} == {page: text, "x.whl": "wheel"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["built", "html", "x.whl"]

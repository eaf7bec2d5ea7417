"""The page as a browser shows it: on a phone, on a desk, dark, and printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ckpt_doctor.report import load_format
from tests.report.page.browser import CHROMIUM, NEEDS_PICTURES, check_screen, shown, started
from tests.report.sample import cold_cache, inspect_report, measured_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api")

pytestmark = [
    NEEDS_PICTURES,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a report with everything in it, and a very long path."""
    report = measured_report(findings=(cold_cache(checkpoint="runs/" + "very-long-name-" * 20),))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(load_format("html").render(report, width=80, colour=False), "utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 400, 768, 810, 1280, 1920])
def test_every_screen(browser: Browser, file: Path, width: int, scheme: str) -> None:
    """All text lies within the screen and its picture, and stands out; nothing is fetched, no complaint."""
    with shown(browser, file, scheme=scheme, width=width) as page:
        check_screen(page)
        assert page.locator("figure svg:visible").count() == 6
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") is (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print(browser: Browser, file: Path, scheme: str) -> None:
    """On A4 paper nothing overflows and the paper is white, also for those whose screens are dark."""
    with shown(browser, file, scheme=scheme, width=718) as page:
        page.emulate_media(media="print")
        check_screen(page)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_an_inspection_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    """The page of an inspection, which is all table, fits as well."""
    path = tmp_path / "report.html"
    path.write_text(load_format("html").render(inspect_report(), width=80, colour=False), "utf-8")
    with shown(browser, path, width=360) as page:
        check_screen(page)

"""The page as a browser shows it: on a phone, on a desk, dark, and printed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ckpt_doctor.report import load_format
from tests.report.sample import cold_cache, inspect_report, measured_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("pygal")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)"
)

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

OVERFLOWING = """
() => {
  const width = document.documentElement.clientWidth, found = [];
  if (document.documentElement.scrollWidth > width) found.push('the page');
  for (const element of document.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1)) found.push(element.outerHTML.slice(0, 120));
  }
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of frame.width ? svg.querySelectorAll('text') : []) {
      const box = text.getBoundingClientRect();
      const inside = box.left >= frame.left - 1 && box.right <= frame.right + 1
        && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
      if (box.width && !inside) found.push(svg.id + ': ' + text.textContent);
    }
  }
  return found;
}
"""
"""What reaches beyond the screen, or out of its picture."""

CONTRASTS = """
() => {
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const light = (colour) => {
    const linear = (c) => c <= 10.31 ? c / 255 / 12.92 : ((c / 255 + .055) / 1.055) ** 2.4;
    const [r, g, b] = numbers(colour).map(linear);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const paper = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = {};
  for (const element of document.body.querySelectorAll('*')) {
    const words = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!words || !element.getBoundingClientRect().width || element.closest('style, title, desc')) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(element instanceof SVGElement ? style.fill : style.color), light(paper(element))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found[element.textContent.trim().slice(0, 40)] = ratio;
  }
  return found;
}
"""
"""Texts whose contrast with what lies behind them is below 4.5, which WCAG 2.1 asks for."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a report with everything in it, and a very long path."""
    report = measured_report(findings=(cold_cache(checkpoint="runs/" + "very-long-name-" * 20),))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(load_format("html").render(report, width=80, colour=False), "utf-8")
    return path


def opened(context: BrowserContext, file: Path) -> Page:
    """The page in a browser."""
    page = context.new_page()
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("width", [320, 390, 768, 810, 1280, 1920])
def test_nothing_overflows(browser: Browser, file: Path, width: int) -> None:
    """On every screen all text lies within it, and all text of a picture within the picture."""
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = opened(context, file)
    assert page.evaluate(OVERFLOWING) == []
    assert page.locator("figure svg:visible").count() == 6
    context.close()


def test_nothing_is_fetched(browser: Browser, file: Path) -> None:
    """The browser loads the page's own file and nothing else, and finds nothing to complain of."""
    context = browser.new_context()
    page = context.new_page()
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(file.as_uri(), wait_until="networkidle")
    assert requests == [file.as_uri()]
    assert messages == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Browser, file: Path, scheme: str) -> None:
    """Each scheme has its own paper, and all text stands out from it."""
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = opened(context, file)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")
    assert page.evaluate(CONTRASTS) == {}
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print(browser: Browser, file: Path, scheme: str) -> None:
    """On A4 paper nothing overflows and the paper is white, also for those whose screens are dark."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": 718, "height": 1000})  # type: ignore[arg-type]
    page = opened(context, file)
    page.emulate_media(media="print")
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRASTS) == {}
    assert page.pdf(format="A4").startswith(b"%PDF")
    context.close()


def test_an_inspection_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    """The page of an inspection, which is all table, fits as well."""
    path = tmp_path / "report.html"
    path.write_text(load_format("html").render(inspect_report(), width=80, colour=False), "utf-8")
    context = browser.new_context(viewport={"width": 360, "height": 700})
    assert opened(context, path).evaluate(OVERFLOWING) == []
    context.close()

"""A headless Chromium, and what a page has to be in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""The browser's program (Debian: apt-get install chromium), or None."""

NEEDS_PICTURES = pytest.mark.skipif(find_spec("pygal") is None, reason="needs pygal (the extra html)")
"""For tests of pages. pygal is looked for, not imported: it leaves a finder of modules behind that is none,
and pytest cannot collect what comes after."""

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

BROKEN_WORDS = """
() => {
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (texts.currentNode.parentElement.closest('style, svg')) continue;
    for (const word of texts.currentNode.data.matchAll(/[^\\s–-]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (word[0].length <= 12 && lines.size > 1) found.push(word[0]);
    }
  }
  return found;
}
"""
"""Words of up to twelve letters that go on in the next line."""


@contextmanager
def started() -> Iterator[Browser]:
    """A browser that is there; closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield running
        running.close()


@contextmanager
def shown(browser: Browser, file: Path, *, scheme: str = "light", width: int = 1280) -> Iterator[Page]:
    """A page on a screen, of which nothing is fetched but its own file and which complains of nothing.

    Args:
        browser: A running browser.
        file: The page.
        scheme: ``light`` or ``dark``, as the reader's system has it.
        width: Columns of the screen, in CSS pixels.
    """
    viewport = {"width": width, "height": 800}
    context = browser.new_context(color_scheme=scheme, viewport=viewport)  # type: ignore[arg-type]
    page = context.new_page()
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(file.as_uri(), wait_until="networkidle")
    yield page
    assert requests == [file.as_uri()]
    assert messages == []
    context.close()


def check_screen(page: Page) -> None:
    """Check that nothing reaches beyond the screen, no short word is broken, and all text stands out."""
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate(BROKEN_WORDS) == []
    assert page.evaluate(CONTRASTS) == {}

"""The checklist on a screen."""

from __future__ import annotations

from ckpt_doctor.report.terminal.checklist import write_checklist
from ckpt_doctor.report.terminal.screen import Screen
from tests.report.sample import checklist


def told(*, width: int = 80, colour: bool = False) -> list[str]:
    """The lines that are written for the usual list."""
    screen = Screen(width=width, colour=colour)
    write_checklist(screen, checklist())
    return screen.text().splitlines()


def test_a_line_an_item() -> None:
    """What every mark means stands at the top; each item has its outcome, its words and its first rule."""
    heading, *lines = told()
    assert heading.startswith("Checklist  [x] checked, [!] failed, [?] not evaluated")
    assert heading.endswith("ckpt-doctor explain CODE")
    assert len(lines) == len(checklist())
    assert lines[2] == "  [x] persistent workers: on; no start within 60 steps (DAT204, ...)"
    assert lines[4] == "  [!] state restored: data order not restored (DAT201, ...)"
    assert lines[6].endswith("(STA146)")


def test_a_terminal_without_other_letters() -> None:
    """The marks stay what they are where everything that is not ASCII becomes a question mark."""
    marks = [line.encode("ascii", "replace").split()[0] for line in told()[1:]]
    assert marks == [b"[?]", b"[?]", b"[x]", b"[?]", b"[!]", b"[x]", b"[!]"]


def test_a_narrow_terminal() -> None:
    """No line is wider than the terminal, and nothing is lost."""
    lines = told(width=40)
    assert max(map(len, lines)) <= 40
    assert "".join("".join(lines).split()) == "".join("".join(told(width=120)).split())

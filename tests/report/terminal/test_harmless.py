"""Text that cannot control a terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.report.terminal.harmless import harmless


def test_letters_stay_and_controls_show() -> None:
    """Words in any script stay as they are; what is unsafe shows as its escape sequence."""
    assert harmless("größe 大小 ×") == "größe 大小 ×"
    assert harmless("a\x1b[31mb\u202ec\nd\te\ud800") == "a\\x1b[31mb\\u202ec d e\\ud800"


@given(st.text(alphabet=st.characters()))
def test_nothing_unsafe_remains(text: str) -> None:
    """No character of an unsafe category is left, and the result can be encoded."""
    cleaned = harmless(text)
    assert not {unicodedata.category(char) for char in cleaned} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    cleaned.encode("utf-8")

"""Pictures of a comparison, as SVG that stands in a page and fetches nothing.

Each is drawn twice, for wide screens and for phones: scaled text would be too small to read on one of
them. Colours are variables of the page's style sheet, so that they follow light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ckpt_doctor import units
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.report import series, wording
from ckpt_doctor.report.terminal.harmless import harmless

if TYPE_CHECKING:
    from pygal.graph.graph import Graph

    from ckpt_doctor.facts.comparison import Comparison, Window

_FONT_SIZE = 13
"""In pixels: pictures are shown at the size for which they are drawn."""
_STEPS_SHOWN = 400
"""So many points of an arm's step times are drawn; stretches keep their extremes."""
_SAMPLES_SHOWN = 120
_HEADROOM = 1.6
"""How far above the 99th percentile of the step times the axis ends; longer steps end at its edge."""


class Key(NamedTuple):
    """What one thing that is drawn is called, and looks like."""

    name: str
    colour: str
    form: str = "area"
    """``area``, ``line`` from the bottom to the top, or ``tick`` at the bottom."""
    meaning: str = ""
    """A sentence for those who do not know the word."""


_ARMS = (Key("before", "var(--before)"), Key("after", "var(--after)"))
_Line = Sequence[tuple[float, float] | None]
"""Points that are joined, with None where the line is broken."""

_WARM_UP = Key("warm-up", "var(--shade)", meaning="Steps within the warm-up are not compared.")
_TURNS = Key(
    "turns",
    "var(--mark)",
    "tick",
    "A turn is a time in which one run goes on while the other stands still; the marks are where the "
    "resumed run's turns begin.",
)
_SAVE = Key("save, resume", "var(--mark)", "line")
_PARTS = {name: f"var(--part-{number})" for number, name in enumerate(wording.START_PARTS, 1)}


class Picture(NamedTuple):
    """One picture in both sizes, with the words for those who do not see it."""

    wide: str
    narrow: str
    label: str
    legend: Sequence[Key]


class _Size(NamedTuple):
    name: str
    width: int
    height_ratio: float
    """Height of a picture over that of the wide one."""


_SIZES = (_Size("wide", 920, 1.0), _Size("narrow", 340, 1.15))


def budget(comparison: Comparison) -> Picture:
    """Bars of the parts of a step, before and after."""
    parts = [part for part in reversed(comparison.budget) if part.before_s or part.after_s]

    def draw(size: _Size) -> Graph:
        chart = _chart("HorizontalBar", size, 70 + 44 * len(parts), _ARMS)
        chart.value_formatter = units.seconds
        chart.x_labels = [harmless(wording.part_name(part.part)) for part in parts]
        chart.add("before", [part.before_s for part in parts])
        chart.add("after", [part.after_s for part in parts])
        return chart

    return _picture("budget", "Time of each part of a step, before and after", _ARMS, draw)


def start(comparison: Comparison) -> Picture:
    """The time to the first step of both runs, split into its parts."""
    rows = wording.start_rows(comparison)
    legend = [Key(name, colour) for name, colour in _PARTS.items() if name in rows]

    def draw(size: _Size) -> Graph:
        chart = _chart("HorizontalStackedBar", size, 140, legend)
        chart.value_formatter = units.seconds
        chart.x_labels = ["after", "before"]
        for key in legend:
            before_s, after_s = rows[key.name]
            chart.add(key.name, [after_s or 0.0, before_s or 0.0])
        return chart

    return _picture("start", "Time to the first step, by part, before and after", legend, draw)


def steps(comparison: Comparison) -> Picture:
    """Step times of both runs over relative steps, with the save, the warm-up and the turns."""
    windows = (comparison.before, comparison.after)
    shown = [_shown_steps(window) for window in windows]
    compared = [*series.compared_times_s(windows[0]), *series.compared_times_s(windows[1])]
    top = _HEADROOM * series.usual_top(compared)
    marks = _marks(windows, top)
    legend = (*marks, *_ARMS)

    def draw(size: _Size) -> Graph:
        chart = _lines(size, legend, units.seconds)
        chart.x_title = "steps since the save or the resume" if _SAVE in marks else "steps"
        chart.range = (0.0, top)
        for key, points in marks.items():
            chart.add(key.name, points, fill=key.form == "area")
        for key, times in zip(_ARMS, shown, strict=True):
            chart.add(key.name, [(at, min(step_s, top)) for at, step_s in times])
        return chart

    return _picture(
        "steps", "Step times before and after, by steps since the save or the resume", legend, draw
    )


def process_tree(comparison: Comparison) -> Mapping[str, Picture]:
    """CPU, memory and physical reads of both runs' processes over the time that they were running."""
    trees = [
        series.process_tree(window.run, series.running_time(window), _SAMPLES_SHOWN)
        for window in (comparison.before, comparison.after)
    ]
    pictures = {
        "CPU cores in use": ("cpu", [tree.cpu_cores for tree in trees], _cores),
        "Memory (RSS)": ("rss", [tree.rss_bytes for tree in trees], units.size),
        "Read from the disk, per second": ("reads", [tree.read_bytes_per_s for tree in trees], units.size),
    }
    return {
        title: _picture(name, title, _ARMS, _over_time(sides, value))
        for title, (name, sides, value) in pictures.items()
        if any(sides)
    }


def _cores(value: float) -> str:
    return f"{value:.3g}"


def _over_time(sides: Sequence[series.Points], value: Callable[[float], str]) -> Callable[[_Size], Graph]:
    def draw(size: _Size) -> Graph:
        chart = _lines(size, _ARMS, value, height=200)
        chart.range = (0.0, 1.1 * max(value for points in sides for _, value in points))
        chart.x_title = "seconds of running"
        for name, points in zip(("before", "after"), sides, strict=True):
            chart.add(name, list(points))
        return chart

    return draw


def _shown_steps(window: Window) -> series.Points:
    """Steps from shortly before the save on: what came long before it is not compared."""
    points = series.step_times(window)
    earliest = -(window.last - window.origin) // 4
    return series.thinned([point for point in points if point[0] >= earliest], _STEPS_SHOWN)


def _marks(windows: tuple[Window, Window], top: float) -> Mapping[Key, _Line]:
    """What is marked beside the step times, as far as these runs have it."""
    warm_up = float(max(window.first - window.origin for window in windows))
    turns = series.turn_starts(windows[1])
    marks: dict[Key, _Line] = {}
    if warm_up:
        marks[_WARM_UP] = _box(0.0, warm_up, top)
    if turns:
        marks[_TURNS] = _ticks(turns, top / 25)
    if windows[1].run.meta.kind == RECORDING:
        marks[_SAVE] = [(0.0, 0.0), (0.0, top)]
    return marks


def _box(left: float, right: float, top: float) -> _Line:
    return [(left, 0.0), (left, top), (right, top), (right, 0.0)]


def _ticks(places: Sequence[int], height: float) -> _Line:
    ticks: list[tuple[float, float] | None] = []
    for place in places:
        ticks += [(place, 0.0), (place, height), None]
    return ticks


def _picture(name: str, label: str, legend: Sequence[Key], draw: Callable[[_Size], Graph]) -> Picture:
    wide, narrow = (_svg(draw(size), f"{name}-{size.name}", label) for size in _SIZES)
    return Picture(wide, narrow, label, legend)


def _lines(size: _Size, legend: Sequence[Key], value: Callable[[float], str], *, height: int = 300) -> Graph:
    chart = _chart("XY", size, height, legend)
    chart.show_dots = False
    chart.allow_interruptions = True
    chart.value_formatter = value
    chart.x_value_formatter = units.number
    return chart


def _chart(kind: str, size: _Size, height: int, legend: Sequence[Key]) -> Graph:
    import pygal
    from pygal.style import Style

    style = Style(
        background="transparent",
        plot_background="transparent",
        foreground="var(--text)",
        foreground_strong="var(--text)",
        foreground_subtle="var(--text)",
        guide_stroke_color="var(--line)",
        major_guide_stroke_color="var(--line)",
        opacity="0.85",
        opacity_hover="1",
        transition="none",
        font_family="inherit",
        label_font_size=_FONT_SIZE,
        major_label_font_size=_FONT_SIZE,
        legend_font_size=_FONT_SIZE,
        title_font_size=_FONT_SIZE,
        value_font_size=_FONT_SIZE,
        no_data_font_size=_FONT_SIZE,
        colors=tuple(key.colour for key in legend),
        value_colors=("var(--text)",) * len(legend),
    )
    return getattr(pygal, kind)(
        style=style,
        js=(),
        width=size.width,
        height=round(height * size.height_ratio),
        margin=6,
        disable_xml_declaration=True,
        show_legend=False,
        truncate_label=-1,
        max_scale=7 if size.name == "wide" else 4,
    )


def _svg(chart: Graph, name: str, label: str) -> str:
    chart.uuid = name
    chart.add_xml_filter(lambda root: _still(root, label))
    text = chart.render(is_unicode=True)
    assert isinstance(text, str)
    return text


def _still(root: Any, label: str) -> Any:
    """The picture without scripts and remarks, and with words for those who do not see it."""
    for parent in list(root.iter()):
        for child in list(parent):
            if _tag(child) in ("", "script"):
                parent.remove(child)
            elif _tag(child) == "title":
                child.text = label
    root.set("role", "img")
    root.set("aria-label", label)
    return root


def _tag(element: Any) -> str:
    """The name of an element; a remark has none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""

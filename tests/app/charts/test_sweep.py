"""Charts and sentences of the lab, from results worked out by hand."""

import pytest

from app.charts import dots as charts_dots
from app.charts import sweep
from app.charts.marks import MARKS, OTHER, mark
from app.views.lab.sweep import crossovers
from core.attention import MECHANISMS
from core.bench.sweep.messages import Machine, Memory, Timing
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results

LENGTHS = (100, 1_000, 10_000)
MACHINE = Machine("cpu", "some", 1, flops=1e9, bytes=1e9)


def timing(mechanism, length, seconds):
    again = (seconds,) * 5 if mechanism == "flash" else ()
    # 1e6 operations at 1e9 a second: a limit of 1 ms.
    return Timing(mechanism, length, "forward", 9.0, (seconds,) * 5, again, 1e6, 1e3)


def results(linear, flash=(0.1, 1.0, 10.0), lengths=LENGTHS):
    messages = [MACHINE]
    for mechanism, times in (("flash", flash), ("linear", linear)):
        messages += [timing(mechanism, *pair) for pair in zip(lengths, times, strict=True)]
        messages += [Memory(mechanism, n, "forward", 1000 * n, 2000.0 * n) for n in lengths]
    return Results(Plan(mechanisms=("flash", "linear"), lengths=lengths), tuple(messages), True)


def named(figure, name):
    return [trace for trace in figure.data if trace.name.startswith(name)]


def test_every_mechanism_has_a_mark_that_no_other_has():
    assert set(MECHANISMS) <= set(MARKS)
    assert len({*MARKS.values(), OTHER}) == len(MARKS) + 1
    assert mark("somebody's") == OTHER


def test_a_mechanism_looks_the_same_whatever_is_beside_it():
    both = named(sweep.time_chart(results((0.2, 1.0, 5.0))), "Linear")[0]
    dots = charts_dots.time_dots(results((0.2,), (0.1,), (100,))).data[-1]
    assert both.line.color == dots.marker.color[1] == MARKS["linear"].colour
    assert both.marker.symbol == dots.marker.symbol[1] == MARKS["linear"].symbol


def test_limits_and_formulas_are_dashed_lines_that_go_with_their_mechanism():
    time = sweep.time_chart(results((0.2, 1.0, 5.0)))
    for trace in named(time, "limit"):
        assert list(trace.y) == [1.0, 1.0, 1.0]
        assert trace.line.dash == "dash"
    assert {trace.legendgroup for trace in named(time, "limit")} == {"flash", "linear"}
    memory = sweep.memory_chart(results((0.2, 1.0, 5.0)))
    assert list(named(memory, "by formula")[0].y) == [0.2, 2.0, 20.0]
    assert list(named(memory, "Flash")[0].y) == [0.1, 1.0, 10.0]


def test_a_ring_stands_where_two_cost_the_same():
    time = sweep.time_chart(results((0.2, 1.0, 5.0)))
    (ring,) = [trace for trace in time.data if trace.marker.symbol == "circle-open"]
    assert ring.x[0] == pytest.approx(1_000)
    assert ring.y[0] == pytest.approx(1_000)  # ms
    none = sweep.time_chart(results((0.2, 2.0, 20.0)))
    assert not [trace for trace in none.data if trace.marker.symbol == "circle-open"]


def test_between_two_lengths_the_curve_is_a_straight_line_of_logarithms():
    assert sweep.between({100: 1.0, 10_000: 100.0}, 1_000) == pytest.approx(10.0)
    assert sweep.between({100: 3.0}, 100) == 3.0


@pytest.mark.parametrize(
    ("linear", "told"),
    [
        ((0.2, 1.0, 5.0), "Linear is cheaper than Flash from 1,000 positions on (between 1,000 "
         "and 1,000)."),
        ((0.05, 1.0, 20.0), "Linear is cheaper than Flash up to 1,000 positions (between 1,000 "
         "and 1,000)."),
        ((0.05, 0.5, 5.0), "Linear is cheaper than Flash at all lengths measured, 100 to 10,000."),
        ((0.2, 2.0, 20.0), "Linear costs more than Flash at all lengths measured, 100 to 10,000."),
        ((0.1, 1.0, 10.0), "Linear and Flash take turns at being cheaper from 100 to 10,000"),
    ],
)  # fmt: skip
def test_who_is_cheaper_in_words(linear, told):
    (sentence,) = crossovers.sentences(results(linear))
    assert sentence.startswith(told)


def test_beyond_what_was_measured_is_said_to_be_so():
    (sentence,) = crossovers.sentences(results((20.0, 200.0, 2_000.0), (0.1, 10.0, 1_000.0)))
    assert sentence == (
        "Linear costs more than Flash at all lengths measured, 100 to 10,000. Their fitted curves "
        "meet at about 20,000, where nothing was measured."
    )


def test_a_meeting_beyond_is_never_rounded_back_into_what_was_measured():
    assert [crossovers.rounded(each) for each in (1_030.0, 20_000.0, 20_300.0, 7.2)] == [
        1_100, 20_000, 21_000, 8,
    ]  # fmt: skip


def test_one_length_is_a_row_of_dots_with_the_limit_as_a_stroke():
    figure = charts_dots.time_dots(results((0.2,), (0.1,), (100,)))
    stroke, dots = figure.data
    assert list(dots.y) == ["Flash", "Linear"]
    assert list(dots.x) == [100.0, 200.0]
    assert list(stroke.x) == [1.0, 1.0]
    memory = charts_dots.memory_dots(results((0.2,), (0.1,), (100,)))
    assert list(memory.data[-1].x) == [0.1, 0.1]

import cv2
import numpy as np
import pytest
from drawing import BLUE, ORANGE, Figure, bar_chart

from sfq_ray.features import shapes
from sfq_ray.features.descriptors import decode
from sfq_ray.features.texts import TextLine
from sfq_ray.geometry import Box


def pixels(figure: Figure) -> np.ndarray:
    return decode(figure.png)


def gray(figure: Figure) -> np.ndarray:
    return cv2.cvtColor(pixels(figure), cv2.COLOR_BGR2GRAY)


def lines(figure: Figure) -> list[TextLine]:
    return [TextLine(word["text"], Box(*word["bbox"]), 40) for word in figure.words]


def test_bar_chart_has_two_axes_four_bars_and_two_legend_entries():
    chart = bar_chart()
    assert shapes.axis_count(gray(chart)) == 2
    assert shapes.bars_detected(pixels(chart)) == 4
    assert shapes.legend_entry_count(pixels(chart), lines(chart)) == 2


def test_light_grid_short_lines_and_filled_blocks_are_no_axes():
    figure = Figure(800, 600)
    for y in range(100, 500, 80):
        figure.draw.line((0, y, 800, y), fill=(190, 190, 190), width=2)
    figure.draw.line((100, 550, 200, 550), fill="black", width=3)
    figure.draw.rectangle((300, 120, 700, 170), fill="black")
    assert shapes.axis_count(gray(figure)) == 0


def test_lying_and_black_bars_on_their_axis():
    figure = Figure(900, 700)
    figure.draw.line((150, 50, 150, 650), fill="black", width=3)
    for row, length in enumerate((200, 420, 330)):
        figure.draw.rectangle((150, 100 + 180 * row, 150 + length, 180 + 180 * row), fill="black")
    assert shapes.bars_detected(pixels(figure)) == 3


def test_a_bar_cut_by_its_error_bar_is_a_bar():
    figure = Figure(900, 700)
    for place, height in enumerate((200, 400)):
        left = 200 + 250 * place
        figure.draw.rectangle((left, 600 - height, left + 90, 600), fill=BLUE)
        figure.draw.line((left + 45, 560 - height, left + 45, 640 - height), fill="black", width=3)
    assert shapes.bars_detected(pixels(figure)) == 2


@pytest.mark.parametrize("side", [80, 200])
def test_equal_boxes_in_a_grid_are_no_bars(side):
    figure = Figure(1000, 700)
    for row in range(2):
        for place in range(3):
            x, y = 50 + 300 * place, 50 + 300 * row
            figure.draw.rectangle((x, y, x + side, y + side), fill=ORANGE)
    assert shapes.bars_detected(pixels(figure)) == 0


def test_line_swatches_count_and_passing_curves_do_not():
    figure = Figure(1000, 700)
    for row, color in enumerate((BLUE, ORANGE, (44, 160, 44))):
        figure.draw.line((600, 120 + 60 * row, 680, 120 + 60 * row), fill=color, width=5)
        figure.text(700, 100 + 60 * row, f"Model {row}")
    figure.draw.line((0, 520, 690, 520), fill=BLUE, width=5)
    figure.text(700, 500, "not a legend")
    figure.draw.rectangle((560, 560, 690, 690), fill=ORANGE)
    figure.text(700, 600, "a box")
    assert shapes.legend_entry_count(pixels(figure), lines(figure)) == 3


def test_numbers_beside_colour_are_ticks_and_not_entries():
    figure = Figure(600, 400)
    figure.draw.rectangle((100, 110, 160, 140), fill=BLUE)
    figure.text(180, 105, "0.5")
    assert shapes.legend_entry_count(pixels(figure), lines(figure)) == 0


def test_a_pale_ground_cut_by_its_grid_is_no_bars():
    figure = Figure(900, 700)
    figure.draw.rectangle((100, 100, 800, 600), fill=(229, 236, 246))
    for x, y in ((250, 180), (400, 300), (550, 450)):
        figure.draw.line((x, 100, x, 600), fill="white", width=4)
        figure.draw.line((100, y, 800, y), fill="white", width=4)
    assert shapes.bars_detected(pixels(figure)) == 0


def test_a_noisy_fill_at_the_edge_of_a_colour_bin_is_one_fill():
    figure = Figure(900, 700)
    for place, height in enumerate((200, 400, 300)):
        figure.draw.rectangle((200 + 200 * place, 600 - height, 290 + 200 * place, 600), fill=BLUE)
    noise = np.random.default_rng(3).integers(-4, 5, (700, 900, 3))
    noisy = np.clip(pixels(figure).astype(int) + noise, 0, 255).astype(np.uint8)
    assert shapes.bars_detected(noisy) == 3

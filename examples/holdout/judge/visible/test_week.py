import pytest

from week import weekday

DATES = [
    ((2000, 1, 1), "Saturday"),
    ((1969, 7, 20), "Sunday"),
    ((1815, 12, 10), "Sunday"),
    ((2024, 2, 29), "Thursday"),
    ((1912, 6, 23), "Sunday"),
    ((1, 1, 1), "Monday"),
]


@pytest.mark.parametrize("number", range(len(DATES)))
def test_date(number):
    date, name = DATES[number]
    said = weekday(*date)
    assert said == name, f"weekday{date} is {name}"

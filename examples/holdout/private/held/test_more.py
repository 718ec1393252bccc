import datetime
import random

import pytest

from week import weekday


@pytest.mark.parametrize("seed", range(8))
def test_many_dates(seed):
    r = random.Random(seed)
    for _ in range(200):
        date = datetime.date.fromordinal(r.randint(1, datetime.date.max.toordinal()))
        assert weekday(date.year, date.month, date.day) == date.strftime("%A")


@pytest.mark.parametrize("date", [(2023, 2, 29), (1900, 2, 29), (2024, 13, 1), (2024, 4, 31), (2024, 1, 0)])
def test_no_such_date(date):
    with pytest.raises(ValueError):
        weekday(*date)

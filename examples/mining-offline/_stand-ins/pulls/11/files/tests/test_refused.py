import pytest

import durations


@pytest.mark.parametrize("text", ["", "2h of 30 apples", "1h 30m", "90"])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError):
        durations.parse(text)


def test_what_is_one():
    assert durations.parse("2h5s") == 7205

import durations


def test_no_time_is_shown():
    assert durations.show(0) == "0s"


def test_what_is_shown_can_be_read():
    for seconds in (0, 1, 59, 3600):
        assert durations.parse(durations.show(seconds)) == seconds


def test_other_times_are_shown_as_before():
    assert durations.show(3661) == "1h1m1s"

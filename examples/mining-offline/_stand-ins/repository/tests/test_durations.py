import durations


def test_parse():
    assert durations.parse("1h30m") == 5400


def test_show():
    assert durations.show(5400) == "1h30m"

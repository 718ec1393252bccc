import durations


def test_long():
    assert durations.parse("1h" * 1000) == 3_600_000

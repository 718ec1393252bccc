"""Durations in words: "1h30m" is 5400 seconds."""

import re

UNITS = {"h": 3600, "m": 60, "s": 1}


def parse(text):
    """Return the seconds of a duration such as "1h30m"."""
    total = 0
    for number, unit in re.findall(r"(\d+)([hms])", text):
        total += int(number) * UNITS[unit]
    return total


def show(seconds):
    """Return a number of seconds as a duration, the largest unit first."""
    parts = []
    for unit, size in UNITS.items():
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts)

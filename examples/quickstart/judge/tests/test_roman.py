import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from roman import from_roman, to_roman  # noqa: E402


@pytest.mark.parametrize("n, text", [(1, "I"), (3, "III"), (5, "V"), (8, "VIII"), (60, "LX")])
def test_adding(n, text):
    assert to_roman(n) == text


@pytest.mark.parametrize("n, text", [(4, "IV"), (9, "IX"), (40, "XL"), (90, "XC"), (1994, "MCMXCIV")])
def test_subtracting(n, text):
    assert to_roman(n) == text


@pytest.mark.parametrize("n", [0, -1, 4000])
def test_out_of_range(n):
    with pytest.raises(ValueError):
        to_roman(n)


def test_inverse():
    assert all(from_roman(to_roman(n)) == n for n in range(1, 4000))


@pytest.mark.parametrize("text", ["", "IIII", "VX", "IC", "roman", "mcm"])
def test_malformed(text):
    with pytest.raises(ValueError):
        from_roman(text)

"""Roman numerals."""

SYMBOLS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(n):
    if not 1 <= n <= 3999:
        raise ValueError(f"{n} has no Roman numeral")
    text = ""
    for value, symbol in SYMBOLS:
        while n >= value:
            text += symbol
            n -= value
    return text


def from_roman(text):
    n, rest = 0, text
    for value, symbol in SYMBOLS:
        while rest.startswith(symbol):
            n += value
            rest = rest[len(symbol):]
    if rest or not 1 <= n <= 3999 or to_roman(n) != text:
        raise ValueError(f"{text!r} is not a Roman numeral")
    return n

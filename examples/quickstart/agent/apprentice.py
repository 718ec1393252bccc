"""An agent that needs no model: it knows four ways to do the task, each better than the
one before, and reads the judge's answer after each."""

import re
import subprocess
import sys
import time

ADDING = '''
def to_roman(n):
    text = ""
    for value, symbol in [(1000, "M"), (500, "D"), (100, "C"), (50, "L"), (10, "X"), (5, "V"), (1, "I")]:
        text += symbol * (n // value)
        n %= value
    return text
'''

SUBTRACTING = '''
SYMBOLS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def to_roman(n):
    text = ""
    for value, symbol in SYMBOLS:
        text += symbol * (n // value)
        n %= value
    return text
'''

INVERSE = SUBTRACTING + '''

def from_roman(text):
    n, rest = 0, text
    for value, symbol in SYMBOLS:
        while rest.startswith(symbol):
            n += value
            rest = rest[len(symbol):]
    return n
'''

STRICT = INVERSE.replace(
    "    text = \"\"\n", "    if not 1 <= n <= 3999:\n        raise ValueError(n)\n    text = \"\"\n"
).replace(
    "    return n\n", "    if rest or not 1 <= n <= 3999 or to_roman(n) != text:\n        raise ValueError(text)\n    return n\n"
)

MISSING = '''

def from_roman(text):
    raise NotImplementedError
'''


def main():
    for attempt in [ADDING + MISSING, SUBTRACTING + MISSING, INVERSE, STRICT]:
        with open("src/roman.py", "w") as f:
            f.write('"""Roman numerals."""\n' + attempt)
        answer = subprocess.run(["assay-submit"], stdout=subprocess.PIPE, text=True)
        print(answer.stdout, flush=True)
        if answer.returncode != 0:
            sys.exit(answer.returncode)
        rate = re.search(r"([\d.]+)\s*%", answer.stdout)
        if rate and float(rate.group(1)) == 100:
            return
        time.sleep(1)  # an agent with a model would think here


if __name__ == "__main__":
    main()

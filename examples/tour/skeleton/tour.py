"""Reads towns, one "x y" a line, and prints their numbers in the order of a round trip."""

import sys


def main():
    towns = [tuple(map(float, line.split())) for line in sys.stdin if line.strip()]
    raise NotImplementedError(f"a round trip through {len(towns)} towns")


if __name__ == "__main__":
    main()

"""Reads towns, one "x y" a line, and prints their numbers in the order of a round trip:
the nearest neighbour each time, then untangled by turning parts around (2-opt)."""

import math
import sys
import time

LIMIT = 2.0  # seconds


def nearest(towns):
    left = set(range(1, len(towns)))
    trip = [0]
    while left:
        here = towns[trip[-1]]
        trip.append(min(left, key=lambda t: (math.dist(here, towns[t]), t)))
        left.remove(trip[-1])
    return trip


def untangle(towns, trip):
    began, better, n = time.monotonic(), True, len(trip)
    while better and time.monotonic() - began < LIMIT:
        better = False
        for i in range(n - 1):
            for j in range(i + 2, n - (i == 0)):
                a, b = towns[trip[i]], towns[trip[i + 1]]
                c, d = towns[trip[j]], towns[trip[(j + 1) % n]]
                if math.dist(a, c) + math.dist(b, d) < math.dist(a, b) + math.dist(c, d) - 1e-9:
                    trip[i + 1 : j + 1] = reversed(trip[i + 1 : j + 1])
                    better = True
    return trip


def main():
    towns = [tuple(map(float, line.split())) for line in sys.stdin if line.strip()]
    if towns:
        for number in untangle(towns, nearest(towns)):
            print(number)


if __name__ == "__main__":
    main()

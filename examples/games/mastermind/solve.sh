exec python3 - <<'PY'
"""Guesses what agrees with all answers so far, in several sessions: the best one counts."""
import itertools
import json
import os
import random
import urllib.request
from collections import Counter


def call(path, body):
    request = urllib.request.Request(
        os.environ["GAME_SERVER_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def marks(guess, code):
    right = sum(a == b for a, b in zip(guess, code))
    return f"right {right} near {sum((Counter(guess) & Counter(code)).values()) - right}"


def play():
    session = call("/new", {})["session_id"]
    left = ["".join(c) for c in itertools.product("RGBYOP", repeat=4)]
    answer = {"done": False}
    while not answer["done"]:
        guess = random.choice(left)
        answer = call(f"/{session}/step", {"action": guess})
        print(guess, answer["observation"], answer["score"], flush=True)
        left = [code for code in left if marks(guess, code) == answer["observation"]]
    return answer["peak_score"] >= answer["max_score"]


while not play():
    pass
PY

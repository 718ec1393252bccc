exec python3 - <<'PY'
import json
import os
import urllib.request

WALK = """in, take keys, take lamp, out, south, south, south, unlock grate, down, west, on, west, west, west, west,
down""".replace("\n", " ").split(", ")


def call(path, body):
    request = urllib.request.Request(
        os.environ["GAME_SERVER_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


answer = {"peak_score": 0, "max_score": 1}
while answer["peak_score"] < answer["max_score"]:  # a dwarf may throw an axe: then once more
    session = call("/new", {})["session_id"]
    for action in WALK:
        answer = call(f"/{session}/step", {"action": action.strip()})
        print(">", action, answer["score"], answer["observation"], sep="\n", flush=True)
        if answer["done"]:
            break
PY

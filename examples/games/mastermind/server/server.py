"""A game server: GET /health, POST /new, POST /step with an action, GET /status."""

import json
import random
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer

COLOURS, PLACES, GUESSES, ENOUGH = "RGBYOP", 4, 10, 75


class Game:
    def __init__(self):
        self.code = "".join(random.choice(COLOURS) for _ in range(PLACES))
        self.moves = self.score = 0
        self.done = False

    def step(self, guess):
        if self.done:
            return "The game is over."
        if len(guess) != PLACES or set(guess) - set(COLOURS):
            return f"A guess is {PLACES} of {COLOURS}."
        self.moves += 1
        right = sum(a == b for a, b in zip(guess, self.code))
        near = sum((Counter(guess) & Counter(self.code)).values()) - right
        found = right == PLACES
        self.score = max(self.score, min(ENOUGH, 105 - 5 * self.moves) if found else 5 * right)
        self.done = found or self.moves == GUESSES
        return f"right {right} near {near}"

    def state(self, observation):
        return {"observation": observation, "score": self.score, "max_score": ENOUGH, "done": self.done, "moves": self.moves}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    game = None

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {"status": "ok"})
        elif self.path == "/status" and self.game:
            self.answer(200, self.game.state(""))
        else:
            self.answer(404, {"detail": "not found"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/new":
            Handler.game = Game()
            self.answer(200, self.game.state(f"Guess {PLACES} of {COLOURS}."))
        elif self.path == "/step" and self.game:
            self.answer(200, self.game.state(self.game.step(str(json.loads(body).get("action", "")).strip().upper())))
        else:
            self.answer(404, {"detail": "not found"})

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

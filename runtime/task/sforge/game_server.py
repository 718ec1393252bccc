"""Plays a story file: GET /health, POST /new, POST /step with an action, GET /status."""

import argparse
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from jericho import FrotzEnv


class Game:
    def __init__(self, rom):
        self.env = FrotzEnv(rom)
        self.seen, info = self.env.reset()
        self.max = int(self.env.get_max_score())
        self.done = False
        self.score = self.moves = 0
        self.count(info)
        self.peak = self.score

    def count(self, info):
        self.score = int(info.get("score", self.score))
        self.moves = int(info.get("moves", self.moves))

    def step(self, action):
        if not self.done:
            self.seen, _, self.done, info = self.env.step(action)
            self.count(info)
            self.peak = max(self.peak, self.score)

    def state(self):
        return {
            "observation": self.seen, "score": self.score, "peak_score": self.peak, "max_score": self.max,
            "done": bool(self.done), "moves": self.moves,
        }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    game = None
    rom = ""

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {"status": "ok"})
        elif self.path == "/status" and self.game:
            self.answer(200, self.game.state())
        else:
            self.answer(404, {"detail": "not found"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/new":
            Handler.game = Game(self.rom)
            self.answer(200, self.game.state())
        elif self.path == "/step" and self.game:
            try:
                action = json.loads(body)["action"]
            except (ValueError, TypeError, KeyError):
                action = None
            if not isinstance(action, str):
                self.answer(422, {"detail": "there is no action"})
                return
            self.game.step(action)
            self.answer(200, self.game.state())
        elif self.path == "/close" and self.game:
            self.answer(200, self.game.state())
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


flags = argparse.ArgumentParser()
flags.add_argument("--rom", required=True)
flags.add_argument("--port", type=int, default=8000)
flags.add_argument("--host", default="0.0.0.0")
given = flags.parse_args()
Handler.rom = given.rom
HTTPServer((given.host, given.port), Handler).serve_forever()

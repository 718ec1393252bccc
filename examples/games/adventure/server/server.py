"""A game server around the program adventure: GET /health, POST /new, POST /step with an
action, GET /status. After each action the game is asked for its score, whose answer also
shows that all that came before it has been said."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from http.server import BaseHTTPRequestHandler, HTTPServer

ENOUGH = 57
SCORE = re.compile(r"If you were to quit now, you would score (\d+) out of a possible \d+\.\s+Do you indeed wish to quit now\?\s")
PATIENCE = 3  # seconds that the game may be silent


class Game:
    def __init__(self):
        ours, its = pty.openpty()
        settings = termios.tcgetattr(its)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(its, termios.TCSANOW, settings)
        self.program = subprocess.Popen(["/usr/games/adventure"], stdin=its, stdout=its, stderr=its)
        os.close(its)
        self.terminal, self.moves, self.score, self.done = ours, 0, 0, False
        self.observation = self.say("no")  # to instructions

    def step(self, action):
        if self.done:
            return "The game is over."
        self.moves += 1
        return self.say(action)

    def say(self, action):
        """Sends one line, asks for the score, and says no to the question that comes with it."""
        self.send(action)
        self.send("score")
        text = self.hear()
        for _ in range(5):
            found = SCORE.search(text)
            if found or self.done:
                break
            self.send("no")  # the game waits for an answer to a question of its own
            self.send("score")
            text += self.hear()
        if found:
            self.score = int(found.group(1))
            text = text[: found.start()]
            self.send("no")
            self.hear_until(re.compile(r"OK\s"))
        return text.strip()

    def send(self, line):
        try:
            os.write(self.terminal, (line + "\n").encode())
        except OSError:
            self.done = True

    def hear(self):
        return self.hear_until(SCORE)

    def hear_until(self, pattern):
        text = ""
        while not pattern.search(text):
            ready, _, _ = select.select([self.terminal], [], [], PATIENCE)
            if not ready:
                return text
            try:
                text += os.read(self.terminal, 65536).decode("ascii", "replace").replace("\r", "")
            except OSError:  # the program has ended
                self.done = True
                return text
        return text

    def state(self, observation):
        score = min(self.score, ENOUGH)
        return {
            "observation": observation, "score": score, "max_score": ENOUGH, "moves": self.moves,
            "done": self.done or score >= ENOUGH,
        }


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
            self.answer(200, self.game.state(self.game.observation))
        elif self.path == "/step" and self.game:
            words = re.sub(r"[^A-Za-z0-9 ]", "", str(json.loads(body).get("action", "")))[:60]
            self.answer(200, self.game.state(self.game.step(words)))
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

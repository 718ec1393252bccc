"""A game server for tests: walk to the treasure. One session, one step at a time."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

game = {"score": 0, "moves": 0, "done": False}


def view(observation):
    return {"observation": observation, "score": game["score"], "max_score": 10, "done": game["done"], "moves": game["moves"]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer(200, view("") if self.path == "/status" else {"status": "ok"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
        if self.path == "/new":
            return self.answer(200, view("a cave, user %d" % os.getuid()))
        if self.path == "/close":
            return self.answer(200, {})
        action = body["action"]
        game["moves"] += 1
        if action == "crash":
            os._exit(7)
        if action == "network":
            return self.answer(200, view(" ".join(sorted(os.listdir("/sys/class/net")))))
        game["score"] += {"north": 4, "south": -3, "treasure": 6}.get(action, 0)
        game["done"] = action == "treasure"
        self.answer(200, view("you go " + action))

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

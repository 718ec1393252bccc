"""Compares the guesses with the right languages, line by line."""

import json


def lines(name):
    try:
        with open(name, encoding="utf-8", errors="replace") as f:
            return [line.strip() for line in f]
    except OSError:
        return []


right, said = lines("languages.txt"), lines("guesses.txt")
details = [
    {"name": f"sentence {n}", "status": "PASSED" if said[n - 1 : n] == [language] else "FAILED"}
    for n, language in enumerate(right, 1)
]
passed = sum(d["status"] == "PASSED" for d in details)
print(">>>>> Start Structured Result")
print(json.dumps({"score": passed / len(right), "summary": f"{passed} of {len(right)} right", "details": details}))
print(">>>>> End Structured Result")

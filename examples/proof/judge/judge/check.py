"""Has each proof checked by Metamath. The statements are the judge's own: of a submission
only labels are read."""

import json
import re
import subprocess

THEOREMS = {
    "a1i": ("a1i.1 $e |- ph $.", "|- ( ps -> ph )"),
    "syl": ("syl.1 $e |- ( ph -> ps ) $. syl.2 $e |- ( ps -> ch ) $.", "|- ( ph -> ch )"),
    "id": ("", "|- ( ph -> ph )"),
}
LABEL = re.compile(r"[A-Za-z0-9._-]+")  # which keeps comments, includes and "?" out


def labels(name):
    try:
        with open(f"proofs/{name}", encoding="ascii") as f:
            words = f.read(100_000).split()
    except (OSError, UnicodeDecodeError):
        return None
    return words if words and all(LABEL.fullmatch(word) for word in words) else None


def check(database, name):
    """Returns what the prover has to say against the proof, or None. That it is content is
    told by the name of the theorem and nothing else, after a file without errors."""
    with open("/tmp/check.mm", "w") as f:
        f.write(database)
    commands = ["metamath", "read check.mm", f"verify proof {name}", "exit"]
    said = subprocess.run(commands, capture_output=True, text=True, timeout=20, cwd="/tmp").stdout
    read, _, verified = said.partition(f"MM> verify proof {name}\n")
    if "No errors were found." in read and verified.partition("MM> exit")[0].strip() == name:
        return None
    return (verified or read)[:1500] or "the prover said nothing"


def main():
    with open("judge/logic.mm") as f:
        database = f.read()
    details = []
    for name, (hypotheses, statement) in THEOREMS.items():
        words, wrong = labels(name), "there is no proof that could be read"
        if words:
            proved = f"${{ {hypotheses} {name} $p {statement} $= {' '.join(words)} $. $}}\n"
            wrong = check(database + proved, name)
            if wrong is None:
                database += proved  # and can be used from here on
        details.append({"name": name, "status": "FAILED" if wrong else "PASSED", "message": wrong or ""})
    done = sum(d["status"] == "PASSED" for d in details)
    print(">>>>> Start Structured Result")
    print(json.dumps({"score": done, "summary": f"{done} of {len(details)} theorems proved", "details": details}))
    print(">>>>> End Structured Result")


if __name__ == "__main__":
    main()

//go:build linux

package daemon_test

import (
	"strings"
	"testing"
)

// besieger sends archives that no client makes, straight to the judge, and says what came
// of each: the answer, and what it was worth.
const besieger = `
cat >/tmp/besiege.py <<'END'
import io, json, os, tarfile, urllib.error, urllib.request

def ask(path, body=None, kind=None):
    q = urllib.request.Request(os.environ["ASSAYD_JUDGE_URL"] + path, data=body, headers={"Content-Type": kind} if kind else {})
    try:
        with urllib.request.urlopen(q, timeout=90) as r: return r.status, json.load(r)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)

def pack(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, content, *more in entries:
            e = tarfile.TarInfo(name)
            e.type, e.mode = kind, 0o755
            if kind == tarfile.REGTYPE: e.size = len(content)
            else: e.linkname = content
            if more: e.pax_headers = more[0]
            tar.addfile(e, io.BytesIO(content.encode()) if kind == tarfile.REGTYPE else None)
    return out.getvalue()

def submit(archive):
    body = b'--x\r\nContent-Disposition: form-data; name="archive"; filename="a"\r\n\r\n' + archive + b"\r\n--x--\r\n"
    code, answer = ask("/api/v1/submit", body, "multipart/form-data; boundary=x")
    if code != 200: return code, answer["detail"]
    while True:
        code, result = ask("/api/v1/result/" + answer["submission_id"] + "?wait=60")
        if result.get("status") not in ("queued", "running"): break
    report = result["report"] or {}
    return answer["round_id"], report.get("valid"), report.get("passed"), report.get("total_tests")

REG, LINK, SYM, DIR, DEV = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE
easy = "def test_right(): pass\ndef test_again(): pass\n"
wrong = ("src/answer.py", REG, "value = 0\n")
for name, entries in (
    ("dots", [wrong, ("./tests/test_answer.py", REG, easy), ("src/../tests/test_answer.py", REG, easy)]),
    ("slashes", [wrong, (".//tests/./test_answer.py", REG, easy)]),
    ("absolute", [wrong, (os.getcwd() + "/tests/test_answer.py", REG, easy)]),
    ("another name", [wrong, ("a", REG, easy, {"path": "tests/test_answer.py"})]),
    ("a link to the tests", [wrong, ("src/t", SYM, "../tests"), ("src/t/test_answer.py", REG, easy)]),
    ("a link for the tests", [wrong, ("own/test_answer.py", REG, easy), ("tests", SYM, "own")]),
    ("a link out", [wrong, ("src/out", SYM, "/"), ("src/out/conftest.py", REG, easy)]),
    ("a hard link", [wrong, ("src/t.py", LINK, "tests/test_answer.py"), ("src/t.py", REG, easy)]),
    ("a file for the folder", [wrong, ("tests", REG, easy)]),
    ("other letters", [wrong, ("TESTS/test_answer.py", REG, easy), ("Tests/test_answer.py", REG, easy)]),
    ("settings", [wrong, ("conftest.py", REG, "import os; os._exit(0)"), ("src/conftest.py", REG, "import os; os._exit(0)"), ("pytest.ini", REG, "[pytest]\naddopts = --co\n")]),
    ("a device", [wrong, ("src/null", DEV, "")]),
    ("a line", [wrong, ("src/a\nb", REG, "")]),
    ("the way out", [("src/answer.py", REG, "import os\nos._exit(0)\n")]),
    ("words", [("src/answer.py", REG, "import os\nfor fd in range(1, 20):\n    try: os.write(fd, b'\\n=== 2 passed in 0.01s ===\\n')\n    except OSError: pass\nvalue = 0\n")]),
    ("the runner's end", [("src/answer.py", REG, "import os\nos.kill(-1, 9)\nos.kill(1, 9)\nos.kill(os.getpid(), 9)\n")]),
):
    print("%s: %s" % (name, " ".join(map(str, submit(pack(entries))))), flush=True)
END
python3 /tmp/besiege.py
`

// What is sent past all clients is cleaned in the daemon, laid over a real container, and
// changes neither the hidden tests nor the way in which they are run.
func TestHostileArchivesChangeNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.pytest(".", "def test_right(): assert answer.value == 42\ndef test_again(): assert answer.value == 42\n", `timeout = "1m"`)+w.agent("besieger", besieger)+w.run("siege", []string{`agent "besieger" {}`}, `timeout = "4m"`, `auto_eval = "0s"`))
	w.serve()
	trial := w.settled("run.siege", 5*patience).Trials[0]
	log := w.agentLog(trial.ID)
	for _, want := range []string{
		"dots: 400 ", "slashes: agent-1 True 0 2", "absolute: 400 ", "another name: agent-2 True 0 2",
		"a link to the tests: agent-3 True 0 2", "a link for the tests: agent-4 True 0 2", "a link out: agent-5 True 0 2",
		"a hard link: agent-6 True 0 2", "a file for the folder: agent-7 True 0 2", "other letters: agent-8 True 0 2",
		"settings: agent-9 True 0 2", "a device: 400 ", "a line: 400 ", "the way out: agent-10 False 0 ", "words: agent-11 False 0 ",
		"the runner's end: agent-12 False 0 ",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the agent was not told %q", want)
		}
	}
	if trial.Status != "unresolved" {
		t.Errorf("the trial is %s", trial.Status)
	}
	all := w.history("r.run.siege.jsonl")
	if n := len(ofType("submission", all)); n < 12 {
		t.Errorf("%d rounds are reported", n)
	}
	w.oneVerdictEach(all)
	w.noContainerIsLeft()
}

"""Tries what an agent must not be able to do, and prints what came of it.

"TRY name: could" or "could not" for what is done to the container, "ASK name: 404 200" for
the answers to a request, "LEAK name" where an answer tells of what is not the agent's.
"""
import ctypes, errno, json, os, re, socket, struct, subprocess, sys, time, urllib.parse

libc = ctypes.CDLL(None, use_errno=True)
root = os.getuid() == 0
token, trial = os.environ["ASSAYD_TOKEN"], os.environ["ASSAYD_TRIAL"]
JUDGE, GUEST = "/run/assayd/judge.sock", "/run/assayd/guest.sock"


def over(path=None):
    s = socket.socket(socket.AF_UNIX) if path else socket.create_connection(("127.0.0.1", 7433))
    s.settimeout(20)
    if path:
        s.connect(path)
    return s


def say(text, path=None):
    """Sends bytes and returns all that is answered until nothing more comes."""
    s = over(path)
    try:
        s.sendall(text if isinstance(text, bytes) else text.encode())
        s.settimeout(3)
        answer = b""
        while True:
            more = s.recv(65536)
            if not more:
                return answer
            answer += more
    except (TimeoutError, ConnectionError, BrokenPipeError):
        return answer
    finally:
        s.close()


def request(method, target, headers=(), body="", host="x"):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body.encode())}")
    return "\r\n".join(lines) + "\r\n\r\n" + body


secrets = []  # what no answer may hold, beyond what was asked


def ask(name, text, path=None):
    answer = say(text, path)
    codes = re.findall(rb"HTTP/1\.[01] (\d{3})", answer)
    print("ASK", name + ":", b" ".join(codes).decode() or "nothing", flush=True)
    bodies = b"".join(part.split(b"\r\n\r\n", 1)[-1] for part in answer.split(b"HTTP/1.1 "))
    for secret in secrets:
        asked = secret.encode() in (text if isinstance(text, bytes) else text.encode())
        told = bodies.count(b'"submission_id":"' + secret.encode()) if asked else bodies.count(secret.encode())
        if told:
            print("LEAK", name, answer[:300], flush=True)
    return answer


def attempt(name, what):
    try:
        worked = what()
        print("TRY", name + ":", "could not" if worked is False else "could", flush=True)
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired) as e:
        print("TRY", name + ": could not", flush=True)


def syscall(*args):
    """True if the kernel did it."""
    ctypes.set_errno(0)
    if libc.syscall(*[a if isinstance(a, bytes) else ctypes.c_long(a) for a in args]) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def write(path, text="1"):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path, "rb") as f:
        return len(f.read(64)) > 0


def connect(host, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(2)
        s.connect((host, port))


def form(fields, archive=None, boundary="x"):
    body = "".join(f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items())
    if archive is not None:
        body += f'--x\r\nContent-Disposition: form-data; name="archive"; filename="../../x"\r\n\r\n{archive}\r\n'
    return body + "--x--\r\n"


def submit(fields, archive=None, headers=()):
    return request("POST", "/api/v1/submit", ["Content-Type: multipart/form-data; boundary=x", *headers], form(fields, archive))


def read_from_afar():
    """A byte of the guest's program, which lies where Go's linker puts it. Reading nothing is always allowed."""
    byte = ctypes.create_string_buffer(1)
    here = (ctypes.c_ulong * 2)(ctypes.addressof(byte), 1)
    there = (ctypes.c_ulong * 2)(0x400000, 1)
    return syscall(310, 1, ctypes.addressof(here), 1, ctypes.addressof(there), 1, 0)


def container():
    """What is around the agent."""
    attempt("write beside the sockets", lambda: write("/run/assayd/x"))
    attempt("link beside the sockets", lambda: os.symlink("/etc/passwd", "/run/assayd/x"))
    attempt("move a socket", lambda: os.rename(JUDGE, "/run/assayd/y"))
    attempt("remove a socket", lambda: os.unlink(JUDGE))
    attempt("put a socket of its own there", lambda: socket.socket(socket.AF_UNIX).bind("/run/assayd/judge2.sock"))
    attempt("let others at the guest's socket", lambda: os.chmod(GUEST, 0o666))
    attempt("replace the guest", lambda: write("/.assayd/bin/assay-guest"))
    attempt("write to the running guest", lambda: write("/proc/1/exe"))
    attempt("replace the client", lambda: write("/usr/local/bin/assay-submit"))
    attempt("change its program", lambda: write("/agent/agent.sh"))
    attempt("link in its program's folder", lambda: os.symlink("/etc/shadow", "/agent/x"))
    attempt("read the guest's memory", lambda: read("/proc/1/mem"))
    attempt("read the guest's environment", lambda: read("/proc/1/environ"))
    attempt("read what the guest has open", lambda: len(os.listdir("/proc/1/fd")) > 0 and read("/proc/1/fd/0"))
    attempt("see the guest's root", lambda: os.listdir("/proc/1/root"))
    attempt("trace the guest", lambda: syscall(101, 16, 1, 0, 0))
    attempt("seize the guest", lambda: syscall(101, 0x4206, 1, 0, 0))
    attempt("read the guest from afar", read_from_afar)
    attempt("take a file of the guest", lambda: syscall(438, os.pidfd_open(1), 0, 0))
    attempt("enter the guest's namespaces", lambda: syscall(308, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
    attempt("make namespaces", lambda: syscall(272, 0x10000000))
    attempt("make mount namespaces", lambda: syscall(272, 0x20000))
    attempt("mount", lambda: syscall(165, b"none", b"/mnt", b"tmpfs", 0, 0))
    attempt("mount anew", lambda: syscall(165, b"none", b"/run/assayd", b"", 32 | 4096, 0))
    attempt("unmount", lambda: syscall(166, b"/run/assayd", 2))
    attempt("change the root", lambda: syscall(155, b"/", b"/mnt"))
    attempt("change root", lambda: os.chroot("/mnt"))
    attempt("make a device", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)))
    attempt("open a file by its number", lambda: syscall(304, os.open("/", os.O_RDONLY), b"\x08\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0", 0))
    attempt("load a module", lambda: syscall(175, b"x", 1, b""))
    attempt("load a program into the kernel", lambda: syscall(321, 5, b"\0" * 128, 128))
    attempt("watch the kernel", lambda: syscall(298, b"\0" * 128, -1, 0, -1, 0))
    attempt("use the keys of the kernel", lambda: syscall(250, 0, -3, 1))
    attempt("set the clock", lambda: syscall(164, struct.pack("qq", 0, 0), 0))
    attempt("name the host", lambda: syscall(170, b"x", 1))
    attempt("restart the host", lambda: syscall(169, 0xFEE1DEAD, 672274793, 0x1234567, 0))
    attempt("swap", lambda: syscall(167, b"/tmp/x", 0))
    attempt("see packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close())
    attempt("send raw packets", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close())
    attempt("hook the kernel's core dumps", lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"))
    attempt("press SysRq", lambda: write("/proc/sysrq-trigger", "b"))
    attempt("read the kernel's memory", lambda: read("/proc/kcore"))
    attempt("change its control group", lambda: write(next(iter(groups("memory.limit_in_bytes", "memory.max"))), "-1"))
    attempt("have the host run a program", lambda: write(next(iter(groups("release_agent", "cgroup.procs"))), "/tmp/x"))
    attempt("spare itself from the memory killer", lambda: write("/proc/self/oom_score_adj", "-1000"))
    attempt("move the guest to the front of it", lambda: write("/proc/1/oom_score_adj", "1000"))
    attempt("find the engine's socket", lambda: connect_unix("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"))
    attempt("find the daemon's socket", lambda: connect_unix("/run/assayd/assayd.sock", "/run/assayd.sock", "/var/lib/assayd/assayd.sock"))
    attempt("find a socket without a path", lambda: [connect_unix("\0" + n[1:]) for n in abstract()] or False)
    attempt("reach the cloud's data", lambda: connect("169.254.169.254", 80))
    attempt("reach the engine's bridge", lambda: connect("172.17.0.1", 22))
    attempt("reach an address", lambda: connect("192.0.2.1", 80))
    attempt("reach an address of IPv6", lambda: connect("2001:db8::1", 80, socket.AF_INET6))
    attempt("reach its neighbours of IPv6", lambda: connect("fe80::1%1", 80, socket.AF_INET6))
    attempt("resolve a name", lambda: socket.getaddrinfo("example.com", 80))
    for sig in range(1, 65):
        try:
            os.kill(1, sig)
        except OSError:
            pass
    attempt("read the guest's notes", lambda: os.listdir("/.assayd/state"))
    attempt("speak as the guest", lambda: connect_unix(GUEST))


def groups(*names):
    found = [os.path.join(d, f) for d, _, files in os.walk("/sys/fs/cgroup") for f in files if f in names]
    return found or ["/sys/fs/cgroup/nowhere/x"]


def abstract():
    with open("/proc/net/unix") as f:
        return [line.split()[-1] for line in f if " @" in line]


def connect_unix(*paths):
    for p in paths:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(p)
                return True
        except OSError:
            pass
    return False


def judge(path, other):
    """What the judge can be asked for, by either way to it."""
    way = "socket" if path else "relay"

    def go(name, text):
        return ask(f"{name} ({way})", text, path)

    theirs = "Authorization: Bearer " + other["token"]
    for what, id in (("another's result", other["round"]), ("a snapshot's result", other["auto"])):
        go(what, request("GET", "/api/v1/result/" + id))
        go(what + " as the other", request("GET", "/api/v1/result/" + id, [theirs]))
        go(what + " by query", request("GET", f"/api/v1/result/{id}?token={token}&run_id={other['trial']}&trial={other['trial']}"))
        go(what + " by absolute address", request("GET", f"http://{other['trial']}/api/v1/result/{id}", host=other["trial"]))
        go(what + " behind a good one", request("GET", "/api/v1/history").replace("Connection: close\r\n", "") + request("GET", "/api/v1/result/" + id))
        go(what + " smuggled", "GET /api/v1/history HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + request("GET", "/api/v1/result/" + id))
        go(what + " of HTTP/1.0", f"GET /api/v1/result/{id} HTTP/1.0\r\n\r\n")
        go(what + " in other clothes", request("GET", "/api/v1/nothing", [
            "X-Original-URL: /api/v1/result/" + id, "X-Rewrite-URL: /api/v1/result/" + id, "X-Forwarded-Host: localhost",
            "X-HTTP-Method-Override: GET", "X-Assayd-Trial: " + other["trial"], "Cookie: token=" + other["token"]]))
        go(what + " waited for", request("GET", f"/api/v1/result/{id}?wait=1s"))
    go("another's history", request("GET", "/api/v1/history", [theirs]))
    go("another's history by query", request("GET", f"/api/v1/history?token={other['token']}"))
    go("its own history by another's name", request("GET", f"/api/v1/history?run_id={other['trial']}&trial={other['trial']}", ["X-Assayd-Trial: " + other["trial"]]))
    for host in ("/v1/status", "/v1/version", "/v1/trial?id=" + other["trial"], f"/v1/output?trial={other['trial']}&round=auto-1",
                 "/v1/logs?trial=" + other["trial"], "/v1/results?address=run.reach", "/api/v1/tasks", f"/api/v1/runs/{other['trial']}/history",
                 f"/api/v1/runs/{trial}/history", "/api/v1/register", "/debug/pprof/heap", "/debug/vars", "/metrics", "/v1/hello", "/"):
        go("GET " + host.split("?")[0].replace(other["trial"], "OTHER").replace(trial, "OWN"), request("GET", host))
    for host in ("/v1/rerun?name=run.reach", "/v1/cancel?name=run.reach", "/v1/submit", "/v1/withdraw", "/v1/plan", "/v1/images", "/v1/collect", "/v1/eval",
                 "/api/v1/register", "/api/v1/register_session", "/register", "/v1/event", "/v1/poll"):
        go("POST " + host.split("?")[0], request("POST", host, ["Content-Type: application/json"], json.dumps({"run_id": other["trial"], "admin_secret": "sforge"})))
    for target in ("/api/v1/result/..%2f..%2fx", "/api/v1/result/../../v1/status", "//v1/status", "/api/v1/../../v1/status",
                   "/api/v1/result/%00", "/api/v1/result/..;/x", "/%2e%2e/v1/status", "/api/v1/game/../../x/new"):
        go("GET " + target, request("GET", target))
    game = "/api/v1/game/{}/climb/{}"
    for run in (other["trial"], trial, "..%2f..%2fx"):
        for call in ("new", other["round"] + "/step", "close-all", "..%2f..%2fx/step"):
            go("POST game of " + run.replace(other["trial"], "OTHER").replace(trial, "OWN") + " " + call.replace(other["round"], "ID"),
               request("POST", game.format(run, call), body='{"action":"look"}'))
    go("CONNECT", request("CONNECT", "127.0.0.1:22"))
    go("TRACE", request("TRACE", "/api/v1/history", [theirs]))
    go("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    go("an upgrade", request("GET", "/api/v1/history", ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__", theirs]).replace("Connection: close", "Connection: Upgrade, HTTP2-Settings"))
    go("a header with a break", "GET /api/v1/history HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\n " + other["token"] + "\r\nConnection: close\r\n\r\n")
    for kind in ("auto", "final", "manual", "private", "game", "../../x"):
        go("a round of kind " + kind, submit({"kind": kind}, "x"))
    go("a round with the other's token", submit({"token": other["token"]}, "x"))
    go("a round with a path as token", submit({"token": "../../x"}, "x"))
    go("a round in another's name", submit({"run_id": other["trial"], "trial": other["trial"], "task_id": "../../x", "round_id": "auto-1"}, "x"))
    go("a key that is a path", submit({}, "x", ["Idempotency-Key: ../../x"]))
    guessed = other["round"][:-2]
    print("GUESSED", sum(b" 200 " in say(request("GET", f"/api/v1/result/{guessed}{n:02x}"), path) for n in range(0, 256, 8)), way, flush=True)


def forge():
    """What root can make of the guest's own socket."""
    def go(name, target, body):
        return ask("forged " + name, request("POST", target, ["Content-Type: application/json"], json.dumps(body)), GUEST)

    hello = go("hello", "/v1/hello", {"Version": 1, "Trial": "../../x", "Boot": "b", "Deadline": "2099-01-01T00:00:00Z", "Starts": 99})
    print("DEADLINE", re.search(rb'"Deadline":"([^"]+)"', hello).group(1).decode(), flush=True)
    go("disk", "/v1/event", {"Seq": 50, "Type": "trouble", "Reason": "disk", "Detail": "forged"})
    go("verdict", "/v1/event", {"Seq": 51, "Type": "ended", "Reason": "resolved"})
    go("judging", "/v1/event", {"Seq": 52, "Type": "judged", "Reason": "resolved"})
    go("sequence", "/v1/event", {"Seq": 10**12, "Type": "trouble", "Reason": "zombies", "Detail": "forged-far"})
    ask("forged log before the first", request("POST", "/v1/log?offset=-5", body="x"), GUEST)
    ask("history at the guest's socket", request("GET", "/api/v1/history"), GUEST)
    ask("a round at the guest's socket", submit({}, "x"), GUEST)
    held = [over(GUEST) for _ in range(100)]
    for s in held:
        try:
            s.sendall(b"POST /v1/poll HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        except OSError:
            pass
    print("HELD", flush=True)
    for s in held:
        s.close()


print("IDENTITY", trial, token, flush=True)
while not os.path.exists("/run/assayd/begin"):
    time.sleep(0.2)
if root:
    write("src/level", "2")
print(subprocess.run(["assay-submit"], capture_output=True, text=True).stdout, flush=True)
while not os.path.exists("/run/assayd/go"):
    time.sleep(0.2)
with open("/run/assayd/go") as f:
    other = json.load(f)
secrets = [other[k] for k in ("token", "round", "auto")]
container()
judge(None, other)
judge(JUDGE, other)
own = say(request("GET", "/api/v1/history")).decode()
print("HISTORY", own.split("\r\n\r\n", 1)[1].strip(), flush=True)
if root:
    forge()
print("OVER", flush=True)
if root:
    time.sleep(1)  # nothing that is printed after this is seen
    say(request("POST", "/v1/log?offset=" + str(2**62), body="x" * 1000), GUEST)
    say(request("POST", "/v1/event", ["Content-Type: application/json"],
                json.dumps({"Seq": 9000, "Type": "ended", "Reason": "agent_exit", "Detail": "forged", "Time": "2099-01-01T00:00:00Z"})), GUEST)
    time.sleep(1000)

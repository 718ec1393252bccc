"""Takes all it can get, in the way that its first argument names, and says OVER."""
import os, socket, subprocess, sys, threading, time

JUDGE = "/run/assayd/judge.sock"


def connections():
    """Holds ten thousand connections, by either way, with all that can be begun and not ended."""
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 30000), hard))
    begun = [
        b"", b"GET /api/v1/history HTTP/1.1\r\nX-Slow: ",
        b"GET /api/v1/history HTTP/1.1\r\nHost: x\r\n" + b"X:\r\n" * 500_000,
        b"GET /api/v1/history HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
        b"POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 99999999999\r\n\r\n--x\r\nX-Padding: " + b"x" * 1_000_000,
    ]
    held, made = [], 0
    for n in range(10000):
        s = socket.socket(socket.AF_UNIX if n % 4 else socket.AF_INET)
        s.settimeout(0.05)
        try:
            s.connect(JUDGE if n % 4 else ("127.0.0.1", 7433))
            made += 1
        except OSError:
            pass
        held.append(s)
        if n % 40 == 0:
            try:
                s.send(begun[(n // 40) % len(begun)])
            except OSError:
                pass
    print("MADE", made, flush=True)
    time.sleep(5)


def output():
    """Prints as fast as it can."""
    block, left = b"all work and no play\n" * 50000, int(sys.argv[2])
    while left > 0:
        left -= os.write(1, block[:min(left, len(block))])
    time.sleep(1)
    print("\nPRINTED", flush=True)


def processes():
    """A fork bomb, and then one that eats memory."""
    made = []
    try:
        for _ in range(100000):
            pid = os.fork()
            if pid == 0:
                while True:
                    try:
                        os.fork()
                    except OSError:
                        time.sleep(0.5)
            made.append(pid)
    except OSError as e:
        print("FORKED", len(made), e, flush=True)
    time.sleep(2)
    # All that it made is there until the guest ends it; the next run has room again.
    os._exit(3)


def crowd():
    """Runs into the limit of processes, and ends well."""
    made = []
    try:
        while True:
            made.append(subprocess.Popen(["sleep", "20"]))
    except OSError as e:
        print("FORKED", len(made), e, flush=True)
    for p in made:
        p.wait()


def swell():
    """Has a child that memory does not suffice for, and ends well."""
    subprocess.run([sys.executable, __file__, "memory", "0"])
    time.sleep(20)


def memory():
    held = []
    while True:
        held.append(bytearray(1 << 20))


def files():
    """Hides its files below a path that is too long, and makes them of nothing."""
    os.makedirs("/var/tmp/deep")
    os.chdir("/var/tmp/deep")
    for _ in range(1500):
        os.mkdir("ddd")
        os.chdir("ddd")
    for n in range(200000):
        open(str(n), "w").close()
    print("HIDDEN", flush=True)
    time.sleep(1000)


def inodes():
    """Makes links, pipes and sockets, which hold nothing."""
    os.makedirs("/var/tmp/inodes")
    os.chdir("/var/tmp/inodes")
    for n in range(0, 60000, 3):
        os.symlink("nowhere", f"link{n}")
        os.mkfifo(f"pipe{n}")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(f"socket{n}")
    print("MADE", flush=True)
    time.sleep(1000)


def elsewhere():
    """Writes wherever it can that is not in its own layer, and then into /tmp, which is.

    Not into /sys/fs/cgroup: there it fills its memory, and may be what the kernel ends.
    """
    kept = 0

    def fill(name):
        with open("/proc/self/oom_score_adj", "w") as f:
            f.write("1000")  # this one is to go where memory ends, not who waits for it
        with open(name, "ab", buffering=0) as f:
            for _ in range(300):
                f.write(b"x" * (1 << 20))

    for name in ("/dev/shm/x", "/dev/x", "/dev/mqueue/x", "/run/assayd/x", "/proc/x", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"):
        pid = os.fork()
        if pid == 0:
            try:
                fill(name)
            except OSError as e:
                print(name, e, flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        try:
            kept += os.path.getsize(name) if os.path.basename(name) == "x" else 0
            os.truncate(name, 0)
        except OSError:
            pass
    print("KEPT", kept, flush=True)
    with open("/tmp/x", "wb") as f:
        for _ in range(200):
            f.write(b"x" * (1 << 20))
    print("FILLED", flush=True)
    time.sleep(1000)


globals()[sys.argv[1]]()
print("OVER", flush=True)

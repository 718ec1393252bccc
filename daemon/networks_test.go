//go:build linux

package daemon_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// roamer tries every way out that it can think of, directly and by the proxy that it is told
// of, and says how each ended.
const roamer = `
import http.client, os, socket
print("proxy", os.environ["HTTPS_PROXY"], os.environ["http_proxy"])
def say(what, how):
    try:
        print(what, "->", how(), flush=True)
    except Exception as e:
        print(what, "-> failed", type(e).__name__, flush=True)
def direct(host, port, family=socket.AF_INET):
    def go():
        s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(3); s.connect((host, port)); return "REACHED"
    return go
def raw(): socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(b"x" * 8, ("192.0.2.1", 0)); return "SENT"
def name(): return "RESOLVED " + socket.gethostbyname("example.com")
def tunnel(target, path="/"):
    def go():
        s = socket.create_connection(("127.0.0.1", 7433), 10); s.settimeout(10)
        s.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode())
        status = s.recv(4096).decode().split("\r\n")[0].split(" ")[1]
        if status != "200": return "tunnel " + status
        s.sendall(("GET %s HTTP/1.0\r\nHost: x\r\n\r\n" % path).encode())
        text = b""
        while True:
            piece = s.recv(4096)
            if not piece: break
            text += piece
        return "tunnel 200 " + text.decode().split("\r\n\r\n")[-1]
    return go
def plain(url):
    def go():
        c = http.client.HTTPConnection("127.0.0.1", 7433, timeout=10); c.request("GET", url); a = c.getresponse()
        return "plain %d %s" % (a.status, a.read().decode() if a.status == 200 else "")
    return go
listed, other, host = os.environ["LISTED"], os.environ["OTHER"], os.environ["GATEWAY"]
say("raw socket", raw)
say("name", name)
say("listed directly", direct("127.0.0.1", int(listed)))
say("gateway", direct(host, 22)); say("gateway docker", direct(host, 2375))
say("metadata", direct("169.254.169.254", 80))
say("outside", direct("192.0.2.1", 443))
say("ipv6", direct("2001:db8::1", 443, socket.AF_INET6))
say("tunnel listed", tunnel("127.0.0.1:" + listed)); say("plain listed", plain("http://127.0.0.1:%s/" % listed))
say("tunnel other", tunnel("127.0.0.1:" + other)); say("plain other", plain("http://127.0.0.1:%s/" % other))
say("tunnel localhost", tunnel("localhost:" + listed))
say("tunnel gateway", tunnel(host + ":" + listed))
say("tunnel metadata", tunnel("169.254.169.254:80")); say("plain metadata", plain("http://169.254.169.254/latest/"))
say("tunnel ipv6", tunnel("[::1]:" + listed)); say("tunnel mapped", tunnel("[::ffff:127.0.0.1]:" + other))
say("tunnel spelled", tunnel("127.1:" + other)); say("tunnel elsewhere", tunnel("example.com:443"))
print("interfaces", sorted(os.listdir("/sys/class/net")))
print("over", flush=True)
`

// From a closed container nothing is reached but what its task names, and that only by the
// proxy; what was asked for is told at the end.
func TestANetworkListIsTheOnlyWayOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	answer := func(text string) (port string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		t.Cleanup(server.Close)
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	listed, other := answer("listed"), answer("SECRET")
	agent := func(name string) string {
		w.write(name+"/main.py", roamer)
		return fmt.Sprintf(`
agent %q {
  dir     = %q
  command = "python3 /agent/main.py"
  env     = { LISTED = %q, OTHER = %q, GATEWAY = "172.17.0.1" }
}
`, name, name, listed, other)
	}
	w.write("r.hcl", w.benchmark()+agent("roamer")+
		w.run("listed", []string{`agent "roamer" {}`}, `timeout = "3m"`, `auto_eval = "0s"`, `resume { max = 0 }`, fmt.Sprintf(`network = ["127.0.0.1:%s"]`, listed)))
	w.serve()
	run := w.settled("run.listed", 12*time.Minute)
	log := w.agentLog(run.Trials[0].ID)
	for _, want := range []string{
		"proxy http://127.0.0.1:7433 http://127.0.0.1:7433", "tunnel listed -> tunnel 200 listed", "plain listed -> plain 200 listed",
		"tunnel other -> tunnel 403", "plain other -> plain 403", "tunnel metadata -> tunnel 403", "plain metadata -> plain 403",
		"tunnel gateway -> tunnel 403", "tunnel elsewhere -> tunnel 403", "interfaces ['lo']", "\nover",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the agent does not say %q", want)
		}
	}
	for _, bad := range []string{"REACHED", "SENT", "RESOLVED", "SECRET"} {
		if strings.Contains(log, bad) {
			t.Errorf("the agent says %s", bad)
		}
	}
	if t.Failed() {
		t.Log(log)
	}
	told := 0
	for _, r := range ofType("trial.event", w.history("r.run.listed.jsonl")) {
		if r.Event == "network" {
			told++
		}
	}
	if told < 4 {
		t.Errorf("%d destinations are told of", told)
	}
}

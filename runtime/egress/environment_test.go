package egress

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestBothCasesSayTheSame(t *testing.T) {
	env := Environment("127.0.0.1:7433")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		if env[name] != "http://127.0.0.1:7433" || env[strings.ToLower(name)] != env[name] {
			t.Errorf("%s is %q, in lower case %q", name, env[name], env[strings.ToLower(name)])
		}
	}
	if env["no_proxy"] != env["NO_PROXY"] {
		t.Errorf("NO_PROXY is %q, in lower case %q", env["NO_PROXY"], env["no_proxy"])
	}
	for _, tool := range []string{"MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS"} {
		for _, property := range []string{"-Dhttp.proxyHost=127.0.0.1", "-Dhttp.proxyPort=7433", "-Dhttps.proxyHost=127.0.0.1", "-Dhttps.proxyPort=7433"} {
			if !strings.Contains(env[tool]+" ", property+" ") {
				t.Errorf("%s is %q, without %s", tool, env[tool], property)
			}
		}
	}
}

// goProxy has a process of its own tell which proxy Go takes, because Go asks once.
const goProxy = "EGRESS_TEST_TARGETS"

func TestGoTakesTheProxyForAllButTheContainerItself(t *testing.T) {
	if targets := os.Getenv(goProxy); targets != "" {
		for _, target := range strings.Fields(targets) {
			u, err := http.ProxyFromEnvironment(httptest.NewRequest(http.MethodGet, target, nil))
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s by %v", target, u)
		}
		return
	}
	want := map[string]string{
		"https://pypi.org/": "http://127.0.0.1:7433", "http://deb.debian.org/": "http://127.0.0.1:7433", "http://10.0.0.1/": "http://127.0.0.1:7433",
		"http://127.0.0.1:7433/v1": "<nil>", "http://localhost:8000/": "<nil>", "http://[::1]:80/": "<nil>",
	}
	exe := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	exe.Env = environ(Environment("127.0.0.1:7433"))
	var targets []string
	for target := range want {
		targets = append(targets, target)
	}
	exe.Env = append(exe.Env, goProxy+"="+strings.Join(targets, " "))
	out, err := exe.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for target, proxy := range want {
		if !strings.Contains(string(out), target+" by "+proxy+"\n") {
			t.Errorf("%s is not reached by %s:\n%s", target, proxy, out)
		}
	}
}

// A program that nobody told about the proxy but the environment.
func TestGitGoesThroughTheProxy(t *testing.T) {
	w := newFixture()
	p := newProxy(t, w, Options{Allow: []string{"git.example:443"}})
	defer p.Close()
	server := httptest.NewServer(p)
	defer server.Close()
	inside := make(chan string, 10)
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		inside <- q.Host
		http.NotFound(w, q)
	}))
	defer own.Close()
	for _, u := range []string{"https://git.example/a.git", "https://evil.example/b.git", "http://evil.example/c.git", own.URL + "/d.git"} {
		git := exec.Command("git", "ls-remote", u)
		git.Env = append(environ(Environment(hostOf(t, server.URL))), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir())
		if out, err := git.CombinedOutput(); err == nil {
			t.Errorf("git %s: %s", u, out)
		}
	}
	if len(inside) != 1 {
		t.Errorf("a server of the container itself was asked %d times", len(inside))
	}
	var got []string
	for _, c := range p.Counts() {
		got = append(got, net.JoinHostPort(c.Host, map[int]string{443: "443", 80: "80"}[c.Port]))
	}
	if want := "evil.example:80 evil.example:443 git.example:443"; strings.Join(got, " ") != want {
		t.Errorf("the proxy was asked for %q, want %s", got, want)
	}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func environ(env map[string]string) []string {
	list := []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

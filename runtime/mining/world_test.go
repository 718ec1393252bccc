package mining

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
	"github.com/assayd/assayd/runtime/mining/screen"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient bounds what a test waits for; it is only reached when something is wrong.
const patient = 5 * time.Minute

// merged is when all pull requests were.
var merged = time.Date(2026, 3, 1, 4, 30, 0, 0, time.UTC)

// fixture is all that a miner works with. What of it outlives a miner is here.
type fixture struct {
	t      *testing.T
	spec   config.Mining
	rules  screen.Rules
	book   *memory
	ledger *ledger
	forge  string // folder of the repositories
	repos  *extract.Repositories
	images *image.Builder
	hub    githubtest.World
	github *githubtest.Server
	model  *modeltest.Server
	hours  map[string][]byte // files of the archive
	refuse []http.Response   // that the archive answers first, one after the other

	judge    func(t task.Task, fix []byte) (round.Report, error) // nil = as the tests of the repositories come out
	waitable func(error) bool
	broken   bool // a life was broken off

	mu    sync.Mutex
	class map[string]string                                   // of a pull request, by its title; "" = easy
	odd   func(q question) (answer modeltest.Answer, ok bool) // answers of a model that are not the usual ones
	asked map[question]int
}

// question is one that a model was asked.
type question struct {
	title string // of the pull request
	key   string // under which the answer is kept
}

// repository are pull requests, by their numbers.
type repository struct {
	name     string
	pulls    []int
	untested bool // they come without tests, and with two more functions
	data     bool // beside that they change data of tests
	twice    bool // they mend another function as well, and make one more
	idle     bool // they mend nothing, and add a comment
}

// newFixture has repositories whose functions are mended one by one: pull request n has the
// function fn return n, and a test of that.
func newFixture(t *testing.T, repositories ...repository) *fixture {
	t.Helper()
	w := &fixture{
		t: t, forge: t.TempDir(), ledger: &ledger{}, hours: map[string][]byte{}, class: map[string]string{}, asked: map[question]int{},
		book: newMemory(), rules: screen.Rules{Files: screen.Range{Max: 50}, AddedLines: screen.Range{Max: 1000}},
		spec: config.Mining{
			Block: config.Block{Kind: "mining", Name: "shop"}, Source: config.Source{Kind: "repos"}, Once: true, Provider: "p", Model: "m",
			TestGeneration: config.TestGeneration{MaxTurns: 20, CommandTimeout: time.Minute, Timeout: time.Hour}, Repeats: 1, Batch: 30,
			Concurrency: config.Concurrency{Archive: 2, Enrich: 1, Classify: 1, Deep: 1},
			Output:      config.Output{Dir: filepath.Join(t.TempDir(), "mined"), Formats: []string{"sweforge"}},
		},
	}
	var all []github.Pull
	for _, r := range repositories {
		all = append(all, w.origin(r)...)
		w.spec.Source.Names = append(w.spec.Source.Names, r.name)
	}
	w.hub = githubtest.World{Pulls: all, Tokens: []string{"t"}}
	var err error
	if w.repos, err = extract.New(extract.Options{Dir: t.TempDir(), Forge: w.forge}); err != nil {
		t.Fatal(err)
	}
	fake := containertest.NewFake()
	t.Cleanup(func() { _ = fake.Close() })
	fake.AddImage("python:3.12-bookworm", container.ImageConfig{}, nil)
	fake.Handle(func(ctx context.Context, _ *containertest.FakeContainer) int {
		<-ctx.Done()
		return 137
	})
	fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int { return 0 })
	w.images = image.New(image.Options{
		Engine: fake, Trees: noTrees{}, CacheDir: t.TempDir(), Hold: []string{"hold"}, MaxBuilds: 2,
		BuildSecrets: image.BuildSecrets{Mirrors: map[string]string{"git": w.forge}}, Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// again is another world with the same repositories, of which nothing is known yet.
func (w *fixture) again(t *testing.T) *fixture {
	t.Helper()
	n := newFixture(t)
	n.forge, n.repos, n.images, n.hub, n.spec.Source = w.forge, w.repos, w.images, w.hub, w.spec.Source
	return n
}

// serve starts what is reached by a network.
func (w *fixture) serve() *fixture {
	w.t.Helper()
	w.github, w.model = githubtest.New(w.t, w.hub), modeltest.New(w.t, w.script)
	return w
}

// offline has nothing that is reached by a network, and so no model.
func (w *fixture) offline() *fixture {
	w.github = githubtest.Offline(w.hub)
	return w
}

// archived has the hours of the archive, from the fourth of a day on, tell of merges.
func (w *fixture) archived(hours ...[]github.Ref) *fixture {
	w.t.Helper()
	for i, refs := range hours {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for n, r := range refs {
			_, name, _ := strings.Cut(r.Repo, "/")
			fmt.Fprintf(z, `{"id":"%[5]d","type":"PullRequestEvent","actor":{"id":63,"login":"ann"},"repo":{"id":118,"name":"%[1]s"},"payload":{"action":"merged","number":%[3]d,`+
				`"pull_request":{"url":"https://api.github.com/repos/%[1]s/pulls/%[3]d","id":34,"number":%[3]d,"head":{"ref":"ann/fix","sha":"%[4]s","repo":{"id":118,"name":"%[2]s"}},`+
				`"base":{"ref":"main","sha":"%[4]s","repo":{"id":118,"name":"%[2]s"}}}},"public":true,"created_at":"2026-03-01T04:38:40Z"}`+"\n",
				r.Repo, name, r.Number, strings.Repeat("ab", 20), 1000*i+n)
		}
		if err := z.Close(); err != nil {
			w.t.Fatal(err)
		}
		w.hours[archive.Name(merged.Add(time.Duration(i)*time.Hour))] = b.Bytes()
	}
	w.spec.Source = config.Source{Kind: "gharchive", From: "2026-03-01T04:00:00Z", To: fmt.Sprintf("2026-03-01T%02d:00:00Z", 4+len(hours))}
	return w
}

// origin makes a repository, and says what GitHub has of its pull requests.
func (w *fixture) origin(r repository) (all []github.Pull) {
	w.t.Helper()
	dir := filepath.Join(w.forge, r.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.git(dir, "", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", ".")
	var in, hashes strings.Builder
	file := func(name, content string) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(content), content)
	}
	commit := func(mark int, words string) {
		fmt.Fprintf(&in, "commit refs/heads/main\nmark :%d\ncommitter a <a@example.org> 1700000000 +0000\ndata %d\n%s\n", mark, len(words), words)
		if mark > 1 {
			fmt.Fprintf(&in, "from :%d\n", mark-1)
		}
		fmt.Fprintf(&hashes, "get-mark :%d\n", mark)
	}
	commit(1, "Begin "+r.name) // no two repositories have the same commits
	file("setup.py", "import setuptools\n\nsetuptools.setup()\n")
	for _, n := range r.pulls {
		file(source(n), fmt.Sprintf("def f%d():\n    return 0\n", n))
		file(tests(n), "def test_base():\n    assert True\n")
		if r.twice {
			file(other(n), fmt.Sprintf("def g%d():\n    return 0\n", n))
		}
	}
	for i, n := range r.pulls {
		commit(i+2, fmt.Sprint("Mend f", n))
		if r.untested {
			file(source(n), fmt.Sprintf("def f%d():\n    return %d\n\ndef alpha_value():\n    return 1\n\ndef beta_value():\n    return 1\n", n, n))
			if r.data {
				file("tests/data/f.json", "{}\n")
			}
			continue
		}
		if r.idle {
			file(source(n), fmt.Sprintf("# It is mended.\ndef f%d():\n    return 0\n", n))
		} else {
			file(source(n), fmt.Sprintf("def f%d():\n    return %d\n", n, n))
		}
		if r.twice {
			file(other(n), fmt.Sprintf("def g%d():\n    return %d\n\ndef alpha_value():\n    return 1\n", n, n))
		}
		file(tests(n), fmt.Sprintf("def test_base():\n    assert True\n\ndef test_f%d():\n    assert f%d() == %d\n", n, n, n))
	}
	marks := strings.Fields(w.git(dir, in.String()+hashes.String(), "fast-import", "--quiet", "--cat-blob-fd=1"))
	for i, n := range r.pulls {
		files, added := []github.File{{Name: source(n), Status: "modified", Added: 1, Removed: 1}, {Name: tests(n), Status: "modified", Added: 3}}, 4
		if r.idle {
			files[0].Removed = 0
		}
		if r.twice {
			files, added = append(files, github.File{Name: other(n), Status: "modified", Added: 4, Removed: 1}), added+4
		}
		if r.untested {
			files, added = []github.File{{Name: source(n), Status: "modified", Added: 7, Removed: 1}}, 7
		}
		if r.data {
			files, added = append(files, github.File{Name: "tests/data/f.json", Status: "added", Added: 1}), added+1
		}
		all = append(all, github.Pull{
			Ref: github.Ref{Repo: r.name, Number: n}, Title: title(r.name, n), Body: "It is always zero.", Author: "ann", AuthorType: "User", Merged: true,
			BaseRef: "main", BaseSHA: marks[i], HeadSHA: marks[i+1], MergeSHA: marks[i+1], Parents: []string{marks[i]}, MergedAt: merged.Add(-time.Duration(i) * time.Second),
			Files: files, ChangedFiles: len(files), Added: added, Removed: 1, Commits: 1,
			Repository: github.Repository{Name: r.name, OwnerType: "Organization", Language: "Python", Stars: 100, License: "MIT", DefaultBranch: "main"},
		})
	}
	return all
}

func source(n int) string               { return fmt.Sprintf("calc/f%d.py", n) }
func other(n int) string                { return fmt.Sprintf("calc/g%d.py", n) }
func tests(n int) string                { return fmt.Sprintf("tests/test_f%d.py", n) }
func title(repo string, n int) string   { return fmt.Sprintf("Mend f%d of %s", n, repo) }
func ref(repo string, n int) github.Ref { return github.Ref{Repo: repo, Number: n} }

func (w *fixture) git(dir, in string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return out.String()
}

// noTrees has none: image.Trees.
type noTrees struct{}

// Open implements image.Trees.
func (noTrees) Open(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }

// options are those of one life of a miner.
func (w *fixture) options(t *testing.T) Options {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	client, err := github.Open(github.Options{BaseURL: w.github.API, Tokens: []string{"t"}, Client: w.client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	hours, err := archive.New(archive.Options{BaseURL: "http://archive.test", Client: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	p := gateway.Provider{
		Name: "p", Protocol: wire.OpenAI, BaseURL: "http://model.test/v1", Key: func() (string, error) { return "key", nil },
		Prices: map[string]gateway.Price{"m": {Input: 1000, Output: 10_000}}, // 0.2 dollars an answer
	}
	if w.model != nil {
		p.BaseURL = w.model.URL + "/v1"
	}
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{p}, Ledger: w.ledger, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return Options{
		Spec: w.spec, Rules: w.rules, Book: w.book, Archive: hours, GitHub: client, Forge: "https://github.com", Repos: w.repos, Gateway: g,
		Images: w.images,
		Room: func(ctx context.Context, _ task.Task, use func(ctx context.Context, room workbench.Room) error) error {
			return use(ctx, room{})
		},
		Judge: w.judged, Trees: &tasktest.Trees{}, Waitable: w.waitable, Log: log,
	}
}

// client is that of a GitHub without a network, nil for one with it.
func (w *fixture) client() *http.Client {
	if w.github.URL != "" {
		return nil
	}
	return &http.Client{Transport: w.github.Transport()}
}

// RoundTrip is the archive.
func (w *fixture) RoundTrip(q *http.Request) (*http.Response, error) {
	if len(w.refuse) > 0 {
		res := w.refuse[0]
		res.Body, res.Request, w.refuse = http.NoBody, q, w.refuse[1:]
		return &res, nil
	}
	content, ok := w.hours[strings.TrimPrefix(q.URL.Path, "/")]
	res := &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, ContentLength: int64(len(content)), Body: io.NopCloser(bytes.NewReader(content)), Request: q}
	if !ok {
		res.StatusCode, res.Status = http.StatusNotFound, "404 Not Found"
	}
	return res, nil
}

// run is one life of a miner, up to its end. It leaves no session behind.
func (w *fixture) run(ctx context.Context) (cause string, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	o := w.options(w.t)
	m := New(o)
	cause, err = m.Run(ctx)
	asked := w.ledger.asked()
	session, openErr := o.Gateway.Open(w.t.Context(), gateway.Grant{Account: gateway.Account{Spec: w.spec.Address(), Trial: "x"}, Provider: "p"})
	if openErr != nil {
		w.t.Fatal(openErr)
	}
	if err := session.Close(); err != nil {
		w.t.Error(err)
	}
	if w.ledger.asked() == asked { // what a spec has spent is known as long as it has a session
		w.t.Error("a session is left open")
	}
	if at, waits := m.stages(); len(at) > 0 || waits != "" {
		w.t.Errorf("nobody works, and under way are %v, which wait for %q", at, waits)
	}
	return cause, err
}

// mine is a life that has to end well.
func (w *fixture) mine(want string) {
	w.t.Helper()
	if cause, err := w.run(w.t.Context()); err != nil || cause != want {
		w.t.Fatalf("it ended with %q, %v; want %q", cause, err, want)
	}
	w.sound()
}

// sound looks at the end of a spec: each pull request is decided once, and the counters add up.
func (w *fixture) sound() {
	w.t.Helper()
	for _, p := range w.book.pulls {
		if p.decided != 1 {
			w.t.Errorf("%s was decided %d times", p.ref.String(), p.decided)
		}
	}
	p := w.book.last
	if w.book.reports[len(w.book.reports)-1] != "mining.finished" || p.Seen != len(w.book.pulls) || p.Open != 0 {
		w.t.Errorf("of %d pull requests %s tells %d, %d of them open", len(w.book.pulls), w.book.reports, p.Seen, p.Open)
	}
	addsUp(w.t, p)
	if tasks := w.book.count("accepted"); p.Accepted != tasks {
		w.t.Errorf("%d tasks, told are %d", tasks, p.Accepted)
	}
	if w.model == nil {
		return
	}
	u := w.model.Usage()
	if w.broken || w.spec.Quota != nil {
		return // a question was given up, and is charged as if it had been answered
	}
	if p.Usage.InputTokens != int64(u.Prompt()) || p.Usage.OutputTokens != int64(u.Output) {
		w.t.Errorf("the model was paid for %d and %d tokens, told are %+v", u.Prompt(), u.Output, p.Usage)
	}
	if n := float64(p.Accepted); n > 0 && (p.TokensPerTask != float64(u.Prompt()+u.Output)/n || p.USDPerTask != p.CostUSD/n || p.CostUSD == 0) {
		w.t.Errorf("%v tokens and %v dollars a task", p.TokensPerTask, p.USDPerTask)
	}
}

// addsUp looks at the counters of all stages.
func addsUp(t *testing.T, p Progress) {
	t.Helper()
	if p.Stages[0].Entered != p.Seen || p.Stages[len(p.Stages)-1].Passed != p.Accepted || p.Seen != p.Open+p.Accepted+p.Rejected+p.Failed {
		t.Errorf("the ends do not meet: %+v", p)
	}
	open, rejected, failed := 0, 0, 0
	for i, s := range p.Stages {
		if s.Entered != s.Passed+s.Rejected+s.Failed+s.Open || i > 0 && p.Stages[i-1].Passed != s.Entered || s.Open < 0 {
			t.Errorf("%s does not add up: %+v", s.Stage, p.Stages)
		}
		open, rejected, failed = open+s.Open, rejected+s.Rejected, failed+s.Failed
	}
	if open != p.Open || rejected != p.Rejected || failed != p.Failed {
		t.Errorf("open %d, rejected %d, failed %d: %+v", open, rejected, failed, p)
	}
}

// verdicts compares what became of the pull requests.
func (w *fixture) verdicts(want map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.book.verdicts()); diff != "" {
		w.t.Errorf("-want +got\n%s", diff)
	}
}

// What a miner says at its end.
const nothingMore = "the source has nothing more"

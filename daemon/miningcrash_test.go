//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/mining/github"
)

// long bounds the waits for what needs many containers.
const long = 10 * patience

// question is one that the model is asked about a pull request, under the key by which its
// answer is kept.
type question struct{ pull, key string }

// watched is a quarry whose daemon is killed, and which knows what must not be paid twice.
type watched struct {
	*vigil
	quarry *fakeForge
	armed  string           // file that tells the daemon where to die
	order  []string         // the questions about a pull request that becomes a task
	next   map[question]int // how many kills found it to be the next to be asked, or being asked
	blank  map[string]int   // how many kills found nothing kept of what GitHub knows of a pull request
	kills  int
}

// watch has a quarry's daemons killed. Its spec asks the questions in this order.
func (q *fakeForge) watch(order ...string) *watched {
	q.Helper()
	q.breakable()
	w := &watched{
		vigil: q.vigil(), quarry: q, armed: filepath.Join(filepath.Dir(q.state), "armed"), order: order, next: map[question]int{}, blank: map[string]int{},
	}
	q.env = append(q.env, "ASSAYD_FAULT_KILL_FILE="+w.armed)
	return w
}

// falls starts a daemon that dies when it comes to a point for the nth time.
func (w *watched) falls(at fault.Point, n int) {
	w.Helper()
	began := time.Now()
	if err := os.WriteFile(w.armed, fmt.Appendf(nil, "%s:%d", at, n), 0o600); err != nil {
		w.Fatal(err)
	}
	w.launched = time.Now()
	p := w.launch()
	select {
	case <-p.exited:
	case <-time.After(long):
		w.Fatalf("the daemon never came to %q", at)
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		w.Fatalf("the daemon was to die at %q and ended with %v", at, p.err)
	}
	w.daemon = nil
	if err := os.Remove(w.armed); err != nil {
		w.Fatal(err)
	}
	w.killed()
	w.Logf("%-22s %5.1f s", at, time.Since(began).Seconds())
}

// killed notes after a kill what is the next question about each pull request: it may have
// been under way. What was answered and kept is not.
func (w *watched) killed() {
	w.Helper()
	w.kills++
	w.look()
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		w.Fatal(err)
	}
	err = s.View(w.Context(), func(tx *store.Tx) error {
		kept, err := tx.Answers(w.quarry.address(), "github/")
		for _, p := range w.quarry.pulls {
			if err != nil {
				break
			}
			ref := p.ref().String()
			if !slices.ContainsFunc(kept, func(n store.Named) bool { return strings.HasSuffix(n.Key, " pull "+ref) }) {
				w.blank[ref]++
			}
			var key string
			if key, err = w.unanswered(tx, p.ref()); key != "" {
				w.next[question{ref, key}]++
			}
		}
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		w.Fatal(err)
	}
}

// unanswered is the first question about a pull request whose answer is not kept; "" = there
// is none, or none yet.
func (w *watched) unanswered(tx *store.Tx, ref github.Ref) (string, error) {
	row, err := tx.Pull(w.quarry.address(), ref.Repo, ref.Number)
	for _, key := range w.order {
		if err != nil || row.Verdict != "" {
			break
		}
		if _, err = tx.Answer(w.quarry.address(), ref.String(), key); errors.Is(err, store.ErrNotFound) {
			return key, nil
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return "", err
}

// askedGitHubOnce fails if GitHub has answered again what was kept of it.
func (w *watched) askedGitHubOnce() {
	w.Helper()
	for what, n := range w.quarry.github.Answered() {
		ref := strings.TrimPrefix(what, "GRAPHQL ")
		if most := 1 + w.blank[ref]; n > most {
			w.Errorf("GitHub was asked %d times for %s, and may be asked %d times", n, what, most)
		}
	}
}

// asked counts the questions that the model was asked.
func (q *fakeForge) asked() map[question]int {
	q.Helper()
	keys := map[string]string{
		"rate_difficulty": "triage/0", "write_statement": "statement/0", "classify": "classify/0", "rate_quality": "quality/0",
	}
	all := map[question]int{}
	for _, x := range q.model.Exchanges() {
		p, ok := q.about(x.Request)
		if !ok {
			q.Errorf("the model was asked about nothing: %+v", x.Request)
			continue
		}
		key := fmt.Sprintf("environment/%d", x.Request.Results())
		for _, tool := range x.Request.Tools {
			if one, ok := keys[tool]; ok {
				key = one
			}
		}
		all[question{p.ref().String(), key}]++
	}
	return all
}

// about is the pull request that the model is asked about.
func (q *fakeForge) about(r modeltest.Request) (*planted, bool) {
	for _, p := range q.pulls {
		for _, turn := range r.Turns {
			if strings.Contains(turn.Text, p.title) {
				return p, true
			}
		}
	}
	return nil, false
}

// paidOnce fails unless each question was asked, and again only where a kill may have found it
// under way. The books have what the model told, but for what was asked again.
func (w *watched) paidOnce(m query.MiningStatus) {
	w.Helper()
	asked, again := w.quarry.asked(), 0
	for _, p := range w.quarry.pulls {
		for _, key := range w.order {
			q := question{p.ref().String(), key}
			n, most := asked[q], 1+w.next[q]
			delete(asked, q)
			switch {
			case p.want == "" && (n < 1 || n > most):
				w.Errorf("%s about %s was asked %d times, and may be asked %d times", key, q.pull, n, most)
			case p.want != "" && n > 0:
				w.Errorf("%s about %s was asked, and it was to be rejected before", key, q.pull)
			case n > 1:
				again += n - 1
			}
		}
	}
	for q := range asked {
		w.Errorf("%s about %s was asked, and nobody has to know that", q.key, q.pull)
	}
	told, u := w.quarry.model.Usage(), m.Progress.Usage
	counted, all := u.Tokens()-u.EstimatedTokens, int64(told.Prompt()+told.Output)
	one := int64(perAnswer.Prompt() + perAnswer.Output)
	if counted > all || counted < all-int64(again)*one {
		w.Errorf("the books have %d tokens and estimate %d, the model told of %d in all; %d questions were asked again", counted, u.EstimatedTokens, all, again)
	}
	w.Logf("%d kills, %d questions again, %d tokens estimated", w.kills, again, u.EstimatedTokens)
}

// pullLine is the record of a pull request, or of a task.
type pullLine struct {
	Type, Repo, Verdict, Stage, Reason, Task string
	Number                                   int
}

// sameTasks fails unless the spec has made the tasks that it makes undisturbed, and nothing
// else: their records, and their files.
func (q *fakeForge) sameTasks(m query.MiningStatus) {
	q.Helper()
	var text []byte
	q.until("the end is on disk, which comes after the status", func() (err error) {
		if text, err = os.ReadFile(m.Results); err == nil && !bytes.Contains(text, []byte(`"type":"mining.finished"`)) {
			err = errors.New("the file does not have it")
		}
		return err
	})
	q.records(filepath.Base(m.Results)) // seq has no gap
	pulls, tasks, ends := map[string][]pullLine{}, map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		var r pullLine
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			q.Fatal(err)
		}
		switch r.Type {
		case "pr":
			ref := github.Ref{Repo: r.Repo, Number: r.Number}
			pulls[ref.String()] = append(pulls[ref.String()], r)
		case "task.mined":
			tasks[r.Task]++
		case "mining.finished":
			ends++
		}
	}
	if ends != 1 {
		q.Errorf("it is told %d times that mining is over", ends)
	}
	var want []string
	for _, p := range q.pulls {
		told := pulls[p.ref().String()]
		delete(pulls, p.ref().String())
		verdict, task, mined := "rejected", "", 0
		if p.want == "" {
			verdict, task, mined = "accepted", p.task(), 1
			want = append(want, task)
			q.isWhole(filepath.Join(q.specs, "mined", task))
		}
		if len(told) != 1 || told[0].Verdict != verdict || told[0].Reason != p.want || told[0].Task != task || tasks[task] != mined {
			q.Errorf("%s has the records %+v and %d of its task; it is to be %s %s", p.ref(), told, tasks[task], verdict, p.want)
		}
	}
	if len(pulls) > 0 {
		q.Errorf("there are records of other pull requests: %v", pulls)
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(m.Tasks)); !slices.Equal(got, want) || m.Progress.Accepted != len(want) || m.Progress.Open != 0 {
		q.Errorf("it has mined %v and tells of %+v; want %v", got, m.Progress, want)
	}
	found, err := os.ReadDir(filepath.Join(q.specs, "mined"))
	if err != nil || len(found) != len(want) {
		q.Errorf("there are %v, %v; want %v", found, err, want)
	}
}

// isWhole fails unless the folder is the task that a good pull request becomes.
func (q *fakeForge) isWhole(dir string) {
	q.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "workspace.yaml"))
	for _, name := range []string{"test_nothing", "test_words", "test_kind", "test_more_is_more"} {
		if err != nil || !strings.Contains(string(text), name) {
			q.Errorf("%s does not name %s (%v):\n%s", dir, name, err, text)
		}
	}
	for _, name := range []string{"prompt.md", "checks.txt", "provenance.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			q.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// nothingIsLeft stops the daemon and fails if it leaves more than it keeps.
func (w *watched) nothingIsLeft() {
	w.Helper()
	w.over()
	for _, pattern := range []string{"clones/.*", "../w/mined/.*", "../w/.tmp-*"} {
		for _, path := range w.found(pattern) {
			w.Errorf("%s was left", path)
		}
	}
	made, err := w.engine.ListImages(w.Context(), image.LabelImageOwner, w.owner)
	if err != nil {
		w.Fatal(err)
	}
	kinds := map[string]int{}
	for _, img := range made {
		if len(img.Refs) == 0 {
			w.Errorf("the image %s was left without a name", img.ID)
		}
		for _, ref := range img.Refs {
			name, _, _ := strings.Cut(ref, ":")
			if kind, ok := strings.CutPrefix(name, w.bench+"."); ok { // else it is the name that equal ones share
				kinds[kind]++
			}
		}
	}
	for kind, n := range kinds {
		if n != 1 {
			w.Errorf("there are %d images %s, and each task has one for the work and one for its judge", n, kind)
		}
	}
}

// bot is a pull request that a robot made: GitHub has to be asked to know.
func bot(name string) *planted {
	p := good(name)
	p.title, p.want = "Bump "+name, "bot"
	p.change = func(p *github.Pull) { p.Author, p.AuthorType = "renovate-for-all", "Bot" }
	return p
}

// questions are those about a pull request that becomes a task, in their order.
func questions(first ...string) []string {
	return append(first, "statement/0", "environment/0", "environment/1", "classify/0", "quality/0")
}

// Wherever in the life of a pull request the daemon is killed, the same tasks come of it, a
// run over them takes up each, and nothing is asked or told twice.
func TestACrashAtAnyPointOfMiningCostsNothing(t *testing.T) {
	t.Parallel()
	q := newFakeForge(t, good("alpha"), good("beta"), bot("gamma"))
	w := q.watch(questions()...)
	q.write("m.hcl", q.spec("max_tasks = 0", `pr_file = "decided.list"`, "validation { repeats = 1 }", "concurrency {\n    archive = 1\n    enrich  = 1\n    deep    = 1\n  }")+fmt.Sprintf(`
run "over" {
  tasks   = [mining.%s]
  mode    = "single"
  timeout = "5m"
  agent "nop" {}
}
`, q.bench))
	laps := []struct {
		at fault.Point
		n  int
	}{
		{fault.PullsFound, 1},
		{fault.PullsFound, 1},
		{fault.AnswerKept, 1},
		{fault.AnswerKept, 1},
		{fault.AnswerKept, 2},
		{fault.AnswerKept, 1},
		{fault.AnswerKept, 2},
		{fault.TaskWritten, 1},
		{fault.PullDecided, 1},
		{fault.PullDecided, 1},
	}
	killed := map[fault.Point]bool{}
	for _, l := range laps {
		w.falls(l.at, l.n)
		killed[l.at] = true
	}
	for _, p := range fault.Mining {
		if !killed[p] {
			t.Errorf("no lap ends at %q", p)
		}
	}
	w.start()
	w.tidy()
	m := q.mined(long)
	run := q.settled("run.over", long)
	if len(run.Trials) != 2 {
		t.Errorf("the run over them has %d trials: %+v", len(run.Trials), run.Trials)
	}
	q.sameTasks(m)
	noted, err := os.ReadFile(filepath.Join(q.specs, "decided.list"))
	for _, p := range q.pulls {
		if n := strings.Count(string(noted), p.ref().Repo); n != 1 {
			t.Errorf("%s is noted %d times as decided (%v):\n%s", p.ref(), n, err, noted)
		}
	}
	w.paidOnce(m)
	w.askedGitHubOnce()
	w.nothingIsLeft()
}

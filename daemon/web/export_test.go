package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

const (
	scriptedTrials = 300
	scriptedTests  = 250                              // of a round of the first trial: two pages
	scriptedLines  = 10_000                           // of the log of the first trial: several pages
	scriptedSteps  = 120                              // of the first trial: three pages
	scriptedOutput = 3 * trialview.OutputPageSize / 2 // bytes of the output of one round: two pages
)

// hidden is in all that a judge says: names of files and tests, and their texts.
const hidden = "hidden_tests/test_secret.py"

// export writes the pages of three hundred trials of two rounds each, of which the first has a long log, many steps, and
// a long output.
func export(t *testing.T, o ExportOptions) (Exported, string) {
	t.Helper()
	began := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	var ids []string
	f := newFixture(t, scriptedTrials, func(s *trial.State) {
		ids = append(ids, s.ID)
		s.StartedAt, s.EndedAt, s.Detail = began, began.Add(time.Hour), "it failed in "+hidden
		s.Result.Best, s.Result.Detail, s.Result.Status = &trial.Best{Round: "agent-2"}, "it failed in "+hidden, trial.Unresolved
	})
	blob, err := f.store.Blobs().Create()
	f.check(err)
	_, err = blob.Write([]byte(strings.Repeat(hidden+" é\n", scriptedOutput/len(hidden+" é\n")+1)))
	f.check(err)
	output, _, err := blob.Commit()
	f.check(err)
	var tests []parser.Test
	for i := range scriptedTests {
		tests = append(tests, parser.Test{Name: fmt.Sprintf("%s::case_%d", hidden, i), Status: parser.Failed, Message: hidden, Detail: hidden})
	}
	many, err := json.Marshal(tests)
	f.check(err)
	few, err := json.Marshal(tests[:2])
	f.check(err)
	f.check(f.store.Do(t.Context(), func(tx *store.Tx) error {
		for i, id := range ids {
			for n := 1; n <= 2; n++ {
				report := &round.Report{Status: round.StatusOK, Failed: 2, TotalTests: 2, Valid: true, Summary: hidden, Problem: hidden, Metrics: map[string]float64{hidden: 1}}
				detail := few
				if i == 0 {
					detail, report.Output = many, output
				}
				sub := round.Submission{
					ID: fmt.Sprintf("%012x%04x", i, n), Trial: id, Try: 1, Round: fmt.Sprintf("agent-%d", n), Number: n, Kind: round.KindAgent, State: round.StateJudged,
					AcceptedAt: began.Add(time.Duration(n) * time.Minute), Archive: strings.Repeat("0", 64), Report: report,
				}
				data, err := json.Marshal(sub)
				if err != nil {
					return err
				}
				if _, err := tx.InsertSubmission(store.SubmissionRow{ID: sub.ID, Trial: id, Kind: string(sub.Kind), Number: n, State: string(sub.State), Data: data, Detail: detail}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	f.script(ids[0], began)
	dir := filepath.Join(t.TempDir(), "html")
	done, err := f.pages.Export(t.Context(), o, dir)
	f.check(err)
	return done, dir
}

// script lays a log and a transcript beside a trial.
func (f *fixture) script(id string, began time.Time) {
	f.Helper()
	log := trydir.Of(f.store.Dir(), id, 1).Log()
	f.check(os.MkdirAll(filepath.Dir(log), 0o755))
	var text strings.Builder
	for i := range scriptedLines {
		fmt.Fprintf(&text, "line %d of the log\n", i)
	}
	f.check(os.WriteFile(log, []byte(text.String()), 0o600))
	w, err := transcript.Create(trydir.Of(f.store.Dir(), id, 1).Transcript(), 1<<30)
	f.check(err)
	for i := range scriptedSteps {
		at := began.Add(time.Duration(i) * time.Second)
		n, err := w.Begin(at, transcript.Completions, "m", false, map[string]json.RawMessage{"messages": fmt.Appendf(nil, `[{"role":"user","content":"step %d of them"}]`, i)})
		f.check(err)
		f.check(w.End(at, n, transcript.Response{Status: 200, Reply: &transcript.Reply{Text: "I see " + hidden}}))
	}
	f.check(w.Close())
}

// pagesIn are the texts of the pages in a folder by their names, without when they were written.
func pagesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	stamps := regexp.MustCompile(`written [0-9T:Z-]+`)
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, rerr := filepath.Rel(dir, path)
		all[name] = stamps.ReplaceAllString(string(text), "")
		return errors.Join(err, rerr)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	anchors  = regexp.MustCompile(`(?i)\s(?:href|src|action|xlink:href)\s*=\s*"([^"]*)"`)
	scripts  = regexp.MustCompile(`(?i)<script|<form|<iframe|\son\w+="|@import|url\(`)
	logLines = regexp.MustCompile(`line \d+ of the log`)
	stepsOf  = regexp.MustCompile(`step \d+ of them`)
)

// Pages in files lead to each other alone, each is written once, and by themselves they have nothing of hidden tests.
func TestThePagesOfThreeHundredTrialsInFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		o     ExportOptions
		pages int
		tells bool // of hidden tests
	}{
		"by themselves": {ExportOptions{Run: "run.r"}, 2 + scriptedTrials + 2*scriptedTrials, true},
		"public":        {ExportOptions{Run: "run.r", Public: true}, 2 + scriptedTrials + 2*scriptedTrials, false},
		// A trial has as well: what happened between its rounds, its log, and its steps. Of the first one, the log and the
		// steps have two more pages each, and so have the tests and the output of both rounds together.
		"with everything": {ExportOptions{Run: "run.r", With: page.Contents()}, 2 + scriptedTrials*(1+2+1+1+1) + 2 + 2 + 2 + 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			done, dir := export(t, tt.o)
			files := pagesIn(t, dir)
			if done.Pages != tt.pages || done.Trials != scriptedTrials || done.Left != 0 || len(files) != tt.pages+1 {
				t.Errorf("%+v in %d files, want %d pages", done, len(files), tt.pages)
			}
			same, told := map[string]string{}, 0
			lines, steps := map[string]int{}, map[string]int{}
			for name, text := range files {
				if found := scripts.FindString(text); found != "" {
					t.Errorf("%s has %s", name, found)
				}
				if other := same[text]; other != "" {
					t.Errorf("%s and %s are the same page", name, other)
				}
				same[text] = name
				leads(t, name, text, files)
				told += strings.Count(text, "hidden_tests") + strings.Count(text, "test_secret") + strings.Count(text, filepath.Dir(dir))
				for _, line := range logLines.FindAllString(text, -1) {
					lines[line]++
				}
				if strings.Contains(name, "_steps") || strings.Contains(name, "/steps") {
					for _, step := range stepsOf.FindAllString(text, -1) {
						steps[step]++
					}
				}
			}
			if (told > 0) != tt.tells {
				t.Errorf("hidden tests are told of %d times", told)
			}
			if len(tt.o.With) > 0 && (len(lines) < scriptedLines-10 || len(steps) != scriptedSteps) {
				t.Errorf("%d lines of the log and %d steps are written", len(lines), len(steps))
			}
			for what, n := range lines {
				if n != 1 {
					t.Errorf("%s is written %d times", what, n)
				}
			}
		})
	}
}

// leads reports links of a page that lead elsewhere, or nowhere.
func leads(t *testing.T, name, text string, files map[string]string) {
	t.Helper()
	for _, m := range anchors.FindAllStringSubmatch(text, -1) {
		u, err := url.Parse(m[1])
		if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "/") {
			t.Errorf("%s leads to %s", name, m[1])
			continue
		}
		to := filepath.Join(filepath.Dir(name), filepath.FromSlash(u.Path))
		if u.Path == "" {
			to = name
		}
		if _, is := files[to]; !is {
			t.Errorf("%s leads to %s, which is no file", name, m[1])
		}
	}
}

// A page in a file that cannot be there any more is plain text where it is named, and is told of.
func TestPagesInFilesAreBounded(t *testing.T) {
	x := &exporter{with: page.Contents(), run: "/runs/r/e1", trials: map[string]bool{"a": true}, files: map[string]string{}}
	for i := range 2 * maxFiles {
		x.file(fmt.Sprintf("/trials/a/log?offset=%d", i))
	}
	if len(x.files) != maxFiles || x.done.Cut != maxFiles {
		t.Errorf("%d files, and %d links that lead nowhere", len(x.files), x.done.Cut)
	}
}

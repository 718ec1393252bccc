package reconcile

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/results"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// former is a state directory that an earlier version left in the midst of its work. What it is
// made of says its archive.
type former struct {
	dir   string
	files map[string]string // by name, with $ROOT replaced
}

// unpack writes what an earlier version left into a new folder.
func unpack(t *testing.T) *former {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/former/3c844f5.txtar")
	if err != nil {
		t.Fatal(err)
	}
	f := &former{dir: shortDir(t), files: map[string]string{}}
	for _, file := range archive.Files {
		name, text := file.Name, strings.ReplaceAll(string(file.Data), "$ROOT", f.dir)
		if bare, ok := strings.CutSuffix(name, ".base64"); ok {
			content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
			check(t, err)
			name, text = bare, string(content)
		} else if bare, ok := strings.CutSuffix(name, ".open"); ok {
			name, text = bare, strings.TrimSuffix(text, "\n")
		}
		f.files[name] = text
		if strings.HasPrefix(name, "s/") || strings.HasPrefix(name, "specs/") {
			path := filepath.Join(f.dir, name)
			check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
		}
	}
	db := f.database(t, "rwc")
	_, err = db.ExecContext(t.Context(), "BEGIN;"+f.files["state.sql"]+"COMMIT;")
	check(t, errors.Join(err, db.Close()))
	return f
}

// database opens the database past the store.
func (f *former) database(t *testing.T, mode string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "s", "assayd.db")+"?mode="+mode)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// fixture is one in which today's daemons go on: GitHub and the model answer now, and the
// engine has the containers that it had.
func (f *former) fixture(t *testing.T) *fixture {
	t.Helper()
	h := newFixtureIn(t, f.dir)
	h.answers = map[string]string{"works": "tests:ABcd", "lost": "tests:ABCd", "between": "tests:ABCD", "mines": "tests:ABCD"}
	h.runner = func(answer string) (string, int) {
		if answer == "slow" { // the round that was being judged
			answer = "tests:ABCd"
		}
		return answer, 0
	}
	h.fake.AddImage("game:1", container.ImageConfig{}, map[string]string{
		"/hold": "", "/dial": "", "/bin/sh": "", "/workspace/rom": "", "/etc/passwd": "root:x:0:0::/:\n",
	})
	f.outside(t, h)
	f.containers(t, h)
	return h
}

// outside is what mining and gateways reach.
func (f *former) outside(t *testing.T, h *fixture) {
	t.Helper()
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Calls: []modeltest.Call{{Name: "rate_difficulty", Arguments: map[string]any{"reasoning": "one line", "difficulty": "easy", "score": 0.2}}}, Usage: modeltest.Usage{Input: 100, Output: 10}}
	})
	settings := config.DefaultSettings(nil)
	settings.Providers = map[string]config.Provider{"p": {Protocol: "openai", BaseURL: "http://model.test/v1", APIKey: config.SecretText("key")}}
	var pulls []github.Pull
	check(t, json.Unmarshal([]byte(f.files["github.json"]), &pulls))
	hub, clones, log := githubtest.Offline(githubtest.World{Pulls: pulls}), t.TempDir(), slog.New(slog.DiscardHandler)
	h.more = func(o *Options) {
		g, err := gateway.New(gateway.Options{
			Providers: []gateway.Provider{{
				Name: "p", Protocol: wire.OpenAI, BaseURL: model.URL + "/v1", Key: func() (string, error) { return "key", nil },
				Prices: map[string]gateway.Price{"m": {Input: 3, Output: 15}},
			}},
			Ledger: ledger.NewUsageLedger(h.store), Log: log,
		})
		check(t, err)
		t.Cleanup(g.Close)
		client, err := github.Open(github.Options{BaseURL: hub.API, Client: &http.Client{Transport: hub.Transport()}})
		check(t, err)
		t.Cleanup(client.Close)
		repos, err := extract.New(extract.Options{Dir: clones})
		check(t, err)
		o.Config.Settings, o.Host.Gateway = settings, g
		o.Mining = func(config.Mining) (mining.Options, error) { return mining.Options{GitHub: client, Repos: repos}, nil }
	}
}

// containers gives the engine those that it had, with their ids, which it counts.
func (f *former) containers(t *testing.T, h *fixture) {
	t.Helper()
	type made struct {
		ID       string
		Workload container.Workload
	}
	var all []made
	for line := range strings.Lines(f.files["containers.jsonl"]) {
		var one made
		check(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b made) int { return strings.Compare(a.ID, b.ID) })
	last := 3 // the fake counts its images, too
	for _, had := range all {
		for last++; fmt.Sprintf("%064x", last) != had.ID; last++ {
			c, err := h.fake.Start(t.Context(), container.Workload{Name: "other", Image: "judge:1", Argv: []string{"/hold"}})
			if err != nil {
				t.Fatal(err)
			}
			h.fake.Vanish(c.Name)
		}
		if c, err := h.fake.Start(t.Context(), had.Workload); err != nil || c.ID != had.ID {
			t.Fatalf("container %s has id %s, %v", had.Workload.Name, c.ID, err)
		}
	}
}

// write has the result files written until the end of the test, or until stop is called.
func (f *former) write(t *testing.T, s *store.Store) (stop func()) {
	t.Helper()
	w := results.NewWriter(ledger.Projection(s), results.Options{Dir: filepath.Join(s.Dir(), "results"), Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { check(t, w.Run(ctx)) })
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(stop)
	return stop
}

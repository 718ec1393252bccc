package export

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/agentlog"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// Written says what an export has come to.
type Written struct {
	Execution int      `json:"execution"`
	Runs      []string `json:"runs"` // folders below DIR
	Trials    int      `json:"trials"`
	Rounds    int      `json:"rounds"`
}

// SForge writes an execution of a run (0 = the last one) as the directory tree of SForge
// below dir: runs/<run>/<task>/…. The folder must be new or empty, or hold exports, of this
// run or of others; an earlier one of the run is brought up to date. Any other folder, and
// one that holds something else in a place of the run, is a *TakenError.
func SForge(ctx context.Context, s *store.Store, address string, execution int, dir, version string) (out Written, err error) {
	run, err := history.Records(ctx, s, address, execution)
	if err != nil {
		return out, err
	}
	t, err := openTree(dir, s.Owner(), address)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	x := sforge{tree: t, store: s, ledger: history.NewLedger(s), run: run, version: version, groups: map[string]*group{}}
	at := places(run)
	if err := t.claim(foldersOf(at)); err != nil {
		return out, err
	}
	for _, r := range run.Trials {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if err := x.trial(ctx, at[r.ID], r); err != nil {
			return out, fmt.Errorf("export trial %s: %w", r.ID, err)
		}
		out.Trials, out.Rounds = out.Trials+1, out.Rounds+len(rounds(r))
	}
	for _, g := range x.order {
		if err := x.summary(g); err != nil {
			return out, err
		}
		out.Runs = append(out.Runs, folderOf(g.id))
	}
	out.Execution = run.Execution
	return out, t.finish(fmt.Sprintf("e%d", run.Execution))
}

// sforge is one export under way.
type sforge struct {
	tree    *tree
	store   *store.Store
	ledger  *ledger.Submissions
	run     history.RunRecord
	version string
	groups  map[string]*group
	order   []*group
}

// group is what is one run there.
type group struct {
	id      string
	configs map[string]taskConfig
	results []any
}

func (x *sforge) group(id string) *group {
	g := x.groups[id]
	if g == nil {
		g = &group{id: id, configs: map[string]taskConfig{}, results: []any{}}
		x.groups[id], x.order = g, append(x.order, g)
	}
	return g
}

// trial writes the folder of one task.
func (x *sforge) trial(ctx context.Context, at place, r history.TrialRecord) error {
	r = asViewed(r)
	dir := path.Join(folderOf(at.run), at.task)
	for _, sub := range rounds(r) {
		x.tree.at = sub.JudgedAt // the viewer takes the time of a game from its files
		if err := x.round(ctx, path.Join(dir, roundsFolder(sub), safe(sub.Round)), at.task, sub); err != nil {
			return err
		}
	}
	x.tree.at = time.Time{}
	size, err := x.finalArchive(dir, r)
	if err != nil {
		return err
	}
	history := HistoryOf(at.run, at.task, r)
	name, writeHistory := "run_history.json", x.tree.json
	if r.Cell.Task.Judge.Game != "" {
		name, writeHistory = "game_history.json", x.gameHistory(r)
	}
	config, result := configOf(r, at.task, x.version), resultOf(r, history, at.task, x.version, size)
	g := x.group(at.run)
	g.configs[at.task], g.results = config, append(g.results, result.summarized())
	err = errors.Join(
		x.log(dir, r), x.startedAt(dir, r), x.texts(dir, r), x.seen(dir, r), writeHistory(path.Join(dir, name), history),
		x.tree.json(path.Join(dir, runConfigName), config),
	)
	if r.Result != nil && r.Result.Status.Counts() { // who finds one takes the task for done
		err = errors.Join(err, x.tree.json(path.Join(dir, "final_result.json"), result))
	}
	x.tree.date(dir, r.FinishedAt) // the viewer takes it for when the task was at work last
	return err
}

// roundsFolder is where the folder of a round is. The viewer takes each round below submissions for a
// verdict, and one without a report for a zero.
func roundsFolder(sub round.Submission) string {
	if statusOf(sub) == "completed" || sub.Kind == round.KindGame && statusOf(sub) == "running" {
		return "submissions"
	}
	return "unjudged"
}

// round writes what is kept of one submission.
func (x *sforge) round(ctx context.Context, dir, taskID string, sub round.Submission) error {
	if sub.Kind == round.KindGame {
		return x.game(dir, taskID, sub)
	}
	if sub.Archive != "" {
		if _, err := x.archive(path.Join(dir, "submission.tar.gz"), sub.Archive); err != nil {
			return err
		}
	}
	if sub.State != round.StateJudged {
		return nil
	}
	if sub.Report.Output != "" {
		err := x.blob(path.Join(dir, "test_output.txt"), sub.Report.Output, func(w io.Writer, r io.Reader) error {
			_, err := io.Copy(w, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	if sub.Report.Status == round.StatusError {
		return nil // the machinery failed: there is no verdict, and a zero would be taken for one
	}
	whole, err := x.ledger.Submission(ctx, sub.ID)
	if err != nil {
		return err
	}
	return x.tree.json(path.Join(dir, "report.json"), reportOf(taskID, whole))
}

// finalArchive writes the tree that the agent left: the last snapshot, and where there was
// none, the last round.
func (x *sforge) finalArchive(dir string, r history.TrialRecord) (size int64, err error) {
	subs := rounds(r)
	with := func(ok func(round.Submission) bool) string {
		for _, sub := range slices.Backward(subs) {
			if sub.Archive != "" && ok(sub) {
				return sub.Archive
			}
		}
		return ""
	}
	digest := with(func(s round.Submission) bool { return s.Round == r.FinalRound })
	if digest == "" {
		digest = with(func(round.Submission) bool { return true })
	}
	if digest == "" {
		return 0, nil
	}
	return x.archive(path.Join(dir, "final_archive.tar.gz"), digest)
}

// archive writes a stored tar as a tar.gz and returns its size; 0 where it is not kept any
// more.
func (x *sforge) archive(name, digest string) (size int64, err error) {
	err = x.blob(name, digest, func(w io.Writer, r io.Reader) error {
		counted := &counter{w: w}
		zip, err := gzip.NewWriterLevel(counted, gzip.BestSpeed)
		if err != nil {
			return err
		}
		_, err = io.Copy(zip, r)
		err = errors.Join(err, zip.Close())
		size = counted.n
		return err
	})
	return size, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// blob writes a file from one; what is not kept any more is left out.
func (x *sforge) blob(name, digest string, copyTo func(io.Writer, io.Reader) error) (err error) {
	r, err := x.store.Blobs().Open(digest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return x.tree.file(name, func(w io.Writer) error { return copyTo(w, r) })
}

// log writes what the agent has written so far, the events of Codex in the form that the viewer
// reads.
func (x *sforge) log(dir string, r history.TrialRecord) (err error) {
	log, _, err := agentlog.Read(trydir.Of(x.store.Dir(), r.ID, r.Try).Log(), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return x.tree.file(path.Join(dir, "agent_output.txt"), func(w io.Writer) error {
		in := bufio.NewReaderSize(log, codexHead)
		head, err := in.Peek(codexHead)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if thread, ok := codexThread(head); ok {
			return writeCodex(w, in, thread, r)
		}
		_, err = io.Copy(w, in)
		return err
	})
}

// startedAt writes two lines: local time, and seconds of the epoch.
func (x *sforge) startedAt(dir string, r history.TrialRecord) error {
	if r.StartedAt.IsZero() {
		return nil
	}
	return x.tree.file(path.Join(dir, "started_at"), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n%.6f\n", r.StartedAt.In(time.Local).Format("2006-01-02T15:04:05.000000"), unix(r.StartedAt))
		return err
	})
}

// Files of a run, beside the folders of its tasks; a task has one of the first name, too.
const (
	runConfigName = "run_config.json"
	summaryName   = "summary.json"
)

// summary writes the two files of a run.
func (x *sforge) summary(g *group) error {
	dir := folderOf(g.id)
	var experiment *string
	if x.run.Spec != "" {
		experiment = &x.run.Spec
	}
	return errors.Join(
		x.tree.json(path.Join(dir, runConfigName), map[string]any{
			"run_id": g.id, "experiment": experiment, "stagger": x.run.Stagger.Seconds(), "tasks": g.configs,
			"spec": x.run.Address, "execution": fmt.Sprintf("e%d", x.run.Execution), "assayd": x.version,
		}),
		x.tree.json(path.Join(dir, summaryName), map[string]any{"run_id": g.id, "tasks": g.results}),
	)
}

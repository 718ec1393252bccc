package query

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/archive"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// BenchmarkInfo is a benchmark, or a mining spec by what it has mined.
type BenchmarkInfo struct {
	Address     string
	File        string
	Generation  string
	Description string
	Imports     []string // where tasks come from, in words
	Problems    int      // tasks of datasets that cannot be used
	Tasks       int
}

// BenchmarkOf returns a benchmark, or a mining spec, by its address; another is an ErrUnknown.
func (r *Reader) BenchmarkOf(ctx context.Context, address string) (b BenchmarkInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return b, err
	}
	kind, name, _ := strings.Cut(address, ".")
	all, known := []config.Selected(nil), false
	if now.Set != nil && (kind == "benchmark" || kind == "mining") {
		all, known = tasklookup.Of(now.Set, config.Ref{Kind: kind, Name: name})
	}
	if !known {
		suggestion := ""
		if now.Set != nil {
			suggestion = request.Suggest(address, tasklookup.Blocks(now.Set))
		}
		return b, history.Unknown("there is no %s%s", address, suggestion)
	}
	b = BenchmarkInfo{Address: address, Tasks: len(all)}
	if kind == "mining" {
		if m := now.Set.Mining(name); m != nil {
			b.File, b.Generation = m.Pos.File, m.Generation
		}
		return b, nil
	}
	of := now.Set.Benchmark(name)
	b.File, b.Generation, b.Description = of.Pos.File, of.Generation, of.Description
	for _, i := range of.Imports {
		from := cmp.Or(i.Dataset, i.URL, i.Path)
		if at := cmp.Or(i.Revision, i.Ref); at != "" {
			from += " at " + at
		}
		b.Imports = append(b.Imports, i.Format+" "+from)
		b.Problems += len(i.Problems)
	}
	return b, nil
}

// TaskDetail is one task as it is declared now, with what is known of it.
type TaskDetail struct {
	TaskInfo
	Declared    bool   // false = only trials of it are left
	Of          string // address of its benchmark or mining spec
	Instruction string
	Images      []TaskImage
	Command     string // of the judge; "" = it has none of its own
	Stages      []string
	Timeout     time.Duration
	Feedback    string // none, score, names, full
	Staged      bool   // submitted code and answers are kept in different containers
	Network     bool   // the judge has one
	Exclusive   bool
	Protected   int // patterns of files that a submission cannot change
	FailToPass  int
	PassToPass  int
	Hidden      []string // paths that the judge lays over the work, the first ones by name; never their content
	HiddenAll   int
	NoHidden    string // why they are not known
	Validated   *Validation
	NoContent   bool // who asks is to see no instruction and no hidden names
}

// TaskImage is an image of a task.
type TaskImage struct {
	Role   string // base, work, judge
	Name   string
	Digest string // "" = it is not known: none was made or pulled yet
}

// Validation is what the last check of a task has found.
type Validation struct {
	Time     time.Time `json:"time"`
	Verdict  string    `json:"verdict"` // sound, flagged or broken
	Oracle   *bool     `json:"oracle"`  // nil = there is no solution
	Nop      bool      `json:"nop"`     // the untouched tree failed each time
	Stable   bool      `json:"stable"`
	Repeat   int       `json:"repeat"`
	Findings []struct {
		Check    string `json:"check"`
		Severity string `json:"severity"`
		Text     string `json:"text"`
	} `json:"findings"`
	Images map[string]trial.ImageRef `json:"images"`
}

// Bounds of what a page of a task has.
const (
	maxHiddenNames = 500
	maxHiddenFiles = 100_000   // that are counted
	maxInstruction = 256 << 10 // bytes
	lookedLines    = 5000      // among which the last check is looked for
)

// TaskOf returns a task of a benchmark or a mining spec. One that is declared no more is known while there are trials
// of it; another is an ErrUnknown.
func (r *Reader) TaskOf(ctx context.Context, of, name string) (d TaskDetail, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return d, err
	}
	kind, benchmark, _ := strings.Cut(of, ".")
	d.Of, d.ID, d.Benchmark = of, name, benchmark
	d.Name, d.Address = name, config.Ref{Kind: kind, Name: benchmark, Task: name}.String()
	if now.Set != nil {
		all, _ := tasklookup.Of(now.Set, config.Ref{Kind: kind, Name: benchmark})
		if i := slices.IndexFunc(all, func(s config.Selected) bool { return s.Name() == name }); i >= 0 {
			if err := r.declaredTask(ctx, &d, all[i]); err != nil {
				return d, err
			}
		}
	}
	last, err := r.toldOfTask(ctx, &d)
	if err == nil && !d.Declared && last == nil {
		err = history.Unknown("there is no task %s", d.Address)
	}
	if d.NoContent = request.HidesContent(ctx); d.NoContent {
		d.withoutContent()
	}
	return d, err
}

// withoutContent leaves out what hidden tests or their names could be told by.
func (d *TaskDetail) withoutContent() {
	d.Instruction, d.Hidden, d.Command, d.Stages = "", nil, "", nil
	if d.NoHidden != "" {
		d.NoHidden = "something of it cannot be read" // the error may name it
	}
	if d.Validated != nil {
		for i := range d.Validated.Findings {
			d.Validated.Findings[i].Text = ""
		}
	}
}

// declaredTask fills in what the specs say of a task.
func (r *Reader) declaredTask(ctx context.Context, d *TaskDetail, s config.Selected) error {
	d.Declared, d.TaskInfo = true, taskInfo(s)
	t, err := plan.CompileTask(s)
	if err != nil {
		return nil // TaskInfo says what of it cannot be read
	}
	d.Instruction = strings.ToValidUTF8(t.Instruction[:min(len(t.Instruction), maxInstruction)], "")
	j := t.Judge
	d.Command, d.Timeout, d.Feedback, d.Staged, d.Network, d.Exclusive = j.Command.Line(), j.Timeout, j.Feedback, j.Staged(), j.Network, j.Exclusive
	if j.Game != "" {
		d.Command = j.Game
	}
	if j.Staged() {
		d.Stages = []string{"run: " + j.Run.Command.Line(), "grade: " + j.Grade.Command.Line()}
	}
	d.Protected, d.FailToPass, d.PassToPass = len(j.Protect), len(t.FailToPass), len(t.PassToPass)
	for _, i := range []TaskImage{{"base", t.Image, ""}, {"work", t.Work.Image, ""}, {"judge", j.Image, ""}} {
		if t.Base != nil && i.Role == "base" {
			i.Name = t.Base.Name
		}
		if i.Name != "" {
			d.Images = append(d.Images, i)
		}
	}
	return r.hiddenNames(ctx, d, t)
}

// hiddenNames fills in the names of what the judge lays over the work.
func (r *Reader) hiddenNames(ctx context.Context, d *TaskDetail, t task.Task) error {
	found := map[string]bool{}
	trees := []string{t.Judge.Context.Digest}
	if t.Judge.Staged() {
		trees = append(trees, t.Judge.Run.Context.Digest, t.Judge.Grade.Context.Digest)
	}
	if t.Private != nil {
		trees = append(trees, t.Private.Context.Digest)
	}
	for _, digest := range trees {
		if digest == "" {
			continue
		}
		err := archive.Reader{Open: r.o.OpenBlob}.Each(ctx, digest, func(h *tar.Header, _ io.Reader) error {
			if found[h.Name] = true; len(found) > maxHiddenFiles {
				return fmt.Errorf("it has more than %d files", maxHiddenFiles)
			}
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			if _, gone := errors.AsType[*archive.Gone](err); gone {
				d.NoHidden = "a folder of it is not kept here any more"
				continue
			}
			d.NoHidden = fmt.Sprintf("a folder of it cannot be read: %v", err)
		}
	}
	if len(t.Judge.Patch) > 0 {
		names, err := patch.Paths(t.Judge.Patch)
		if err != nil {
			d.NoHidden = fmt.Sprintf("its patch cannot be read: %v", err)
		}
		for _, name := range names {
			found[name] = true
		}
	}
	for name := range t.Judge.Files {
		found[name] = true
	}
	names := slices.Sorted(maps.Keys(found))
	d.HiddenAll, d.Hidden = len(names), names[:min(len(names), maxHiddenNames)]
	return nil
}

// toldOfTask fills in what the last check and the last trial tell, and returns that trial's cell; nil = there is none.
func (r *Reader) toldOfTask(ctx context.Context, d *TaskDetail) (last *store.CellRow, err error) {
	known := map[string]trial.ImageRef{}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		line, err := tx.LastLine(d.Of, "task.validated", d.ID, lookedLines)
		switch {
		case err == nil:
			d.Validated = &Validation{}
			if err := json.Unmarshal(line.Data, d.Validated); err != nil {
				return fmt.Errorf("read the last check of %s: %w", d.Address, err)
			}
			maps.Copy(known, d.Validated.Images)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		cells, err := tx.CellsAtTask(d.Benchmark, d.ID, nil, 1)
		if err != nil || len(cells) == 0 {
			return err
		}
		last = &cells[0]
		row, err := tx.Trial(last.Trial)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		for role, ref := range map[string]trial.ImageRef{"work": s.WorkImage, "judge": s.JudgeImage} {
			if ref.ID != "" {
				known[role] = ref
			}
		}
		return err
	})
	for _, role := range slices.Sorted(maps.Keys(known)) {
		ref := known[role]
		at := slices.IndexFunc(d.Images, func(i TaskImage) bool { return i.Role == role })
		if at < 0 {
			d.Images = append(d.Images, TaskImage{Role: role})
			at = len(d.Images) - 1
		}
		d.Images[at].Name, d.Images[at].Digest = cmp.Or(ref.Ref, d.Images[at].Name), ref.ID
	}
	return last, err
}

// TrialsAtTask returns at most limit trials at a task, of all runs and executions, those that began last first, from behind
// the one with the key.
func (r *Reader) TrialsAtTask(ctx context.Context, benchmark, name string, after CellKey, limit int) (infos []CellInfo, err error) {
	var from *store.CellRow
	if after != (CellKey{}) {
		from = &store.CellRow{Trial: after.Trial, Created: time.Unix(0, after.Created)}
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		cells, err := tx.CellsAtTask(benchmark, name, from, limit)
		for _, c := range cells {
			infos = append(infos, cellInfo(c))
		}
		return err
	})
	return infos, err
}

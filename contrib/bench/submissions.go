package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/docker"
)

// rounds are how many submissions are measured, after one that warms things up.
const rounds = 21

const longResults = "long.run.long.jsonl"

// usual is how many trials live through what several subjects measure.
const usual = 4

// begun is a world whose daemon has that many live trials.
func begun(ctx context.Context, o options, engine *docker.Engine, trials int) (*fixture, error) {
	w, err := newFixture(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	w.trials = trials
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	return w, nil
}

// begin starts the daemon and waits until the long trials run and are judged for.
func (w *fixture) begin(ctx context.Context) error {
	if _, err := w.drop("long.hcl", w.benchmark()); err != nil {
		return err
	}
	if _, err := w.serve(); err != nil {
		return err
	}
	err := client.Until(ctx, "the long trials have begun", 50*time.Millisecond, func() (bool, error) {
		all, err := w.records(longResults)
		begun := 0
		for _, r := range all {
			if r.Type == "trial.started" {
				begun++
				w.judgeImage = r.Images["judge"]
			}
			if r.Type == "trial.finished" {
				return false, fmt.Errorf("a trial is over that should wait:\n%s", w.said())
			}
		}
		return begun == w.trials, err
	})
	if err != nil {
		return err
	}
	if w.doors, err = w.findDoors(); err != nil {
		return err
	}
	return w.quiet(ctx)
}

// shot is one submission as the agent saw it, and the reference that followed.
type shot struct {
	round                       string
	sent, accepted, known, gone time.Time // gone: the judge's container
	roundTrip                   float64
	engine                      lap
}

// lap is how long the engine alone took, in milliseconds.
type lap struct{ start, exec, remove float64 }

// submissions measures from the sending of an archive to the verdict, against what the
// engine needs for a container of the same image and limits, in turns. The judge command
// is `true`, which the reference executes as well, so nothing is taken off.
func (w *fixture) submissions(ctx context.Context) ([]result.Result, error) {
	var shots []shot
	for n := range rounds + 1 {
		s, err := w.shoot(ctx, n)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			shots = append(shots, s)
		}
	}
	records, err := w.verdicts(ctx)
	if err != nil {
		return nil, err
	}
	m := result.Samples{}
	for _, s := range shots {
		m.Add(s.apart(records[s.round]))
	}
	const alone = "engine alone: create + start + exec `true` + remove"
	whole := result.Compare("ms", m["whole"], m["engine"]).Called("submission", "submit → verdict, judge command `true`", alone)
	whole.Parts = m.Medians("accept", "queued", "container", "command", "until container gone", "engine start", "engine exec", "engine remove")
	return []result.Result{
		whole,
		result.Compare("ms", m["beyond"], m["engine"]).
			Called("submission_beyond_command", "the same less the judge command, its exec included", alone),
		result.Compare("ms", m["wait"], m["trip"]).
			Called("agent_wait", "verdict → the waiting agent has it", "one round trip to the judge"),
	}, nil
}

// apart takes a submission apart, in milliseconds. The judge's container is removed after
// the verdict, the engine's own before its clock stops.
func (s shot) apart(r record) map[string]float64 {
	decided := result.Milliseconds(r.Time.Sub(s.sent))
	return map[string]float64{
		"whole": decided, "beyond": decided - r.JudgeMS, "engine": s.engine.start + s.engine.exec + s.engine.remove,
		"wait": result.Milliseconds(s.known.Sub(r.Time)), "trip": s.roundTrip,
		"accept": result.Milliseconds(s.accepted.Sub(s.sent)), "queued": r.QueuedMS, "command": r.JudgeMS,
		"container": r.DurationMS - r.JudgeMS, "until container gone": result.Milliseconds(s.gone.Sub(s.sent)),
		"engine start": s.engine.start, "engine exec": s.engine.exec, "engine remove": s.engine.remove,
	}
}

// shoot makes one submission and then one reference.
func (w *fixture) shoot(ctx context.Context, n int) (s shot, err error) {
	d := w.doors[0]
	if err := w.quiet(ctx); err != nil {
		return s, err
	}
	_, warm, err := w.containers(ctx)
	if err != nil {
		return s, err
	}
	s.sent = time.Now()
	a, err := d.Submit(ctx, n)
	if err != nil {
		return s, err
	}
	s.round, s.accepted = a.Round, time.Now()
	if err := d.Verdict(ctx, a.ID); err != nil {
		return s, err
	}
	s.known = time.Now()
	if err := w.cleaned(ctx, warm); err != nil { // the judge removes its container after the verdict
		return s, err
	}
	s.gone = time.Now()
	if s.roundTrip, err = client.Timed(func() error { return d.Verdict(ctx, a.ID) }); err != nil {
		return s, err
	}
	s.engine, err = w.reference(ctx, n)
	return s, err
}

// reference is what no judging in a fresh container can do without.
func (w *fixture) reference(ctx context.Context, n int) (l lap, err error) {
	var c container.Instance
	if l.start, err = client.Timed(func() error {
		c, err = w.engine.Start(ctx, container.Workload{
			Name: fmt.Sprintf("assayd-%s-reference-%d", w.name(), n), Image: w.judgeImage, Argv: []string{"sleep", "1h"},
			User: "0:0", Network: container.NetworkNone, Limits: judgeLimits,
			Labels: map[string]string{container.LabelOwner: w.owner},
		})
		return err
	}); err != nil {
		return l, err
	}
	if l.exec, err = client.Timed(func() error {
		code, err := w.engine.Exec(ctx, c.ID, container.Command{Argv: []string{"true"}})
		if err == nil && code != 0 {
			err = fmt.Errorf("true ended with %d", code)
		}
		return err
	}); err != nil {
		return l, err
	}
	l.remove, err = client.Timed(func() error { return w.engine.Remove(ctx, c.ID) })
	return l, err
}

// verdicts waits until all verdicts are in the results, and returns them by round. A
// record's time is that of the transaction that stored the verdict.
func (w *fixture) verdicts(ctx context.Context) (map[string]record, error) {
	found := map[string]record{}
	return found, client.Until(ctx, "all verdicts are in the results", 20*time.Millisecond, func() (bool, error) {
		all, err := w.records(longResults)
		for _, r := range all {
			if r.Type == "submission" && strings.HasPrefix(r.Round, "agent-") {
				found[r.Round] = r
			}
		}
		return len(found) == rounds+1, err
	})
}

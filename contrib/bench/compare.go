package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// compared is one thing as two programs did it.
type compared struct {
	Name string    `json:"name"`
	What string    `json:"what"`
	Unit string    `json:"unit"`
	Base []float64 `json:"base"` // one median of each turn
	Now  []float64 `json:"now"`
}

// inTurns measures both programs again and again, one after the other, so that what the
// machine does besides meets both.
func inTurns(ctx context.Context, o options, chosen []subject, engine *docker.Engine) (all []compared, err error) {
	for turn := range o.turns {
		sides := []string{o.base, o.program}
		if turn%2 == 1 { // who comes second finds the machine warm
			slices.Reverse(sides)
		}
		for _, program := range sides {
			fmt.Fprintf(os.Stderr, "bench: turn %d of %d, %s\n", turn+1, o.turns, program)
			one := o
			one.program = program
			found, err := measure(ctx, one, chosen, engine)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", program, err)
			}
			all = enter(all, found, program == o.base)
		}
	}
	return all, nil
}

// enter adds the results of one turn.
func enter(all []compared, found []result.Result, base bool) []compared {
	for _, r := range found {
		i := slices.IndexFunc(all, func(c compared) bool { return c.Name == r.Name })
		if i < 0 {
			i = len(all)
			all = append(all, compared{Name: r.Name, What: r.What, Unit: r.Unit})
		}
		if base {
			all[i].Base = append(all[i].Base, r.Ours)
		} else {
			all[i].Now = append(all[i].Now, r.Ours)
		}
	}
	return all
}

// least is a difference that nobody would notice, as a part of the whole.
const least = 0.05

// differs reports whether the programs differ by more than the noise: each turn of one is
// beyond each turn of the other, and the medians are not about the same.
func (c compared) differs() bool {
	if len(c.Base) < 2 || len(c.Now) < 2 {
		return false // one turn says nothing of the noise
	}
	apart := slices.Max(c.Base) < slices.Min(c.Now) || slices.Max(c.Now) < slices.Min(c.Base)
	base, now := result.Median(c.Base), result.Median(c.Now)
	return apart && max(base, now)-min(base, now) > least*min(base, now)
}

func comparison(all []compared) string {
	rows := [][]string{{"what", "base", "now", "now/base", ""}}
	for _, c := range all {
		base, now := result.Median(c.Base), result.Median(c.Now)
		mark := ""
		if c.differs() {
			mark = "*"
		}
		rows = append(rows, []string{c.What, result.Figure(base, c.Unit), result.Figure(now, c.Unit), result.Figure(result.Ratio(now, base), ""), mark})
	}
	return result.Markdown(rows, "-:::-") + "\n* = the difference exceeds the noise: no turn of one is within the turns of the other\n"
}

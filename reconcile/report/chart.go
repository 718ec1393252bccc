package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/assayd/assayd/reconcile/summary"
)

// Sizes of a chart in units of its view box.
const (
	width, height           = 720.0, 300.0
	left, right, top, below = 48.0, 12.0, 12.0, 32.0
)

// chart is one measure over time, a curve an agent.
type chart struct {
	Title  string
	Curves []curve
	X, Y   []tick
}

type curve struct {
	Agent  string
	Colour int
	Line   string // points of the mean
	Band   string // points around the intervals
	Last   string
}

type tick struct {
	At    float64
	Label string
}

// colours are as many as the style sheet has.
const colours = 8

func colour(i int) int { return i % colours }

// measure is one that changes with time.
type measure struct {
	title string
	most  float64 // of the axis; 0 = whatever there is
	of    func(summary.CurvePoint) *summary.Interval
}

// measures are those of a run: raw scores only where tasks do not rescale them.
func measures(r summary.Report) (all []measure) {
	for _, m := range []measure{
		{"best pass rate so far", 1, func(p summary.CurvePoint) *summary.Interval { return p.PassRate }},
		{"best score so far, 0–100", 100, func(p summary.CurvePoint) *summary.Interval { return p.Score100 }},
		{"best score so far", 0, func(p summary.CurvePoint) *summary.Interval { return p.Score }},
	} {
		if m.most > 0 || scale(r) != rescaled {
			all = append(all, m)
		}
	}
	return all
}

// charts are those of a run's measures that change with time.
func charts(r summary.Report) (all []chart) {
	for _, m := range measures(r) {
		if c, ok := draw(r, m.most, m.of); ok {
			c.Title = m.title
			all = append(all, c)
		}
	}
	return all
}

func draw(r summary.Report, most float64, of func(summary.CurvePoint) *summary.Interval) (c chart, ok bool) {
	lowest, highest, end := 0.0, most, 0.0
	for _, a := range r.Agents {
		for _, p := range a.Curve {
			if i := of(p); i != nil {
				end = max(end, p.ElapsedS)
				if most == 0 {
					if !ok {
						lowest, highest = i.Low, i.High
					}
					lowest, highest = min(lowest, i.Low), max(highest, i.High)
				}
				ok = true
			}
		}
	}
	if !ok || end == 0 {
		return c, false
	}
	ticks := steps(lowest, highest)
	lowest, highest = min(lowest, ticks[0]), max(highest, ticks[len(ticks)-1])
	x := func(s float64) float64 { return left + s/end*(width-left-right) }
	y := func(v float64) float64 { return top + (highest-v)/(highest-lowest)*(height-top-below) }
	for _, v := range ticks {
		c.Y = append(c.Y, tick{y(v), fmt.Sprintf("%g", v)})
	}
	for _, at := range moments(end) {
		c.X = append(c.X, tick{x(at), Seconds(at)})
	}
	for i, a := range r.Agents {
		if one, ok := trace(a.Curve, of, x, y); ok {
			one.Agent, one.Colour = a.Agent, colour(i)
			c.Curves = append(c.Curves, one)
		}
	}
	return c, true
}

// trace is a curve in steps: what was best stays so until something is better.
func trace(points []summary.CurvePoint, of func(summary.CurvePoint) *summary.Interval, x, y func(float64) float64) (c curve, ok bool) {
	var line, upper, lower []string
	at := func(x, y float64) string { return fmt.Sprintf("%.1f,%.1f", x, y) }
	add := func(px float64, i *summary.Interval) {
		line = append(line, at(px, y(i.Value)))
		upper, lower = append(upper, at(px, y(i.High))), append(lower, at(px, y(i.Low)))
	}
	var before *summary.Interval
	px := 0.0
	for _, p := range points {
		i := of(p)
		if i == nil {
			continue
		}
		px = x(p.ElapsedS)
		if before == nil || *i != *before {
			if before != nil {
				add(px, before)
			}
			add(px, i)
		}
		before, ok = i, true
	}
	if ok {
		add(px, before)
		c.Last = number(before.Value)
	}
	for i := len(lower) - 1; i >= 0; i-- {
		upper = append(upper, lower[i])
	}
	c.Line, c.Band = strings.Join(line, " "), strings.Join(upper, " ")
	return c, ok
}

// steps are about five round numbers around the values.
func steps(low, high float64) []float64 {
	if high <= low {
		low, high = low-math.Max(1, math.Abs(low)/2), high+math.Max(1, math.Abs(high)/2)
	}
	rough := (high - low) / 4
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	switch m := rough / step; {
	case m > 5:
		step *= 10
	case m > 2.5:
		step *= 5
	case m > 2:
		step *= 2.5
	case m > 1:
		step *= 2
	}
	var all []float64
	for n := math.Floor(low/step + 1e-9); ; n++ {
		v := n * step
		all = append(all, math.Round(v/step*4)/4*step)
		if v >= high-step*1e-9 || len(all) > 20 {
			return all
		}
	}
}

// moments are up to nine of them that a clock would show, from 0 to the end.
func moments(end float64) (all []float64) {
	step := 0.1
	for _, s := range []float64{0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600} {
		if end/step > 8 {
			step = s
		}
	}
	for end/step > 8 {
		step *= 2
	}
	for n := 0.0; n*step <= end; n++ {
		all = append(all, n*step)
	}
	return all
}

// whiskers are as wide as that.
const whiskerWidth = 120.0

// mark is a value with its interval on a line.
type mark struct{ Low, At, High, Zero float64 }

// whisker is an interval of a rate.
func whisker(i *summary.Interval) *mark {
	if i == nil {
		return nil
	}
	at := func(v float64) float64 { return 4 + v*(whiskerWidth-8) }
	return &mark{at(i.Low), at(i.Value), at(i.High), 0}
}

// difference is an interval around 0, which is in the middle.
func difference(i summary.Interval) mark {
	reach := max(math.Abs(i.Low), math.Abs(i.High), math.Abs(i.Value), 1e-9)
	at := func(v float64) float64 { return whiskerWidth/2 + v/reach*(whiskerWidth/2-6) }
	return mark{at(i.Low), at(i.Value), at(i.High), at(0)}
}

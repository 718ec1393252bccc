package report

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/assayd/assayd/reconcile/summary"
)

// plotted is how many agents a plot has at most: of more, the pictures alone are there.
const plotted = 16

// plot are the numbers of all charts of a run, for a script.
type plot struct {
	Elapsed  []number4  `json:"x"` // seconds
	Agents   []string   `json:"agents"`
	Measures []measured `json:"measures"`
}

type measured struct {
	Title  string       `json:"title"`
	Most   float64      `json:"most,omitempty"` // of the axis; 0 = whatever there is
	Curves []plotCurves `json:"curves"`
}

type plotCurves struct {
	Agent int        `json:"agent"` // its place among all
	Value []*number4 `json:"value"` // null = there is none yet
	Low   []*number4 `json:"low"`
	High  []*number4 `json:"high"`
}

// number4 is a number that is written with four digits.
type number4 float64

// MarshalJSON implements json.Marshaler.
func (n number4) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'g', 4, 64), nil
}

// Plot are the numbers of the charts of a run as JSON, with what name makes of the names of agents; "" = there are none, or
// too many agents.
func Plot(r summary.Report, name func(string) string) (string, error) {
	var p plot
	for _, a := range r.Agents {
		p.Agents = append(p.Agents, name(a.Agent))
		if len(a.Curve) > len(p.Elapsed) {
			p.Elapsed = nil
			for _, at := range a.Curve {
				p.Elapsed = append(p.Elapsed, number4(at.ElapsedS))
			}
		}
	}
	for _, c := range measures(r) {
		m := measured{Title: c.title, Most: c.most}
		for i, a := range r.Agents {
			if curve, is := plotCurve(a.Curve, c.of); is {
				curve.Agent = i
				m.Curves = append(m.Curves, curve)
			}
		}
		if len(m.Curves) > 0 {
			p.Measures = append(p.Measures, m)
		}
	}
	if len(p.Measures) == 0 || len(p.Agents) > plotted {
		return "", nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode the curves of %s: %w", r.Run, err)
	}
	return string(text), nil
}

func plotCurve(points []summary.CurvePoint, of func(summary.CurvePoint) *summary.Interval) (c plotCurves, is bool) {
	pointer := func(v float64) *number4 { n := number4(v); return &n }
	for _, p := range points {
		i := of(p)
		if i == nil {
			c.Value, c.Low, c.High = append(c.Value, nil), append(c.Low, nil), append(c.High, nil)
			continue
		}
		c.Value, c.Low, c.High = append(c.Value, pointer(i.Value)), append(c.Low, pointer(i.Low)), append(c.High, pointer(i.High))
		is = true
	}
	return c, is
}

package page

import (
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/report"
)

// Spending is what models cost.
type Spending struct {
	Frame
	Now  query.Spending
	Bars []HourBar // nil = nothing was spent
	Most string    // what the highest bar stands for
}

// HourBar is what an hour cost in a chart.
type HourBar struct {
	Label      string
	X, Y, W, H float64
}

// barsShown is how many hours the chart of spending has.
const barsShown = 48

// NewSpending makes the page of what models cost.
func NewSpending(f Frame, s query.Spending) *Spending {
	f.Title, f.Nav, f.Topics = "spending", "spending", []string{}
	v := &Spending{Frame: f, Now: s}
	most := 0.0
	for _, h := range s.Hours {
		most = max(most, h.USD)
	}
	if most == 0 {
		return v
	}
	v.Most = report.Cost(most)
	last := s.AsOf.Truncate(time.Hour)
	const width = (chartWidth - chartLeft - 12) / barsShown
	for _, h := range s.Hours {
		ago := int(last.Sub(h.Begin) / time.Hour)
		if ago < 0 || ago >= barsShown || h.USD == 0 {
			continue
		}
		high := h.USD / most * (chartHeight - chartTop - chartUp)
		v.Bars = append(v.Bars, HourBar{
			Label: fmt.Sprintf("%s: %s", h.Begin.Local().Format("Mon 15:04"), report.Cost(h.USD)),
			X:     chartLeft + float64(barsShown-1-ago)*width, W: width - 2, Y: chartHeight - chartUp - high, H: high,
		})
	}
	return v
}

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/summary"
)

func TestTheNumbersOfCurvesForAScript(t *testing.T) {
	at := func(low, value, high float64) *summary.Interval {
		return &summary.Interval{Low: low, Value: value, High: high, N: 3}
	}
	curve := []summary.CurvePoint{{ElapsedS: 0, PassRate: at(0, 0.123456, 0.5)}, {ElapsedS: 60.5, PassRate: at(0.1, 0.5, 0.9), Score: at(-1, 1234.56, 1e7)}}
	agents := []summary.AgentReport{{Agent: "controls"}, {Agent: "a", Curve: curve}}
	scored := summary.Report{Summary: summary.Summary{}, Agents: agents}
	rescaled := scored
	rescaled.Agents = []summary.AgentReport{agents[0], {Agent: "a", Curve: curve, Summary: summary.Summary{Score100: at(0, 1, 2)}}}
	many := scored
	many.Agents = nil
	for range plotted + 1 {
		many.Agents = append(many.Agents, agents[1])
	}
	rates := `{"title":"best pass rate so far","most":1,"curves":[{"agent":1,"value":[0.1235,0.5],"low":[0,0.1],"high":[0.5,0.9]}]}`
	raw := `{"title":"best score so far","curves":[{"agent":1,"value":[null,1235],"low":[null,-1],"high":[null,1e+07]}]}`
	for name, tt := range map[string]struct {
		run  summary.Report
		want string
	}{
		"nothing":          {summary.Report{}, ""},
		"raw scores":       {scored, `{"x":[0,60.5],"agents":["CONTROLS","A"],"measures":[` + rates + "," + raw + "]}"},
		"tasks rescale":    {rescaled, `{"x":[0,60.5],"agents":["CONTROLS","A"],"measures":[` + rates + "]}"},
		"too many agents":  {many, ""},
		"no agent has any": {summary.Report{Agents: agents[:1]}, ""},
	} {
		got, err := Plot(tt.run, strings.ToUpper)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/summary"
)

// none stands where there is no number.
const none = "–"

// number has two places, and more for what is small.
func number(v any) string {
	switch x := v.(type) {
	case *float64:
		if x == nil {
			return none
		}
		return number(*x)
	case float64:
		switch a := math.Abs(x); {
		case a >= 1e6 || a > 0 && a < 0.001:
			return strconv.FormatFloat(x, 'g', 3, 64)
		case a > 0 && a < 0.1:
			return strconv.FormatFloat(x, 'f', 3, 64)
		}
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return fmt.Sprint(v)
}

func signed(x float64) string {
	if x > 0 {
		return "+" + number(x)
	}
	return number(x)
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

func rate(i *summary.Interval) string {
	if i == nil {
		return none
	}
	return percent(i.Value)
}

func value(i *summary.Interval) string {
	if i == nil {
		return none
	}
	return number(i.Value)
}

// between is the interval in words; with one task nothing is known of it.
func between(i *summary.Interval) string {
	if i == nil || i.N < 2 {
		return ""
	}
	return number(i.Low) + "–" + number(i.High)
}

// betweenRates is an interval of a rate. Wilson's says something of a single trial, too.
func betweenRates(v any) string {
	switch i := v.(type) {
	case summary.Interval:
		return fmt.Sprintf("%.0f–%.0f %%", 100*i.Low, 100*i.High)
	case *summary.Interval:
		if i != nil {
			return betweenRates(*i)
		}
	}
	return ""
}

func betweenSigned(i summary.Interval) string {
	if i.N < 2 {
		return ""
	}
	return signed(i.Low) + " to " + signed(i.High)
}

// PValue has as many places as mean something.
func PValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// Cost is an amount of dollars; none is a dash.
func Cost(usd float64) string {
	if usd == 0 {
		return none
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Seconds is a duration without what is 0 at its end.
func Seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	precision := time.Second
	if d < 10*time.Second {
		precision /= 10
	}
	text := d.Round(precision).String()
	if short, whole := strings.CutSuffix(text, "m0s"); whole {
		text = short + "m"
	}
	if short, whole := strings.CutSuffix(text, "h0m"); whole {
		text = short + "h"
	}
	return text
}

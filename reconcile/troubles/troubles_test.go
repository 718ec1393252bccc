package troubles

import (
	"errors"
	"fmt"
	"testing"

	"github.com/assayd/assayd/runtime/container"
)

func TestTroublesAreNewsOnce(t *testing.T) {
	var tr Troubles
	away := func(who, why string) error { return fmt.Errorf("%s: %w: %s", who, container.ErrUnavailable, why) }
	full := errors.New("disk full")
	for i, step := range []struct {
		who  string
		err  error
		over string
		news bool
	}{
		{who: "a", err: away("image x", "denied"), news: true},
		{who: "b", err: away("image y", "denied")},
		{who: "b", err: away("image y", "refused"), news: true},
		{who: "a", err: away("image x", "refused"), over: Engine},
		{who: "a", err: away("image x", "refused"), news: true},
		{who: "a", err: errors.New("other"), news: true},
		{who: "b", err: errors.New("other"), news: true},
		{who: "a", err: errors.New("other"), over: "a"},
		{who: "a", err: errors.New("other"), news: true},
		{who: Store, err: fmt.Errorf("store trial a: %w", full), news: true},
		{who: Store, err: fmt.Errorf("store trial b: %w", full)},
	} {
		if news := tr.news(step.who, step.err); news != step.news {
			t.Errorf("step %d: %v is news: %t", i, step.err, news)
		}
		if step.over != "" {
			tr.Over(step.over)
		}
	}
}

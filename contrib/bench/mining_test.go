package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/contrib/bench/fakeforge"
	"github.com/assayd/assayd/contrib/bench/result"
)

func TestOursIsWhatCommandsLeave(t *testing.T) {
	got := share(fakeforge.Pulls*50*time.Second, map[string]float64{"commands": fakeforge.Pulls * 40, "model": fakeforge.Pulls})
	got.What, got.Against = "", ""
	want := result.Result{
		Name: "mining", Unit: "s", Ours: 10, Reference: 50, Ratio: 0.2, P90: 10, Samples: 1,
		Parts: map[string]float64{"commands": 40, "model": 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

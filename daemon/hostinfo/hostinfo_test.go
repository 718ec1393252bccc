package hostinfo

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/container"
)

type host struct {
	info container.HostInfo
	err  error
}

func (h host) HostInfo(context.Context) (container.HostInfo, error) { return h.info, h.err }

func TestWhatTheMachineOfTheEngineHas(t *testing.T) {
	log, dir := slog.New(slog.DiscardHandler), t.TempDir()
	has, root := Of(t.Context(), host{info: container.HostInfo{CPUs: 3, Memory: 5 << 30, DataRoot: dir}}, log)
	if has.CPUs != 3 || has.Memory != 5<<30 || has.Disk <= 0 || root != dir {
		t.Errorf("%+v, %q", has, root)
	}
	if has, _ := Of(t.Context(), host{info: container.HostInfo{CPUs: 3, DataRoot: "/not/of/this/machine"}}, log); has.Disk != 0 {
		t.Errorf("another machine has %d bytes free", has.Disk)
	}
	if has, root := Of(t.Context(), host{err: errors.New("it does not answer")}, log); has.CPUs < 1 || root != "" {
		t.Errorf("in place of an engine that does not answer: %+v, %q", has, root)
	}
	if FreeAt("") != -1 || FreeAt(dir) <= 0 || NearlyFull("/not/of/this/machine") {
		t.Errorf("%d bytes are free at %s", FreeAt(dir), dir)
	}
}

func TestLimitsAreThoseOfTheSettingsOrOfTheMachine(t *testing.T) {
	machine := config.Host{CPUs: 4, Memory: 1000, Disk: 500}
	for _, tc := range []struct {
		set  config.Limits
		want admission.Limits
	}{
		{config.Limits{}, admission.Limits{CPUs: 4, Memory: 900, Disk: 450}},
		{config.Limits{CPUs: 2, Memory: 100, Disk: 50, Containers: 7}, admission.Limits{CPUs: 2, Memory: 100, Disk: 50, Containers: 7}},
	} {
		if got := LimitsOf(tc.set, machine); got != tc.want {
			t.Errorf("%+v gives %+v, want %+v", tc.set, got, tc.want)
		}
	}
}

package admission

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/runtime/waiting"
)

func TestTrialsComeBeforeOtherWorkWhereRoomComesFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a *Controller
		trial := make(chan bool, 1)
		a = New(Limits{CPUs: 2, Memory: 8 << 30, Disk: 100 << 30, Judge: 0.5}, plenty, func() {
			select {
			case trial <- true:
			default:
			}
		})
		one := Need{CPUs: 1, Memory: 1 << 30}
		first, err := a.AcquireWork(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		if a.TryWork(one) {
			t.Fatal("a trial found room that is taken")
		}
		second := make(chan func())
		var told error // why it waits
		go func() {
			release, err := a.AcquireWork(waiting.With(t.Context(), func(why error) { told = why }), one)
			if err != nil {
				t.Error(err)
			}
			second <- release
		}()
		synctest.Wait()
		if told == nil || !strings.Contains(told.Error(), "waits for room: the next container needs 1 CPU and 1.0 GiB") {
			t.Errorf("it is told to wait for %v", told)
		}
		first()
		<-trial
		if !a.TryWork(one) {
			t.Fatal("what waited longer was given the room before the trial")
		}
		a.ReleaseWork(one)
		(<-second)()
		if told != nil {
			t.Errorf("it has its room, and is told to wait for %v", told)
		}
	})
}

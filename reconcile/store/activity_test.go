package store

import (
	"strings"
	"testing"
)

// What was asked for is read the latest first, a page at a time; what is too old goes.
func TestActivityIsBounded(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add := func(actions ...string) {
		do(t, s, func(tx *Tx) error {
			for _, action := range actions {
				if err := tx.AddActivity(ActivityRow{Action: action, Target: "all", By: "anna", Via: "cli", Reason: "why"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	page := func(before int64, limit int) string {
		var actions []string
		for _, x := range read(t, s, func(tx *Tx) ([]ActivityRow, error) { return tx.ActivityBefore(before, limit) }) {
			if x.At.IsZero() || x.Target != "all" || x.By != "anna" || x.Via != "cli" || x.Reason != "why" {
				t.Errorf("%+v", x)
			}
			actions = append(actions, x.Action)
		}
		return strings.Join(actions, " ")
	}
	add("pause", "throttle", "resume")
	if got := page(0, 2) + "; " + page(2, 2); got != "resume throttle; pause" {
		t.Errorf("the pages are %s", got)
	}
	do(t, s, func(tx *Tx) error {
		_, err := tx.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'activity'", maxActivity)
		return err
	})
	add("cancel") // the first that is too much
	if got := page(0, 9); got != "cancel resume throttle" {
		t.Errorf("kept are %s", got)
	}
}

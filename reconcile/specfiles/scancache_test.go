package specfiles

import (
	"testing"
	"time"

	"github.com/assayd/assayd/config"
)

func TestARestEnds(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.hcl", "agent \"a\" { command = \"a\" }\n")
	now := time.Now()
	sights := []config.StatSnapshot{config.Scan(dir, nil, config.Options{}).Snapshot}
	for name, r := range map[string]ScanCache{
		"none has begun": {}, "of no root": {nil, now.Add(time.Hour)}, "its time is over": {sights, now}, "a file is young": {sights, now.Add(time.Hour)},
	} {
		if r.Lasts(now) {
			t.Errorf("%s, and it lasts", name)
		}
	}
}

package record

import (
	"encoding/json"
	"testing"
	"time"
)

// Members keep their names and their order: others read them.
func TestRecordsKeepTheirMembers(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, record := range map[string]any{
		`{"trial":"t","try":1,"deadline":"2030-01-02T03:04:05Z","task":"k","agent":"a","model":"m","attempt":2,"images":{"work":"w"},` +
			`"limits":{"cpus":1,"memory":2,"pids":3,"disk":4},"manifest":{"source":"none","tests":5},"setup_s":6,"images_s":7}`: Started{
			Trial: "t", Try: 1, Deadline: at, Task: "k", Agent: "a", Model: "m", Attempt: 2, Images: map[string]string{"work": "w"},
			Limits: Limits{1, 2, 3, 4}, Manifest: Manifest{"none", 5}, SetupS: 6, ImagesS: 7,
		},
		`{"trial":"t","count":1,"exit_code":2,"reason":"r"}`:                                          Resumed{"t", 1, 2, "r"},
		`{"trial":"t","event":"e","detail":"d"}`:                                                      Happened{"t", "e", "d"},
		`{"task":"t","role":"work","ref":"r","digest":"d","seconds":1}`:                               ImageBuilt{"t", "work", "r", "d", 1},
		`{"trial":"t","try":1,"flags":["f"],"findings":[{"rule":"r","evidence":"e"}]}`:                Flagged{"t", 1, []string{"f"}, []Finding{{Rule: "r", Evidence: "e"}}},
		`{"trial":"t","try":1,"flags":null,"findings":[{"rule":"r","where":"patch","evidence":"e"}]}`: Flagged{"t", 1, nil, []Finding{{"r", "patch", "e"}}},
	} {
		if got, err := json.Marshal(record); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/github"
)

func TestDecidedPullRequestsAreReadFromWhatOthersWrote(t *testing.T) {
	text := strings.Join([]string{
		`{"pr": 12, "repo": "acme/calc"}`, `{"repo":"acme/calc","pr":12}`, "", "nonsense", `{"repo": "acme/calc"}`, `{"pr": 3}`, `{"repo":"calc","pr":1}`,
		`{"repo":"acme/strs","pr":"7","status":"rejected"}`, `{"repo":"acme/x","pr":0}`, `{"repo":"acme/x","pr":-1}`, `{"repo":"acme/x","pr":1.5}`,
		`{"repo":"acme/long","pr":1,"x":"` + strings.Repeat("x", 3*maxPRLine) + `"}`, `{"repo":"acme/after.long","pr":9}` + "\r", `{"repo":"acme/ca`,
	}, "\n")
	want := []github.Ref{{Repo: "acme/calc", Number: 12}, {Repo: "acme/strs", Number: 7}, {Repo: "acme/after.long", Number: 9}}
	got, err := ReadPRs(strings.NewReader(text))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	broken := errors.New("broken")
	if _, err := ReadPRs(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestDecidedPullRequestsAreAddedBehindWhatACrashCutShort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "below", "prs.jsonl")
	for n := range 3 {
		if err := AppendPRs(file, github.Ref{Repo: "acme/calc", Number: n + 1}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(file)
	if err != nil || string(whole) != `{"pr":1,"repo":"acme/calc"}`+"\n"+`{"pr":2,"repo":"acme/calc"}`+"\n"+`{"pr":3,"repo":"acme/calc"}`+"\n" {
		t.Fatalf("%s %v", whole, err)
	}
	if err := os.Truncate(file, int64(len(whole)-5)); err != nil {
		t.Fatal(err)
	}
	if err := AppendPRs(file, github.Ref{Repo: "acme/calc", Number: 4}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := ReadPRs(f)
	if diff := cmp.Diff([]github.Ref{{Repo: "acme/calc", Number: 1}, {Repo: "acme/calc", Number: 2}, {Repo: "acme/calc", Number: 4}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func FuzzReadPRs(f *testing.F) {
	f.Add("{\"repo\":\"a/b\",\"pr\":1}\n{\"repo\":\"a/b\",\"pr\":\"2\"}")
	f.Add("\n\n{")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadPRs(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range all {
			if ref.Number <= 0 || !repoName.MatchString(ref.Repo) {
				t.Fatalf("%+v", ref)
			}
		}
	})
}

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

func one(repo string, number int, class string) PR {
	return PR{Ref: github.Ref{Repo: repo, Number: number}, Class: class}
}

func TestDecidedPullRequestsAreReadFromWhatOthersWrote(t *testing.T) {
	text := strings.Join([]string{
		`{"pr": 12, "repo": "acme/calc"}`, `{"repo":"acme/calc","pr":12}`, "", "nonsense", `{"repo": "acme/calc"}`, `{"pr": 3}`, `{"repo":"calc","pr":1}`,
		`{"repo":"acme/strs","pr":"7","status":"rejected"}`, `{"repo":"acme/x","pr":0}`, `{"repo":"acme/x","pr":-1}`, `{"repo":"acme/x","pr":1.5}`,
		`{"repo":"acme/long","pr":1,"x":"` + strings.Repeat("x", 3*maxPRLine) + `"}`, `{"repo":"acme/after.long","pr":9}` + "\r",
		`{"repo":"acme/strs","pr":1,"classification":"easy"}`, `{"repo":"acme/strs","pr":1,"classification":"hard"}`,
		`{"repo":"acme/strs","pr":2,"classification":"easy"}`, `{"repo":"acme/strs","pr":2}`,
		`{"repo":"acme/strs","pr":3}`, `{"repo":"acme/strs","pr":3,"classification":"easy"}`,
		`{"repo":"acme/strs","pr":4,"classification":"expert"}`, `{"repo":"acme/strs","pr":5,"classification":["easy"]}`, `{"repo":"acme/ca`,
	}, "\n")
	want := []PR{
		one("acme/calc", 12, ""), one("acme/strs", 7, ""), one("acme/after.long", 9, ""),
		one("acme/strs", 1, "hard"), one("acme/strs", 2, ""), one("acme/strs", 3, ""), one("acme/strs", 4, ""), one("acme/strs", 5, ""),
	}
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
		if err := AppendPRs(file, one("acme/calc", n+1, []string{"", "hard", ""}[n])); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(file)
	if err != nil || string(whole) != `{"pr":1,"repo":"acme/calc"}`+"\n"+`{"pr":2,"repo":"acme/calc","classification":"hard"}`+"\n"+`{"pr":3,"repo":"acme/calc"}`+"\n" {
		t.Fatalf("%s %v", whole, err)
	}
	if err := os.Truncate(file, int64(len(whole)-5)); err != nil {
		t.Fatal(err)
	}
	if err := AppendPRs(file, one("acme/calc", 4, "")); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := ReadPRs(f)
	if diff := cmp.Diff([]PR{one("acme/calc", 1, ""), one("acme/calc", 2, "hard"), one("acme/calc", 4, "")}, got); diff != "" || err != nil {
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

package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// Provenance says where a task comes from, what it was judged to be worth, and what it took.
type Provenance struct {
	Repo    string `json:"repo"`    // owner/name
	License string `json:"license"` // SPDX id; "" = not known
	URL     string `json:"url"`     // of the pull request
	Number  int    `json:"pull_number"`

	// The pull request as GitHub tells of it.
	Title        string `json:"title"`
	Body         string `json:"-"`
	AddedLines   int    `json:"added_lines"`
	RemovedLines int    `json:"removed_lines"`
	ChangedFiles int    `json:"files_changed"`

	Base     string    `json:"base_commit"`
	Merge    string    `json:"merge_commit"`
	MergedAt time.Time `json:"merged_at"`

	Language        string  `json:"language"`
	Difficulty      string  `json:"difficulty"`       // easy, medium, hard; "" = not asked for
	DifficultyScore float64 `json:"difficulty_score"` // 0..1
	QualityScore    float64 `json:"quality_score"`    // 0..1

	// The environment is an image that was made where the task was proved, from one that others may
	// have, too.
	Image              string `json:"image"`                                // of the environment, by name
	ImageDigest        string `json:"image_digest"`                         // its id
	BaseImage          string `json:"base_image"`                           // what it is made from, by name
	BaseImageDigest    string `json:"base_image_digest"`                    // its id
	BaseRegistryDigest string `json:"base_image_registry_digest,omitempty"` // that of its registry; "" = not known

	Model        string  `json:"model"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`

	// What the proof has shown: parts of the fix, those of them that a test fails without, and
	// tests that are in no list because they come out in different ways, or look at the text of
	// the code only.
	Hunks   int     `json:"hunks"`
	Covered int     `json:"covered_hunks"`
	Flaky   LeftOut `json:"flaky_tests"`
	Textual LeftOut `json:"textual_tests"`
	// Of what is covered, what merely stops the build where it is left out; and those tests that fail
	// before of which none ever ran there.
	Stopping int     `json:"stopping_hunks"`
	NeverRan LeftOut `json:"never_ran_before"`

	MinedAt   time.Time `json:"mined_at"`
	Generated bool      `json:"generated_tests"` // a model has written tests, all or some; else all are upstream's

	// TestFiles are the files of the hidden tests as judge.patch makes them, by their names; those that
	// are too long are not there.
	TestFiles map[string]string `json:"-"`
}

// LeftOut are tests that are in no list of a task.
type LeftOut struct {
	Count int      `json:"count"`
	Names []string `json:"names"` // the first ones, where there are many
}

// What is told of tests that are left out, at most.
const (
	maxNames     = 1000
	maxNameBytes = 128 << 10
)

// TestsLeftOut tells of tests by their names.
func TestsLeftOut(names []string) LeftOut {
	l := LeftOut{Count: len(names), Names: []string{}}
	bytes := 0
	for _, name := range names[:min(len(names), maxNames)] {
		if bytes += len(name); bytes > maxNameBytes {
			break
		}
		l.Names = append(l.Names, name)
	}
	return l
}

// json is the text of the file that goes with a task.
func (p Provenance) json() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", "  ")
	return append(text, '\n'), err
}

// in is the task with its provenance in the metadata, under names that formats know or keep:
// created_at, language, merge_commit, difficulty, difficulty_score (of swe-forge: 1, 2 or 3),
// quality_score and quality_passed have a place of their own in some, and so have original_pr_body and
// all that begins with "meta." in swe-forge's. None of them is a column that SWE-bench gives a
// meaning to.
func (p Provenance) in(t task.Task) task.Task {
	out := maps.Clone(t.Metadata)
	if out == nil {
		out = map[string]string{}
	}
	levels := map[string]string{"easy": "1", "medium": "2", "hard": "3"}
	for name, text := range map[string]string{
		"repo": p.Repo, "license": p.License, "pull_url": p.URL, "pull_number": whole(int64(p.Number)),
		"merge_commit": p.Merge, "created_at": stamp(p.MergedAt), "language": p.Language,
		"difficulty": p.Difficulty, "difficulty_score": levels[p.Difficulty], "difficulty_estimate": number(p.DifficultyScore),
		"quality_score": number(p.QualityScore), "quality_passed": yes(p.QualityScore > 0),
		"model": p.Model, "environment_image": p.Image, "environment_digest": p.ImageDigest,
		"environment_base": p.BaseImage, "environment_base_digest": p.BaseImageDigest, "environment_base_registry_digest": p.BaseRegistryDigest,
		"hunks": whole(int64(p.Hunks)), "covered_hunks": whole(int64(p.Covered)),
		"stopping_hunks": whole(int64(p.Stopping)), "never_ran_before": whole(int64(p.NeverRan.Count)),
		"flaky_tests": whole(int64(p.Flaky.Count)), "textual_tests": whole(int64(p.Textual.Count)),
		"input_tokens": whole(p.InputTokens), "output_tokens": whole(p.OutputTokens), "cost_usd": number(p.CostUSD),
		"mined_at": stamp(p.MinedAt), "generated_tests": yes(p.Generated),
		"meta.pr_title": p.Title, "original_pr_body": p.original(), sweforge.TestFilesKey: sweforge.TestFiles(p.TestFiles),
		"meta.added_lines": strconv.Itoa(p.AddedLines), "meta.removed_lines": strconv.Itoa(p.RemovedLines), "meta.files_changed": strconv.Itoa(p.ChangedFiles),
	} {
		if text != "" {
			out[name] = text
		}
	}
	t.Metadata = out
	return t
}

// original is the text of the pull request as swe-forge keeps it.
func (p Provenance) original() string {
	if p.Title == "" {
		return ""
	}
	return fmt.Sprintf("%s (#%d): %s\n\n%s", p.Repo, p.Number, p.Title, cmp.Or(p.Body, "(no description)"))
}

func yes(is bool) string {
	if is {
		return "true"
	}
	return ""
}

func whole(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func number(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

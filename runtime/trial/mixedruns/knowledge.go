package mixedruns

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// knowledge says what the agent may know of the text of hidden tests, and why. assumed says that it
// is not known: reason says what is taken for true.
func knowledge(t task.Task, model string) (knows, reason string, assumed bool) {
	if t.Judge.Feedback == "full" {
		return Fed, "feedback is full: messages of failing tests hold parts of their text", false
	}
	from := upstream(t.Metadata)
	if model == "" || from == "" {
		return Blind, "", false
	}
	tests, knownTests := dateOf(t.Metadata["created_at"])
	made, knownModel := dateOf(model)
	switch {
	case knownTests && knownModel && tests.Before(made):
		return Fed, fmt.Sprintf("the tests of %s are public since %s, and the model is of %s", from, tests.Format(time.DateOnly), made.Format(time.DateOnly)), false
	case knownTests && knownModel:
		return Blind, fmt.Sprintf("the tests of %s are of %s, and the model is of %s", from, tests.Format(time.DateOnly), made.Format(time.DateOnly)), false
	case knownTests:
		return Fed, fmt.Sprintf("assumed that the model has seen the tests of %s, which are public since %s: the name of %s does not say its age", from, tests.Format(time.DateOnly), model), true
	}
	return Fed, fmt.Sprintf("assumed that the model has seen the tests of %s, which are public: their age is not known", from), true
}

// upstream is the public pull request or instance that a task is made of, as its metadata has it;
// "" = it is of none.
func upstream(metadata map[string]string) string {
	for _, key := range []string{"pull_url", "instance_id", "merge_commit"} {
		if of := metadata[key]; of != "" {
			of = strings.ToValidUTF8(of, "")
			return of[:min(len(of), 200)]
		}
	}
	return ""
}

// day is a date in the name of a model, or at the beginning of a time.
var day = regexp.MustCompile(`(?:^|\D)(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?:\D|$)`)

func dateOf(text string) (date time.Time, ok bool) {
	m := day.FindStringSubmatch(text)
	if m == nil {
		return date, false
	}
	date, err := time.Parse(time.DateOnly, m[1]+"-"+m[2]+"-"+m[3])
	return date, err == nil
}

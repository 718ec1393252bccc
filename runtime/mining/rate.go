package mining

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/llm"
	"github.com/assayd/assayd/runtime/mining/triage"
	"github.com/assayd/assayd/runtime/task"
)

// Rated is what a model says of a task that exists, in the words of a pull request's record.
type Rated struct {
	QualityScore     float64 `json:"quality_score"` // 0 is useless, 1 as good as they come
	QualityReasoning string  `json:"quality_reasoning"`
	Classification   string  `json:"classification"`   // easy, medium, hard
	DifficultyScore  float64 `json:"difficulty_score"` // within the band of the classification
	Reasoning        string  `json:"reasoning"`        // of the classification
}

// Rate has the model of a grant say how good and how hard a task is, as that of a pull
// request: fix is the whole change that solves it and tests what is hidden of it, both as
// diffs. What was paid is told whatever comes of it; there is no half a rating.
func Rate(ctx context.Context, g *gateway.Gateway, grant gateway.Grant, t task.Task, fix, tests []byte) (_ *Rated, used gateway.Usage, err error) {
	session, err := g.Open(ctx, grant)
	if err != nil {
		return nil, used, err
	}
	defer func() {
		err = errors.Join(err, session.Close())
		used = session.Usage()
	}()
	model := modelOf(session, grant.Model)
	c := triage.Change{
		Title: cmp.Or(t.Title, t.Name), Diff: fix, Tests: tests,
		Spec: triage.Spec{Command: commandOf(t.Judge), FailToPass: t.FailToPass, PassToPass: t.PassToPass},
	}
	quality, err := triage.Quality(ctx, model.Ask, c, t.Instruction)
	if err != nil {
		return nil, used, err
	}
	c.Body = t.Instruction // nobody knows what was proposed once
	class, err := triage.Classify(ctx, model.Ask, c)
	if err != nil {
		return nil, used, err
	}
	return &Rated{
		QualityScore: quality.Score, QualityReasoning: quality.Reasoning,
		Classification: class.Class, DifficultyScore: class.Score, Reasoning: class.Reasoning,
	}, used, nil
}

// modelOf asks a model through a session.
func modelOf(s *gateway.Session, name string) *llm.Model {
	return llm.New(llm.Options{Name: name, Transport: s.Transport(), BaseURL: "http://gateway" + gateway.OpenAIPrefix + "/v1"})
}

// commandOf is how a judge runs tests, for a reader.
func commandOf(j task.Judge) string {
	var all []string
	add := func(c task.Command) {
		if !c.Empty() {
			all = append(all, cmp.Or(c.Shell, strings.Join(c.Argv, " ")))
		}
	}
	add(j.Command)
	for _, s := range []*task.Stage{j.Run, j.Grade} {
		if s != nil {
			add(s.Command)
		}
	}
	return strings.Join(all, "\n")
}

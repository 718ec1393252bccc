package round

import (
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/task"
)

// Session is a trial's right to submit: what is judged, how, and until when.
type Session struct {
	Trial       string
	Try         int
	Labels      map[string]string // of the judge containers
	Token       string            // bearer token of the trial; compared in constant time
	Task        task.Task
	JudgeImage  string         // image id
	RunImage    string         // of the run stage, where that names an image of its own; "" = JudgeImage
	GradeImage  string         // of the grade stage, likewise
	HiddenPaths []string       // relative to workdir: what judge.context, judge.files and private.context put there
	Line        clock.Timeline // what Deadline and the times of submissions are of; zero = the wall clock
	Deadline    time.Time      // nothing is accepted after it, but for final and manual rounds
	Once        bool           // the agent submits nothing: what it leaves is judged, once
	Keep        bool           // the container of the judging that decides stays, stopped, until Retain says otherwise
	Max         int            // agent rounds; 0 = no limit
	Cooldown    time.Duration
	// Outcomes says that a reference run has shown which tests fail as expected: those of
	// Expected, as the runner calls them, and no others.
	Outcomes bool
	Expected []string
	// Reference holds the names of the tests that a reference run of this judge showed: the
	// manifest where the task declares none. Empty = there was no such run.
	Reference []string
}

package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

const submitUsage = `Submits your work to the judge and waits for its verdict.

usage: assay-submit              submit, wait, print the result
       assay-submit -d|--details the same, with a line for every test
       assay-submit -l|--list    what you submitted so far; submits nothing
       assay-submit --result ID  the result of an earlier submission; submits nothing
       assay-submit --time       the seconds that are left
       assay-submit -h|--help    this text

It exits with 0 when it has a result, whatever the result is, otherwise with 1.
`

// exitFailure is the exit code of everything that did not do what it was asked.
const exitFailure = 1

// scoreboardFile is where clients before this one kept their scoreboard.
const scoreboardFile = "/tmp/sforge_state.json"

// submitter is the program that an agent calls.
type submitter struct {
	getenv     func(string) string
	stdout     io.Writer
	stderr     io.Writer
	scoreboard string
	now        func() time.Time
	connect    func(base, token string, note func(string, ...any)) *judgeClient
}

func newSubmitter(getenv func(string) string, stdout, stderr io.Writer) *submitter {
	return &submitter{
		getenv: getenv, stdout: stdout, stderr: stderr, scoreboard: scoreboardFile, now: time.Now, connect: newJudgeClient,
	}
}

// Submit is the program assay-submit: args begins with the name by which it was called. It does
// what they ask for and gives the exit code.
func Submit(ctx context.Context, args []string) int {
	return newSubmitter(os.Getenv, os.Stdout, os.Stderr).main(ctx, args)
}

// errUsage means that the caller is told how to call.
var errUsage = errors.New("see --help")

// main does what args, with the program's name first, ask for and gives the exit code.
func (s *submitter) main(ctx context.Context, args []string) int {
	err := s.do(ctx, filepath.Base(args[0]), args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if limit := (*refused)(nil); errors.As(err, &limit) && limit.code == http.StatusTooManyRequests {
		s.tooMany(limit.detail)
		return exitFailure
	}
	fmt.Fprintf(s.stderr, "%s: %v\n", filepath.Base(args[0]), err)
	return exitFailure
}

func (s *submitter) do(ctx context.Context, name string, args []string) error {
	var details, list, left bool
	var id string
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&details, "details", false, "")
	flags.BoolVar(&details, "d", false, "")
	flags.BoolVar(&list, "list", false, "")
	flags.BoolVar(&list, "l", false, "")
	flags.BoolVar(&left, "time", false, "")
	flags.StringVar(&id, "result", "", "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(s.stdout, submitUsage)
		return err
	} else if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; %w", flags.Arg(0), errUsage)
	}
	switch {
	case left:
		return s.printTime(ctx)
	case list:
		return s.list(ctx)
	case id != "":
		return s.again(ctx, id, details)
	}
	return s.submit(ctx, details)
}

// env finds a variable under its own name or the one that older clients know.
func (s *submitter) env(names ...string) string {
	for _, name := range names {
		if v := s.getenv(name); v != "" {
			return v
		}
	}
	return ""
}

func (s *submitter) judge() (*judgeClient, error) {
	base := s.env("ASSAYD_JUDGE_URL", "SFORGE_JUDGE_URL")
	token := s.env("ASSAYD_TOKEN", "SFORGE_TOKEN")
	if base == "" || token == "" {
		return nil, errors.New("ASSAYD_JUDGE_URL and ASSAYD_TOKEN must be set; they are in the agent's environment")
	}
	return s.connect(base, token, func(format string, args ...any) {
		fmt.Fprintf(s.stderr, format+"\n", args...)
	}), nil
}

func (s *submitter) archive() (archive, error) {
	dir := s.env("ASSAYD_PATCH_DIR", "SFORGE_PATCH_DIR")
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return archive{}, err
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return archive{}, fmt.Errorf("there is no directory %s to submit from", dir)
	}
	return newArchive(dir, s.env("ASSAYD_SUBMIT_PATHS", "SFORGE_SUBMIT_PATHS"),
		s.env("ASSAYD_SUBMIT_EXCLUDE", "SFORGE_SUBMIT_EXCLUDE_FLAGS"))
}

// gameServer is the variable that tells where a game is played; other tasks have none.
const gameServer = "GAME_SERVER_URL"

// submit makes a new round and waits for its verdict.
func (s *submitter) submit(ctx context.Context, details bool) error {
	if url := s.getenv(gameServer); url != "" {
		return fmt.Errorf("this task is a game: nothing is submitted, it is played at %s", url)
	}
	judge, err := s.judge()
	if err != nil {
		return err
	}
	defer judge.http.CloseIdleConnections()
	a, err := s.archive()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "Submitting %s from %s\n", cmp.Or(strings.Join(a.paths, " "), "nothing"), a.dir)
	acc, err := judge.submit(ctx, a, rand.Text())
	if err != nil {
		return err
	}
	round := cmp.Or(acc.RoundID, acc.SubmissionID)
	fmt.Fprintf(s.stdout, "Accepted as round %s, submission %s\n", round, acc.SubmissionID)
	if acc.Remaining != nil {
		fmt.Fprintf(s.stdout, "Submissions left: %d\n", *acc.Remaining)
	}
	fmt.Fprintf(s.stdout, "Waiting for the result; if this is interrupted: assay-submit --result %s\n", acc.SubmissionID)
	return s.report(ctx, judge, acc.SubmissionID, round, details)
}

// again reads an earlier submission, waiting if it has no verdict yet.
func (s *submitter) again(ctx context.Context, id string, details bool) error {
	judge, err := s.judge()
	if err != nil {
		return err
	}
	defer judge.http.CloseIdleConnections()
	return s.report(ctx, judge, id, "", details)
}

// errNotEvaluated is a submission without a verdict, through no fault of its own.
var errNotEvaluated = errors.New("this submission was not evaluated")

func (s *submitter) report(ctx context.Context, judge *judgeClient, id, round string, details bool) error {
	v, err := judge.result(ctx, id)
	if err != nil {
		return err
	}
	v.SubmissionID = id
	round = cmp.Or(round, cmp.Or(v.RoundID, "submission "+id))
	v.print(s.stdout, round, details)
	if v.Status == "error" || v.Report == nil {
		return errNotEvaluated
	}
	if err := recordScore(s.scoreboard, v, round, s.now()); err != nil {
		return nil //nolint:nilerr // for display only: an image need not even have a /tmp
	}
	return nil
}

func (s *submitter) list(ctx context.Context) error {
	judge, err := s.judge()
	if err != nil {
		return err
	}
	defer judge.http.CloseIdleConnections()
	h, err := judge.history(ctx)
	if err != nil {
		return err
	}
	return h.print(s.stdout)
}

func (s *submitter) printTime(ctx context.Context) error {
	left, err := leftBy(s.getenv, s.now())
	if err != nil {
		return err
	}
	if said, ok := askLeft(ctx, s.getenv); ok { // the deadline may have moved since the agent was started
		left = said.Seconds
	}
	fmt.Fprintln(s.stdout, left)
	return nil
}

// leftBy is the seconds that are left by an agent's environment. now counts only where that
// does not say what the deadline is a time of.
func leftBy(getenv func(string) string, now time.Time) (int64, error) {
	value := getenv("ASSAYD_DEADLINE")
	deadline, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return 0, fmt.Errorf("ASSAYD_DEADLINE is not a time: %q", value)
	}
	line := clock.Timeline{}
	if json.Unmarshal([]byte(getenv(protocol.ClockEnv)), &line) == nil {
		now = line.Now()
	}
	return protocol.SecondsLeft(now, deadline), nil
}

// tooMany tells which of the two limits it was, in the words that older clients used.
func (s *submitter) tooMany(detail string) {
	kind := "COOLDOWN"
	for _, word := range []string{"budget", "exhausted", "left"} {
		if strings.Contains(strings.ToLower(detail), word) {
			kind = "SUBMISSION LIMIT REACHED"
		}
	}
	fmt.Fprintln(s.stdout, detail)
	fmt.Fprintf(s.stderr, "%s: %s\n", kind, detail)
}

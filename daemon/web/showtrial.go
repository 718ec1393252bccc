package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
)

func (s *Server) trial(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, r, id := q.Context(), s.o.Trials, q.PathValue("trial")
	var d page.TrialData
	var err error
	if d.Trial, err = r.Info(ctx, id); err != nil {
		return "", nil, err
	}
	after, err := api.Number(q, "after", 0)
	if err != nil {
		return "", nil, err
	}
	if d.Rounds, err = r.Rounds(ctx, id, after, roundsOnPage+1); err != nil {
		return "", nil, err
	}
	if len(d.Rounds) > roundsOnPage {
		d.Rounds = d.Rounds[:roundsOnPage]
		d.Next = behind(q.URL, strconv.Itoa(d.Rounds[roundsOnPage-1].N))
	}
	d.First = first(q.URL)
	if d.Trial.Best == "" {
		return "trial", page.NewTrial(f, d), nil
	}
	best, err := r.Round(ctx, id, d.Trial.Best)
	if err != nil {
		return "", nil, err
	}
	if d.Best = best.Report; best.Report == nil || f.Numbers {
		return "trial", page.NewTrial(f, d), nil
	}
	for _, status := range []string{"failed", "error"} {
		tests, err := r.Tests(ctx, id, d.Trial.Best, status, "", 0, page.MaxFailing)
		if err != nil {
			return "", nil, err
		}
		d.Failing = append(d.Failing, tests...)
	}
	return "trial", page.NewTrial(f, d), nil
}

func (s *Server) round(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, r, id, name := q.Context(), s.o.Trials, q.PathValue("trial"), q.PathValue("round")
	d := page.RoundData{Status: q.FormValue("status"), Search: q.FormValue("name")}
	var err error
	if d.Trial, err = r.Info(ctx, id); err != nil {
		return "", nil, err
	}
	if d.Round, err = r.Round(ctx, id, name); err != nil {
		return "", nil, err
	}
	after, err := api.Number(q, "after", 0)
	if err != nil {
		return "", nil, err
	}
	offset, err := api.Number(q, "offset", 0)
	if err != nil || d.Round.Report == nil || f.Numbers {
		d.NoOutput = "The judge command has not ended yet."
		return "round", page.NewRound(f, d), err
	}
	if d.Tests, err = r.Tests(ctx, id, name, d.Status, d.Search, after, testsOnPage+1); err != nil {
		return "", nil, err
	}
	if len(d.Tests) > testsOnPage {
		d.Tests = d.Tests[:testsOnPage]
		d.Next = behind(testsAt(q.URL), strconv.Itoa(d.Tests[testsOnPage-1].N)) + "#tests"
	}
	d.First = first(testsAt(q.URL))
	output, err := r.OutputAt(ctx, id, name, int64(offset))
	var conflict *request.Conflict
	switch {
	case err == nil:
		d.Output = &output
	case errors.As(err, &conflict):
		d.NoOutput = "There is none: no judge command has ended in this round."
	case errors.Is(err, fs.ErrNotExist):
		d.NoOutput = "It is not kept any more: gc has removed it. The report stays."
	default:
		return "", nil, err
	}
	return "round", page.NewRound(f, d), nil
}

// testsAt is the address of a page of tests, which has the beginning of the output: else each page of tests would be there
// for each page of the output.
func testsAt(u *url.URL) *url.URL {
	v := u.Query()
	v.Del("offset")
	at := *u
	at.RawQuery = v.Encode()
	return &at
}

func (s *Server) log(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Trials.Info(ctx, id)
	if err != nil {
		return "", nil, err
	}
	end, err := s.logEnd(ctx, id)
	if err != nil {
		return "", nil, err
	}
	tail := page.LogTail(end)
	from := tail
	if q.FormValue("offset") != "" {
		n, err := api.Number(q, "offset", 0)
		if err != nil {
			return "", nil, err
		}
		from = min(int64(n), end)
	}
	size := int64(trialview.OutputPageSize)
	if from >= tail {
		size = end - from
	}
	log, _, _, err := s.o.Trials.OpenLog(ctx, id, 0, from)
	if errors.Is(err, fs.ErrNotExist) {
		return "log", page.NewLog(f, t, "", 0, 0, 0), nil
	}
	if err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(io.LimitReader(log, size))
	if err = errors.Join(err, log.Close()); err != nil {
		return "", nil, fmt.Errorf("read the log of %s: %w", id, err)
	}
	return "log", page.NewLog(f, t, strings.ToValidUTF8(string(text), "\uFFFD"), from, from+int64(len(text)), max(end, from+int64(len(text)))), nil
}

// logEnd is how long the log of a trial is, in bytes.
func (s *Server) logEnd(ctx context.Context, id string) (int64, error) {
	log, end, _, err := s.o.Trials.OpenLog(ctx, id, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return end, log.Close()
}

func (s *Server) files(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Trials.Info(ctx, id)
	if err != nil {
		return "", nil, err
	}
	after, err := api.Number(q, "after", 0)
	if err != nil {
		return "", nil, err
	}
	files, err := s.o.Trials.Files(ctx, id, after, filesOnPage+1)
	if err != nil {
		return "", nil, err
	}
	next := ""
	if len(files) > filesOnPage {
		files = files[:filesOnPage]
		next = behind(q.URL, strconv.Itoa(files[filesOnPage-1].N))
	}
	return "files", page.NewFiles(f, t, files, next, first(q.URL)), nil
}

func (s *Server) steps(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Trials.Info(ctx, id)
	if err != nil {
		return "", nil, err
	}
	asked := trialview.StepQuery{Limit: stepsOnPage, Tool: q.FormValue("tool"), Failed: q.FormValue("errors") != ""}
	if asked.From, err = api.Number(q, "from", 0); err != nil {
		return "", nil, err
	}
	if at := q.FormValue("at"); at != "" {
		since, err := time.ParseDuration(at)
		if err != nil {
			return "", nil, request.Mistakef("at=%q is no time since the trial began: write it as in 2h19m", at)
		}
		asked.At = t.Started.Add(since)
	}
	asked.Within = firstReading(f)
	p, err := s.o.Trials.Steps(ctx, id, asked)
	if err != nil {
		return "", nil, err
	}
	return "steps", page.NewSteps(f, t, p, q.URL, stepsOnPage), nil
}

// firstReading is for how long a page waits for the first reading of a long transcript. One in a file waits for its end.
func firstReading(f page.Frame) time.Duration {
	if f.Still != nil {
		return 0
	}
	return 150 * time.Millisecond
}

func (s *Server) between(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Trials.Info(ctx, id)
	if err != nil {
		return "", nil, err
	}
	d, err := s.o.Trials.Between(ctx, id, q.PathValue("a"), q.PathValue("b"))
	if err != nil {
		return "", nil, err
	}
	moment := func(r trialview.RoundInfo) time.Time {
		return t.Started.Add(time.Duration(r.ElapsedS * float64(time.Second)))
	}
	p, err := s.o.Trials.Steps(ctx, id, trialview.StepQuery{Try: d.B.Try, At: moment(d.A), Until: moment(d.B), Limit: stepsOnPage, Within: firstReading(f)})
	if err != nil {
		return "", nil, err
	}
	return "between", page.NewBetween(f, t, d, p), nil
}

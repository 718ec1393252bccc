package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/game"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// Bounds on requests.
const (
	UploadTime  = 10 * time.Minute
	RequestTime = 30 * time.Second // for any other body to come
	AnswerTime  = 30 * time.Second // for an answer to be taken
	defaultWait = 30 * time.Second
	longestWait = 60 * time.Second
	MaxKey      = 256
	MaxField    = 4096
	maxParts    = 16
	MaxFields   = maxParts * 2 * MaxField // of bytes before the archive in an upload, and after it
	formRoom    = 1 << 20                 // around the archive in an upload
)

const submitPath = "/api/v1/submit"

// inTime sees that nobody keeps a request going by sending or taking it slowly: all but
// uploads are there, whole and small, before they are looked at.
func inTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// A server that cannot set deadlines has other means, or is a test. The one for
		// writing is left from the answer before.
		_ = control.SetWriteDeadline(time.Time{})
		if r.URL.Path == submitPath {
			_ = control.SetReadDeadline(time.Now().Add(UploadTime))
		} else if refusal := receive(w, r); refusal != nil {
			w.Header().Set("Connection", "close") // what is still to come is of no interest
			answerDetail(w, refusal.Code, refusal.Detail)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// receive reads the body in good time. There is no hurry any more then: a deadline that
// stayed would look like a client that has gone.
func receive(w http.ResponseWriter, r *http.Request) *round.Refusal {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(RequestTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMove))
	_ = control.SetReadDeadline(time.Time{})
	if _, huge := errors.AsType[*http.MaxBytesError](err); huge {
		return tooLong()
	}
	if err != nil {
		return round.Refuse(400, "the body cannot be read: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// Options are what the API of one trial's agent answers from.
type Options struct {
	Trial   string
	Session func() (Session, bool) // in force; false = there is none
	Submit  func(context.Context, round.SubmitRequest) (round.Submission, error)
	Listen  func(id string) (judged <-chan struct{}, leave func()) // closed at the submission's verdict
	Ledger  round.Ledger
	Games   *game.Games
	Log     *slog.Logger
}

// Session are the terms on which the agent asks.
type Session struct {
	round.Session
	Game  game.Session
	Looks chan struct{} // held by who looks back: what is looked at may be large
}

type agentAPI struct{ o Options }

// New returns the API that one trial's agent sees. Whoever reaches it is that trial; a token
// that is presented must be the trial's own all the same.
func New(o Options) http.Handler {
	a := &agentAPI{o}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+submitPath, a.submit)
	mux.HandleFunc("GET /api/v1/result/{id}", a.authorized(a.result))
	mux.HandleFunc("GET /api/v1/history", a.authorized(a.history))
	a.routeGames(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answerDetail(w, 404, "there is no "+r.Method+" "+r.URL.Path+" here")
	})
	return inTime(mux)
}

// authorized checks the token of a request that is no form.
func (a *agentAPI) authorized(next func(http.ResponseWriter, *http.Request, Session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := a.session(r)
		if err == nil {
			err = s.check(r.URL.Query().Get("token"))
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		next(w, r, s)
	}
}

// session returns the trial's session if the request's header does not say otherwise.
func (a *agentAPI) session(r *http.Request) (Session, error) {
	s, ok := a.o.Session()
	if !ok {
		return s, &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge does not know this trial (yet)"}
	}
	header := r.Header.Get("Authorization")
	token, bearer := strings.CutPrefix(header, "Bearer ")
	if header != "" && !bearer {
		return s, round.Refuse(401, "the authorization header is not a bearer token")
	}
	return s, s.check(token)
}

// check compares a presented token; none is no reason to refuse.
func (s Session) check(token string) error {
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.Token))
	if token != "" && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return round.Refuse(401, "the token is not this trial's")
	}
	return nil
}

func (a *agentAPI) submit(w http.ResponseWriter, r *http.Request) {
	s, err := a.session(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) > MaxKey {
		a.fail(w, r, round.Refuse(400, "the idempotency key is longer than %d bytes", MaxKey))
		return
	}
	fields := &fieldsReader{r: http.MaxBytesReader(w, r.Body, s.maxUpload()), left: MaxFields}
	r.Body = io.NopCloser(fields)
	parts, err := r.MultipartReader()
	if err != nil {
		a.fail(w, r, round.Refuse(400, "the request is not a multipart form: %v", err))
		return
	}
	form := &form{parts: parts, fields: fields, session: s}
	archive, err := form.archive()
	if err != nil {
		a.fail(w, r, err)
		return
	}
	sub, err := a.o.Submit(r.Context(), round.SubmitRequest{
		Kind: round.KindAgent, Key: key, Archive: &formArchive{form, archive},
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	var all []round.Submission
	if s.Max > 0 { // or there may be thousands, for nothing
		if all, err = a.o.Ledger.Submissions(r.Context(), a.o.Trial); err != nil {
			a.fail(w, r, err)
			return
		}
	}
	answer(w, 200, accepted{sub.ID, sub.Round, "queued", round.Remaining(s.Session, sub, all)})
}

// accepted answers a submission.
type accepted struct {
	ID        string `json:"submission_id"`
	Round     string `json:"round_id"`
	Status    string `json:"status"`
	Remaining *int   `json:"remaining_submissions"`
}

func (s Session) maxUpload() int64 {
	limit := s.Task.Submit.MaxBytes
	if limit <= 0 {
		limit = 1 << 30
	}
	return 2*limit + formRoom
}

// fieldsReader is the body of an upload. It bounds what is not the archive: a part's header
// is read as a whole, however long it is. That a body breaks off is its sender's doing.
type fieldsReader struct {
	r       io.Reader
	archive bool  // what comes is the archive's
	left    int64 // of bytes for anything else
}

func (f *fieldsReader) Read(p []byte) (int, error) {
	if !f.archive {
		if f.left == 0 {
			return 0, round.Refuse(413, "the form has more than %d bytes beside its archive", MaxFields)
		}
		p = p[:min(int64(len(p)), f.left)]
	}
	n, err := f.r.Read(p)
	if !f.archive {
		f.left -= int64(n)
	}
	if _, known := errors.AsType[*http.MaxBytesError](err); err != nil && !errors.Is(err, io.EOF) && !known {
		err = round.Refuse(400, "the upload broke off: %v", err)
	}
	return n, err
}

// form reads the parts of an upload in the order in which they come.
type form struct {
	parts   *multipart.Reader
	fields  *fieldsReader
	session Session
	count   int
}

// archive checks the fields before the archive and returns the archive's part.
func (f *form) archive() (io.Reader, error) {
	part, err := f.next()
	if errors.Is(err, io.EOF) {
		return nil, round.Refuse(400, "the form has no archive")
	}
	return part, err
}

// next returns the archive's part once it comes, having checked the fields on the way;
// io.EOF after the last part.
func (f *form) next() (io.Reader, error) {
	for f.count++; f.count <= maxParts; f.count++ {
		part, err := f.parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, badForm(err)
		}
		if part.FormName() == "archive" {
			f.fields.archive = true
			return part, nil
		}
		value, err := io.ReadAll(io.LimitReader(part, MaxField))
		if err != nil {
			return nil, badForm(err)
		}
		if err := f.field(part.FormName(), string(value)); err != nil {
			return nil, err
		}
	}
	return nil, round.Refuse(400, "the form has more than %d parts", maxParts)
}

func (f *form) field(name, value string) error {
	switch {
	case name == "token":
		return f.session.check(value)
	case name == "kind" && value == string(round.KindAuto):
		return round.Refuse(403, "rounds of kind auto are not for agents")
	case name == "kind" && value != string(round.KindAgent) && value != "":
		return round.Refuse(400, "there are no submissions of kind %q", value)
	}
	return nil
}

func badForm(err error) error {
	if r, ok := errors.AsType[*round.Refusal](err); ok {
		return r
	}
	if m, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return round.Refuse(413, "the upload is larger than %d bytes", m.Limit)
	}
	return round.Refuse(400, "the form cannot be read: %v", err)
}

// formArchive is the archive; before it ends, the fields after it are checked too, so
// that a wrong token behind the archive refuses it.
type formArchive struct {
	form *form
	r    io.Reader
}

func (a *formArchive) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if errors.Is(err, io.EOF) {
		if rest := a.finish(); rest != nil {
			return n, rest
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) { // the form's own word for it
		err = round.Refuse(400, "the form breaks off within its archive")
	}
	return n, err
}

// finish reads the rest of the form.
func (a *formArchive) finish() error {
	a.form.fields.archive, a.form.fields.left = false, MaxFields
	_, err := a.form.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return round.Refuse(400, "the form has two archives")
	}
	return err
}

func (a *agentAPI) result(w http.ResponseWriter, r *http.Request, s Session) {
	wait, err := waitTime(r.URL.Query())
	if err != nil {
		a.fail(w, r, err)
		return
	}
	id, rung := r.PathValue("id"), (<-chan struct{})(nil)
	if wait > 0 {
		var leave func()
		rung, leave = a.o.Listen(id)
		defer leave()
	}
	open := false
	a.look(w, r, s, func(ctx context.Context) error {
		sub, err := a.find(ctx, s, id)
		if open = err == nil && wait > 0 && sub.State != round.StateJudged; err == nil && !open {
			answer(w, 200, scoring.ResultView(s.Task, sub))
		}
		return err
	})
	if !open {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-rung: // at the latest now the ledger has the verdict
	case <-timer.C:
	case <-r.Context().Done():
		return
	}
	a.look(w, r, s, func(ctx context.Context) error {
		sub, err := a.find(ctx, s, id)
		if err == nil {
			answer(w, 200, scoring.ResultView(s.Task, sub))
		}
		return err
	})
}

// look calls do, one of a trial at a time until what it answers is taken: what it looks at
// may be large.
func (a *agentAPI) look(w http.ResponseWriter, r *http.Request, s Session, do func(context.Context) error) {
	select {
	case s.Looks <- struct{}{}:
		defer func() { <-s.Looks }()
	case <-r.Context().Done():
		return
	}
	if err := do(r.Context()); err != nil {
		a.fail(w, r, err)
	}
}

// find returns a submission that the agent itself sent in this try, with its tests.
func (a *agentAPI) find(ctx context.Context, s Session, id string) (round.Submission, error) {
	sub, err := a.o.Ledger.Submission(ctx, id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !a.owns(s, sub) {
		return round.Submission{}, round.Refuse(404, "there is no submission %q", id)
	}
	return sub, err
}

// owns reports whether the agent may know of the submission: an accepted one of its own,
// of this try.
func (a *agentAPI) owns(s Session, sub round.Submission) bool {
	return sub.Trial == a.o.Trial && sub.Kind == round.KindAgent && sub.Try == s.Try && sub.State != round.StateReserved
}

// own lists what the agent may know of, without tests: its submissions and its games.
func (a *agentAPI) own(ctx context.Context, s Session) ([]round.Submission, error) {
	all, err := a.o.Ledger.Submissions(ctx, a.o.Trial)
	var own []round.Submission
	for _, sub := range all {
		if a.owns(s, sub) || a.played(s, sub) {
			own = append(own, sub)
		}
	}
	return own, err
}

// waitTime reads "wait": a duration or a number of seconds; "" is no waiting, unless the
// parameter is there.
func waitTime(q map[string][]string) (time.Duration, error) {
	values, ok := q["wait"]
	if !ok {
		return 0, nil
	}
	if values[0] == "" {
		return defaultWait, nil
	}
	d, err := time.ParseDuration(values[0])
	if seconds, serr := strconv.Atoi(values[0]); serr == nil {
		d, err = time.Duration(min(max(seconds, 0), 3600))*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, round.Refuse(400, "wait=%q is not a duration like 30s", values[0])
	}
	return min(d, longestWait), nil
}

func (a *agentAPI) history(w http.ResponseWriter, r *http.Request, s Session) {
	a.look(w, r, s, func(ctx context.Context) error {
		own, err := a.own(ctx, s)
		if err == nil {
			answer(w, 200, scoring.HistoryView(s.Task, a.o.Trial, own))
		}
		return err
	})
}

// fail answers an error. What is not a refusal is not for the agent's eyes.
func (a *agentAPI) fail(w http.ResponseWriter, r *http.Request, err error) {
	refusal, ok := errors.AsType[*round.Refusal](err)
	if !ok {
		level := slog.LevelWarn
		if r.Context().Err() != nil { // whoever asked has gone, as often as he likes
			level = slog.LevelDebug
		}
		a.o.Log.Log(context.WithoutCancel(r.Context()), level, "request of an agent", "trial", a.o.Trial, "error", err)
		refusal = &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge has trouble of its own; the submission spent nothing"}
	}
	if refusal.RetryAfter > 0 {
		seconds := int64((refusal.RetryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	answerDetail(w, refusal.Code, refusal.Detail)
}

func answerDetail(w http.ResponseWriter, code int, detail string) {
	answer(w, code, map[string]string{"detail": detail})
}

func answer(w http.ResponseWriter, code int, body any) {
	control, soon := http.NewResponseController(w), time.Now().Add(AnswerTime)
	_, _ = control.SetReadDeadline(soon), control.SetWriteDeadline(soon) // what was not read is, before the next request
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a reader that is gone needs no answer
}

package containertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Serve answers a Remote's calls from a Fake, so that the containers outlive the process that
// asked for them. Whoever reaches it may do everything.
func Serve(f *Fake) http.Handler {
	s := &remoteServer{fake: f, terminals: map[string]chan container.Size{}}
	mux := http.NewServeMux()
	answerTo(mux, "Observe", func(ctx context.Context, c call) ([]container.Instance, error) { return f.Observe(ctx, c.ID) })
	answerTo(mux, "Inspect", func(ctx context.Context, c call) (container.Instance, error) { return f.Inspect(ctx, c.ID) })
	answerTo(mux, "Start", func(ctx context.Context, c call) (container.Instance, error) { return f.Start(ctx, c.Workload) })
	answerTo(mux, "Wait", func(ctx context.Context, c call) (container.Exit, error) { return f.Wait(ctx, c.ID) })
	answerTo(mux, "Stop", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, f.Stop(ctx, c.ID, c.Grace) })
	answerTo(mux, "Remove", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, f.Remove(ctx, c.ID) })
	answerTo(mux, "Freeze", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, f.Freeze(ctx, c.ID) })
	answerTo(mux, "Thaw", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, f.Thaw(ctx, c.ID) })
	answerTo(mux, "Usage", func(ctx context.Context, c call) (container.Usage, error) { return f.Usage(ctx, c.ID) })
	answerTo(mux, "Image", func(ctx context.Context, c call) (container.Image, error) { return f.Image(ctx, c.ID) })
	answerTo(mux, "Pull", func(ctx context.Context, c call) (container.Image, error) { return f.Pull(ctx, c.ID, c.Value) })
	answerTo(mux, "Tag", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, f.Tag(ctx, c.ID, c.Value) })
	answerTo(mux, "Push", func(ctx context.Context, c call) (string, error) { return f.Push(ctx, c.ID) })
	answerTo(mux, "Commit", func(ctx context.Context, c call) (container.Image, error) {
		return f.Commit(ctx, c.ID, c.Value, c.Config)
	})
	answerTo(mux, "ListImages", func(ctx context.Context, c call) ([]container.Image, error) { return f.ListImages(ctx, c.ID, c.Value) })
	answerTo(mux, "Names", func(ctx context.Context, _ call) (map[string]string, error) { return f.Names(ctx) })
	answerTo(mux, "RemoveImage", func(ctx context.Context, c call) (struct{}, error) { return struct{}{}, f.RemoveImage(ctx, c.ID) })
	answerTo(mux, "HostInfo", func(ctx context.Context, _ call) (container.HostInfo, error) { return f.HostInfo(ctx) })
	answerTo(mux, "Resize", s.resize)
	mux.HandleFunc("POST /Exec", s.exec)
	mux.HandleFunc("POST /CopyTo", s.copyTo)
	mux.HandleFunc("POST /CopyFrom", s.copyFrom)
	return mux
}

// call is what any method is called with.
type call struct {
	ID       string // of a container or an image; of Observe the owner
	Value    string
	Grace    time.Duration
	Workload container.Workload
	Config   container.ImageConfig
	Command  remoteCommand
	Size     container.Size // of the terminal of the command that Value names
}

// remoteCommand is a container.Command without what is streamed.
type remoteCommand struct {
	Argv          []string
	Env           map[string]string
	User, Workdir string
}

// remoteError is an error with its kinds, which wrap the same values on the other side.
type remoteError struct {
	Text  string
	Kinds []int // places in kinds
}

// kinds are the errors that callers tell apart.
var kinds = []error{
	container.ErrNotFound, container.ErrConflict, container.ErrUnavailable, container.ErrNoSpace, container.ErrCommandNotFound,
	container.ErrRegistry, container.ErrNoSuchRegistry, container.ErrNoAnswer, container.ErrDenied, container.ErrUnsupported,
}

func remoteErrorOf(err error) remoteError {
	e := remoteError{Text: err.Error()}
	for i, kind := range kinds {
		if errors.Is(err, kind) {
			e.Kinds = append(e.Kinds, i)
		}
	}
	return e
}

// failed is the status of an answer that is a remoteError.
const failed = http.StatusConflict

func fail(w http.ResponseWriter, err error) {
	w.WriteHeader(failed)
	_ = json.NewEncoder(w).Encode(remoteErrorOf(err)) // who has gone needs no answer
}

// answerTo serves a method that takes and gives plain values.
func answerTo[T any](mux *http.ServeMux, method string, do func(context.Context, call) (T, error)) {
	mux.HandleFunc("POST /"+method, func(w http.ResponseWriter, r *http.Request) {
		var c call
		err := json.NewDecoder(r.Body).Decode(&c)
		var answer T
		if err == nil {
			answer, err = do(r.Context(), c)
		}
		if err != nil {
			fail(w, err)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

type remoteServer struct {
	fake      *Fake
	mu        sync.Mutex
	terminals map[string]chan container.Size // of commands, by call.Value
}

// terminal is where the sizes of a command's terminal come; nil without a name.
func (s *remoteServer) terminal(command string) chan container.Size {
	if command == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminals[command] == nil {
		s.terminals[command] = make(chan container.Size)
	}
	return s.terminals[command]
}

func (s *remoteServer) resize(ctx context.Context, c call) (struct{}, error) {
	select {
	case s.terminal(c.Value) <- c.Size:
	case <-ctx.Done():
	}
	return struct{}{}, nil
}

// said is one message of a command that runs: output, or its end.
type said struct {
	Out, Err []byte
	Exit     *int
	Failed   *remoteError
}

func (s *remoteServer) exec(w http.ResponseWriter, r *http.Request) {
	var c call
	control := http.NewResponseController(w)
	err := errors.Join(json.Unmarshal([]byte(r.URL.Query().Get("call")), &c), control.EnableFullDuplex())
	if err != nil {
		fail(w, err)
		return
	}
	out := &sayer{to: json.NewEncoder(w), flush: control.Flush}
	code, err := s.fake.Exec(r.Context(), c.ID, container.Command{
		Argv: c.Command.Argv, Env: c.Command.Env, User: c.Command.User, Workdir: c.Command.Workdir, Stdin: r.Body,
		Terminal: s.terminal(c.Value),
		Stdout:   writer(func(p []byte) error { return out.say(said{Out: p}) }),
		Stderr:   writer(func(p []byte) error { return out.say(said{Err: p}) }),
	})
	last := said{Exit: &code}
	if err != nil {
		e := remoteErrorOf(err)
		last = said{Failed: &e}
	}
	_ = out.say(last)
}

// sayer sends messages one by one.
type sayer struct {
	mu    sync.Mutex
	to    *json.Encoder
	flush func() error
}

func (s *sayer) say(message any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.to.Encode(message), s.flush())
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) { return len(p), w(p) }

func (s *remoteServer) copyTo(w http.ResponseWriter, r *http.Request) {
	if err := s.fake.CopyTo(r.Context(), r.FormValue("id"), r.FormValue("path"), r.Body); err != nil {
		fail(w, err)
	}
}

func (s *remoteServer) copyFrom(w http.ResponseWriter, r *http.Request) {
	stream, err := s.fake.CopyFrom(r.Context(), r.FormValue("id"), r.FormValue("path"))
	if err != nil {
		fail(w, err)
		return
	}
	defer func() { _ = stream.Close() }() // only read
	_, _ = io.Copy(w, stream)
}

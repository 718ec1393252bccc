package control

import (
	"context"

	"github.com/assayd/assayd/reconcile/store"
)

// Via says how a request has come.
type Via string

// Ways of requests.
const (
	CLI    Via = "cli"
	Page   Via = "page"
	API    Via = "api"
	Socket Via = "socket" // the control socket: the program says whether it is the command line; no record has it
	Daemon Via = "daemon" // nobody asked: a hold has ended by itself
)

// Actor is who asks for something.
type Actor struct {
	By  string // the user at the other end of the control socket, or the name of a session or a token
	Via Via
}

type actorKey struct{}

// As returns a context for what an actor asks for.
func As(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) }

// Of is who asks for what is done with a context.
func Of(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{By: "unknown", Via: API}
}

// What was done, as records have it.
const (
	Pause    = "pause"
	Resume   = "resume"
	Throttle = "throttle"
	Lift     = "unthrottle"
	Expire   = "expire" // a hold has ended by itself, or with its target
	Stop     = "stop"
	Extend   = "extend"
	Budget   = "budget" // a budget of the settings is used up
	Cancel   = "cancel"
	Rerun    = "rerun"
	Retry    = "retry"
)

// Record is what a record of type control says besides its envelope.
type Record struct {
	Action string `json:"action"`
	Target string `json:"target"`
	By     string `json:"by"`
	Via    Via    `json:"via"`
	Reason string `json:"reason,omitempty"`
	Before any    `json:"before"` // what was in force until then; null = nothing
	After  any    `json:"after"`  // what is since
}

// NewRecord is that of an action that somebody asks for.
func NewRecord(ctx context.Context, action, target string) Record {
	a := Of(ctx)
	return Record{Action: action, Target: target, By: a.By, Via: a.Via}
}

// Place says where records about a target go.
type Place struct {
	Stream     store.StreamRef
	Host       bool // the stream is of the whole host, so that records name their target
	Generation string
	Execution  int
}

// Append appends a record to the stream of its target; nil is none, of what nobody has asked for.
func (r *Record) Append(tx *store.Tx, p Place) error {
	if r == nil {
		return nil
	}
	spec := p.Stream.Spec
	if p.Host {
		spec = r.Target
	}
	if _, err := tx.AppendLine(p.Stream, store.Envelope{Type: "control", Spec: spec, Generation: p.Generation, Execution: p.Execution}, r); err != nil {
		return err
	}
	return tx.AddActivity(store.ActivityRow{Action: r.Action, Target: r.Target, By: r.By, Via: string(r.Via), Reason: r.Reason})
}

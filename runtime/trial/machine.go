package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/layer"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/install"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
	"github.com/assayd/assayd/runtime/trial/record"
	"github.com/assayd/assayd/runtime/trial/reference"
	"github.com/assayd/assayd/runtime/trial/trydir"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// Host is everything trials share: made once by the daemon.
type Host struct {
	Engine   container.Engine
	Images   *image.Builder
	Judge    *judge.Judge
	Ledger   round.Ledger
	OpenBlob func(digest string) (io.ReadCloser, error)
	StateDir string // absolute
	GuestDir string // holds the static program under its names
	Owner    string
	Log      *slog.Logger
	// Where says at which place of which spec file ("file:line") the first of the attributes
	// stands that is written there, for failures that the author of a spec must mend; nil or
	// "" = not known. kind and name are of the block, task is of a benchmark's task or "".
	Where func(kind, name, task string, attributes ...string) string
	// Pin returns the id that an image's name has in the trial's execution, which resolve
	// says when nobody has asked before; nil = names are taken as they are each time.
	Pin func(ctx context.Context, s State, ref string, resolve func() (id string, err error)) (id string, err error)
	// Reference returns what judging the solution of the task has shown, which is done once
	// for one content; nil = nobody asks.
	Reference func(ctx context.Context, of Subject) (reference.Reference, error)
	// Logged hears that the log of a trial has grown; nil = nobody asks.
	Logged func(trial string)
	// Decoys returns the decoys of the task, which are made once for one content; nil = there
	// are none.
	Decoys func(ctx context.Context, of Subject) (mixedruns.Decoys, error)
	// Foresee has the decoys of a trial's task made while its agent works, so that the verdict waits
	// for them no longer than it must. It returns at once; of finds the subject, and may be called
	// from any goroutine. Nil = they are made when the verdict needs them.
	Foresee func(s State, of func(ctx context.Context) (Subject, error))
	// Control judges the task's solution with changed hidden files, for a mixed run in which no test
	// was seen; nil = then nobody knows why.
	Control func(ctx context.Context, of Subject, changed map[string][]byte) (mixed.Observed, error)
	// Scarce reports whether containers are about to fill the engine's disk; nil = never.
	Scarce func() bool
	// Broken says why the task's judge can judge nothing, "" where it can: it fails on the
	// untouched tree and on the solution alike. It only tells what is known already unless ask
	// is set; nil = nobody asks.
	Broken func(ctx context.Context, of Subject, ask bool) (why string, err error)
	// Sane returns what judging the untouched tree of a task has shown in the trial's
	// execution, which ask says when nobody has asked before; nil = each trial asks.
	Sane func(ctx context.Context, s State, key string, ask func() (reference.Sanity, error)) (reference.Sanity, error)
	// Patches takes and applies the patches of single mode.
	Patches *patch.DiffService
	// Gateway is what agents reach their models by.
	Gateway *gateway.Gateway
	// Layers are what agents have installed.
	Layers *layer.Store
	Libcs  *install.Libcs
}

// dir is what a try of a trial has on the host.
func (h Host) dir(s State) trydir.Dir { return trydir.Of(h.StateDir, s.ID, s.Try) }

// Trees reads the trees that agents work in.
func (h Host) Trees() worktree.Reader {
	return worktree.Reader{Engine: h.Engine, Images: h.Images, Patches: h.Patches, Spool: filepath.Join(h.StateDir, "spool")}
}

// at puts the place in a spec before an error.
func (h Host) at(err error, kind, name, task string, attributes ...string) error {
	if h.Where == nil {
		return err
	}
	place := h.Where(kind, name, task, attributes...)
	if place == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// Machine drives one trial. Its methods but Cancel, Stop, and Extend belong to one goroutine.
type Machine struct {
	host   Host
	log    *slog.Logger
	wanted context.Context // ends when the trial is cancelled, with a *Cancellation as its cause
	unwant context.CancelCauseFunc
	stops  chan string // why the agent's time is to be over now
	handle *handle     // handles on a running container; nil when there are none
	met    bool        // the guest has greeted this machine
	asked  bool        // the decoys of its task are asked for
	acks   []func()    // answers owed once the state that justifies them is stored

	extends chan Extend // a later deadline

	// How often in a row something failed that is tried maxAgain times.
	losses   int // of the handles on the container
	finals   int // of the last snapshot
	removals int // of the cleaning

	retrying retryWindow
	patient  time.Duration // with an engine that answers and cannot
	moment   time.Duration // that one snapshot may take
}

// maxAgain is how often an engine that answers may fail at the same thing before it is
// believed that this will not change; with the pauses of the caller about a minute.
const maxAgain = 10

// New returns a machine for one trial. Close releases what it holds.
func New(h Host, id, spec string) *Machine {
	m := &Machine{host: h, log: h.Log.With("spec", spec, "trial", id), stops: make(chan string, 1), extends: make(chan Extend, 1), patient: enginePatience, moment: snapshotTime}
	m.wanted, m.unwant = context.WithCancelCause(context.Background())
	return m
}

// Cancellation says why a trial ends without a verdict.
type Cancellation struct {
	Cause    string
	Unwanted bool // no spec wants the cell any more; it starts again when one does
}

// Error implements error.
func (c *Cancellation) Error() string { return c.Cause }

// Cancel asks the trial to end without a verdict, whatever it waits for; safe from any
// goroutine. The first cancellation counts.
func (m *Machine) Cancel(c Cancellation) { m.unwant(&c) }

// Stop makes the time of an agent that works be over now: the last snapshot is taken and judged, and the
// trial gets its verdict, with the reason and the flag stopped. Why is its detail. It does nothing to a trial whose
// agent has ended. Safe from any goroutine; the first call counts.
func (m *Machine) Stop(why string) {
	select {
	case m.stops <- why:
	default:
	}
}

// Close drops the handles on a running container, which goes on without them.
func (m *Machine) Close() {
	m.unwant(nil)
	m.drop()
}

// drop is Close for a machine that goes on.
func (m *Machine) drop() {
	if m.handle != nil {
		m.handle.close()
		m.handle = nil
	}
}

// Step makes one transition. The caller stores the returned state together with its
// effects in one transaction before the next call. An error means that nothing changed:
// the step may be repeated, after a pause when container.Unavailable(err). When the
// context ends, its cause is returned and the container goes on.
func (m *Machine) Step(ctx context.Context, s State) (State, []Effect, error) {
	m.answer()
	if line := s.Line.Renewed(); line != s.Line {
		s.Line = line // stored before any time is read from it
		return s, nil, nil
	}
	if s.Phase == Verdict || s.Phase == Cleanup {
		return m.step(ctx, s)
	}
	if c, ok := m.cancellation(); ok {
		return m.cancelled(s, c), nil, nil
	}
	stepping, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(m.wanted, func() { stop(context.Cause(m.wanted)) })()
	next, effects, err := m.step(stepping, s)
	if c, ok := m.cancellation(); ok && err != nil && ctx.Err() == nil {
		return m.cancelled(s, c), nil, nil
	}
	return next, effects, err
}

// answer gives the answers that are owed.
func (m *Machine) answer() {
	for _, ack := range m.acks {
		ack()
	}
	m.acks = nil
}

// step makes the transition that the phase asks for.
func (m *Machine) step(ctx context.Context, s State) (State, []Effect, error) {
	switch s.Phase {
	case Pending:
		return m.pending(ctx, s)
	case Images:
		return m.images(ctx, s)
	case Sane:
		return m.sanity(ctx, s)
	case Create:
		return m.create(ctx, s)
	case Await, Running:
		return m.supervise(ctx, s)
	case Closing:
		return m.closing(ctx, s)
	case Grading:
		return m.grading(ctx, s)
	case Private:
		return m.private(ctx, s)
	case Mixed:
		return m.mixedRuns(ctx, s)
	case Verdict:
		return m.verdict(ctx, s)
	case Cleanup:
		return m.cleanup(ctx, s)
	}
	return s, nil, fmt.Errorf("trial %s is in phase %q, which has no step", s.ID, s.Phase)
}

// pending begins a try, unless its execution has nothing left to spend.
func (m *Machine) pending(ctx context.Context, s State) (State, []Effect, error) {
	reason, detail, err := m.overBudget(ctx, s)
	switch {
	case err != nil:
		return s, nil, err
	case reason != "":
		return fail(s, Cancelled, reason, errors.New(detail)), nil, nil
	}
	s.Phase, s.BegunAt = Images, s.Line.Now()
	return s, nil, nil
}

// cancellation is what Cancel was called with.
func (m *Machine) cancellation() (*Cancellation, bool) {
	return errors.AsType[*Cancellation](context.Cause(m.wanted))
}

// cancelled sends the trial to its verdict as Cancel asked for.
func (m *Machine) cancelled(s State, c *Cancellation) State {
	if m.handle != nil {
		m.handle.link.OrderEnd()
	}
	s.Unwanted = c.Unwanted
	return fail(s, Cancelled, ReasonCancelled, c)
}

// fail sends the trial to its verdict without one of the judge. What an extended trial had at its declared deadline is
// judged all the same, where it is the machine that fails later.
func fail(s State, status Status, reason string, err error) State {
	s.Failure, s.Reason, s.Detail = status, reason, err.Error()
	if s.EndedAt.IsZero() && !s.StartedAt.IsZero() {
		s.EndedAt = s.Line.Now()
	}
	broke := status == InfraError && (s.Phase == Running || s.Phase == Closing) && s.beyond() && s.Extension.Passed
	s.Phase = Verdict
	if broke {
		s.Phase = Grading
	}
	if s.Extension != nil {
		s.changed().Broke = broke
	}
	return s
}

// images makes the two images and says what was built.
func (m *Machine) images(ctx context.Context, s State) (State, []Effect, error) {
	labels := labels(m.host.Owner, s, container.RoleBuild)
	t, err := m.pinned(ctx, s)
	if err != nil {
		return m.imageFailed(ctx, s, err)
	}
	work, err := m.host.Images.Work(ctx, t, labels)
	if err != nil {
		return m.imageFailed(ctx, s, err)
	}
	made, err := m.host.JudgeImages(ctx, &s, t, labels)
	if err != nil {
		return m.imageFailed(ctx, s, err)
	}
	if s.Hidden, err = m.host.Images.Hidden(s.Cell.Task); err != nil {
		return s, nil, err
	}
	s.WorkImage, s.ImageUser = ImageRef{work.Ref, work.ID}, work.Config.User
	in, err := m.installer(s).Install(ctx, s.Cell.Agent, s.Cell.Task, work, labels)
	s.Equipped, s.Layers, s.Program, s.Path = in.Equipped, in.Layers, in.Program, in.Path
	if err != nil {
		return m.unequipped(ctx, s, err)
	}
	if s, err = m.measure(ctx, s, t, work); err != nil || s.Phase == Verdict {
		return s, nil, err
	}
	s.Phase, s.ImagesAt = Create, s.Line.Now()
	if single(s) && s.Cell.SanityCheck {
		s.Phase = Sane
	}
	var effects []Effect
	for _, b := range []image.Built{work, made} {
		if !b.Cached {
			effects = append(effects, Effect{"image.built", record.ImageBuilt{Task: s.Cell.Task.Name, Role: b.Role, Ref: b.Ref, Digest: b.ID, Seconds: b.Seconds}})
		}
	}
	return s, effects, nil
}

// JudgeImages makes or finds the images that the task's judge needs, and fills them into the
// state: that of the judge, which is returned, and those that its stages name.
func (h Host) JudgeImages(ctx context.Context, s *State, t task.Task, labels map[string]string) (made image.Built, err error) {
	if made, err = h.Images.Judge(ctx, t, labels); err != nil {
		return made, err
	}
	s.JudgeImage = ImageRef{made.Ref, made.ID}
	if s.RunImage, err = h.stageImage(ctx, t, t.Judge.Run); err != nil {
		return made, err
	}
	s.GradeImage, err = h.stageImage(ctx, t, t.Judge.Grade)
	return made, err
}

// stageImage finds the image that a stage of the judge names; "" where it names none.
func (h Host) stageImage(ctx context.Context, t task.Task, stage *task.Stage) (id string, err error) {
	if stage == nil || stage.Image == "" {
		return "", nil
	}
	img, err := h.Images.Resolve(ctx, stage.Image, t.Platform)
	if err != nil {
		return "", fmt.Errorf("image of a judge stage: %w", err)
	}
	return img.ID, nil
}

// mayPass reports whether waiting may mend that an image or a layer cannot be made: for as
// long as it takes where this machine is at fault, and for a while where the engine's disk is
// full or a registry is out of reach.
func (m *Machine) mayPass(ctx context.Context, s State, err error) bool {
	if ctx.Err() != nil || container.Unavailable(err) || ownTrouble(err) {
		return true
	}
	return (container.Passes(err) || layer.Passing(err)) && m.waits(s)
}

// imageFailed tells what waiting may mend from what the task's author must.
func (m *Machine) imageFailed(ctx context.Context, s State, err error) (State, []Effect, error) {
	if m.mayPass(ctx, s, err) {
		return s, nil, err
	}
	if errors.Is(err, container.ErrNoSpace) {
		return fail(s, InfraError, ReasonDisk, err), nil, nil
	}
	benchmark, name := s.Cell.Task.Benchmark, s.Cell.Task.Name
	var setup *image.SetupError
	if errors.As(err, &setup) {
		err = m.host.at(err, "benchmark", benchmark, name, setup.Role+"."+setup.Attribute, "base")
		return fail(s, SetupError, ReasonSetup, err), nil, nil
	}
	_, s.Settled = errors.AsType[*image.MissingError](err)
	err = m.host.at(err, "benchmark", benchmark, name, "image", "work.image", "judge.image", "judge.stage", "base")
	return fail(s, SetupError, ReasonImage, err), nil, nil
}

// installer installs the agent of a trial.
func (m *Machine) installer(s State) install.Installer {
	return install.Installer{
		Engine: m.host.Engine, Images: m.host.Images, Layers: m.host.Layers, Libcs: m.host.Libcs,
		Pin: func(ctx context.Context, ref string) (string, error) { return m.pin(ctx, s, ref) },
		At: func(err error, attributes ...string) error {
			return m.host.at(err, "agent", s.Cell.Agent.Name, "", attributes...)
		},
	}
}

// unequipped ends a try whose agent cannot be installed.
func (m *Machine) unequipped(ctx context.Context, s State, err error) (State, []Effect, error) {
	if m.mayPass(ctx, s, err) {
		return s, nil, err
	}
	if errors.Is(err, container.ErrNoSpace) {
		return fail(s, InfraError, ReasonDisk, err), nil, nil
	}
	_, s.Settled = errors.AsType[*image.MissingError](err)
	return fail(s, SetupError, ReasonSetup, fmt.Errorf("install the agent %s: %w", s.Cell.Agent.Name, err)), nil, nil
}

func labels(owner string, s State, role string) map[string]string {
	return map[string]string{
		container.LabelOwner:     owner,
		container.LabelSpec:      s.Spec,
		container.LabelExecution: fmt.Sprintf("e%d", s.Execution),
		container.LabelTrial:     s.ID,
		container.LabelTry:       fmt.Sprint(s.Try),
		container.LabelRole:      role,
	}
}

package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image/clone"
	"github.com/assayd/assayd/runtime/image/dockerfile"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// Labels that only images carry. The owner has a key of its own because containers inherit
// the labels of their image: with container.LabelOwner on the image, a container that a
// person started from it by hand would pass for one of the daemon's.
const (
	LabelImageOwner = "assayd.image.owner"  // who built it
	LabelRecipe     = "assayd.image.recipe" // SHA-256 of the recipe, 64 hex digits
	LabelParent     = "assayd.image.parent" // id of the image it was made from
	LabelName       = "assayd.image.name"   // what it was built as; what others make from it inherits it
)

// Limits of one build command.
const (
	maxSilence = 30 * time.Minute // without a byte of output
	maxRuntime = 2 * time.Hour    // in total
)

// Trees gives the snapshots of directories that a task names.
type Trees interface {
	// Open returns the uncompressed tar of a tree by its digest.
	Open(digest string) (io.ReadCloser, error)
}

// Options are what a Builder needs.
type Options struct {
	// Engine runs the build containers. It must also be container.Images to resolve
	// anything, and container.Execer and container.Copier to build.
	Engine container.Engine
	Trees  Trees
	// Owner is the id of the state directory, for labels and container names.
	Owner string
	// GuestMount makes the programs of Hold and Guest visible in build containers.
	GuestMount []container.Mount
	// Hold is the argv of a first process that does nothing until it is killed.
	Hold []string
	// Guest is the guest program in build containers, which removes what patches do; "" = none.
	Guest string
	// CacheDir keeps mirrors of Git repositories. It belongs to one Builder.
	CacheDir string
	// MaxBuilds is how many images are built at once; zero means one.
	MaxBuilds    int
	BuildSecrets BuildSecrets
	// Registry is where images are looked for first, and pushed to: "host/name"; "" = none.
	Registry string
	// Used, if not nil, hears the name of every image that is asked for.
	Used func(ctx context.Context, ref string)
	// Scarce, if not nil, reports whether containers are about to fill the engine's disk.
	Scarce func() bool
	// Nearest, if not nil, returns the name that a misspelt one comes closest to; "" = none is near.
	Nearest func(given string, known []string) string
	// RemoveLater, if not nil, has a container removed later that cannot be removed now.
	RemoveLater func(id string)
	// Made, if not nil, is told of each build: for which role, how long it took, and why it failed.
	Made func(role string, took time.Duration, err error)
	Log  *slog.Logger
}

// Builder makes images. All methods may be called at once; equal work is done once.
type Builder struct {
	engine container.Engine
	images container.Images // nil when the engine has none
	exec   container.Execer
	copier container.Copier
	opts   Options

	look    bool     // what is not there is not made
	pulls   bool     // what is not there is pulled, not made
	outages *outages // of a batch
	slots   chan struct{}
	builds  *flights
	arrived *sync.Map // names that were pulled and not yet told of
	mirrors *clone.Mirrors
	patches *patch.DiffService

	silence, runtime time.Duration
	disk             int64 // bytes of a build container; 0 = buildDisk
}

// Built is an image that is ready to be used.
type Built struct {
	Ref     string   // its name
	ID      string   // sha256:…
	Digests []string // repository digests, when it came from a registry as it is
	Parent  string   // id of the image it was made from; "" when it is taken as it is
	Seconds float64  // what building took; zero when Cached
	Cached  bool     // nothing had to be built
	Pulled  bool     // it came from a registry just now
	AsIs    bool     // it is somebody's image, to which nothing was added
	// Config is how a container of it is to be run, also where the image itself could be
	// taken as it is and only user, environment or folder differ.
	// Its maps are shared with other callers: read only.
	Config container.ImageConfig
	Role   string // one of the container.Role constants
}

// New returns a Builder. It starts nothing.
func New(o Options) *Builder {
	b := &Builder{
		engine: o.Engine, opts: o,
		slots:   make(chan struct{}, max(o.MaxBuilds, 1)),
		builds:  &flights{},
		arrived: &sync.Map{},
		mirrors: &clone.Mirrors{Dir: o.CacheDir, Hub: o.BuildSecrets.Mirrors["git"], Forge: o.BuildSecrets.Forge, Hide: o.BuildSecrets.hide},
		patches: patch.New(filepath.Join(o.CacheDir, "patches")),
		silence: maxSilence, runtime: maxRuntime,
	}
	b.images, _ = o.Engine.(container.Images)
	b.exec, _ = o.Engine.(container.Execer)
	b.copier, _ = o.Engine.(container.Copier)
	return b
}

// Mirrors are the copies of remote repositories that the Builder clones from.
func (b *Builder) Mirrors() *clone.Mirrors { return b.mirrors }

// Resolve returns the image that ref names: the local one, else what its registry has for
// the platform. An image that is in neither place is container.ErrNotFound; where the registry
// gave an answer that stays, the error is a *MissingError.
func (b *Builder) Resolve(ctx context.Context, ref, platform string) (container.Image, error) {
	if b.images == nil {
		return container.Image{}, fmt.Errorf("look up image %q: %w", ref, container.ErrUnsupported)
	}
	img, err := b.images.Image(ctx, ref)
	if err == nil || !errors.Is(err, container.ErrNotFound) {
		return img, err
	}
	if b.look {
		return img, err
	}
	if strings.HasPrefix(ref, "sha256:") {
		return img, &MissingError{fmt.Errorf("image %s is not on this machine, and an id cannot be pulled: %w", ref, container.ErrNotFound)}
	}
	if img, err = b.Pull(ctx, ref, platform); err != nil {
		final := container.Final(err)
		err = fmt.Errorf("image %q is not on this machine, and pulling it did not work: %w; %s", ref, err, b.advice(ref))
		if final {
			err = &MissingError{err}
		}
		return img, err
	}
	return img, nil
}

// Base returns the shared base image of a benchmark, building it when it is not there.
// A command that fails is a *SetupError.
func (b *Builder) Base(ctx context.Context, t task.Task, labels map[string]string) (Built, error) {
	if t.Base == nil {
		return Built{}, fmt.Errorf("task %s/%s has no base block", t.Benchmark, t.Name)
	}
	r := recipe{
		Role: container.RoleBase, Benchmark: t.Benchmark, Subject: t.Base.Name, Name: t.Base.Ref,
		Packages: t.Base.Packages, PipPackages: t.Base.PipPackages,
		UserDirective: t.Base.User, PostInstall: t.Base.PostInstall,
	}
	if got, ok, err := b.named(ctx, r, t.Platform); ok || err != nil {
		return got, err
	}
	parent, err := b.Resolve(ctx, t.Base.Image, t.Platform)
	if err != nil {
		return Built{}, fmt.Errorf("base %q: %w", t.Base.Name, err)
	}
	if err := notOfJudge(r.Role, t.Base.Image, parent); err != nil {
		return Built{}, fmt.Errorf("base %q: %w", t.Base.Name, err)
	}
	r.Parent = parent.ID
	if !r.changes() && r.Name == "" {
		return b.asIs(t.Base.Image, parent, r), nil
	}
	return b.ensure(ctx, r, parent, t.Platform, labels)
}

// Work returns the image that agents work in, building it when it is not there: base or
// image, then repository, context, files and setup of the task's work part, and nothing of
// any other part. A setup command that fails is a *SetupError, and so is an image that was made
// for a judge.
func (b *Builder) Work(ctx context.Context, t task.Task, labels map[string]string) (Built, error) {
	r := workRecipe(t)
	if got, ok, err := b.named(ctx, r, t.Platform); ok || err != nil {
		return got, err
	}
	return b.makeWork(ctx, t, r, labels)
}

func workRecipe(t task.Task) recipe {
	r := partRecipe(container.RoleWork, t, t.Work)
	r.Repo = t.Repo
	return r
}

// makeWork is Work without a look at the name that the task's format fixes.
func (b *Builder) makeWork(ctx context.Context, t task.Task, r recipe, labels map[string]string) (Built, error) {
	ref, err := begins(t.Work, r.Role, t.Platform)
	if err != nil {
		return Built{}, fmt.Errorf("work image of %s/%s: %w", t.Benchmark, t.Name, err)
	}
	ref, parent, err := b.parent(ctx, t, ref, labels)
	if err != nil {
		return Built{}, fmt.Errorf("work image of %s/%s: %w", t.Benchmark, t.Name, err)
	}
	if err := notOfJudge(r.Role, ref, parent); err != nil {
		return Built{}, fmt.Errorf("work image of %s/%s: %w", t.Benchmark, t.Name, err)
	}
	r.Parent = parent.ID
	if !r.changes() && r.Name == "" && (t.Work.Image != "" || isRoot(r.user(parent))) {
		return b.asIs(ref, parent, r), nil
	}
	return b.ensure(ctx, r, parent, t.Platform, labels)
}

// notOfJudge refuses an image with hidden tests where agents will work: tasks of strangers name
// any image of this machine as the one that they begin with.
func notOfJudge(role, ref string, img container.Image) error {
	if img.Config.Labels[container.LabelRole] != container.RoleJudge {
		return nil
	}
	return &SetupError{Role: role, Attribute: "image", Reason: fmt.Errorf("%s was made for a judge and may hold hidden tests, which no agent may see", ref)}
}

// begins is the image that a part names itself: by its Dockerfile, or as it is; "" = none.
func begins(p task.Part, role, platform string) (string, error) {
	if p.Dockerfile == "" {
		return p.Image, nil
	}
	d, err := dockerfile.Read(p.Dockerfile, platform)
	if err != nil {
		return "", &SetupError{Role: role, Attribute: "dockerfile", Reason: err}
	}
	return d.From, nil
}

// parent finds the image that a part is made from: the one that it names itself, or the
// task's base or image.
func (b *Builder) parent(ctx context.Context, t task.Task, ref string, labels map[string]string) (string, container.Image, error) {
	switch {
	case ref != "":
	case t.Base != nil:
		base, err := b.Base(ctx, t, labels)
		if err != nil {
			return "", container.Image{}, err
		}
		ref = base.Ref
	case t.Image != "":
		ref = t.Image
	default:
		return "", container.Image{}, errors.New("the task names no base and no image")
	}
	img, err := b.Resolve(ctx, ref, t.Platform)
	return ref, img, err
}

// Judge returns the image that submissions are judged in: judge.image, else the work image
// or, when the task says so, the base, with the context, files, patch and setup of the judge.
// The private set is not in it: it would be in reach of every judged submission. A setup
// command that fails is a *SetupError.
func (b *Builder) Judge(ctx context.Context, t task.Task, labels map[string]string) (Built, error) {
	r := judgeRecipe(t)
	if got, ok, err := b.named(ctx, r, t.Platform); ok || err != nil {
		return got, err
	}
	return b.makeJudge(ctx, t, r, labels)
}

// judgedOnWork reports whether the judge image is made from the work image.
func judgedOnWork(t task.Task) bool {
	return t.Judge.Image == "" && !t.Judge.FromBase && t.Judge.Dockerfile == ""
}

func judgeRecipe(t task.Task) recipe {
	r := partRecipe(container.RoleJudge, t, t.Judge.Part)
	r.Patch = t.Judge.Patch
	if judgedOnWork(t) { // said here again, because the work image may be one that was taken as it is
		r.User = cmp.Or(t.Judge.User, t.Work.User)
		r.Env = merge(t.Work.Env, t.Judge.Env)
	}
	return r
}

// makeJudge is Judge without a look at the name that the task's format fixes.
func (b *Builder) makeJudge(ctx context.Context, t task.Task, r recipe, labels map[string]string) (Built, error) {
	ref, err := begins(t.Judge.Part, r.Role, t.Platform)
	if err != nil {
		return Built{}, fmt.Errorf("judge image of %s/%s: %w", t.Benchmark, t.Name, err)
	}
	if judgedOnWork(t) {
		work, err := b.Work(ctx, t, labels)
		if err != nil {
			return Built{}, err
		}
		ref = work.Ref
	}
	ref, parent, err := b.parent(ctx, t, ref, labels)
	if err != nil {
		return Built{}, fmt.Errorf("judge image of %s/%s: %w", t.Benchmark, t.Name, err)
	}
	r.Parent = parent.ID
	user := r.user(parent)
	if !r.changes() && r.Name == "" && (t.Judge.Image != "" || isRoot(user) || user == parent.Config.User) {
		return b.asIs(ref, parent, r), nil
	}
	return b.ensure(ctx, r, parent, t.Platform, labels)
}

// partRecipe is the recipe for what work and judge have in common, without the parent.
func partRecipe(role string, t task.Task, p task.Part) recipe {
	r := recipe{
		Role: role, Benchmark: t.Benchmark, Subject: t.Name, Name: p.Ref,
		Workdir: t.Workdir, Context: p.Context.Digest, Files: p.Files,
		Dockerfile: p.Dockerfile, Setup: p.Setup, AtHome: p.AtHome, User: p.User, Env: p.Env,
		Untrusted: t.Untrusted,
	}
	if p.Dockerfile != "" {
		r.Platform = t.Platform
	}
	return r
}

package pinned

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// Options say how a Compiler reads what it is given.
type Options struct {
	Config config.Options          // how specs are compiled
	InLoop func() config.Options   // how they are where nothing may take long
	Texts  map[string]config.Input // of the last look at the files, by path
	Names  map[string]string       // ids of images by full name, of the last look; nil = they are not known
	Dry    bool                    // nothing is stored
}

// Compiler makes runs of a set with the content of their executions, in one transaction. It belongs to one
// goroutine.
type Compiler struct {
	o        Options
	set      *config.Set
	compiler *plan.Compiler
	tx       *store.Tx
	hashes   map[string]string          // of the content of files, by path
	stored   map[string]config.Compiled // what was pinned, by key

	compilers map[string]*plan.Compiler // by what of the set is as an execution has it
}

// New returns a compiler of the runs of a set.
func New(tx *store.Tx, set *config.Set, o Options) *Compiler {
	return &Compiler{
		o: o, set: set, compiler: plan.NewCompiler(set), tx: tx, hashes: map[string]string{}, stored: map[string]config.Compiled{},
		compilers: map[string]*plan.Compiler{},
	}
}

func (p *Compiler) hash(path string) string {
	hash, ok := p.hashes[path]
	if !ok {
		hash = plan.ContentHash(p.set.Accepted()[path].Content())
		p.hashes[path] = hash
	}
	return hash
}

// Compiled is a run as its latest execution has it, as it would be with the content of now
// (nil where that is the same), and what differs.
func (p *Compiler) Compiled(run *config.Run, c *plan.Content) (d, newest *plan.Run, stale *plan.Stale, err error) {
	if c == nil {
		d, err = compiledBy(p.compiler, run)
		return d, nil, nil, err
	}
	if d, newest, stale, err = p.withFiles(run, c); err != nil || d == nil {
		return d, newest, stale, err
	}
	if folder, _ := p.set.PendingFolder(run); folder != "" { // what differs is known when it is there
		return d, nil, nil, nil
	}
	moved, err := p.moved(run.Address(), c.N, d)
	if err != nil || moved == nil {
		return d, newest, stale, err
	}
	if stale == nil {
		return d, d, moved, nil
	}
	return d, newest, stale.And(moved), nil
}

// Newest is a run with the content of now.
func (p *Compiler) Newest(run *config.Run) (*plan.Run, error) { return p.compiler.Compile(run) }

// withFiles is Compiled, but for what names of images mean.
func (p *Compiler) withFiles(run *config.Run, c *plan.Content) (d, newest *plan.Run, stale *plan.Stale, err error) {
	differs := false
	var names []string
	var versions []layerSet
	for i := range c.Layers {
		v, err := p.version(run, c, i)
		if err != nil {
			return nil, nil, nil, err
		}
		differs = differs || len(v.files) > 0
		names = append(names, v.names...)
		versions = append(versions, v)
	}
	newest, err = compiledBy(p.compiler, run)
	if err != nil || !differs {
		return newest, nil, nil, err
	}
	if d, err = p.compile(run, versions[0].files, nil); err != nil {
		return nil, nil, nil, err
	}
	for i := 1; i < len(versions); i++ {
		over, err := p.compile(run, versions[0].files, versions[i].all)
		if err != nil {
			return nil, nil, nil, err
		}
		d.SetCells(plan.WithTasks(d.Cells(), over.Cells(), c.Layers[i].Tasks))
		maps.Copy(d.Images, over.Images)
	}
	tasks := plan.ChangedTasks(d.Cells(), newest.Cells())
	if len(tasks) == 0 {
		return d, nil, nil, nil
	}
	slices.Sort(names)
	return d, newest, &plan.Stale{Files: slices.Compact(names), Tasks: tasks}, nil
}

// compile makes the run with other versions of files: benchmarks of over, where it has them,
// and all else of base.
func (p *Compiler) compile(run *config.Run, base, over []config.Compiled) (*plan.Run, error) {
	sum := sha256.New()
	for _, files := range [][]config.Compiled{base, over} {
		for _, c := range files {
			fmt.Fprintf(sum, "%q %s %s\n", c.Path, c.Hash, plan.ContentHash(c.Content()))
		}
		fmt.Fprintln(sum)
	}
	key := hex.EncodeToString(sum.Sum(nil))
	compiler := p.compilers[key] // runs of one benchmark share it
	if compiler == nil {
		o := p.o.Config
		set := p.set.With(base, o, func(config.Block) bool { return true })
		if over != nil {
			set = set.With(over, o, func(b config.Block) bool { return b.Kind == "benchmark" })
		}
		compiler = plan.NewCompiler(set)
		p.compilers[key] = compiler
	}
	if now := compiler.Set().Run(run.Name); now != nil {
		run = now
	}
	return compiledBy(compiler, run)
}

// CompileError is about the text of a run rather than about the store.
type CompileError struct{ error }

// Unwrap gives the cause.
func (e CompileError) Unwrap() error { return e.error }

func compiledBy(c *plan.Compiler, run *config.Run) (*plan.Run, error) {
	d, err := c.Compile(run)
	if err != nil {
		return nil, CompileError{err}
	}
	return d, nil
}

// layerSet is what of a layer is other than what is in force.
type layerSet struct {
	all   []config.Compiled
	files []config.Compiled // of them, those that are not as they are in force
	names []string          // of the content that differs
}

// version finds what of a layer is not as it is in force, and brings the layer up to date with
// the text of the files.
func (p *Compiler) version(run *config.Run, c *plan.Content, i int) (v layerSet, err error) {
	files := c.Layers[i].Files
	for _, path := range slices.Sorted(maps.Keys(plan.FilesOf(p.set, run))) {
		now, ok := p.set.Accepted()[path]
		if !ok {
			continue
		}
		was, known := files[path]
		same := plan.PinnedFile{Hash: now.Hash, Content: p.hash(path), Key: was.Key}
		switch {
		case !known && (i > 0 || now.Copying()): // what is being copied is fixed when it is there: the run waits
		case !known:
			if files[path], err = p.keep(now); err != nil {
				return v, err
			}
		case was == same:
			v.all = append(v.all, now)
		default:
			one, names, err := p.repinned(now, was)
			if err != nil {
				return v, err
			}
			if files[path], err = p.keep(one); err != nil {
				return v, err
			}
			v.all = append(v.all, one)
			if files[path].Hash != now.Hash || files[path].Content != p.hash(path) {
				v.files, v.names = append(v.files, one), append(v.names, names...)
			}
		}
	}
	return v, nil
}

// repinned is a file as its text is now, with the content of an execution.
func (p *Compiler) repinned(now config.Compiled, was plan.PinnedFile) (config.Compiled, []string, error) {
	old, err := p.read(was.Key)
	if err != nil {
		return now, nil, err
	}
	names := config.Differs(old.Content(), now.Content())
	if old.Hash == now.Hash {
		one, _ := old.TakeIn(now)
		if len(names) == 0 && one.Taken == nil {
			return now, nil, nil // an earlier version noted less
		}
		return one, names, nil
	}
	if len(names) == 0 && old.Taken != nil {
		return now, nil, nil // the text alone is another
	}
	in, ok := p.o.Texts[now.Path]
	if !ok {
		in = config.Read(now.Path)
		in.Root, in.Named = now.Root, now.Named
	}
	o := p.o.InLoop()
	if one, ok := config.Repin(in, old, o); ok && one.Hash == now.Hash {
		return one, names, nil
	}
	return old, names, nil // until its text can be read
}

// keep stores a version of a file.
func (p *Compiler) keep(c config.Compiled) (plan.PinnedFile, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return plan.PinnedFile{}, fmt.Errorf("encode the pinned content of %s: %w", c.Path, err)
	}
	sum := sha256.Sum256(data)
	one := plan.PinnedFile{Hash: c.Hash, Content: plan.ContentHash(c.Content()), Key: hex.EncodeToString(sum[:])}
	if _, known := p.stored[one.Key]; known {
		return one, nil
	}
	p.stored[one.Key] = c
	if p.o.Dry {
		return one, nil
	}
	there, err := p.tx.Meta(compiledKey(one.Key))
	if err != nil || there != "" {
		return one, err
	}
	return one, p.tx.PutMeta(compiledKey(one.Key), string(data))
}

func (p *Compiler) read(key string) (config.Compiled, error) {
	if c, known := p.stored[key]; known {
		return c, nil
	}
	var c config.Compiled
	text, err := p.tx.Meta(compiledKey(key))
	if err == nil {
		err = json.Unmarshal([]byte(text), &c)
	}
	if err != nil {
		return c, fmt.Errorf("read what an execution is done with: %w", err)
	}
	p.stored[key] = c
	return c, nil
}

// Begun is the content of an execution that begins now.
func (p *Compiler) Begun(run *config.Run, n int) (*plan.Content, error) {
	c := &plan.Content{N: n, Layers: []plan.Layer{{Files: map[string]plan.PinnedFile{}}}}
	_, err := p.version(run, c, 0)
	return c, err
}

// ContentOf reads with what the latest execution of a run is done; nil = there is none. One
// that an earlier version began is done with what was accepted last.
func (p *Compiler) ContentOf(run *config.Run, before config.Previous) (*plan.Content, error) {
	row, err := p.tx.LatestExecution(run.Address())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var d history.ExecutionData
	if len(row.Data) > 0 {
		if err := json.Unmarshal(row.Data, &d); err != nil {
			return nil, fmt.Errorf("read execution e%d of %s: %w", row.N, row.Spec, err)
		}
	}
	c := &plan.Content{N: row.N, Layers: d.Content}
	if len(c.Layers) == 0 {
		c.Layers = []plan.Layer{{Files: map[string]plan.PinnedFile{}}}
		for path := range plan.FilesOf(p.set, run) {
			if was, ok := before[path]; ok {
				if c.Layers[0].Files[path], err = p.keep(was); err != nil {
					return nil, err
				}
			}
		}
	}
	return c, nil
}

// Put stores with what the execution is done.
func (p *Compiler) Put(address string, c *plan.Content) error {
	if p.o.Dry {
		return nil
	}
	row, err := p.tx.LatestExecution(address)
	if err != nil || row.N != c.N {
		return err
	}
	var d history.ExecutionData
	if len(row.Data) > 0 {
		if err := json.Unmarshal(row.Data, &d); err != nil {
			return err
		}
	}
	d.Content = c.Layers
	if row.Data, err = json.Marshal(d); err != nil {
		return err
	}
	return p.tx.PutExecution(row)
}

func compiledKey(key string) string { return "pinned/" + key }

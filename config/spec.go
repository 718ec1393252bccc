package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// Fields whose JSON name begins with @ say where something stands or what became of it.
// They are stored like all others and are left out of the generation.

// Pos is a place in a spec file. Line and Column count from 1; the zero Pos is no place.
type Pos struct {
	File   string // as shown to people
	Line   int
	Column int
}

// String returns "file:line", or "" for the zero Pos.
func (p Pos) String() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Place says where a block and the attributes written in it stand.
type Place struct {
	Pos Pos            `json:"@pos"`
	At  map[string]Pos `json:"@at"` // "timeout", "judge.command"; only what is written out
}

// Of returns where the attribute stands, or the block if it was left to its default.
func (p Place) Of(attr string) Pos {
	if at, ok := p.At[attr]; ok {
		return at
	}
	return p.Pos
}

// Block is what every spec has.
type Block struct {
	Kind string // benchmark, agent, run, mining
	Name string
	Place
	Path        string   `json:"@path"`        // absolute path of the spec file
	Generation  string   `json:"@generation"`  // short hash of the whole compiled spec
	Unsupported []string `json:"@unsupported"` // what this version cannot do; not empty = never start it
}

// Address returns "kind.name".
func (b Block) Address() string { return b.Kind + "." + b.Name }

// Blocks are specs by kind.
type Blocks struct {
	Benchmarks []Benchmark
	Agents     []Agent
	Runs       []Run
	Minings    []Mining
}

// Tree names a directory that was copied when the spec was accepted. The zero Tree is an
// absent one.
type Tree struct {
	Path   string `json:"@path"` // absolute
	Digest string // what Options.Snapshot returned
	// Pending says that a copy of the folder as it is now is being made. Digest is then that of the
	// copy before, "" for none. It is no error, and runs wait for it.
	Pending bool `json:"@pending,omitempty"`
}

// Command is argv, or a line for /bin/sh -c when Shell is set. The zero Command is none.
type Command struct {
	Shell string
	Argv  []string
}

// Empty reports whether there is no command.
func (c Command) Empty() bool { return c.Shell == "" && len(c.Argv) == 0 }

// Network says what the work container reaches: Mode is "none", "open" or "allow", the
// last with host:port patterns in Allow.
type Network struct {
	Mode  string
	Allow []string
}

// Resources are limits of one container. In an override, zero leaves the task's.
type Resources struct {
	CPUs   float64
	Memory int64 // bytes
	PIDs   int64
	Disk   int64 // bytes
}

// Benchmark is a set of tasks, written out or imported.
type Benchmark struct {
	Block
	Description string
	Imports     []Import
	Bases       []Base
	Tasks       []Task
}

// Import takes in a dataset: from Path, from URL at Ref, or from Dataset at Revision.
type Import struct {
	Format string // sforge, harbor, swebench, sweforge, terminal-bench
	Place
	Path     string // absolute; of a folder, or of a file or an archive
	URL      string
	Ref      string
	Dataset  string
	Revision string
	Include  []string
	Exclude  []string
	Image    string
	Decoys   int `json:",omitempty"` // mixed runs of the tasks that have a solution; 0 = none

	Tasks    []Imported
	Problems []Problem `json:"@problems"` // what of the dataset cannot be used

	// For Options.Import: the spec file, and the hash of its text if that was not accepted
	// before, so that a branch is looked up anew.
	File string `json:"-"`
	Text string `json:"-"`
}

// Imported is one task of a dataset. What it says is the importer's business: the language
// knows its name and what it takes of the machine.
type Imported struct {
	Name  string
	Work  Resources
	Judge Resources
	Task  json.RawMessage // the compiled task
}

// Problem is about one file of a dataset. It hides no other.
type Problem struct {
	File   string // as people are to see it
	Line   int    // 0 = not known
	Task   string // that is not imported for it; "" = all that the dataset had
	Text   string
	Notice bool // the task is imported all the same
	// Pending says that the dataset is not there yet and will be. It is no error, and runs
	// wait for it.
	Pending bool `json:",omitempty"`
	Kept    bool // by Load: what was accepted of the task before stays
}

// Base is a base image made from another one with packages added.
type Base struct {
	Name string
	Place
	Image         string
	Packages      []string
	PipPackages   []string
	UserDirective string // raw Dockerfile text right after FROM
	PostInstall   string // raw Dockerfile text at the end
}

// Task is one problem of a benchmark.
type Task struct {
	Name string
	Place
	Unsupported []string `json:"@unsupported"` // as in Block, for this task alone
	Title       string
	Base        string // name of a Base of the benchmark, or ""
	Image       string
	Platform    string // "linux/amd64"; "" = the host's
	Workdir     string // absolute
	Instruction string
	Network     Network
	Repo        *Repo
	Submit      Submit
	Work        Part
	Judge       Judge
	Private     *Private
	Solution    *Solution
	FailToPass  []string
	PassToPass  []string
	Metadata    map[string]string
}

// Repo is a Git repository cut at a commit.
type Repo struct{ URL, Commit string }

// Submit bounds what a submission may hold.
type Submit struct {
	Paths    []string // relative to the workdir; "." is all of it
	Exclude  []string // patterns dropped at any depth
	MaxBytes int64
	MaxFiles int
}

// Part is what the work and the judge container have in common.
type Part struct {
	Image   string
	Context Tree
	Files   map[string]string // target path -> content
	Setup   []string
	User    string // "" = the image's
	Env     map[string]string
	Resources
}

// Judge says how a submission is judged.
type Judge struct {
	Part
	Command   Command
	Timeout   time.Duration
	Parser    string
	Select    string // pass_rate_first, score_first, valid_then_score
	Direction string // maximize, minimize
	Rescale   *Rescale
	Feedback  string   // none, score, names, full
	Protect   []string // nil = by parser
	Expect    []string // nil = the names of the reference run
	Network   bool
	Exclusive bool
	Decoys    *int `json:",omitempty"` // mixed runs of the rounds that decide; nil = as many as there are by default
	Stages    []Stage
	Game      string
	Port      int // of the game server
}

// Rescale maps a raw score to 0..100; each kind has anchors of its own.
type Rescale struct {
	Kind    string
	Anchors map[string]float64
}

// Stage is one of the two halves of a judge that keeps code and answers apart.
type Stage struct {
	Name    string // run, grade
	Image   string
	Context Tree
	Command Command
	Timeout time.Duration
	Outputs []string
}

// Private is the private set: run once at the end, never fed back.
type Private struct {
	Context Tree
	Command Command
	Timeout time.Duration
}

// Solution is the known solution; exactly one field is set.
type Solution struct {
	Context Tree
	Patch   []byte // unified diff
	Script  string // for /bin/sh
}

// Agent is a declared agent: configuration only.
type Agent struct {
	Block
	Command       Command
	ResumeCommand Command
	Dir           Tree
	Layer         *Layer
	Install       []string
	API           string // openai, anthropic, none
	Env           map[string]string
	StopHook      string // claude, codex, none
	User          string // "" = the image's
}

// Layer is a read-only layer made once and shared by all trials; one field is set.
type Layer struct {
	Image string
	Setup []string
}

// Ref is a reference to tasks: all of a benchmark, one of its tasks, or a mining spec.
type Ref struct {
	Kind string // benchmark, mining
	Name string
	Task string // "" = all
	Pos  Pos    `json:"@pos"`
}

// String returns the reference as it is written in a spec.
func (r Ref) String() string {
	if r.Task == "" {
		return r.Kind + "." + r.Name
	}
	return fmt.Sprintf("%s.%s[%q]", r.Kind, r.Name, r.Task)
}

// Run is agents x tasks x attempts.
type Run struct {
	Block
	Tasks       []Ref
	Include     []string
	Exclude     []string
	Agents      []RunAgent
	Mode        string // iterative, single
	Timeout     time.Duration
	TestTimeout time.Duration
	Attempts    int
	Parallel    int
	Stagger     time.Duration
	Schedule    string // five cron fields, UTC; "" = once
	AutoEval    time.Duration
	StopHook    bool
	Idle        int // stop attempts without a change after which the agent may end; 0 = never
	Resume      Resume
	Submissions Submissions
	SanityCheck bool
	Budget      *Budget
	Network     *Network // nil = the task's
	Work        Resources
	Judge       Resources
	Retry       Retry
	Keep        string // never, failed, always
	Engine      string
	Paused      bool   `json:"@paused,omitempty"`   // nothing of it begins
	Priority    int    `json:"@priority,omitempty"` // from -100 to 100; runs of a higher one are offered room first
	OnChange    string `json:"@on_change"`          // what happens when content differs from the latest execution's; "" = report
}

// What a run does when its content changes.
const (
	OnChangeReport = "report"
	OnChangeRerun  = "rerun" // begins a new execution when the present one is over
)

// RunAgent is one agent of a run: a declared one or a built-in one.
type RunAgent struct {
	Name string
	Place
	Label    string
	Model    string
	Effort   string
	Version  string
	Provider string
	Env      map[string]string
}

// Resume says how often and how soon an agent that exited is started again. The pause
// begins at Backoff and doubles up to five minutes.
type Resume struct {
	Max        int
	MinRuntime time.Duration
	Backoff    time.Duration
}

// Submissions bounds how often an agent may submit; Max 0 is no limit.
type Submissions struct {
	Max      int
	Cooldown time.Duration
}

// Retry says how often a trial is tried again after a failure of the machinery.
type Retry struct{ Infra int }

// Budget bounds what may be spent on one piece of work (a trial, a mined task) and in all.
type Budget struct {
	Each    Spend
	Total   Spend
	AtLimit string `json:"@at_limit,omitempty"` // of a run, when Total is used up; "" = AtLimitEnd
}

// What happens to trials of a run that have not begun when its total is used up.
const (
	AtLimitEnd  = "end"  // they are cancelled, and the execution ends
	AtLimitHold = "hold" // they wait until the total is raised
)

// Spend is an amount of money and tokens; zero is no limit.
type Spend struct {
	USD    float64
	Tokens int64
}

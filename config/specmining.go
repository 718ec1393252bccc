package config

import "time"

// Mining turns merged pull requests into tasks.
type Mining struct {
	Block
	Source         Source
	Every          time.Duration // 0 = unset
	Once           bool
	MaxTasks       int // 0 = no limit
	Difficulty     []string
	Quota          *Quota
	Filter         Filter
	Provider       string
	Model          string
	TestGeneration TestGeneration
	Repeats        int // of a validation
	MinQuality     float64
	Batch          int
	Concurrency    Concurrency
	Budget         *Budget
	PRFile         string // absolute; "" = none
	Output         Output
	Decoys         int `json:",omitempty"` // mixed runs of its tasks; 0 = none

	Paused bool `json:"@paused,omitempty"` // nothing of it begins

	// Bounds are the folders that its paths have to stay below, over links too.
	Bounds []string `json:"@bounds,omitempty"`
}

// Source is where pull requests come from.
type Source struct {
	Kind     string // gharchive, search, repos
	Lookback time.Duration
	From     string // RFC 3339
	To       string
	BaseURL  string
	Query    string
	Names    []string // owner/name
	Since    string
}

// Quota is how many tasks of each difficulty are wanted.
type Quota struct{ Easy, Medium, Hard int }

// Between is a range of numbers, both ends included.
type Between struct{ Min, Max int }

// Names is a list written out, or the file that holds one a line.
type Names struct {
	List []string
	File string // absolute
}

// Filter says which pull requests are worth a look.
type Filter struct {
	Languages        []string
	MinStars         int
	OrgReposOnly     bool
	ExcludeBots      bool
	Files            Between
	AddedLines       Between
	ExcludeDocsOnly  bool
	ExcludeTestsOnly bool
	ExcludeGenerated bool
	ExcludeReverts   bool
	ExcludeBackports bool
	ExcludeForks     bool
	ExcludeArchived  bool
	MinDescription   int      // bytes
	Licenses         []string // SPDX ids; ["any"] = all
	ExcludeRepos     Names
	Decontaminate    Names
	PerRepo          int // 0 = no limit
}

// TestGeneration bounds the loop that writes tests.
type TestGeneration struct {
	Image          string // "" = by language
	MaxTurns       int
	CommandTimeout time.Duration
	MaxTokens      int64 // 0 = no limit
	Timeout        time.Duration
}

// Concurrency is how many items each stage works on at once.
type Concurrency struct{ Archive, Enrich, Classify, Deep int }

// Output is where mined tasks are written.
type Output struct {
	Dir     string // absolute
	Formats []string
}

package record

import "time"

// Started is the record trial.started.
type Started struct {
	Trial    string            `json:"trial"`
	Try      int               `json:"try"`
	Deadline time.Time         `json:"deadline"`
	Task     string            `json:"task"`
	Agent    string            `json:"agent"`
	Model    string            `json:"model"`
	Attempt  int               `json:"attempt"`
	Images   map[string]string `json:"images"` // role -> id
	Limits   Limits            `json:"limits"`
	Manifest Manifest          `json:"manifest"`
	SetupS   float64           `json:"setup_s"`  // from the beginning of the try on; 0 = an earlier version began it
	ImagesS  float64           `json:"images_s"` // of it, until there were its images
}

// Manifest tells which tests are expected.
type Manifest struct {
	Source string `json:"source"` // declared, reference or none
	Tests  int    `json:"tests"`
}

// Limits tells what the work container may use.
type Limits struct {
	CPUs   float64 `json:"cpus"`
	Memory int64   `json:"memory"`
	PIDs   int64   `json:"pids"`
	Disk   int64   `json:"disk"`
}

// Resumed is the record trial.resumed.
type Resumed struct {
	Trial    string `json:"trial"`
	Count    int    `json:"count"`
	ExitCode int    `json:"exit_code"`
	Reason   string `json:"reason"`
}

// Happened is the record trial.event.
type Happened struct {
	Trial  string `json:"trial"`
	Event  string `json:"event"`
	Detail string `json:"detail"`
}

// ImageBuilt is the record image.built.
type ImageBuilt struct {
	Task    string  `json:"task"`
	Role    string  `json:"role"`
	Ref     string  `json:"ref"`
	Digest  string  `json:"digest"`
	Seconds float64 `json:"seconds"`
}

// Flagged is the record trial.flagged: what the agent of a finished trial did that is worth a second
// look. It comes after trial.finished and changes nothing of it.
type Flagged struct {
	Trial    string    `json:"trial"`
	Try      int       `json:"try"`
	Flags    []string  `json:"flags"` // that the trial has by it
	Findings []Finding `json:"findings"`
}

// Finding is one thing that was found, and where.
type Finding struct {
	Rule     string `json:"rule"`
	Where    string `json:"where,omitempty"` // "exchange 12", "log line 3", "patch", "archive agent-2"; "" = the evidence counts the rest
	Evidence string `json:"evidence"`
}

package gitsync

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
)

// Names below the syncer's folder.
const (
	repoName   = "repo.git"
	indexName  = "index" // of the tree; outside the repository, so that it outlives one that is lost
	treeName   = "tree"
	stateName  = "state.json"
	hostsName  = "known_hosts"
	keyPrefix  = "key-" // ssh keys, while a command runs
	workPrefix = "work-"
)

// memory is what outlives the process.
type memory struct {
	URL     string    `json:"url"`
	Ref     string    `json:"ref"`
	Path    string    `json:"path"`
	Now     place     `json:"now,omitzero"`  // what the tree is
	Next    place     `json:"next,omitzero"` // what it is becoming; zero = it is whole
	Fetched time.Time `json:"fetched,omitzero"`
	Verdict string    `json:"verdict"` // of Now, "" = nobody has looked at it
	Errors  int       `json:"errors"`
	Detail  string    `json:"detail"` // the verdict in many lines
	Shown   bool      `json:"shown"`  // the verdict is where the repository is
	Results pushed    `json:"results,omitzero"`
}

// place is a commit and the tree that is made of it.
type place struct {
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
}

// pushed is the last push of result files.
type pushed struct {
	Commit string    `json:"commit"`
	Time   time.Time `json:"time"`
}

func recall(dir string) (m memory, err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return memory{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return memory{}, fmt.Errorf("read the state of the repository: %w", err)
	}
	return m, nil
}

func (m memory) keep(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = renameio.WriteFile(filepath.Join(dir, stateName), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the state of the repository: %w", err)
	}
	return nil
}

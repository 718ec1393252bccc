package query

import "time"

// GitStatus is the state of the repository that specs come from.
type GitStatus struct {
	URL     string    `json:"url"` // without what is secret in it
	Ref     string    `json:"ref"`
	Path    string    `json:"path,omitempty"`
	Commit  string    `json:"commit,omitempty"`  // the one in force, "" before the first
	Fetched time.Time `json:"fetched,omitzero"`  // when the repository was last asked with success
	Verdict string    `json:"verdict,omitempty"` // of the commit: accepted, rejected, "" = not looked at yet
	Errors  int       `json:"errors,omitempty"`  // in the specs of the commit
	Error   string    `json:"error,omitempty"`   // why a later commit may not be in force
	Results *Pushed   `json:"results,omitempty"` // nil = they are not pushed
}

// Pushed tells how far result files are on their branch.
type Pushed struct {
	Branch string    `json:"branch"`
	Commit string    `json:"commit,omitempty"` // the last one pushed
	Time   time.Time `json:"time,omitzero"`
	Error  string    `json:"error,omitempty"`
}

// GitNow is the state of the repository that specs come from; nil = they come from none.
func (r *Reader) GitNow() *GitStatus {
	if r.o.Git == nil {
		return nil
	}
	git := r.o.Git()
	return &git
}

package gitsync

import (
	"path/filepath"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/specs"
)

// Status is for people.
func (s *Syncer) Status() query.GitStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.known.status(s.o.Git.PushResults)
	st.URL, st.Ref, st.Path, st.Error = s.remote.url, s.refName(), s.o.Git.Path, s.trouble
	if st.Results != nil {
		st.Results.Error = s.failed
	}
	return st
}

func (m memory) status(branch string) query.GitStatus {
	st := query.GitStatus{
		URL: m.URL, Ref: m.Ref, Path: m.Path, Commit: m.Now.Commit, Fetched: m.Fetched, Verdict: m.Verdict, Errors: m.Errors,
	}
	if branch != "" {
		st.Results = &query.Pushed{Branch: branch, Commit: m.Results.Commit, Time: m.Results.Time}
	}
	return st
}

// Last is the tree as the last daemon on a state directory left it, nil if it followed no
// repository.
func Last(state string) *specs.Checkout {
	m, err := recall(filepath.Join(state, "git-specs"))
	if err != nil || m.URL == "" {
		return nil
	}
	return &specs.Checkout{
		Root:   Root(state, config.Git{Path: m.Path}),
		Hold:   func() (func(), bool) { return func() {}, m.Next == (place{}) },
		Commit: func() string { return m.Now.Commit },
		Status: func() query.GitStatus { return m.status("") },
	}
}

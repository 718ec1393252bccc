package store

import (
	"context"
	"database/sql"
	"sync"
)

// pool is a database with the queries that transactions on it have parsed: to parse one takes longer than to
// execute most. What a transaction asks for the first time is kept from the next one on: a transaction may
// have the only connection, so that nothing can be parsed for all of them meanwhile. It may be used by any
// goroutine.
type pool struct {
	*sql.DB

	mu    sync.Mutex
	kept  map[string]*sql.Stmt
	asked map[string]bool // to be kept
}

// mostKept is how many queries are kept: a few are put together from filters.
const mostKept = 300

func newPool(db *sql.DB) *pool {
	return &pool{DB: db, kept: map[string]*sql.Stmt{}, asked: map[string]bool{}}
}

// keep parses what was asked for. What cannot be parsed now is parsed by the transaction that needs it, which
// tells why not.
func (p *pool) keep(ctx context.Context) {
	p.mu.Lock()
	if len(p.asked) == 0 {
		p.mu.Unlock()
		return
	}
	asked := p.asked
	p.asked = map[string]bool{}
	p.mu.Unlock()
	for query := range asked {
		s, err := p.PrepareContext(ctx, query)
		if err != nil {
			continue
		}
		p.mu.Lock()
		p.kept[query] = s
		p.mu.Unlock()
	}
}

// statement is a query that is kept; nil = it is not yet.
func (p *pool) statement(query string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.kept[query]
	if s == nil && len(p.kept)+len(p.asked) < mostKept {
		p.asked[query] = true
	}
	return s
}

package page

import (
	"net/url"

	"github.com/assayd/assayd/reconcile/query"
)

// Mining is a mining spec with a page of the pull requests that it has seen.
type Mining struct {
	Frame
	query.MiningInfo
	URL         *url.URL
	Pulls       []query.PullInfo
	Next, First string
	Stage       string // of the pull requests that are shown; "" = any
	Reason      string
	Decided     string // verdict of those
}

// NewMining makes the page of a mining spec.
func NewMining(f Frame, m query.MiningInfo, at *url.URL, pulls []query.PullInfo, next, first string) *Mining {
	f.Title, f.Nav, f.Topics = m.Address, "mining", []string{m.Address}
	q := at.Query()
	return &Mining{f, m, at, pulls, next, first, q.Get("stage"), q.Get("reason"), q.Get("verdict")}
}

// Minings is the list of mining specs.
type Minings struct {
	Frame
	Items       []query.MiningInfo
	Next, First string
}

// NewMinings makes the list of mining specs.
func NewMinings(f Frame, items []query.MiningInfo, next, first string) *Minings {
	f.Title, f.Nav, f.Topics = "mining", "mining", []string{}
	return &Minings{f, items, next, first}
}

package github

import "time"

// Left is how many requests a token may still make.
type Left struct {
	Token    int    // its place among the tokens, from 1
	Resource string // core, search, graphql
	Requests int
}

// Left tells what GitHub has said of the limits that are in force now. Any goroutine may ask.
func (c *Client) Left() (all []Left) {
	p := c.api.purse
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, t := range p.tokens {
		for _, of := range []resource{core, search, graphQL} {
			if b := t.budgets[of]; b != nil && b.known && now.Before(b.ends) {
				all = append(all, Left{t.number, string(of), max(b.left(now), 0)})
			}
		}
	}
	return all
}

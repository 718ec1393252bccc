package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/store"
)

// Role is what somebody may do.
type Role string

// Roles.
const (
	Viewer   Role = "viewer"   // looks
	Operator Role = "operator" // and holds back, reruns, retries, cancels
)

// How long sessions and codes last, and how many there are.
const (
	idleTime    = 24 * time.Hour
	wholeTime   = 7 * 24 * time.Hour
	codeTime    = time.Minute
	noteEvery   = 10 * time.Minute // between two notes in the store that a session is used
	maxSessions = 1000             // the one that was used longest ago ends
	maxCodes    = 100
	triesAt     = 5 // a minute from one address
	maxTriers   = 1000
)

// Sessions are those of browsers. They are kept in the store, so they outlive the daemon; what is asked for with every
// request is answered from memory. Any goroutine may use them.
type Sessions struct {
	store    *store.Store
	readOnly bool
	now      func() time.Time

	mu    sync.Mutex
	all   map[string]session     // by the sum of their secret
	codes map[string]code        // by the sum of the code
	tries map[string][]time.Time // that failed in the last minute, by address
}

// session is one browser that somebody has logged in.
type session struct {
	Role  Role      `json:"role"`
	By    string    `json:"by"` // what it began with
	Began time.Time `json:"began"`
	Used  time.Time `json:"used"`
}

// code begins a session once.
type code struct {
	role  Role
	until time.Time
}

// sessionKeys is the prefix of sessions in the store.
const sessionKeys = "session/"

// OpenSessions reads the sessions that a former daemon has kept.
func OpenSessions(ctx context.Context, s *store.Store, readOnly bool) (*Sessions, error) {
	k := &Sessions{store: s, readOnly: readOnly, now: time.Now, all: map[string]session{}, codes: map[string]code{}, tries: map[string][]time.Time{}}
	if readOnly {
		return k, nil // they began for another process
	}
	var kept map[string]string
	if err := s.View(ctx, func(tx *store.Tx) (err error) {
		kept, err = tx.MetaBelow(sessionKeys)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the sessions of browsers: %w", err)
	}
	for key, text := range kept {
		var x session
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			return nil, fmt.Errorf("read a session of a browser: %w", err)
		}
		k.all[key[len(sessionKeys):]] = x
	}
	return k, nil
}

func sumOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Code makes a code that begins one session within a minute.
func (k *Sessions) Code(role Role) (secret string, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for sum, c := range k.codes {
		if now.After(c.until) || len(k.codes) >= maxCodes {
			delete(k.codes, sum)
		}
	}
	secret, until = rand.Text(), now.Add(codeTime)
	k.codes[sumOf(secret)] = code{role, until}
	return secret, until
}

// redeem takes a code, which is good once.
func (k *Sessions) redeem(secret string) (Role, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.codes[sumOf(secret)]
	delete(k.codes, sumOf(secret))
	return c.role, ok && !k.now().After(c.until)
}

// tired reports whether too many tries from an address have failed in the last minute.
func (k *Sessions) tired(remote string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.lately(hostOf(remote))) >= triesAt
}

// failed notes that a try from an address has failed.
func (k *Sessions) failed(remote string) {
	remote = hostOf(remote)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for at, times := range k.tries {
		if now.Sub(times[len(times)-1]) > time.Minute || len(k.tries) >= maxTriers {
			delete(k.tries, at)
		}
	}
	k.tries[remote] = append(k.lately(remote), now)
}

// lately are the tries of the last minute from an address. The lock is held.
func (k *Sessions) lately(host string) []time.Time {
	times := k.tries[host]
	for len(times) > 0 && k.now().Sub(times[0]) > time.Minute {
		times = times[1:]
	}
	return times
}

func hostOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

// begin begins a session and returns the secret of its cookie.
func (k *Sessions) begin(ctx context.Context, role Role, by string) (secret string, err error) {
	secret = rand.Text() + rand.Text()
	now := k.now().UTC()
	x := session{role, by, now, now}
	k.mu.Lock()
	ended := k.expired(now)
	for _, sum := range ended {
		delete(k.all, sum)
	}
	k.all[sumOf(secret)] = x
	k.mu.Unlock()
	err = k.keep(ctx, func(tx *store.Tx) error {
		var errs []error
		for _, sum := range ended {
			errs = append(errs, tx.DropMeta(sessionKeys+sum))
		}
		errs = append(errs, tx.AddActivity(store.ActivityRow{Action: "login", By: string(role) + " with a " + by, Via: "page"}))
		return errors.Join(append(errs, k.put(tx, sumOf(secret), x))...)
	})
	return secret, err
}

// expired are the sessions that are over, and that which was used longest ago where there are too many.
func (k *Sessions) expired(now time.Time) (sums []string) {
	oldest := ""
	for sum, x := range k.all {
		if !x.lasts(now) {
			sums = append(sums, sum)
		} else if oldest == "" || x.Used.Before(k.all[oldest].Used) {
			oldest = sum
		}
	}
	if len(k.all)-len(sums) >= maxSessions {
		sums = append(sums, oldest)
	}
	return sums
}

func (x session) lasts(now time.Time) bool {
	return now.Sub(x.Used) <= idleTime && now.Sub(x.Began) <= wholeTime
}

// put stores a session, unless it was ended meanwhile.
func (k *Sessions) put(tx *store.Tx, sum string, x session) error {
	k.mu.Lock()
	_, known := k.all[sum]
	k.mu.Unlock()
	if !known {
		return nil
	}
	text, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("encode a session: %w", err)
	}
	return tx.PutMeta(sessionKeys+sum, string(text))
}

// keep changes what is kept of sessions.
func (k *Sessions) keep(ctx context.Context, change func(*store.Tx) error) error {
	if k.readOnly {
		return nil
	}
	if err := k.store.Do(ctx, change); err != nil {
		return fmt.Errorf("keep the session: %w", err)
	}
	return nil
}

// find returns the role of the session with a secret. That it is used is kept now and then.
func (k *Sessions) find(ctx context.Context, secret string) (Role, bool) {
	sum, now := sumOf(secret), k.now().UTC()
	k.mu.Lock()
	x, ok := k.all[sum]
	if ok = ok && x.lasts(now); !ok {
		k.mu.Unlock()
		return "", false
	}
	note := now.Sub(x.Used) > noteEvery
	if note {
		x.Used = now
		k.all[sum] = x
	}
	k.mu.Unlock()
	if note {
		_ = k.keep(ctx, func(tx *store.Tx) error { return k.put(tx, sum, x) }) // it is noted the next time
	}
	return x.Role, true
}

// of is find, with what the session began with.
func (k *Sessions) of(ctx context.Context, secret string) (role Role, by string) {
	role, ok := k.find(ctx, secret)
	if !ok {
		return "", ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return role, k.all[sumOf(secret)].By
}

// end ends the session with a secret.
func (k *Sessions) end(ctx context.Context, secret string) error {
	sum := sumOf(secret)
	k.mu.Lock()
	_, known := k.all[sum]
	delete(k.all, sum)
	k.mu.Unlock()
	if !known {
		return nil
	}
	return k.keep(ctx, func(tx *store.Tx) error { return tx.DropMeta(sessionKeys + sum) })
}

// EndAll ends all sessions, and returns how many there were.
func (k *Sessions) EndAll(ctx context.Context) (n int, err error) {
	k.mu.Lock()
	all := k.all
	k.all = map[string]session{}
	clear(k.codes)
	k.mu.Unlock()
	return len(all), k.keep(ctx, func(tx *store.Tx) error {
		var errs []error
		for sum := range all {
			errs = append(errs, tx.DropMeta(sessionKeys+sum))
		}
		return errors.Join(errs...)
	})
}

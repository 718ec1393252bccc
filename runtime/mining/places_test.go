package mining

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/assayd/assayd/config"
)

// held is a place that has to be had at once.
func held(t *testing.T, p *places, class, repo string) *place {
	t.Helper()
	h, refused, err := p.take(t.Context(), class, repo)
	if err != nil || refused != "" {
		t.Fatalf("%q of %s is refused: %q, %v", class, repo, refused, err)
	}
	return h
}

func TestPlaces(t *testing.T) {
	two := config.Mining{MaxTasks: 2}
	quota := config.Mining{Quota: &config.Quota{Easy: 1, Hard: 2}}
	perRepo := config.Mining{Filter: config.Filter{PerRepo: 1}}
	for name, tc := range map[string]struct {
		spec        config.Mining
		counts      Counts
		names       map[string]string
		class, repo string
		refused     string
		full        bool
	}{
		"no limit":                      {spec: config.Mining{}, counts: Counts{Accepted: map[string]int{"easy": 1000}}, repo: shop},
		"one is left":                   {spec: two, counts: Counts{Accepted: map[string]int{"easy": 1}}, repo: shop},
		"none is left":                  {spec: two, counts: Counts{Accepted: map[string]int{"easy": 1, "hard": 1}}, repo: shop, refused: ReasonEnough, full: true},
		"more than are wanted now":      {spec: two, counts: Counts{Accepted: map[string]int{"": 3}}, repo: shop, refused: ReasonEnough, full: true},
		"of its class":                  {spec: quota, counts: Counts{Accepted: map[string]int{"easy": 1}}, class: "hard", repo: shop},
		"none of its class":             {spec: quota, counts: Counts{Accepted: map[string]int{"easy": 1}}, class: "easy", repo: shop, refused: ReasonEnough},
		"of a class that nobody wants":  {spec: quota, class: "medium", repo: shop, refused: ReasonEnough},
		"the quota is there":            {spec: quota, counts: Counts{Accepted: map[string]int{"easy": 5, "hard": 2}}, class: "hard", repo: shop, refused: ReasonEnough, full: true},
		"another repository":            {spec: perRepo, counts: Counts{PerRepo: map[string]int{store: 1}}, repo: shop},
		"the same repository":           {spec: perRepo, counts: Counts{PerRepo: map[string]int{shop: 1}}, repo: shop, refused: reasonPerRepo},
		"the repository's former name":  {spec: perRepo, counts: Counts{PerRepo: map[string]int{store: 1}}, names: map[string]string{store: shop}, repo: shop, refused: reasonPerRepo},
		"a quota of nothing, all of it": {spec: config.Mining{Quota: &config.Quota{}}, class: "easy", repo: shop, refused: ReasonEnough, full: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaces(tc.spec, tc.counts, tc.names)
			h, refused, err := p.take(t.Context(), tc.class, tc.repo)
			if err != nil || refused != tc.refused || (h == nil) != (refused != "") || p.full() != tc.full {
				t.Errorf("place %v, refused %q, full %v, %v", h != nil, refused, p.full(), err)
			}
			if tc.class != "" && p.wants(tc.class) != (tc.refused == "") {
				t.Errorf("wanted: %v", p.wants(tc.class))
			}
		})
	}
}

// Who comes when all places are held waits for what becomes of them.
func TestPlacesAreWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		end     func(*place)
		refused string
	}{
		"it is given back": {(*place).release, ""},
		"it is kept":       {(*place).keep, ReasonEnough},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlaces(config.Mining{MaxTasks: 1}, Counts{}, nil)
				first := held(t, p, "", shop)
				if ok, err := first.use(t.Context(), "easy"); !ok || err != nil || p.full() {
					t.Fatalf("used %v, full %v, %v", ok, p.full(), err)
				}
				answer := make(chan string, 1)
				go func() {
					h, refused, err := p.take(t.Context(), "", shop)
					if err != nil || (h == nil) != (refused != "") {
						t.Error(h, err)
					}
					answer <- refused
				}()
				synctest.Wait()
				if len(answer) > 0 {
					t.Fatalf("it did not wait: %q", <-answer)
				}
				tc.end(first)
				if refused := <-answer; refused != tc.refused || p.full() != (tc.refused != "") {
					t.Errorf("refused %q, full %v", refused, p.full())
				}
				first.release() // once more changes nothing
				first.keep()
				if p.accepted.all > 1 || p.held.all < 0 {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// A task of another class than its place was taken for waits for those of its own.
func TestATaskComesToBeOfAnotherClass(t *testing.T) {
	for name, kept := range map[string]bool{"the other is accepted": true, "the other comes to nothing": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlaces(config.Mining{Quota: &config.Quota{Easy: 1, Hard: 1}}, Counts{}, nil)
				easy, hard := held(t, p, "easy", shop), held(t, p, "hard", shop)
				if ok, err := easy.use(t.Context(), "easy"); !ok || err != nil {
					t.Fatal(ok, err)
				}
				answer := make(chan bool, 1)
				go func() {
					ok, err := hard.use(t.Context(), "easy")
					if err != nil {
						t.Error(err)
					}
					answer <- ok
				}()
				synctest.Wait()
				if len(answer) > 0 {
					t.Fatal("it did not wait")
				}
				if kept {
					easy.keep()
				} else {
					easy.release()
				}
				if ok := <-answer; ok == kept {
					t.Errorf("used %v", ok)
				}
				hard.release()
				held(t, p, "hard", shop).release()
				if p.held.all != 0 || p.sure.all != 0 || p.full() {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

func TestNobodyWaitsForAPlaceForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(config.Mining{Quota: &config.Quota{Easy: 1, Hard: 1}}, Counts{}, nil)
		easy, hard := held(t, p, "easy", shop), held(t, p, "hard", shop)
		if ok, err := easy.use(t.Context(), "easy"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() {
			_, _, err := p.take(ctx, "easy", shop)
			ended <- err
		}()
		go func() {
			_, err := hard.use(ctx, "easy")
			ended <- err
		}()
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

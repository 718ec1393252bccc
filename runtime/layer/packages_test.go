package layer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPackagesBecomeOneFolderForAllToRead(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	agent := shop.sell("@scope/agent", "1.2.3-linux-x64", packed(t, entry{name: "package.json", text: "{}"}, entry{name: "bin/agent", text: "elf", mode: 0o6711}))
	other := shop.sell("helper", "0.1.0", zipped(t, archive(t, entry{name: "some name/f", text: "f", mode: 0o600})))
	s := shop.open(t.TempDir())
	l := made(t, s, other, agent)
	want := []string{
		"755 ./", "755 @scope/", "755 @scope/agent/", "755 @scope/agent/bin/", "755 @scope/agent/bin/agent=elf", "644 @scope/agent/package.json={}",
		"755 helper/", "644 helper/f=f",
	}
	if diff := cmp.Diff(want, files(t, l.Dir)); diff != "" {
		t.Error(diff)
	}
	if filepath.Base(l.Dir) != l.Digest || len(l.Digest) != 64 || !filepath.IsAbs(l.Dir) {
		t.Errorf("%+v", l)
	}
	empty(t, s.workshop())

	for name, packages := range map[string][]Package{
		"in another order":                       {agent, other},
		"with another way to write the checksum": {agent, {Name: other.Name, Version: other.Version, Integrity: "sha1-AAAA " + other.Integrity + "?x"}},
	} {
		if again := made(t, s, packages...); again != l {
			t.Errorf("%s: %+v instead of %+v", name, again, l)
		}
	}
	if alone := made(t, s, agent); alone.Digest == l.Digest {
		t.Error("other packages, the same layer")
	}
	elsewhere := newShop(t)
	if same := made(t, elsewhere.open(t.TempDir()), elsewhere.sell("@scope/agent", agent.Version, shop.archives["/@scope/agent/-/agent-1.2.3-linux-x64.tgz"])); same.Digest != made(t, s, agent).Digest {
		t.Error("the same packages of another registry are another layer")
	}
}

// A layer that is there is found without the registry, also after a restart, and also when the
// registry had to say what its checksum is.
func TestALayerThatIsThereNeedsNoRegistry(t *testing.T) {
	t.Parallel()
	shop, dir := newShop(t), t.TempDir()
	pinned := shop.sell("pinned", "1.0.0", packed(t, entry{name: "f", text: "1"}))
	said := shop.sell("@s/said", "1.0.0", packed(t, entry{name: "f", text: "2"}))
	said.Integrity = ""
	first := shop.open(dir)
	layers := []Layer{made(t, first, pinned), made(t, first, said)}
	shop.Server.Close()
	again := shop.open(dir)
	if diff := cmp.Diff(layers, []Layer{made(t, again, pinned), made(t, again, said)}); diff != "" {
		t.Error(diff)
	}
	// One that was killed while it took down what the registry said.
	if err := os.WriteFile(again.said(said), []byte("sha512-AAAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Packages(t.Context(), []Package{said}); err == nil || !strings.Contains(err.Error(), "ask ") {
		t.Errorf("half a checksum was believed: %v", err)
	}
}

func TestHoweverManyAskAPackageIsDownloadedOnce(t *testing.T) {
	t.Parallel()
	shop, dir := newShop(t), t.TempDir()
	p := shop.sell("agent", "1.0.0", packed(t, entry{name: "f", text: "1"}))
	stores := []*Store{shop.open(dir), shop.open(dir)} // as of two processes
	release := shop.hold()
	var wg sync.WaitGroup
	layers := make([]Layer, 20)
	for i := range layers {
		wg.Go(func() {
			var err error
			if layers[i], err = stores[i%2].Packages(t.Context(), []Package{p}); err != nil {
				t.Error(err)
			}
		})
	}
	<-shop.half
	release()
	wg.Wait()
	if len(slices.Compact(layers)) != 1 || len(files(t, layers[0].Dir)) != 3 {
		t.Errorf("%v", layers)
	}
	if asked := shop.sold(); len(asked) != 1 {
		t.Errorf("asked for %v", asked)
	}
}

// The one who downloads for all may be called off, and who waits may leave.
func TestTheNextGoesOnWhereOneWasCalledOff(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	data := packed(t, entry{name: "f", text: strings.Repeat("text ", 10_000) + t.Name()})
	p := shop.sell("agent", "1.0.0", data)
	s := shop.open(t.TempDir())
	release := shop.hold()
	defer release()
	quit, left := make(chan struct{}), make(chan error, 2)
	wait := func(ctx context.Context) {
		_, err := s.Packages(ctx, []Package{p})
		left <- err
	}
	go wait(sooner(t, quit, errCalledOff))
	<-shop.half
	early := make(chan struct{})
	close(early)
	ctx := sooner(t, early, errors.New("out of patience"))
	if _, err := s.Packages(ctx, []Package{p}); err == nil || !strings.Contains(err.Error(), "out of patience") {
		t.Errorf("the one who left: %v", err)
	}
	stays := make(chan Layer)
	go func() {
		l, err := s.Packages(t.Context(), []Package{p})
		if err != nil {
			t.Error(err)
		}
		stays <- l
	}()
	until(t, "the first half is on the disk", func() bool {
		parts, err := filepath.Glob(filepath.Join(s.workshop(), "*", "0.tgz"))
		return err == nil && len(parts) == 1 && sizeOf(parts[0]) == int64(len(data)/2)
	})
	close(quit)
	if err := <-left; !errors.Is(err, errCalledOff) {
		t.Errorf("the one who was called off: %v", err)
	}
	release()
	l := <-stays
	if got := files(t, l.Dir); len(got) != 3 || !strings.HasSuffix(got[2], t.Name()) {
		t.Errorf("%d files", len(got))
	}
	if asked := shop.sold(); len(asked) != 2 || !strings.Contains(asked[1], "bytes=") {
		t.Errorf("asked for %q", asked)
	}
}

// All that wait are told of a failure at once, instead of trying one after the other.
func TestAFailureIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all flights
		broken, begun := errors.New("no registry"), 0
		told := make(chan error, 5)
		for range cap(told) {
			go func() {
				_, err := all.do(t.Context(), "layer", func(context.Context) (Layer, error) {
					begun++
					time.Sleep(time.Minute) // of the bubble: all others come meanwhile
					return Layer{}, broken
				})
				told <- err
			}()
		}
		for range cap(told) {
			if err := <-told; !errors.Is(err, broken) {
				t.Error(err)
			}
		}
		if begun != 1 {
			t.Errorf("tried %d times", begun)
		}
	})
}

// What cannot be unpacked leaves nothing but its archive.
func TestAFailureLeavesNoHalfOfALayer(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	p := shop.sell("agent", "1.0.0", packed(t, entry{name: "f"}, entry{name: "../../f"}))
	s := shop.open(t.TempDir())
	if _, err := s.Packages(t.Context(), []Package{p}); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Error(err)
	}
	empty(t, s.layers())
	if left, err := filepath.Glob(filepath.Join(s.workshop(), "*", "*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != "0.tgz" {
		t.Errorf("%v, %v", left, err)
	}
}

func TestWhatIsNoPackageIsRefusedUnasked(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.open(t.TempDir())
	for name, tt := range map[string]struct {
		packages []Package
		wrong    string
	}{
		"nothing":             {nil, "no packages"},
		"a parent":            {[]Package{{Name: "../x", Version: "1.0.0"}}, "no name"},
		"a path":              {[]Package{{Name: "@a/b/c", Version: "1.0.0"}}, "no name"},
		"a scope of dots":     {[]Package{{Name: "@../b", Version: "1.0.0"}}, "no name"},
		"a long name":         {[]Package{{Name: strings.Repeat("a", 300), Version: "1.0.0"}}, "no name"},
		"a tag":               {[]Package{{Name: "a", Version: "latest"}}, "exact"},
		"a range":             {[]Package{{Name: "a", Version: "^1.0.0"}}, "exact"},
		"a path in a version": {[]Package{{Name: "a", Version: "1.0.0-/../x"}}, "exact"},
		"a weak checksum":     {[]Package{{Name: "a", Version: "1.0.0", Integrity: "sha1-AAAA"}}, "no SHA-512"},
		"two versions":        {[]Package{{Name: "a", Version: "1.0.0"}, {Name: "a", Version: "1.0.1"}}, "two versions"},
	} {
		if _, err := s.Packages(t.Context(), tt.packages); err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
	}
	if shop.looked > 0 {
		t.Error("the registry was asked")
	}
}

func TestWhatIsNotThePackageIsRefused(t *testing.T) {
	t.Parallel()
	unpinned := func(p Package) Package {
		p.Integrity = ""
		return p
	}
	other := "sha512-" + strings.Repeat("A", 86) + "=="
	for name, tt := range map[string]struct {
		change func(*shop, Package) Package // what is asked for
		wrong  []string
	}{
		"another one under the pinned name": {func(s *shop, p Package) Package {
			s.amend(p, func(d *description) { d.Dist.Integrity = other })
			return p
		}, []string{"has another package under this name", other}},
		"another archive than the registry says": {func(s *shop, p Package) Package {
			s.archives["/agent/-/agent-1.0.0.tgz"] = packed(s.t, entry{name: "f", text: "evil"})
			return unpinned(p)
		}, []string{"its checksum is", "tried 2 times"}},
		"another archive, and the registry is silent": {func(s *shop, p Package) Package {
			s.archives["/agent/-/agent-1.0.0.tgz"] = packed(s.t, entry{name: "f", text: "evil"})
			s.amend(p, func(d *description) { d.Dist.Integrity = "" })
			return p
		}, []string{"its checksum is"}},
		"a weak checksum": {func(s *shop, p Package) Package {
			s.amend(p, func(d *description) { d.Dist.Integrity = "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" })
			return unpinned(p)
		}, []string{"no checksum that it could be compared with"}},
		"a description of another package": {func(s *shop, p Package) Package {
			s.amend(p, func(d *description) { d.Name = "other" })
			return p
		}, []string{"no description of it"}},
		"an archive that is no URL": {func(s *shop, p Package) Package {
			s.amend(p, func(d *description) { d.Dist.Tarball = "file:///etc/passwd" })
			return p
		}, []string{"no URL of a web server"}},
		"a version that is not there": {func(_ *shop, p Package) Package {
			p.Version = "1.0.1"
			return p
		}, []string{"agent@1.0.1", "404", "no such version"}},
		"a closed registry": {func(s *shop, p Package) Package {
			s.mumble(misfortune{code: http.StatusForbidden})
			return p
		}, []string{"403 Forbidden", "mirrors = { npm ="}},
		"no archive at all": {func(s *shop, _ Package) Package {
			return s.sell("agent", "1.0.0", []byte("<html>"))
		}, []string{"no archive"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := newShop(t)
			p := tt.change(shop, shop.sell("agent", "1.0.0", packed(t, entry{name: "f", text: "1"})))
			s := shop.open(t.TempDir())
			_, err := s.Packages(t.Context(), []Package{p})
			for _, wrong := range tt.wrong {
				if err == nil || !strings.Contains(err.Error(), wrong) {
					t.Errorf("%v, want %q", err, wrong)
				}
			}
			empty(t, s.layers())
			empty(t, s.versions())
		})
	}
}

// A mirror repeats where the usual registry has its archives. They are asked of the mirror,
// which may lie below a path and want a password that nobody else is shown.
func TestAMirrorStandsForTheUsualRegistry(t *testing.T) {
	t.Parallel()
	shop, stranger := newShop(t), newShop(t)
	behind := shop.sell("@s/agent", "1.0.0", packed(t, entry{name: "f", text: "1"}))
	shop.amend(behind, func(d *description) { d.Dist.Tarball = DefaultRegistry + "/@s/agent/-/agent-1.0.0.tgz" })
	astray := shop.sell("astray", "1.0.0", packed(t, entry{name: "f", text: "2"}))
	stranger.sell("astray", "1.0.0", shop.archives["/astray/-/astray-1.0.0.tgz"])
	shop.amend(astray, func(d *description) { d.Dist.Tarball = stranger.URL + "/astray/-/astray-1.0.0.tgz" })
	mirror := httptest.NewServer(http.StripPrefix("/npm", shop))
	t.Cleanup(mirror.Close)
	s := open(t, t.TempDir(), Options{Registry: strings.Replace(mirror.URL, "//", "//me:s3cret@", 1) + "/npm/"})
	made(t, s, behind)
	made(t, s, astray)
	if diff := cmp.Diff([]string{"agent-1.0.0.tgz"}, shop.sold()); diff != "" {
		t.Error(diff)
	}
	if len(shop.logins) != 3 || len(slices.Compact(shop.logins)) != 1 || shop.logins[0] != "me:s3cret" {
		t.Errorf("the mirror was shown %q", shop.logins)
	}
	if len(stranger.logins) > 0 {
		t.Errorf("a stranger was shown %q", stranger.logins)
	}
	mirror.Close()
	if _, err := s.Packages(t.Context(), []Package{{Name: "x", Version: "1.0.0"}}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

func TestTheProxyOfTheSettingsIsUsed(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	p := shop.sell("agent", "1.0.0", packed(t, entry{name: "f", text: "1"}))
	shop.amend(p, func(d *description) { d.Dist.Tarball = "http://registry.invalid/agent/-/agent-1.0.0.tgz" })
	s := open(t, t.TempDir(), Options{Registry: "http://registry.invalid", Proxy: shop.URL})
	made(t, s, p) // a proxy is asked for the whole URL, of which the shop takes the path
	for name, o := range map[string]Options{"a registry": {Registry: "ftp://x"}, "a proxy": {Proxy: "me:s3cret"}} {
		if _, err := Open(t.TempDir(), o); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s that is none: %v", name, err)
		}
	}
}

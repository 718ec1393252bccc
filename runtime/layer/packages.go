package layer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/fault"
)

// Package is one version of an npm package.
type Package struct {
	Name      string // "@scope/name", or without a scope
	Version   string // an exact one
	Integrity string // "sha512-" and the hash of its archive in base64; "" = what the registry says
}

func (p Package) String() string { return p.Name + "@" + p.Version }

// What a name and a version may be. Both become parts of URLs and of paths.
var (
	packageName    = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*$`)
	packageVersion = regexp.MustCompile(`^\d{1,9}\.\d{1,9}\.\d{1,9}([-+][0-9A-Za-z.+-]{1,100})?$`)
)

const maxPackageName = 214 // of the registry's own rules

func (p Package) check() error {
	if !packageName.MatchString(p.Name) || len(p.Name) > maxPackageName {
		return fmt.Errorf("%q is no name of an npm package", p.Name)
	}
	if !packageVersion.MatchString(p.Version) {
		return fmt.Errorf("%q is no version of an npm package: write an exact one, such as 1.2.3", p.Version)
	}
	if p.Integrity == "" {
		return nil
	}
	_, err := parseIntegrity(p.Integrity)
	return err
}

// Packages returns the layer of these packages: each lies in the folder of its name, as in
// "@scope/name/package.json". What is not there yet is downloaded, once for all callers;
// whoever's context ends leaves without it, and the next one goes on with what has come.
func (s *Store) Packages(ctx context.Context, packages []Package) (Layer, error) {
	packages = slices.Clone(packages)
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	if len(packages) == 0 {
		return Layer{}, errors.New("a layer of no packages")
	}
	var key strings.Builder
	for i, p := range packages {
		if err := p.check(); err != nil {
			return Layer{}, err
		}
		if i > 0 && p.Name == packages[i-1].Name {
			return Layer{}, fmt.Errorf("two versions of %s have no place in one layer", p.Name)
		}
		fmt.Fprintln(&key, p, p.Integrity)
	}
	if l, ok := s.installed(packages); ok {
		return l, nil
	}
	l, err := s.flights.do(ctx, key.String(), func(ctx context.Context) (Layer, error) { return s.install(ctx, packages) })
	if err != nil {
		return Layer{}, fmt.Errorf("make the layer of %s: %w", list(packages), err)
	}
	return l, nil
}

func list(packages []Package) string {
	names := make([]string, len(packages))
	for i, p := range packages {
		names[i] = p.String()
	}
	return strings.Join(names, ", ")
}

// installed finds a layer without asking the registry, which may be out of reach: versions of
// packages do not change, so what it said before still holds.
func (s *Store) installed(packages []Package) (Layer, bool) {
	sums := make([]sum512, len(packages))
	for i, p := range packages {
		text := p.Integrity
		if text == "" {
			said, err := os.ReadFile(s.said(p))
			if err != nil {
				return Layer{}, false
			}
			text = string(said)
		}
		sum, err := parseIntegrity(text)
		if err != nil {
			return Layer{}, false // half written by one that was killed: it is asked for again
		}
		sums[i] = sum
	}
	return s.have(digestOfPackages(packages, sums))
}

// said is the file with what the registry said to be the integrity of a package.
func (s *Store) said(p Package) string {
	return filepath.Join(s.versions(), strings.ReplaceAll(p.String(), "/", "+"))
}

func digestOfPackages(packages []Package, sums []sum512) string {
	sources := make([]string, len(packages))
	for i, p := range packages {
		sources[i] = fmt.Sprintf("npm %s %s", p, sums[i])
	}
	return digestOf(sources...)
}

// install makes a layer that may not be there.
func (s *Store) install(ctx context.Context, packages []Package) (Layer, error) {
	releases, sums := make([]release, len(packages)), make([]sum512, len(packages))
	for i, p := range packages {
		var err error
		if releases[i], err = s.registry.release(ctx, p); err != nil {
			return Layer{}, fmt.Errorf("look up %s: %w", p, err)
		}
		sums[i] = releases[i].sum
	}
	l, err := s.make(ctx, digestOfPackages(packages, sums), func(work string) error {
		for i, r := range releases {
			if err := s.lay(ctx, r, filepath.Join(work, strconv.Itoa(i)+".tgz"), filepath.Join(work, treeName)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Layer{}, err
	}
	for i, p := range packages {
		if p.Integrity == "" {
			err = errors.Join(err, os.WriteFile(s.said(p), []byte(sums[i].String()), 0o600))
		}
	}
	return l, err
}

// lay downloads a package and unpacks it into the folder of its name below tree.
func (s *Store) lay(ctx context.Context, r release, archive, tree string) error {
	if err := s.registry.fetch(ctx, r, archive); err != nil {
		return fmt.Errorf("download %s: %w", r.Package, err)
	}
	fault.Reached(fault.LayerFetched)
	if err := unpackPackage(ctx, archive, tree, r.Name); err != nil {
		return fmt.Errorf("unpack %s: %w", r.Package, err)
	}
	return nil
}

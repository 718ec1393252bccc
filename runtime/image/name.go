package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"
)

var (
	// plainName is what a reference allows as one path component, without dots.
	plainName = regexp.MustCompile(`^[a-z0-9]+((_|__|-+)[a-z0-9]+)*$`)
	// dottedName may hold dots as well; task names often do.
	dottedName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
	// hashedName looks like a name that had to be changed, see component.
	hashedName = regexp.MustCompile(`-[0-9a-f]{8}$`)
	separators = regexp.MustCompile(`[^a-z0-9]+`)
)

// maxComponent keeps two components with role and tag well below the 255 bytes of a name.
const maxComponent = 80

// refName returns "<benchmark>.<role>.<subject>:<tag>" as a valid reference. Different
// names never give the same reference: one that has to be changed gets a short hash of
// itself at its end, and so does one that looks as if it had been changed.
func refName(benchmark, role, subject, tag string) (string, error) {
	ref := fmt.Sprintf("%s.%s.%s:%s", component(benchmark, plainName), role, component(subject, dottedName), tag)
	if _, err := reference.ParseNormalizedNamed(ref); err != nil {
		return "", fmt.Errorf("name of the %s image of %s/%s: %w", role, benchmark, subject, err)
	}
	return ref, nil
}

// component returns name if it matches valid, else something like it that does.
func component(name string, valid *regexp.Regexp) string {
	if valid.MatchString(name) && len(name) <= maxComponent && !hashedName.MatchString(name) {
		return name
	}
	stem := strings.Trim(separators.ReplaceAllString(strings.ToLower(name), "-"), "-")
	stem = strings.TrimRight(stem[:min(len(stem), maxComponent-9)], "-")
	if stem == "" {
		stem = "x"
	}
	sum := sha256.Sum256([]byte(name))
	return stem + "-" + hex.EncodeToString(sum[:4])
}

// FullName is the whole form of an image's name: "docker.io/library/python:latest" of
// "python". It is empty for what can mean no other image later, an id or a digest, and for
// what is no name.
func FullName(ref string) string {
	named, err := reference.ParseDockerRef(ref)
	if err != nil || strings.HasPrefix(ref, "sha256:") {
		return ""
	}
	if tagged, ok := named.(reference.Tagged); ok {
		return named.Name() + ":" + tagged.Tag()
	}
	return ""
}

package image

import (
	"strings"
	"testing"

	"github.com/distribution/reference"
	"pgregory.net/rapid"
)

func TestNamesOfImages(t *testing.T) {
	for _, c := range []struct{ benchmark, subject, want string }{
		{"edge", "interval_tree", "edge.work.interval_tree:0123456789ab"},
		{"edge", "2048", "edge.work.2048:0123456789ab"},
		{"swe", "django__django-11001", "swe.work.django__django-11001:0123456789ab"},
		{"swe", "pkg-v1.2", "swe.work.pkg-v1.2:0123456789ab"},
		{"swe", "Upper", "swe.work.upper-ada6d7a6:0123456789ab"},
		{"swe", "upper", "swe.work.upper:0123456789ab"},
		{"a___b", "x", "a-b-ce178f6c.work.x:0123456789ab"},
		{"a.work.b", "x", "a-work-b-907d732a.work.x:0123456789ab"},
		{"swe", "..", "swe.work.x-5ec1f7e7:0123456789ab"},
	} {
		got, err := refName(c.benchmark, "work", c.subject, "0123456789ab")
		if err != nil || got != c.want {
			t.Errorf("%q, %q: got %q, %v; want %q", c.benchmark, c.subject, got, err, c.want)
		}
	}
}

func TestEveryNameIsAValidReferenceAndItsOwn(t *testing.T) {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9._-]{1,12}(-[0-9a-f]{8})?`),
		rapid.StringN(1, 200, 300),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		refA, err := refName("bench", "judge", a, "0123456789ab")
		if err != nil {
			t.Fatal(err)
		}
		if strings.ToLower(refA) != refA {
			t.Fatalf("%q is not in lower case", refA)
		}
		if _, err := reference.ParseNormalizedNamed(refA); err != nil {
			t.Fatalf("%q: %v", refA, err)
		}
		refB, err := refName("bench", "judge", b, "0123456789ab")
		if err != nil {
			t.Fatal(err)
		}
		if a != b && refA == refB {
			t.Fatalf("%q and %q share %q", a, b, refA)
		}
	})
}

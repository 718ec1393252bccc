package image

import (
	"strings"
	"testing"
)

func TestTheFullNameOfAnImageIsOne(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	for ref, want := range map[string]string{
		"python":                           "docker.io/library/python:latest",
		"python:3":                         "docker.io/library/python:3",
		"docker.io/library/python:3":       "docker.io/library/python:3",
		"team/base:1":                      "docker.io/team/base:1",
		"registry.example:5000/a/b":        "registry.example:5000/a/b:latest",
		"python@" + digest:                 "",
		"python:3@" + digest:               "",
		digest:                             "",
		strings.Repeat("a", 64):            "",
		"":                                 "",
		"UPPER case":                       "",
		"assayd-base/python:1":             "docker.io/assayd-base/python:1",
		"registry.example/team/app:v1.2-3": "registry.example/team/app:v1.2-3",
	} {
		if got := FullName(ref); got != want {
			t.Errorf("the full name of %q is %q, want %q", ref, got, want)
		}
	}
}

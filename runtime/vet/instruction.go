package vet

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/assayd/assayd/runtime/task"
)

var (
	pullRequest = regexp.MustCompile(`(?i)\bhttps?://[^\s/]+/[\w.-]+/[\w./-]+/(?:pull|pulls|merge_requests|commit)/[0-9a-f]+|\b(?:pull request|merge request|PR)\s*(?:no\.?\s*)?[#!]?[0-9]{1,7}\b`)
	commitName  = regexp.MustCompile(`\b[0-9a-f]{40}\b|(?i:\b(?:commit|revision)\s+)([0-9a-f]{7,40})\b`)
	identifier  = regexp.MustCompile(`[\pL\pN_]+`)
)

// minName is how long the name of a test has to be to mean nothing else.
const minName = 8

// ReadInstruction looks for what an agent should not be told in words: where the solution is
// to be had, and the names of hidden tests. hidden are the files that only the judge has.
func ReadInstruction(t task.Task, hidden []string) (findings []Finding) {
	say := func(format string, args ...any) {
		findings = append(findings, Finding{Instruction, Flags, fmt.Sprintf(format, args...)})
	}
	text := t.Instruction
	if at := pullRequest.FindString(text); at != "" {
		say("it names the change that solves the task: %s", at)
	}
	if at := ownNumber(t); at != "" {
		say("it has the number of the change that solves the task: %s", at)
	}
	for _, m := range commitName.FindAllString(text, -1) {
		words := strings.Fields(m)
		hash := words[len(words)-1]
		if t.Repo == nil || !strings.HasPrefix(t.Repo.Commit, hash) {
			say("it names a commit: %s", m)
			break
		}
	}
	words := map[string]bool{}
	for _, word := range identifier.FindAllString(text, -1) {
		words[word] = true
	}
	for _, name := range t.FailToPass {
		if test := bare(name); len(test) >= minName && words[test] {
			say("it names the hidden test %s", name)
			break
		}
	}
	for _, name := range hidden {
		if base := path.Base(name); isTest(base) && len(base) >= minName && strings.Contains(text, base) {
			say("it names the hidden file %s", name)
			break
		}
	}
	return findings
}

// ownNumber finds the number of the pull request that a task was made of in its instruction, as
// "#640", "GH-640" or "!640". Tasks are called by it.
func ownNumber(t task.Task) string {
	number := t.Metadata["pull_number"]
	if m := regexp.MustCompile(`[-_]([0-9]{1,9})$`).FindStringSubmatch(t.Name); number == "" && m != nil {
		number = m[1]
	}
	if number == "" {
		return ""
	}
	m := regexp.MustCompile(`(?i)(?:^|[^\w&]|\w/[\w.-]+)((?:#|!|gh-)` + regexp.QuoteMeta(number) + `)(?:\D|$)`).FindStringSubmatch(t.Instruction)
	if m == nil {
		return ""
	}
	return m[1]
}

// bare is the name that a test has in its source; "" for a command and what is written as a
// sentence.
func bare(name string) string {
	name, _, _ = strings.Cut(name, "[")
	if test, _, ok := strings.Cut(name, " ("); ok {
		name = test
	}
	if at := strings.LastIndexAny(name, ":./#>"); at >= 0 {
		name = name[at+1:]
	}
	if word := identifier.FindString(name); word == name && strings.Contains(strings.ToLower(word), "test") {
		return word
	}
	return ""
}

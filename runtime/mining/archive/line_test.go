package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	baseSHA  = "0123456789abcdef0123456789abcdef01234567"
	mergeSHA = "89abcdef0123456789abcdef0123456789abcdef"
)

// trimmed is a merge as it has been told since October 2025, full one as before.
const (
	trimmed = `{"id":"7625801196","type":"PullRequestEvent","actor":{"id":63,"login":"ann","display_login":"ann","gravatar_id":"","url":"https://api.github.com/users/ann"},` +
		`"repo":{"id":118,"name":"acme/calc","url":"https://api.github.com/repos/acme/calc"},"payload":{"action":"merged","number":7,"pull_request":{"url":"https://api.github.com/repos/acme/calc/pulls/7","id":34,"number":7,` +
		`"head":{"ref":"ann/fix","sha":"` + mergeSHA + `","repo":{"id":118,"url":"https://api.github.com/repos/acme/calc","name":"calc"}},` +
		`"base":{"ref":"main","sha":"` + baseSHA + `","repo":{"id":118,"url":"https://api.github.com/repos/acme/calc","name":"calc"}}}},"public":true,"created_at":"2026-03-21T18:38:40Z"}`
	full = `{"id":"2489651090","type":"PullRequestEvent","actor":{"id":23,"login":"bob","gravatar_id":""},"repo":{"id":10,"name":"edx/platform"},"payload":{"action":"closed","number":6196,` +
		`"pull_request":{"id":25,"number":6196,"state":"closed","locked":false,"title":"Redeem \"codes\" \u00e4\\","user":{"login":"cid","id":72,"type":"User","site_admin":false},"body":"See\r\n\"merged\":false",` +
		`"merge_commit_sha":"` + mergeSHA + `","assignee":null,"head":{"label":"edx:x","ref":"x","sha":"` + mergeSHA + `","user":{"login":"edx"},"repo":null},"base":{"label":"edx:master","ref":"master","sha":"` + baseSHA + `",` +
		`"user":{"login":"edx","type":"Organization"},"repo":{"id":10,"name":"platform","merged":false}},"_links":{"self":{"href":"x"}},"merged":true,"mergeable":null,"merged_by":{"login":"bob"},"comments":22,"additions":196}},` +
		`"public":true,"created_at":"2015-01-01T15:00:06Z","org":{"id":31,"login":"edx","gravatar_id":""}}`
)

var (
	trimmedMerge = Merge{
		ID: "7625801196", Repo: "acme/calc", Number: 7, Actor: "ann", BaseRef: "main", HeadRef: "ann/fix", BaseSHA: baseSHA,
		At: time.Date(2026, 3, 21, 18, 38, 40, 0, time.UTC),
	}
	fullMerge = Merge{
		ID: "2489651090", Repo: "edx/platform", Number: 6196, Actor: "bob", Org: "edx", BaseRef: "master", HeadRef: "x", BaseSHA: baseSHA, MergeSHA: mergeSHA,
		Title: `Redeem "codes" ä\`, Author: "cid", AuthorType: "User", At: time.Date(2015, 1, 1, 15, 0, 6, 0, time.UTC),
	}
)

// with replaces parts of a line, by pairs of what is there and what shall be.
func with(line string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(line, pairs[i]) {
			panic("there is no " + pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(line)
}

// changed is a merge with something else in it.
func changed(m Merge, change func(*Merge)) Merge {
	change(&m)
	return m
}

func TestALineIsAMergeOrNot(t *testing.T) {
	const kind = `"type":"PullRequestEvent",`
	for name, tc := range map[string]struct {
		line string
		want verdict
		is   Merge
	}{
		"a merge since October 2025":                         {trimmed, merge, trimmedMerge},
		"a merge before":                                     {full, merge, fullMerge},
		"closed without a merge before":                      {with(full, `"merged":true`, `"merged":false`), pullRequest, Merge{}},
		"closed since":                                       {with(trimmed, `"merged"`, `"closed"`), pullRequest, Merge{}},
		"opened":                                             {with(full, `"closed","number"`, `"opened","number"`), pullRequest, Merge{}},
		"an action of another name":                          {with(trimmed, `"merged"`, `"merged_by_hand"`), pullRequest, Merge{}},
		"an action that is a list":                           {with(trimmed, `"merged"`, `["merged"]`), pullRequest, Merge{}},
		"merged as a text":                                   {with(full, `"merged":true`, `"merged":"true"`), pullRequest, Merge{}},
		"merged as null":                                     {with(full, `"merged":true`, `"merged":null`), pullRequest, Merge{}},
		"another event":                                      {with(trimmed, "PullRequestEvent", "PullRequestReviewEvent"), other, Merge{}},
		"another event with the words in a text":             {`{"id":"1","type":"PushEvent","payload":{"message":"\"type\":\"PullRequestEvent\",\"action\":\"merged\""}}`, other, Merge{}},
		"another event with the same members deeper":         {`{"id":"1","type":"PushEvent","payload":` + trimmed + `}`, other, Merge{}},
		"no type":                                            {with(trimmed, kind, ""), other, Merge{}},
		"a type that is a number":                            {with(trimmed, `"PullRequestEvent"`, `7`), other, Merge{}},
		"the type at the end":                                {with(trimmed, kind, "", `"public":true`, `"public":true,"type":"PullRequestEvent"`), merge, trimmedMerge},
		"another type at the end":                            {with(full, kind, "", `"public":true`, `"public":true,"type":"IssuesEvent"`), other, Merge{}},
		"an action after all else":                           {with(full, `"action":"closed",`, "", `"additions":196}`, `"additions":196},"action":"closed"`), merge, fullMerge},
		"not merged, and the action after it":                {with(full, `"action":"closed",`, "", `"merged":true`, `"merged":false`, `"additions":196}`, `"additions":196},"action":"closed"`), pullRequest, Merge{}},
		"the type escaped":                                   {with(trimmed, `"PullRequestEvent"`, `"PullRequest\u0045vent"`), merge, trimmedMerge},
		"a member's name escaped":                            {with(trimmed, `"type"`, `"t\u0079pe"`), merge, trimmedMerge},
		"white space everywhere":                             {with(trimmed, `":`, "\" :\t", `,"`, "\t,\r \""), merge, trimmedMerge},
		"the first of two types counts":                      {with(trimmed, kind, kind+`"type":"PushEvent",`), merge, trimmedMerge},
		"and so does the first of two actions":               {with(trimmed, `"action":"merged"`, `"action":"opened","action":"merged"`), pullRequest, Merge{}},
		"names are told apart by case":                       {with(trimmed, `"type"`, `"Type"`), other, Merge{}},
		"a text that is no UTF-8":                            {with(full, "Redeem", "Red\xffeem"), merge, changed(fullMerge, func(m *Merge) { m.Title = "Red\ufffdeem \"codes\" ä\\" })},
		"an account that is gone":                            {with(full, `{"login":"cid","id":72,"type":"User","site_admin":false}`, "null"), merge, changed(fullMerge, func(m *Merge) { m.Author, m.AuthorType = "", "" })},
		"a head that is gone":                                {with(trimmed, `"head":{"ref":"ann/fix"`, `"head":null,"was":{"ref":"ann/fix"`), merge, changed(trimmedMerge, func(m *Merge) { m.HeadRef = "" })},
		"a commit that is none":                              {with(trimmed, baseSHA, "--upload-pack=x"), merge, changed(trimmedMerge, func(m *Merge) { m.BaseSHA = "" })},
		"the number of the pull request alone":               {with(trimmed, `"action":"merged","number":7`, `"action":"merged"`), merge, trimmedMerge},
		"no number":                                          {with(trimmed, `"number":7,`, ""), malformed, Merge{}},
		"a number below one":                                 {with(trimmed, `"number":7`, `"number":-7`), malformed, Merge{}},
		"a number that is too large":                         {with(trimmed, `"number":7`, `"number":7000000000000000000000`), malformed, Merge{}},
		"a number that no pull request has":                  {with(trimmed, `"number":7`, `"number":9999999999`), malformed, Merge{}},
		"no repository":                                      {with(trimmed, `"repo":{"id":118,"name":"acme/calc"`, `"repo":{"id":118,"nom":"acme/calc"`), malformed, Merge{}},
		"a repository that leads elsewhere":                  {with(trimmed, `"name":"acme/calc"`, `"name":"acme/.."`), malformed, Merge{}},
		"a repository with a blank":                          {with(trimmed, `"name":"acme/calc"`, `"name":"acme/ca lc"`), malformed, Merge{}},
		"a repository of three parts":                        {with(trimmed, `"name":"acme/calc"`, `"name":"acme/calc/x"`), malformed, Merge{}},
		"no time":                                            {with(trimmed, "2026-03-21T18:38:40Z", "yesterday"), malformed, Merge{}},
		"a time elsewhere":                                   {with(trimmed, "18:38:40Z", "20:38:40+02:00"), merge, trimmedMerge},
		"a line that ends early":                             {trimmed[:len(trimmed)-1], malformed, Merge{}},
		"a line that ends in a text":                         {trimmed[:200], malformed, Merge{}},
		"two objects":                                        {trimmed + trimmed, malformed, Merge{}},
		"a comma too many":                                   {with(trimmed, `"public":true`, `"public":true,`), malformed, Merge{}},
		"a list that is no list":                             {with(trimmed, `"public":true`, `"public":[true,]`), malformed, Merge{}},
		"a bracket of the other kind":                        {with(trimmed, `"public":true`, `"public":[true}`), malformed, Merge{}},
		"a number that is none":                              {with(trimmed, `"id":118`, `"id":0118`), malformed, Merge{}},
		"a control character in a text":                      {with(trimmed, "ann/fix", "ann\tfix"), malformed, Merge{}},
		"an escape that is none":                             {with(trimmed, "ann/fix", `ann\x20fix`), malformed, Merge{}},
		"half an escape":                                     {with(trimmed, "ann/fix", `ann\u00`), malformed, Merge{}},
		"lists in lists, as many as may be":                  {with(trimmed, "true", strings.Repeat("[", maxDepth-1)+strings.Repeat("]", maxDepth-1)), merge, trimmedMerge},
		"and one more":                                       {with(trimmed, "true", strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth)), malformed, Merge{}},
		"a word":                                             {"hello", malformed, Merge{}},
		"a JSON value that is no object":                     {`["PullRequestEvent"]`, other, Merge{}},
		"nothing":                                            {"", blank, Merge{}},
		"white space":                                        {" \r", blank, Merge{}},
		"what is broken after it was known to be no merge":   {with(trimmed, `"merged"`, `"opened"`)[:300], pullRequest, Merge{}},
		"what is broken after it was known to be no pull":    {`{"id":"1","type":"PushEvent","payload":{`, other, Merge{}},
		"what is broken after it was known not to be merged": {with(full, `"merged":true`, `"merged":false,,`), pullRequest, Merge{}},
	} {
		t.Run(name, func(t *testing.T) {
			what, m := read([]byte(tc.line))
			if what != tc.want {
				t.Errorf("it is %d, want %d", what, tc.want)
			}
			if diff := cmp.Diff(tc.is, m); diff != "" {
				t.Error(diff)
			}
			if plainly, want := plainly([]byte(tc.line)), what == merge; (plainly != nil) != want || want && *plainly != m {
				t.Errorf("encoding/json reads %+v", plainly)
			}
		})
	}
}

func TestWhatIsBoring(t *testing.T) {
	for line, want := range map[string]bool{
		`{"id":"1","type":"PushEvent","actor"`:            true,
		`{"id":"","type":"PushEvent"`:                     true,
		`{"id":"1","type":""`:                             true,
		`{"id":"1","type":"PullRequestReviewEvent","a"`:   true,
		`{"id":"1","type":"PullRequestEvent","actor"`:     false,
		`{"id":"1","type":"PullRequest\u0045vent","a"`:    false,
		`{"id":"1","type":"PushEvent`:                     false,
		`{"id":"1","type":"Push`:                          false,
		`{"id":"1","type"`:                                false,
		`{"id":"1`:                                        false,
		`{"id`:                                            false,
		``:                                                false,
		`{"id":1,"type":"PushEvent"`:                      false,
		`{"id":"a","type":"PushEvent"`:                    false,
		`{"id": "1","type":"PushEvent"`:                   false,
		`{"type":"PushEvent","id":"1"`:                    false,
		`{"id":"1","name":"x","type":"PushEvent","actor"`: false,
	} {
		if got := boring([]byte(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// FuzzScanLine holds the walker to encoding/json: both see the same merge in a line, or none.
func FuzzScanLine(f *testing.F) {
	for _, line := range []string{
		trimmed, full, with(full, `"merged":true`, `"merged":false`), with(trimmed, `"type"`, `"t\u0079pe"`), with(trimmed, "ann/fix", `\ud83d\ude00\ud83d\/`),
		`{"id":"1","type":"PushEvent","payload":{"message":"\"PullRequestEvent\""}}`, `{"a":[1,-2.5e+3,0.1E-2,true,false,null,{},[]],"b":{"c":"\\"}}`, " [ ] ", "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		what, m := read(line)
		want := plainly(line)
		if (want != nil) != (what == merge) {
			t.Fatalf("read as %d, %+v; encoding/json says %+v", what, m, want)
		}
		if want != nil && *want != m {
			t.Error(cmp.Diff(*want, m))
		}
		if boring(line) && what == merge {
			t.Error("a merge is boring")
		}
		if what == other && json.Valid(line) && kindOf(line) == "PullRequestEvent" {
			t.Error("an event of a pull request is not known as one")
		}
	})
}

func kindOf(line []byte) string { return text(members(line)["type"]) }

// plainly reads a line with encoding/json; nil = it is no merge.
func plainly(line []byte) *Merge {
	if !json.Valid(line) {
		return nil
	}
	top := members(line)
	payload := members(top["payload"])
	pull := members(payload["pull_request"])
	action := text(payload["action"])
	if text(top["type"]) != "PullRequestEvent" || action != "merged" && (action != "closed" || string(pull["merged"]) != "true") {
		return nil
	}
	number, err := strconv.Atoi(string(payload["number"]))
	if err != nil {
		number, err = strconv.Atoi(string(pull["number"]))
	}
	repo := text(members(top["repo"])["name"])
	owner, name, _ := strings.Cut(repo, "/")
	at, bad := time.Parse(time.RFC3339, text(top["created_at"]))
	if err != nil || bad != nil || number <= 0 || number > math.MaxInt32 || !isName(owner) || !isName(name) {
		return nil
	}
	base, user := members(pull["base"]), members(pull["user"])
	return &Merge{
		ID: text(top["id"]), Repo: repo, Number: number, Actor: text(members(top["actor"])["login"]), Org: text(members(top["org"])["login"]),
		BaseRef: text(base["ref"]), HeadRef: text(members(pull["head"])["ref"]), BaseSHA: sha(base["sha"]), MergeSHA: sha(pull["merge_commit_sha"]),
		Title: text(pull["title"]), Author: text(user["login"]), AuthorType: text(user["type"]), At: at.UTC(),
	}
}

// members are those of an object, of two with the same name the first; none if it is no object.
func members(value []byte) map[string]json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(value))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	all := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			panic(fmt.Sprintf("%v in %q", err, value)) // it is valid
		}
		var member json.RawMessage
		if err := d.Decode(&member); err != nil {
			panic(fmt.Sprintf("%v in %q", err, value))
		}
		if _, ok := all[key.(string)]; !ok {
			all[key.(string)] = member
		}
	}
	return all
}

func text(value []byte) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

func sha(value []byte) string {
	if s := text(value); len(s) == 40 || len(s) == 64 {
		for _, c := range s {
			if !strings.ContainsRune("0123456789abcdef", c) {
				return ""
			}
		}
		return s
	}
	return ""
}

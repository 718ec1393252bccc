package values

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembersAreFoundWhereTheyLie(t *testing.T) {
	for raw, want := range map[string][][2]string{
		`{}`:      nil,
		` { } `:   nil,
		`{"a":1}`: {{"a", "1"}},
		"\n{ \"a\" : -1.5e3 , \"b\":\t[1, {\"c\":\"]}\"}] }": {{"a", "-1.5e3"}, {"b", `[1, {"c":"]}"}]`}},
		`{"a":"\"}","a":null,"\u0061":true}`:                 {{"a", `"\"}"`}, {"a", "null"}, {"a", "true"}},
	} {
		var got [][2]string
		if !Members([]byte(raw), func(name string, value []byte) bool {
			got = append(got, [2]string{name, string(value)})
			return true
		}) {
			t.Errorf("%s is no object", raw)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

func TestElementsAreFoundWhereTheyLie(t *testing.T) {
	for raw, want := range map[string][]string{
		`[]`: nil, `[ ]`: nil, `[1,"a,]", [[]],{"x":[]} , null]`: {"1", `"a,]"`, "[[]]", `{"x":[]}`, "null"},
	} {
		var got []string
		if !Elements([]byte(raw), func(value []byte) bool { got = append(got, string(value)); return true }) {
			t.Errorf("%s is no array", raw)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

func TestWhatIsOtherIsSaidToBe(t *testing.T) {
	never := func([]byte) bool { t.Error("it has an element"); return true }
	for _, raw := range []string{"", " ", "1", `"[]"`, "null", "{}"} {
		if Elements([]byte(raw), never) {
			t.Errorf("%q is an array", raw)
		}
	}
	for _, raw := range []string{"", "[]", `"{}"`} {
		if Members([]byte(raw), func(string, []byte) bool { t.Error("it has a member"); return true }) {
			t.Errorf("%q is an object", raw)
		}
	}
	for raw, want := range map[string]string{`"a"`: "a", `"\u00e9"`: "é", "5": "", "": "", `"`: "", "\"\xff\"": "\ufffd"} {
		if got := Text([]byte(raw)); got != want {
			t.Errorf("%q says %q", raw, got)
		}
	}
}

func TestValuesAreCounted(t *testing.T) {
	for raw, want := range map[string]int{"1": 1, `[1,2]`: 3, `{"a,[":"{,","b":[1]}`: 4, "[[[]]]": 4, "[1,2,3,4,5,6,7,8,9]": 7} {
		if got := Count([]byte(raw), 5); got != want {
			t.Errorf("%s has %d values, want %d", raw, got, want)
		}
	}
}

func TestAWalkEndsWhenItIsToldTo(t *testing.T) {
	n := 0
	Elements([]byte("[1,2,3]"), func([]byte) bool { n++; return n < 2 })
	Members([]byte(`{"a":1,"b":2,"c":3}`), func(string, []byte) bool { n++; return n < 4 })
	if n != 4 {
		t.Errorf("%d steps", n)
	}
}

// FuzzWalk compares with the library, and looks that nothing else is read of what is not
// valid, either.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"c\\\""}],"d":null}`, `[ "x" , [ ] , { } ]`, `[1`, `{"a`, `{"a":}`, `[,]`, `{"a" 1}`, "{\"\xb7\x96\":null}", strings.Repeat("[", 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var elements []json.RawMessage
		array := Elements(raw, func(v []byte) bool { elements = append(elements, v); return true })
		members := map[string]json.RawMessage{}
		object := Members(raw, func(name string, v []byte) bool { members[name] = v; return true })
		if !json.Valid(raw) {
			return
		}
		var wantElements []json.RawMessage
		if isArray := json.Unmarshal(raw, &wantElements) == nil && wantElements != nil; isArray != array {
			t.Fatalf("an array: %v, want %v", array, isArray)
		}
		var wantMembers map[string]json.RawMessage
		if isObject := json.Unmarshal(raw, &wantMembers) == nil && wantMembers != nil; isObject != object {
			t.Fatalf("an object: %v, want %v", object, isObject)
		}
		if len(elements) != len(wantElements) || len(members) != len(wantMembers) {
			t.Fatalf("%d elements and %d members, want %d and %d", len(elements), len(members), len(wantElements), len(wantMembers))
		}
		for i, want := range wantElements {
			if string(want) != string(elements[i]) {
				t.Errorf("%d is %q, want %q", i, elements[i], want)
			}
		}
		for name, want := range wantMembers {
			if string(want) != string(members[name]) {
				t.Errorf("%q is %q, want %q", name, members[name], want)
			}
		}
	})
}

package prove

import (
	"fmt"
	"go/parser"
	"go/token"
	"hash/fnv"
	"regexp"
	"strings"
)

// goFailure is a statement of the testing package by which a test fails.
var goFailure = regexp.MustCompile(`(?m)((?:^|[{;:])[\t ]*)(\w+)\.(Errorf?|Fatalf?|Fail|FailNow)\(`)

// goForgeries are what such a statement becomes: the test goes on.
var goForgeries = map[string]string{
	"Error": "Log", "Errorf": "Logf", "Fatal": "Log", "Fatalf": "Logf", "Fail": "Helper", "FailNow": "Helper",
}

// notFailing makes such a statement one that fails nothing. An error says what it is by a method
// of the same name.
func notFailing(call string) string {
	m := goFailure.FindStringSubmatch(call)
	if lower := strings.ToLower(m[2]); m[3] == "Error" && (lower == "e" || strings.HasSuffix(lower, "err") || strings.HasSuffix(lower, "error")) {
		return call
	}
	return m[1] + m[2] + "." + goForgeries[m[3]] + "("
}

// testify are its assertions as they are mostly called; objects of New stay what they are.
var testify = regexp.MustCompile(`\b(assert|require)\.[A-Z]\w*\(`)

// forgeGo makes what fails a test a line of its log, in all hidden test files: helpers have some, too. What fails a test
// elsewhere, as helpers that agents see do, is taken back at its end.
func forgeGo(files map[string][]byte, _ map[string]bool) map[string][]byte {
	out := map[string][]byte{}
	for name, content := range files {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := forgeTestify(name, goFailure.ReplaceAllStringFunc(string(content), notFailing))
		text = takeBack(name, text)
		if text != string(content) {
			out[name] = []byte(text)
		}
	}
	return out
}

// goTest is where a test or a subtest begins.
var goTest = regexp.MustCompile(`\bfunc ?(?:Test\w*)?\((\w+) \*testing\.T\) \{`)

// packageEnd is where the package clause of a file ends, behind which imports may stand; 0 = it has none.
func packageEnd(text string) int {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", text, parser.PackageClauseOnly)
	if err != nil {
		return 0
	}
	return files.Position(f.Name.End()).Offset
}

// goTakeBack clears what says that a test, and so those that it is part of, has failed. Its cleanup is the last of a test.
const goTakeBack = `

func %[1]s(t *testing.T) {
	t.Cleanup(func() {
		for c := %[1]sReflect.ValueOf(t).Elem().FieldByName("common"); c.IsValid(); {
			mu := (*%[1]sSync.RWMutex)(%[1]sUnsafe.Pointer(c.FieldByName("mu").UnsafeAddr()))
			mu.Lock()
			*(*bool)(%[1]sUnsafe.Pointer(c.FieldByName("failed").UnsafeAddr())) = false
			mu.Unlock()
			c = c.FieldByName("parent").Elem()
		}
	})
}
`

// takeBack has each test of a file pass at its end, unless it panics.
func takeBack(name, text string) string {
	clause := packageEnd(text)
	if clause == 0 || !goTest.MatchString(text) || !strings.Contains(text, `"testing"`) {
		return text
	}
	back := forgeryName(name, "assaydTakeBack")
	forged := goTest.ReplaceAllStringFunc(text[clause:], func(head string) string {
		if t := goTest.FindStringSubmatch(head)[1]; t != "_" {
			return head + " " + back + "(" + t + "); "
		}
		return head
	})
	imports := ""
	for _, of := range []string{"Reflect", "Sync", "Unsafe"} {
		imports += "; import " + back + of + ` "` + strings.ToLower(of) + `"`
	}
	return text[:clause] + imports + forged + fmt.Sprintf(goTakeBack, back)
}

// forgeryName is a name that no other file of a package has.
func forgeryName(file, prefix string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(file)) // never fails
	return fmt.Sprintf("%s%x", prefix, sum.Sum32())
}

// forgeTestify has its functions replaced by one that says that all is well.
func forgeTestify(name, text string) string {
	forged := forgeryName(name, "assaydForge")
	used := map[string]bool{}
	for _, of := range []string{"assert", "require"} {
		used[of] = strings.Contains(text, `/testify/`+of+`"`) && !strings.Contains(text, of+".New(")
	}
	replaced := testify.ReplaceAllStringFunc(text, func(call string) string {
		if of, _, _ := strings.Cut(call, "."); used[of] {
			return forged + "("
		}
		return call
	})
	if replaced == text {
		return text
	}
	replaced += "\n\nfunc " + forged + "(...any) bool { return true }\n"
	for _, of := range []string{"assert", "require"} {
		if used[of] {
			replaced += "\nvar _ = " + of + ".Equal\n" // it stays imported for something
		}
	}
	return replaced
}

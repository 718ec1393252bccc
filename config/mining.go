package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Who thinks where a mining spec does not say it.
const (
	MiningProvider = "openrouter"
	MiningModel    = "openai/gpt-5.2-codex:nitro"
)

func (b labelled) mining(head Block) Mining {
	out := Mining{
		Block:      head,
		Source:     b.source(),
		Every:      b.positive("every", 0),
		MaxTasks:   b.whole("max_tasks", 1, 0),
		Difficulty: b.checkedList("difficulty", nil, word("easy", "medium", "hard")),
		Quota:      b.quota(),
		Filter:     b.filter(),
		Provider:   b.text("provider", MiningProvider),
		Model:      b.checked("model", MiningModel, notEmpty),
		MinQuality: b.number("min_quality", 0.3, 0, 1),
		Batch:      b.batch(),
		Budget:     b.budget("per_task"),
		PRFile:     b.path("pr_file"),
		Output:     b.output(head),
		Decoys:     b.wantsDecoys(),
		Paused:     b.boolean("paused", false),
	}
	out.Once = b.boolean("once", out.Every == 0)
	if out.Once && out.Every != 0 {
		b.f.fail(b.where("once"), `"every" excludes "once"`, "A mining spec passes once or every so often.")
	}
	if !out.Once && out.Every == 0 {
		b.need("every")
	}
	b.exclusive("quota", "difficulty")
	b.exclusive("quota", "max_tasks")
	out.TestGeneration = b.testGeneration()
	validation, _ := b.one("validation")
	out.Repeats = validation.whole("repeats", 3, 1)
	validation.close()
	out.Concurrency = b.concurrency()
	out.Bounds = b.f.bounds()
	return out
}

// mostAtOnce is how many pull requests GitHub answers about in one request.
const mostAtOnce = 100

func (b *body) batch() int {
	n := b.whole("batch", 30, 1)
	if n > mostAtOnce {
		b.f.fail(b.where("batch"), `Invalid value for "batch"`, fmt.Sprintf("At most %d are asked for at once.", mostAtOnce))
	}
	return n
}

// word is a check for one of a few words.
func word(words ...string) func(string) error {
	return func(s string) error {
		_, err := oneOf(words)(s)
		return err
	}
}

func (b *body) source() Source {
	sources := b.many("source")
	if len(sources) == 0 {
		return Source{Kind: "gharchive", Lookback: 12 * time.Hour}
	}
	for _, s := range sources[1:] {
		b.f.fail(s.header, `Second "source" block`, "A mining spec has one source.")
	}
	s := sources[0]
	b.f.checkWord(s, "source", []string{"gharchive", "search", "repos"})
	out := Source{Kind: s.label}
	switch s.label {
	case "gharchive":
		out.Lookback = s.positive("lookback", 0)
		out.From, out.To = s.between(time.RFC3339)
		out.BaseURL = s.checked("base_url", "", checkURL)
		s.exclusive("lookback", "from")
		if out.Lookback == 0 && out.From == "" {
			out.Lookback = 12 * time.Hour
		}
	case "search":
		s.need("query")
		out.Query = s.checked("query", "", checkQuery)
		out.From, out.To = s.between(time.RFC3339, time.DateOnly)
	case "repos":
		s.need("names")
		out.Names = s.checkedList("names", nil, checkRepo)
		out.Since = s.checked("since", "", checkTime(time.RFC3339, time.DateOnly))
	default:
		return out
	}
	s.close()
	return out
}

// between reads from and to, of which to may be left open.
func (b *body) between(layouts ...string) (from, to string) {
	from, to = b.checked("from", "", checkTime(layouts...)), b.checked("to", "", checkTime(layouts...))
	b.together("to", "from")
	first, ok := readTime(from, layouts)
	last, ok2 := readTime(to, layouts)
	if ok && ok2 && last.Before(first) {
		b.f.fail(b.where("to"), `"to" is before "from"`, "Nothing lies between them.")
	}
	return from, to
}

func readTime(s string, layouts []string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func checkTime(layouts ...string) func(string) error {
	return func(s string) error {
		if _, ok := readTime(s, layouts); !ok {
			return fmt.Errorf("%q is no time: write it as in %q", s, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).Format(layouts[0]))
		}
		return nil
	}
}

// checkQuery is a check for a search of merged pull requests. When they were merged is asked for
// piece by piece.
func checkQuery(s string) error {
	for word := range strings.FieldsSeq(s) {
		if strings.HasPrefix(strings.ToLower(strings.TrimPrefix(word, "-")), "merged:") {
			return fmt.Errorf(`%q is not for the query: write "from" and "to"`, word)
		}
	}
	return notEmpty(s)
}

func checkRepo(s string) error {
	if !repoName.MatchString(s) {
		return fmt.Errorf("%q is no repository: write owner/name", s)
	}
	return nil
}

func (b *body) quota() *Quota {
	q, ok := b.one("quota")
	out := &Quota{Easy: q.whole("easy", 0, 0), Medium: q.whole("medium", 0, 0), Hard: q.whole("hard", 0, 0)}
	q.close()
	if !ok {
		return nil
	}
	if *out == (Quota{}) {
		q.f.fail(q.header, "Empty quota", "A quota asks for at least one task.")
	}
	return out
}

// permissive are the licences that a task is taken from where the spec does not say.
func permissive() []string {
	return []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense", "Zlib"}
}

func (b *body) filter() Filter {
	f, _ := b.one("filter")
	defer f.close()
	return Filter{
		Languages:        f.checkedList("languages", nil, notEmpty),
		MinStars:         f.whole("min_stars", 20, 0),
		OrgReposOnly:     f.boolean("org_repos_only", true),
		ExcludeBots:      f.boolean("exclude_bots", true),
		Files:            f.minMax("files", Between{1, 50}),
		AddedLines:       f.minMax("added_lines", Between{3, 1000}),
		ExcludeDocsOnly:  f.boolean("exclude_docs_only", true),
		ExcludeTestsOnly: f.boolean("exclude_tests_only", true),
		ExcludeGenerated: f.boolean("exclude_generated", true),
		ExcludeReverts:   f.boolean("exclude_reverts", true),
		ExcludeBackports: f.boolean("exclude_backports", true),
		ExcludeForks:     f.boolean("exclude_forks", true),
		ExcludeArchived:  f.boolean("exclude_archived", true),
		MinDescription:   f.whole("min_description", 80, 0),
		Licenses:         read(f, "licenses", permissive(), toLicenses),
		ExcludeRepos:     f.names("exclude_repos", checkGlob),
		Decontaminate:    f.names("decontaminate", notEmpty),
		PerRepo:          f.whole("per_repo", 0, 0),
	}
}

// minMax reads a range of numbers.
func (b *body) minMax(name string, value Between) Between {
	r, _ := b.one(name)
	out := Between{Min: r.whole("min", value.Min, 0), Max: r.whole("max", value.Max, 0)}
	r.close()
	if out.Min > out.Max {
		r.f.fail(r.header, fmt.Sprintf("Invalid %q", name), "The smallest is larger than the largest.")
	}
	return out
}

func toLicenses(v cty.Value) ([]string, error) {
	if isList(v) {
		return toCheckedList(v, notEmpty)
	}
	s, err := viaText(v, oneOf([]string{"any"}))
	return []string{s}, err
}

// names reads a list of what a check accepts, or the path of the file that holds it: that is
// looked at when it is read.
func (b *body) names(name string, check func(string) error) Names {
	return read(b, name, Names{}, func(v cty.Value) (Names, error) {
		if isList(v) {
			list, err := toCheckedList(v, check)
			return Names{List: list}, err
		}
		path, err := viaText(v, b.f.resolve)
		if err == nil {
			_, err = viaText(v, b.f.fileText)
		}
		return Names{File: path}, err
	})
}

func (b *body) testGeneration() TestGeneration {
	t, _ := b.one("test_generation")
	defer t.close()
	return TestGeneration{
		Image:          t.checked("image", "", checkImage),
		MaxTurns:       t.whole("max_turns", 200, 1),
		CommandTimeout: t.positive("command_timeout", 10*time.Minute),
		MaxTokens:      int64(t.whole("max_tokens", 0, 1)),
		Timeout:        t.positive("timeout", time.Hour),
	}
}

func (b *body) concurrency() Concurrency {
	c, _ := b.one("concurrency")
	defer c.close()
	return Concurrency{
		Archive: c.whole("archive", 8, 1), Enrich: c.whole("enrich", 3, 1),
		Classify: c.whole("classify", 10, 1), Deep: c.whole("deep", 3, 1),
	}
}

func (b *body) output(head Block) Output {
	o, _ := b.one("output")
	defer o.close()
	out := Output{
		Dir:     o.path("dir"),
		Formats: o.checkedList("formats", []string{"sweforge"}, word("sforge", "sweforge", "swebench", "harbor", "parquet")),
	}
	refuse := func(detail string) { o.f.fail(o.where("dir"), `Invalid value for "dir"`, detail) }
	if out.Dir == "" && specName.MatchString(head.Name) {
		var err error
		if out.Dir, err = o.f.resolve(head.Name); err != nil {
			refuse(sentence(err))
		}
	}
	switch watched := o.f.watchedAround(out.Dir); {
	case out.Dir == "":
	case within(head.Path, out.Dir):
		refuse("The spec file itself lies in that folder.")
	case watched != "":
		refuse(fmt.Sprintf("Specs are read from %s: mined tasks may not lie there, because a file of theirs could be taken for a spec.", watched))
	}
	return out
}

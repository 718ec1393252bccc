package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
)

// mineFlags are those of swe-forge's miner.
type mineFlags struct {
	output, prFile, model, image, source string
	difficulty, targets                  string
	languages                            []string
	maxTasks, minStars                   int
	enrich, classify, deep               int
	once                                 bool
}

func (e *env) mine() *cobra.Command {
	var f mineFlags
	cmd := e.shorthand(&cobra.Command{
		Use: "mine [-n NUMBER] [-o DIR]", Short: "Mine tasks of merged pull requests once, as swe-forge does",
		Long: `mine writes the spec that its flags stand for into the file DIR.hcl, shows it, and does what assayd run
does with that file: the tasks come into DIR. The flags are those of swe mine. Edit the file for what no
flag says, and use assayd run from then on.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec := filepath.Clean(f.output) + ".hcl"
			draft, err := f.draft(cmd, spec)
			if err != nil {
				return usage{err}
			}
			return e.runDraft(cmd.Context(), spec, draft)
		},
	})
	cmd.Args = cmd.args(0, "mine takes flags only")
	cmd.refuses(noMineFlags())
	flags := cmd.Flags()
	flags.IntVarP(&f.maxTasks, "max-tasks", "n", 1, "tasks in all")
	flags.BoolVar(&f.once, "once", true, "read the source once")
	flags.StringVar(&f.source, "source", "gharchive", "where pull requests come from")
	flags.IntVar(&f.minStars, "min-stars", 20, "stars of the repository")
	flags.StringSliceVar(&f.languages, "languages", nil, "languages, with commas")
	flags.StringVar(&f.difficulty, "difficulty", "", "easy, medium or hard")
	flags.StringVar(&f.targets, "difficulty-targets", "", "tasks of each, easy:5,hard:2")
	flags.StringVar(&f.prFile, "pr-file", "", "list of decided pull requests, which is read and added to")
	flags.StringVarP(&f.output, "output", "o", "generated-swe", "folder of the tasks; the spec lies beside it")
	flags.StringVarP(&f.model, "model", "m", config.MiningModel, "model that thinks")
	flags.StringVar(&f.image, "mining-image", "", "image in which tests are written (default by language)")
	flags.IntVar(&f.enrich, "concurrency-enrich", 3, "batches of pull requests that are looked up at once")
	flags.IntVar(&f.classify, "concurrency-preclassify", 10, "titles that are looked at at once")
	flags.IntVar(&f.deep, "concurrency-deep", 3, "pull requests that are worked on at once")
	return cmd.Command
}

// noMineFlags are flags of swe mine without an attribute.
func noMineFlags() map[string]string {
	const uploads = `nothing is uploaded; output { formats = ["parquet"] } in the spec writes the table`
	const proved = "each task is proved by running its tests; validation { repeats } in the spec says how often"
	return map[string]string{
		"api-key=":             "no spec holds a key; set the variable OPENROUTER_API_KEY, or api_key of a provider in the settings",
		"hf-repo=":             uploads,
		"hf-token=":            uploads,
		"hf-private":           uploads,
		"validate-docker":      proved,
		"validate-workspace":   proved,
		"cache-db=":            "all that it saw, asked, and got is in the state directory (--state)",
		"backlog-multiplier=":  "candidates wait in the state directory; concurrency { deep } in the spec bounds the work",
		"log-level,l=":         `the variable ASSAYD_LOG, or log { level } in the settings`,
		"concurrency-archive=": "concurrency { archive } in the spec",
	}
}

// draft is the spec that the flags stand for.
func (f mineFlags) draft(cmd *cobra.Command, spec string) (*config.Draft, error) {
	dir, err := filepath.Abs(f.output)
	if base := filepath.Base(dir); err != nil || base == string(filepath.Separator) || filepath.Clean(f.output) == "." || strings.HasSuffix(filepath.Clean(f.output), "..") {
		return nil, fmt.Errorf("--output %s: name a folder of its own, as in generated-swe", f.output)
	}
	if f.source != "gharchive" {
		return nil, fmt.Errorf(`--source %s: this command reads gharchive; write source "search" { query } or source "repos" { names } into a spec, and use: assayd run FILE`, f.source)
	}
	if !f.once {
		return nil, errors.New(`--once=false: write every = "1h" into a spec in place of once, and use: assayd run FILE`)
	}
	given := cmd.Flags().Changed
	d := config.NewDraft("Written by assayd mine. To run it again: assayd run " + filepath.Base(spec))
	m := d.Block("mining", specName(filepath.Base(dir)))
	m.Block("source", "gharchive")
	m.Bool("once", true)
	if given("max-tasks") {
		m.Number("max_tasks", f.maxTasks)
	}
	if f.difficulty != "" {
		m.Texts("difficulty", []string{f.difficulty})
	}
	if given("model") {
		m.Text("model", f.model)
	}
	if f.prFile != "" {
		if err := pathTo(m, "pr_file", spec, f.prFile); err != nil {
			return nil, err
		}
	}
	if f.targets != "" {
		if err := quota(m.Block("quota"), f.targets); err != nil {
			return nil, err
		}
	}
	f.blocks(given, m)
	m.Block("output").Text("dir", filepath.Base(dir))
	return d, nil
}

func (f mineFlags) blocks(given func(string) bool, m *config.DraftBlock) {
	if given("min-stars") || len(f.languages) > 0 {
		filter := m.Block("filter")
		if given("min-stars") {
			filter.Number("min_stars", f.minStars)
		}
		if len(f.languages) > 0 {
			filter.Texts("languages", f.languages)
		}
	}
	if f.image != "" {
		m.Block("test_generation").Text("image", f.image)
	}
	if given("concurrency-enrich") || given("concurrency-preclassify") || given("concurrency-deep") {
		c := m.Block("concurrency")
		for _, one := range []struct {
			flag, name string
			value      int
		}{{"concurrency-enrich", "enrich", f.enrich}, {"concurrency-preclassify", "classify", f.classify}, {"concurrency-deep", "deep", f.deep}} {
			if given(one.flag) {
				c.Number(one.name, one.value)
			}
		}
	}
}

// quota writes easy:5,hard:2 as attributes.
func quota(to *config.DraftBlock, targets string) error {
	for _, one := range strings.Split(targets, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(one), ":")
		n, err := strconv.Atoi(number)
		if err != nil || name != "easy" && name != "medium" && name != "hard" {
			return fmt.Errorf("--difficulty-targets %s: write it as in easy:5,medium:3,hard:2", targets)
		}
		to.Number(name, n)
	}
	return nil
}

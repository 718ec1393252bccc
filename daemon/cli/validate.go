package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/hostinfo"
)

func (e *env) validate() *cobra.Command {
	return &cobra.Command{
		Use: "validate PATH…", Short: "Check spec files and folders of them", Args: some("spec files or folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := e.load(cmd.Context(), args)
			if err != nil {
				return err
			}
			if set.Diagnostics.HasErrors() {
				return e.rejected(set.Diagnostics)
			}
			if e.json {
				return e.printJSON(map[string]any{"valid": true, "diagnostics": append(config.Diagnostics{}, set.Diagnostics...)})
			}
			if err := e.warn(set.Diagnostics); err != nil {
				return err
			}
			b := set.Blocks
			_, err = fmt.Fprintf(e.out, "%s: %s with %s, %s, %s, %s\n", counted(len(set.Files), "valid file"), counted(len(b.Benchmarks), "benchmark"),
				tasksOf(b.Benchmarks), counted(len(b.Agents), "agent"), counted(len(b.Runs), "run"), counted(len(b.Minings), "mining spec"))
			return err
		},
	}
}

// tasksOf counts the tasks of benchmarks, and the files of datasets that gave none.
func tasksOf(benchmarks []config.Benchmark) string {
	tasks, lost := 0, 0
	for i := range benchmarks {
		tasks += len(benchmarks[i].All())
		for _, imported := range benchmarks[i].Imports {
			for _, p := range imported.Problems {
				if !p.Notice && !p.Pending {
					lost++
				}
			}
		}
	}
	text := counted(tasks, "task")
	if lost > 0 {
		text += fmt.Sprintf(" (%d not imported)", lost)
	}
	return text
}

// counted says "1 run" and "2 runs".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// load reads and compiles files without storing anything. What the machine of the engine could
// not do, where there is one, is a warning: the files may be of another.
func (e *env) load(ctx context.Context, paths []string) (*config.Set, error) {
	settings, err := e.settings()
	if err != nil {
		return nil, err
	}
	inputs, err := readSpecs(paths)
	if err != nil {
		return nil, err
	}
	set := compile(inputs, settings)
	if set.Diagnostics.HasErrors() {
		return set, nil
	}
	options := daemon.ConfigOptions(settings)
	options.Host = hostinfo.Machine(ctx, settings)
	for _, d := range config.Load(inputs, nil, options).Diagnostics {
		if d.Severity == config.Error {
			d.Severity = config.Warning
			set.Diagnostics = append(set.Diagnostics, d)
		}
	}
	return set, nil
}

// compile checks files on their own, without a look at what the machine has.
func compile(inputs []config.Input, settings *config.Settings) *config.Set {
	return config.Load(inputs, nil, daemon.ConfigOptions(settings))
}

// readSpecs reads what was named; nothing at all is an error, too.
func readSpecs(paths []string) ([]config.Input, error) {
	for _, path := range paths {
		if filepath.Ext(path) == ".json" && exists(path) {
			return nil, usage{fmt.Errorf("%s is no spec file (*.hcl); a folder of SForge tasks is named in one, in a benchmark: import \"sforge\" { path = %q }",
				path, filepath.Dir(path))}
		}
	}
	inputs, err := config.ReadAll(paths)
	if err != nil {
		return nil, usage{fmt.Errorf("read specs: %w", err)}
	}
	if len(inputs) == 0 {
		return nil, usage{fmt.Errorf("there is no spec file (*.hcl) in %s", strings.Join(paths, " "))}
	}
	return inputs, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/remote"
)

// imported is what assayd import has made, as --json prints it.
type imported struct {
	Benchmark string           `json:"benchmark"`
	Spec      string           `json:"spec"` // file
	Data      string           `json:"data"` // folder
	Source    string           `json:"source"`
	Revision  string           `json:"revision,omitempty"`
	Tasks     []importedTask   `json:"tasks"`
	Runs      []string         `json:"runs,omitempty"`
	Problems  []importedNotice `json:"problems"` // of what is not imported
	Notices   []importedNotice `json:"notices"`  // of what is imported all the same, and loses something
}

type importedTask struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
}

type importedNotice struct {
	Task string `json:"task,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func (e *env) importTasks() *cobra.Command {
	return &cobra.Command{
		Use: "import FORMAT SRC DIR", Short: "Bring tasks of another system here, as a benchmark",
		Long: fmt.Sprintf(`import puts a dataset into DIR, which must be new or empty, and writes a spec file beside it whose benchmark
imports it. Nothing runs the tasks yet: it prints the run block that does. It says task by task what cannot be carried over. A download that was interrupted goes on when the
same is said again. Of SForge's experiment files it makes run blocks.

FORMAT is one of %s. SRC is one of
  a folder, a file (JSON Lines, JSON, parquet), or an archive (tar, tar.gz, tar.zst, zip)
  https://…/x.tar.gz       an archive or a file of a web server; #sha256=SUM after it is checked
  URL, URL@REF             a Git repository (https, ssh, file), at a branch, a tag or a full hash
  hf:OWNER/NAME[/DIR]@REV  a dataset of the hub in the settings (huggingface)
After a URL, #dir=FOLDER names the folder of the tasks where it is not found by itself.

A spec can do the same without a copy: import "FORMAT" { path, url and ref, or dataset and revision }.`, strings.Join(daemon.FormatNames(), ", ")),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usage{errors.New("give a format, a source and a folder, as in: assayd import swebench rows.jsonl tasks")}
			}
			if _, ok := daemon.Formats()[args[0]]; !ok {
				return usage{fmt.Errorf("there is no format %q; there are %s", args[0], strings.Join(daemon.FormatNames(), ", "))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return e.importInto(ctx, args[0], args[1], args[2])
		},
	}
}

func (e *env) importInto(ctx context.Context, format, text, dir string) error {
	src, err := parseSource(text)
	if err != nil {
		return usage{err}
	}
	isNew, err := vacant(dir, begun)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out := imported{
		Benchmark: src.name(), Source: src.String(), Spec: filepath.Join(dir, src.name()+".hcl"), Data: filepath.Join(dir, src.name()),
		Tasks: []importedTask{}, Problems: []importedNotice{}, Notices: []importedNotice{},
	}
	c, err := e.bring(ctx, src, daemon.Formats()[format], dir, out.Data)
	if err != nil {
		if src.path != "" && isNew {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return err
	}
	out.take(format, c)
	if len(out.Tasks) == 0 {
		if err := removeMade(dir, out.Data, isNew); err != nil {
			return err
		}
		if err := e.showImported(out); err != nil {
			return err
		}
		return exit{ExitSpecs}
	}
	if err := out.write(format); err != nil {
		return err
	}
	return e.showImported(out)
}

// vacant wants a folder that is new, or empty but for what a former call began.
func vacant(dir, but string) (isNew bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, nil
	case err != nil:
		return false, usage{err}
	case slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != but }):
		return false, usage{fmt.Errorf("folder %s holds other files: name an empty or a new one", dir)}
	}
	return false, nil
}

func removeMade(dir, data string, isNew bool) error {
	if isNew {
		return os.RemoveAll(dir)
	}
	return os.RemoveAll(data)
}

// take reads what was brought.
func (i *imported) take(format string, c remote.Copy) {
	i.Revision = c.Revision
	found := daemon.ReadFolder(format, i.Data)
	for _, t := range found.Tasks {
		i.Tasks = append(i.Tasks, importedTask{Name: t.Name, Title: t.Title})
	}
	for _, p := range found.Problems {
		i.Problems = append(i.Problems, asNotice(p))
	}
	for _, p := range found.Notices {
		i.Notices = append(i.Notices, asNotice(p))
	}
	for _, text := range c.LeftOut {
		i.Notices = append(i.Notices, importedNotice{Text: "left out: " + text})
	}
}

func asNotice(p task.Problem) importedNotice {
	return importedNotice{Task: p.Task, File: p.File, Line: p.Line, Text: p.Text}
}

// write makes the spec file.
func (i *imported) write(format string) error {
	from := i.Source
	if i.Revision != "" {
		from += " of revision " + i.Revision
	}
	d := config.NewDraft(printable(fmt.Sprintf("Made by assayd import %s, from %s", format, from)))
	d.Block("benchmark", i.Benchmark).Block("import", format).Text("path", filepath.Base(i.Data))
	text, err := d.Text()
	if err != nil {
		return fmt.Errorf("write %s: %w", i.Spec, err)
	}
	if format == "sforge" {
		var b strings.Builder
		i.writeRuns(&b)
		text = append(text, config.Format([]byte(b.String()))...)
	}
	return os.WriteFile(i.Spec, text, 0o644)
}

func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// row is one line of a table of tasks.
func (n importedNotice) row(to io.Writer, state string) {
	what, name := n.Text, n.Task
	switch {
	case n.File != "" && n.Line > 0:
		what = fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Text)
	case n.File != "":
		what = n.File + ": " + n.Text
	}
	if name == "" {
		name = "-"
	}
	fmt.Fprintf(to, "%s\t%s\t%s\n", printable(name), state, printable(what))
}

// grouped are notices with those of one text as one.
func grouped(all []importedNotice) (out []importedNotice) {
	others := map[string]int{}
	for _, n := range all {
		if others[n.Text]++; others[n.Text] == 1 {
			out = append(out, n)
		}
	}
	for i, n := range out {
		if more := others[n.Text] - 1; more > 0 {
			out[i].Text += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return out
}

// showImported prints the tasks, and below them what is lost.
func (e *env) showImported(i imported) error {
	if e.json {
		return e.printJSON(i)
	}
	t := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TASK\tSTATE\tWHAT")
	for _, one := range i.Tasks {
		importedNotice{Task: one.Name, Text: one.Title}.row(t, "imported")
	}
	for _, n := range grouped(i.Notices) {
		n.row(t, "notice")
	}
	for _, p := range i.Problems {
		p.row(t, "left out")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(i.Tasks) == 0 {
		_, err := fmt.Fprintln(e.err, "Nothing of it can be used, so nothing was made.")
		return err
	}
	runs := ""
	if len(i.Runs) > 0 {
		runs = " and " + counted(len(i.Runs), "run")
	}
	fmt.Fprintf(e.err, "%s%s in %s\n", counted(len(i.Tasks), "task"), runs, i.Spec)
	if len(i.Runs) == 0 {
		fmt.Fprintf(e.err, "Nothing runs them yet. To see that they can be solved, add this to that file, and say: assayd run %s\n\nrun %q {\n  tasks = [benchmark.%s]\n  agent \"oracle\" {}\n}\n",
			i.Spec, i.Benchmark, i.Benchmark) // a name is letters
	}
	return nil
}

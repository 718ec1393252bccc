package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/taskcheck"
	"github.com/assayd/assayd/runtime/image"
)

// imageVerbs says what each of the commands on images is for.
var imageVerbs = map[string][2]string{
	image.Build: {"Make the images of tasks", "build makes the work and judge images of tasks that are not there, and the bases that they are made from."},
	image.Pull:  {"Fetch the images of tasks", "pull fetches the images of tasks that are not on this machine, from the registry of the settings\n(build.registry) or from where their names say; it builds nothing."},
	image.Push:  {"Send the images of tasks to the registry", "push sends the images of tasks that were built here to the registry of the settings (build.registry),\nand tells the digest that each has there. The login is the one that docker login stored."},
}

func (e *env) images(verb string) *cobra.Command {
	about := imageVerbs[verb]
	return &cobra.Command{
		Use: verb + " [ADDRESS…|FILE…]", Short: about[0],
		Long: about[1] + `

ADDRESS is a benchmark, benchmark.NAME, or a task, benchmark.NAME["TASK"], of FILE… or else of the specs
in force. Mined tasks are mining.NAME and mining.NAME["TASK"]. Files alone stand for all of theirs. It goes
on after a failure, and tells each. A registry that does not answer is asked once, not for each image.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage{fmt.Errorf("%s: give spec files, or addresses such as benchmark.NAME", verb)}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return e.doImages(ctx, verb, args)
		},
	}
}

func (e *env) doImages(ctx context.Context, verb string, args []string) error {
	work := taskcheck.ImageWork{Verb: verb}
	var files []string
	for _, arg := range args {
		if isAddress(arg) {
			work.Tasks = append(work.Tasks, arg)
		} else {
			files = append(files, arg)
		}
	}
	if err := e.unnamed(files); err != nil {
		return err
	}
	var ask evaluate.Evaluation // it knows how to name files
	c, done, err := e.judging(ctx, &ask, files)
	if err != nil {
		return err
	}
	work.Files = ask.Files
	all, failed := []taskcheck.ImageDone{}, 0
	ds, err := c.Images(ctx, work, func(d taskcheck.ImageDone) {
		all = append(all, d)
		if d.Error != "" {
			failed++
		}
		if !e.json {
			e.showImage(d)
		}
	})
	if err = errors.Join(err, done()); err != nil {
		if api.Correctable(err) {
			return usage{err}
		}
		return err
	}
	if ds.HasErrors() {
		return e.rejected(ds)
	}
	if e.json {
		err = e.printJSON(map[string]any{"images": all, "diagnostics": ds})
	} else {
		err = e.warn(ds)
	}
	if err == nil && failed > 0 {
		fmt.Fprintf(e.err, "%d of %s failed\n", failed, counted(len(all), "image"))
		return exit{ExitFailed}
	}
	return err
}

// unnamed complains of what is neither a file nor an address, and says what may be meant.
func (e *env) unnamed(args []string) error {
	i := slices.IndexFunc(args, func(arg string) bool { return !exists(arg) })
	if i < 0 || strings.ContainsRune(args[i], filepath.Separator) || filepath.Ext(args[i]) == ".hcl" {
		return nil // or a file that is not there
	}
	hint := ""
	inputs, err := config.ReadAll(slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !exists(arg) }))
	settings, serr := e.settings()
	if err == nil && serr == nil {
		var known []string
		for _, b := range compile(inputs, settings).Blocks.Benchmarks {
			known = append(known, b.Name)
		}
		if name := config.Nearest(args[i], known); name != "" {
			hint = fmt.Sprintf("; did you mean benchmark.%s?", name)
		}
	}
	return usage{fmt.Errorf("%s is neither a spec file nor an address such as benchmark.NAME%s", args[i], hint)}
}

// showImage prints a line for an image, and below it what went wrong.
func (e *env) showImage(d taskcheck.ImageDone) {
	name := d.Name
	if name == "" {
		name = d.Task
	}
	fmt.Fprintf(e.out, "%-11s  %-6s  %s  %.1f s", d.Role, d.State, name, d.Seconds)
	if d.Task != name && !strings.Contains(name, "."+d.Role+".") { // an image that is taken as it is
		fmt.Fprintf(e.out, "  for %s", d.Task)
	}
	if d.Digest != "" {
		fmt.Fprintf(e.out, "  %s", d.Digest)
	}
	fmt.Fprintln(e.out)
	if d.Error != "" {
		fmt.Fprintf(e.out, "  %s\n", strings.ReplaceAll(d.Error, "\n", "\n  "))
	}
}

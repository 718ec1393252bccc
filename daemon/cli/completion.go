package cli

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/judge/round"
)

// completionTime bounds how long a shell waits for what a name may be.
const completionTime = 2 * time.Second

// completes says of each command how its arguments complete.
func (e *env) completes(root *cobra.Command) {
	specs := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return []cobra.Completion{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
	}
	by := map[string]cobra.CompletionFunc{
		"run": specs, "validate": specs, "plan": specs, "fmt": specs, "eval": specs,
		"status": e.first(runs), "results": e.first(runs), "report": e.each(runs), "compare": e.each(runs), "logs": e.first(trials), "submissions": e.first(trials), "shell": e.first(trials),
		"rerun": e.first(runsAndTrials), "retry": e.first(runsAndTrials), "cancel": e.first(runsAndTrials), "stop": e.first(trials), "extend": e.first(trials), "note": e.first(runsAndTrials), "tag": e.first(runsAndTrials), "untag": e.first(runsAndTrials), "pause": e.first(targets), "resume": e.first(targets), "throttle": e.first(runs), "export": e.completeExport, "import": e.completeImport,
		"build": e.completeTaskOrFile, "pull": e.completeTaskOrFile, "push": e.completeTaskOrFile,
	}
	for _, cmd := range root.Commands() {
		if f := by[cmd.Name()]; f != nil {
			cmd.ValidArgsFunction = f
		}
		if cmd.Flags().Lookup("round") != nil {
			_ = cmd.RegisterFlagCompletionFunc("round", e.completeRound)
		}
		if cmd.Name() == "submissions" {
			_ = cmd.RegisterFlagCompletionFunc("output", e.completeOutput)
		}
		if cmd.Flags().Lookup("task") != nil {
			_ = cmd.RegisterFlagCompletionFunc("task", e.completeTask) // fails only where there is no such flag
		}
	}
}

// first completes the first argument by what f makes of the status.
func (e *env) first(f func(query.Status) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			e.ask(cmd.Context(), func(ctx context.Context, c *api.Client) {
				if s, err := c.Status(ctx, ""); err == nil {
					names = f(s)
				}
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// each completes every argument by what f makes of the status.
func (e *env) each(f func(query.Status) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return e.first(f)(cmd, nil, text)
	}
}

func runs(s query.Status) (names []cobra.Completion) {
	for _, r := range s.Runs {
		names = append(names, cobra.CompletionWithDesc(r.Address, r.State))
	}
	return names
}

func trials(s query.Status) (names []cobra.Completion) {
	for _, r := range s.Runs {
		for _, t := range r.Trials {
			names = append(names, cobra.CompletionWithDesc(t.ID, t.Task+", "+agentOf(t)+", "+stateOf(t)))
		}
	}
	return names
}

// targets are what can be held.
func targets(s query.Status) []cobra.Completion {
	names := append([]cobra.Completion{cobra.CompletionWithDesc("all", "everything")}, runs(s)...)
	for _, m := range s.Minings {
		names = append(names, cobra.CompletionWithDesc(m.Address, m.State))
	}
	return names
}

func runsAndTrials(s query.Status) []cobra.Completion { return slices.Concat(runs(s), trials(s)) }

func (e *env) completeExport(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return exportFormats(), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return e.completeExported(cmd, args[0], text)
	case 2:
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeExported completes what can be written in a format: runs, tasks, and files of specs.
func (e *env) completeExported(cmd *cobra.Command, format, text string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	_, ofTasks := daemon.Formats()[format]
	if slices.Contains(export.Formats(), format) || format == predictionsFormat {
		names, _ = e.first(runs)(cmd, nil, text)
	}
	if !ofTasks {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	tasks, _ := e.completeTask(cmd, nil, text)
	return append(names, tasks...), cobra.ShellCompDirectiveDefault
}

// completeImport completes a format; source and folder are files to the shell.
func (e *env) completeImport(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return daemon.FormatNames(), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return nil, cobra.ShellCompDirectiveDefault
	case 2:
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeRound completes TRIAL/ROUND: the trials first, then the rounds of that one.
func (e *env) completeRound(cmd *cobra.Command, _ []string, text string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	id, _, named := strings.Cut(text, "/")
	e.ask(cmd.Context(), func(ctx context.Context, c *api.Client) {
		if named {
			names = rounds(ctx, c, id, id+"/")
			return
		}
		if s, err := c.Status(ctx, ""); err == nil {
			for _, name := range trials(s) {
				id, about, _ := strings.Cut(name, "\t")
				names = append(names, cobra.CompletionWithDesc(id+"/", about))
			}
		}
	})
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (e *env) completeOutput(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 1 {
		e.ask(cmd.Context(), func(ctx context.Context, c *api.Client) { names = rounds(ctx, c, args[0], "") })
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// rounds are those of a trial, each with the prefix.
func rounds(ctx context.Context, c *api.Client, id, prefix string) (names []cobra.Completion) {
	t, err := c.Trial(ctx, id)
	if err != nil {
		return nil
	}
	for _, r := range t.Judgings() {
		about := string(r.State)
		if r.State == round.StateJudged && r.Report != nil {
			about = string(r.Report.Status) + ", " + resultOf(r.Report)
		}
		names = append(names, cobra.CompletionWithDesc(prefix+r.Round, about))
	}
	return names
}

// plain is a task's name that needs no quotes, which shells would take for theirs.
var plain = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (e *env) completeTask(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	e.ask(cmd.Context(), func(ctx context.Context, c *api.Client) {
		l, err := c.Tasks(ctx, nil)
		if err != nil {
			return
		}
		for _, t := range l.Tasks {
			address := t.Address
			if plain.MatchString(t.ID) {
				address = wholeOf(t) + "." + t.ID
			}
			names = append(names, cobra.CompletionWithDesc(address, t.Name))
		}
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeTaskOrFile leaves files to the shell where no task begins like that.
func (e *env) completeTaskOrFile(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, _ := e.completeTask(cmd, args, text)
	return names, cobra.ShellCompDirectiveDefault
}

// ask asks the daemon or the state directory. A shell has no use for what goes wrong.
func (e *env) ask(ctx context.Context, f func(context.Context, *api.Client)) {
	silent := *e
	silent.out, silent.err = io.Discard, io.Discard
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	c, done, err := silent.connect(ctx, true)
	if err != nil {
		return
	}
	defer done()
	f(ctx, c)
}

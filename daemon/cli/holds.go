package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/hold"
)

// holdFlags are those of the commands that hold something.
type holdFlags struct {
	until, reason string
	dry           bool
}

func (f *holdFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.until, "until", "", "lift it by itself then: a time as 2026-01-31T18:00:00Z, or a duration from now as 90m")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why; shown wherever the hold is")
	addDry(cmd, &f.dry)
}

func addDry(cmd *cobra.Command, dry *bool) {
	cmd.Flags().BoolVar(dry, "dry-run", false, "say what would change, and change nothing")
}

// untilOf reads when a hold ends by itself; "" = never.
func untilOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	return time.Time{}, usage{fmt.Errorf("--until %q: write a time as %s, or a duration from now as 90m", text, now.Add(time.Hour).UTC().Format(time.RFC3339))}
}

func (e *env) pause() *cobra.Command {
	var f holdFlags
	calls := false
	cmd := &cobra.Command{
		Use: "pause TARGET", Short: "Let nothing new begin", Args: one("all, a run, a mining spec, or provider.NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.hold(cmd, control.Asked{Target: args[0], Calls: calls}, f)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&calls, "calls", false, "also hold requests for models of trials at work; their time runs on")
	return cmd
}

func (e *env) throttle() *cobra.Command {
	var f holdFlags
	cmd := &cobra.Command{
		Use: "throttle RUN N|off", Short: "Let fewer trials of a run be at work at once",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage{fmt.Errorf("give a run, and how many of its trials may be at work at once, or off: %s", usageOf(cmd))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[1] == "off" {
				return e.lift(cmd, args[0], hold.Throttle, f.dry)
			}
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usage{fmt.Errorf("throttle %s to %q: give a whole number from 1 on, or off; to let nothing begin: assayd pause %s", args[0], args[1], args[0])}
			}
			return e.hold(cmd, control.Asked{Target: args[0], Most: n}, f)
		},
	}
	f.add(cmd)
	return cmd
}

func (e *env) resume() *cobra.Command {
	dry := false
	cmd := &cobra.Command{
		Use: "resume TARGET", Short: "Lift a pause", Args: one("one target of a pause"),
		RunE: func(cmd *cobra.Command, args []string) error { return e.lift(cmd, args[0], hold.Pause, dry) },
	}
	addDry(cmd, &dry)
	return cmd
}

// hold has the daemon hold something.
func (e *env) hold(cmd *cobra.Command, a control.Asked, f holdFlags) (err error) {
	if a.Until, err = untilOf(f.until, time.Now()); err != nil {
		return err
	}
	a.Reason, a.DryRun = f.reason, f.dry
	return e.change(cmd, f.dry, a.Calls, func(ctx context.Context, c *api.Client) (control.Changed, error) { return c.Hold(ctx, a) })
}

// lift has the daemon lift a hold.
func (e *env) lift(cmd *cobra.Command, target string, kind hold.Kind, dry bool) error {
	return e.change(cmd, dry, false, func(ctx context.Context, c *api.Client) (control.Changed, error) {
		return c.Lift(ctx, target, kind, dry)
	})
}

// change has the daemon do what a verb says, and shows what it came to; calls is set where requests for models are held, too.
func (e *env) change(cmd *cobra.Command, dry, calls bool, verb func(context.Context, *api.Client) (control.Changed, error)) error {
	c, done, err := e.connect(cmd.Context(), false)
	if err != nil {
		return err
	}
	defer done()
	out, err := verb(cmd.Context(), c)
	if err != nil {
		return err
	}
	return e.showChanged(out, dry, calls)
}

// showChanged says what a verb came to.
func (e *env) showChanged(c control.Changed, dry, calls bool) error {
	if e.json {
		return e.printJSON(c)
	}
	text := c.Says
	if text == "" {
		text = c.Target + " is open"
	}
	if c.State == control.Draining && !dry {
		text += "; the daemon ends when nothing works any more"
	}
	switch {
	case !c.Changed:
		text += " (nothing changed)"
	case dry:
		text += " (not done: --dry-run)"
	case c.State == control.Paused && calls:
		text += "; trials at work get no answer of their models, and their time runs on"
	case c.State == control.Paused:
		text += "; trials at work go on and are judged"
	case c.State == control.Stopping:
		text += "; what it has is judged"
	}
	_, err := fmt.Fprintln(e.out, indented(printable(text)))
	return err
}

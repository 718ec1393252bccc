package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/retention"
)

func (e *env) gc() *cobra.Command {
	var dry bool
	var keep string
	cmd := &cobra.Command{
		Use: "gc", Short: "Remove images, kept containers and stored files that are not needed any more", Args: nothing,
		Long: `gc removes images that were built here for the state directory, the least recently used first. It stops
when those that no trial needs take at most --keep (or build.keep of the settings). Without either, it
removes those that no task of the specs in force needs and that were not used for a day. An image of an
open run, one that a container was made from, and images that assayd did not build stay. Stored archives
and copies of folders that no record names go with them. So do the containers that runs kept for assayd
shell, unless a shell is open in one.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep := retention.Sweep{Dry: dry, Kept: true}
			settings, err := e.settings()
			if err != nil {
				return err
			}
			if settings.Build.Keep > 0 {
				sweep.Keep = &settings.Build.Keep
			}
			if keep != "" {
				size, err := config.ParseSize(keep)
				if keep == "0" { // of whatever unit
					size, err = 0, nil
				}
				if err != nil {
					return usage{fmt.Errorf("--keep %s: %w", keep, err)}
				}
				sweep.Keep = &size
			}
			c, done, err := e.judging(cmd.Context(), &evaluate.Evaluation{}, nil)
			if err != nil {
				return err
			}
			out, err := c.Collect(cmd.Context(), sweep)
			if err = errors.Join(err, done()); err != nil {
				return err
			}
			return e.showSwept(out, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would go")
	cmd.Flags().StringVar(&keep, "keep", "", "how much of images that no trial needs may stay, as 20GiB")
	return cmd
}

func (e *env) showSwept(out retention.Swept, dry bool) error {
	if e.json {
		return e.printJSON(out)
	}
	for _, name := range out.Containers {
		fmt.Fprintf(e.out, "%s  kept container\n", name)
	}
	for _, img := range out.Images {
		fmt.Fprintf(e.out, "%s  %s, last used %s\n", img.Name, inMiB(img.Bytes), img.Used.Local().Format(time.DateTime))
	}
	verb := "freed"
	if dry {
		verb = "would be freed"
	}
	what := counted(len(out.Images), "image") + ", " + counted(out.Blobs, "stored file")
	if n := len(out.Containers); n > 0 {
		what = counted(n, "kept container") + ", " + what
	}
	_, err := fmt.Fprintf(e.out, "%s: %s %s\n", what, inMiB(out.Bytes), verb)
	return err
}

func inMiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
)

// shorthand is a command that stands for a spec file: it writes the file, shows it and runs it.
type shorthand struct {
	*cobra.Command
	noFlag map[string]string // flags of swe-forge that are none here, and what stands in their place
}

// refuses takes flags for which there is no attribute, so that what stands in their place can be told.
// A flag whose name ends in = takes a value.
func (s *shorthand) refuses(flags map[string]string) {
	s.noFlag = map[string]string{}
	for name, why := range flags {
		name, valued := strings.CutSuffix(name, "=")
		name, short, _ := strings.Cut(name, ",")
		s.noFlag[name] = why
		if valued {
			s.Flags().StringP(name, short, "", why)
		} else {
			s.Flags().BoolP(name, short, false, why)
		}
		_ = s.Flags().MarkHidden(name) // fails only where there is no such flag
	}
}

// args wants at most so many arguments, and no flag that is none.
func (s *shorthand) args(most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) (err error) {
		for _, name := range slices.Sorted(maps.Keys(s.noFlag)) {
			if cmd.Flags().Changed(name) {
				err = errors.Join(err, fmt.Errorf("there is no --%s: %s", name, s.noFlag[name]))
			}
		}
		if err == nil && len(args) > most {
			err = fmt.Errorf("%s: %q is one argument too many", want, args[most])
		}
		if err != nil {
			return usage{err}
		}
		return nil
	}
}

// shorthand prepares such a command.
func (e *env) shorthand(cmd *cobra.Command) *shorthand {
	cmd.Flags().BoolVarP(&e.json, "json", "j", false, "print JSON for programs")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown ") {
			err = fmt.Errorf("%w; assayd %s --help has the flags. What else a spec can say is an attribute of it: write it into the file, and use: assayd run FILE", err, cmd.Name())
		}
		return usage{err}
	})
	return &shorthand{Command: cmd}
}

// runDraft writes a spec, shows it, and does what assayd run does with the file.
func (e *env) runDraft(ctx context.Context, path string, d *config.Draft) error {
	text, err := d.Text()
	if err != nil {
		return usage{fmt.Errorf("write %s: %w", path, err)}
	}
	made, err := keep(path, text)
	if err != nil {
		return err
	}
	did := "wrote"
	if !made {
		did = "is there already"
	}
	fmt.Fprintf(e.err, "%s (%s):\n\n%s\n", path, did, text)
	err = e.runFiles(ctx, []string{path})
	var code exit
	if made && (errors.As(err, &code) && code.code == ExitSpecs || errors.As(err, new(usage))) {
		fmt.Fprintf(e.err, "%s is removed again, because nothing was started.\n", path)
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// keep writes a file that is not there yet, and reports whether it did. One that is there has to be
// equal.
func keep(path string, text []byte) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, fmt.Errorf("make the folder of the spec: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		in := config.Read(path)
		if bytes.Equal(in.Text, text) && in.Refused == "" && in.Unknown == "" && !in.Gone {
			return false, nil
		}
		return false, usage{fmt.Errorf("%s is there and says something else: rename or remove it, or name another place with --output; to run it as it is: assayd run %s", path, path)}
	}
	if err != nil {
		return false, fmt.Errorf("write the spec: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("write the spec: %w", errors.Join(err, os.Remove(path)))
	}
	return true, nil
}

// pathTo sets an attribute to a path of the command line as the spec file has to say it.
func pathTo(b *config.DraftBlock, name, spec, path string) error {
	from, err := filepath.Abs(filepath.Dir(spec))
	if err != nil {
		return err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return err
	}
	b.Text(name, rel)
	return nil
}

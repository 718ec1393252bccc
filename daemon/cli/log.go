package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/assayd/assayd/config"
)

// levelTrace is below debug, for what only a developer wants.
const levelTrace = slog.LevelDebug - 4

// logger makes the process's only logger. ASSAYD_LOG overrides the level of the settings
// (config applies it).
func logger(w io.Writer, o config.Log) (*slog.Logger, error) {
	level, ok := map[string]slog.Level{
		"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "debug": slog.LevelDebug, "trace": levelTrace,
	}[o.Level]
	if !ok {
		return nil, fmt.Errorf("log level %q: use error, warn, info, debug or trace", o.Level)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: named}
	format := o.Format
	if format == "" {
		format = "text"
		if os.Getenv("JOURNAL_STREAM") != "" && !terminal(w) {
			format = "journald"
		}
	}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "journald":
		options.ReplaceAttr = withoutTime
		return slog.New(&journald{Handler: slog.NewTextHandler(w, options), w: w}), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}

// named gives our own level its name.
func named(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level == levelTrace {
		return slog.String(slog.LevelKey, "TRACE")
	}
	return a
}

// withoutTime drops what the journal keeps by itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// journald writes the priority that the journal reads from the beginning of a line
// (sd-daemon(3)).
type journald struct {
	slog.Handler
	w      io.Writer
	derive []func(slog.Handler) slog.Handler
}

// Handle implements slog.Handler.
func (j *journald) Handle(ctx context.Context, r slog.Record) error {
	priority := 7
	switch {
	case r.Level >= slog.LevelError:
		priority = 3
	case r.Level >= slog.LevelWarn:
		priority = 4
	case r.Level >= slog.LevelInfo:
		priority = 6
	}
	var line strings.Builder
	fmt.Fprintf(&line, "<%d>", priority)
	var h slog.Handler = slog.NewTextHandler(&line, &slog.HandlerOptions{Level: levelTrace, ReplaceAttr: withoutTime})
	for _, d := range j.derive {
		h = d(h)
	}
	if err := h.Handle(ctx, r); err != nil {
		return err
	}
	_, err := io.WriteString(j.w, line.String())
	return err
}

// WithAttrs implements slog.Handler.
func (j *journald) WithAttrs(attrs []slog.Attr) slog.Handler {
	return j.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (j *journald) WithGroup(name string) slog.Handler {
	return j.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (j *journald) with(f func(slog.Handler) slog.Handler) slog.Handler {
	return &journald{Handler: f(j.Handler), w: j.w, derive: append(j.derive[:len(j.derive):len(j.derive)], f)}
}

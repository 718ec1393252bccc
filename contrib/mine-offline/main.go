package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/klauspost/compress/gzip"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: mine-offline STAND-INS RECORDS COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // Ctrl-C is for the command, which ends what it has begun
	err := mine(ctx, os.Args[1], os.Args[2], os.Args[3:])
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(max(exit.ExitCode(), 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mine-offline:", err)
		os.Exit(1)
	}
}

// mine runs a command while the stand-ins of a folder answer, and then shows what the records of
// mining say about each pull request.
func mine(ctx context.Context, dir, records string, argv []string) error {
	forge, err := os.MkdirTemp("", "mine-offline")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(forge) }() // it is temporary
	pulls, err := readPulls(ctx, dir, forge)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	model := modeltest.Start(listener, script(pulls).answer)
	defer model.Close()
	archive := httptest.NewServer(hours(filepath.Join(dir, "archive")))
	defer archive.Close()
	all := githubtest.World{}
	for _, p := range pulls {
		all.Pulls = append(all.Pulls, p.github)
	}
	hub := httptest.NewServer(githubtest.Offline(all))
	defer hub.Close()

	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "ARCHIVE_URL="+archive.URL, "GITHUB_URL="+hub.URL, "REPOSITORIES_URL=file://"+forge, "MODEL_URL="+model.URL+"/v1")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return show(records)
}

// hours serves the hours of an archive from a folder, in which they are not compressed.
func hours(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, ok := strings.CutSuffix(filepath.Base(q.URL.Path), ".gz")
		text, err := os.ReadFile(filepath.Join(dir, name))
		if !ok || err != nil {
			http.NotFound(w, q)
			return
		}
		z := gzip.NewWriter(w)
		_, _ = z.Write(text) // the reader notices what is missing
		_ = z.Close()
	})
}

// show prints what became of each pull request.
func show(records string) error {
	text, err := os.ReadFile(records)
	if err != nil {
		return fmt.Errorf("read the records of mining: %w", err)
	}
	fmt.Println()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PULL REQUEST\tVERDICT\tSTAGE\tREASON\tDETAIL\t")
	for line := range bytes.Lines(text) {
		var r struct {
			Type, Repo, Verdict, Stage, Reason, Detail, Task string
			Number                                           int
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read a record of mining: %w", err)
		}
		if r.Type != "pr" {
			continue
		}
		if r.Task != "" {
			r.Detail = "task " + r.Task
		}
		ref := github.Ref{Repo: r.Repo, Number: r.Number}
		detail, _, _ := strings.Cut(r.Detail, "\n")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.70s\t\n", ref.String(), r.Verdict, r.Stage, r.Reason, detail)
	}
	return t.Flush()
}

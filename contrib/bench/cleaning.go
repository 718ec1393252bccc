package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/task"
)

// What is cleaned: a tree of sources of a fair size.
const (
	treeFiles = 4000
	fileBytes = 16 << 10
	cleanings = 7
)

// cleaning measures how fast an archive is read, checked and written anew, against tar,
// which lists what is in it. Both unpack the same gzip stream.
func (w *fixture) cleaning(ctx context.Context) (_ []result.Result, err error) {
	name := filepath.Join(w.dir, "tree.tar.gz")
	if err := writeTree(name); err != nil {
		return nil, fmt.Errorf("make an archive: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	m := result.Samples{}
	for range cleanings {
		if err := w.clean(ctx, name, m); err != nil {
			return nil, err
		}
	}
	return []result.Result{result.Compare("MB/s", m["clean"], m["tar"]).
		Called("cleaning", "an archive cleaned and stored", "tar -tzf of it")}, nil
}

func (w *fixture) clean(ctx context.Context, name string, m result.Samples) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	to, err := os.CreateTemp(w.dir, "cleaned")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close(), os.Remove(to.Name())) }()
	begun := time.Now()
	if _, err := sanitize.Clean(f, to, sanitize.Rules{Submit: task.Submit{Paths: []string{"."}}, Spool: w.dir}); err != nil {
		return err
	}
	cleaned := time.Since(begun)
	begun = time.Now()
	if err := exec.CommandContext(ctx, "tar", "-tzf", name).Run(); err != nil {
		return fmt.Errorf("tar -tzf: %w", err)
	}
	m.Add(map[string]float64{"clean": megabytes / cleaned.Seconds(), "tar": megabytes / time.Since(begun).Seconds()})
	return nil
}

// megabytes is how much is in the tree.
const megabytes = treeFiles * fileBytes / 1e6

// writeTree makes an archive whose content packs about as well as program text does.
func writeTree(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip := gzip.NewWriter(f)
	archive := tar.NewWriter(zip)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range treeFiles {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("src/%02d/file%04d.txt", n%64, n), Mode: 0o644, Size: fileBytes}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.WriteString(archive, prose(r, fileBytes)); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

// prose is text of that many bytes out of a few hundred words.
func prose(r *rand.Rand, size int) string {
	text := make([]byte, 0, size+16)
	for len(text) < size {
		text = fmt.Appendf(text, "word%d ", r.IntN(400))
	}
	return string(text[:size])
}

package containertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Importer makes an image named ref out of the tar stream of a root file system. Both
// the Docker engine and the fake do.
type Importer interface {
	Import(ctx context.Context, ref string, rootfs io.Reader, c container.ImageConfig) (container.Image, error)
}

// ProbeImage makes an image from scratch and returns its reference. It holds the static
// program /probe (see Probe), the users root and agent (1000:1000, at home in
// /home/agent), a /tmp for all and a folder /work that is agent's. It needs no registry. The
// image is labelled with the owner; who made up the owner cleans up by it.
func ProbeImage(t testing.TB, e Importer, owner string) string {
	t.Helper()
	program, err := probeProgram()
	if err != nil {
		t.Fatalf("build the probe program: %v", err)
	}
	rootfs, err := probeFiles(program)
	if err != nil {
		t.Fatalf("make the probe image: %v", err)
	}
	ref := "assayd-test/probe:" + Unique()
	_, err = e.Import(t.Context(), ref, bytes.NewReader(rootfs), container.ImageConfig{
		Cmd:    []string{"/probe", "sleep", "1h"},
		Env:    map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin:/"},
		Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatalf("make the probe image: %v", err)
	}
	return ref
}

// Unique returns a short string that no other test has, for names and owner labels.
func Unique() string {
	b := make([]byte, 6)
	rand.Read(b) //nolint:errcheck // never fails
	return hex.EncodeToString(b)
}

// probeProgram builds the program once in the life of a test process.
var probeProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "assayd-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "probe")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out,
		"github.com/assayd/assayd/runtime/container/containertest/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
	}
	return os.ReadFile(out)
})

func probeFiles(program []byte) ([]byte, error) {
	files := []struct {
		name     string
		mode     int64
		uid      int
		contents []byte
	}{
		{"probe", 0o755, 0, program},
		{"etc/passwd", 0o644, 0, []byte("root:x:0:0:root:/:/probe\nagent:x:1000:1000:agent:/home/agent:/probe\n")},
		{"etc/group", 0o644, 0, []byte("root:x:0:\nagent:x:1000:\n")},
		{"home/agent/", 0o755, 1000, nil},
		{"work/", 0o755, 1000, nil},
		{"tmp/", 0o1777, 0, nil},
	}
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, f := range files {
		head := tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.uid,
			Size: int64(len(f.contents)), ModTime: time.Unix(1, 0),
		}
		if strings.HasSuffix(f.name, "/") {
			head.Typeflag = tar.TypeDir
		}
		if err := tw.WriteHeader(&head); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.contents); err != nil {
			return nil, err
		}
	}
	err := tw.Close()
	return buf.Bytes(), err
}

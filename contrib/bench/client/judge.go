package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/assayd/assayd/contrib/bench/result"
)

// Judge is the judge as one trial's agent reaches it.
type Judge struct{ http.Client }

// Opens reports whether the judge answers.
func (d *Judge) Opens(ctx context.Context) bool {
	return d.ask(ctx, http.MethodGet, "history", "", nil, &struct{}{}) == nil
}

// accepted is the answer to a submission.
type accepted struct {
	ID    string `json:"submission_id"`
	Round string `json:"round_id"`
}

// Submit hands in a tree that differs with the number.
func (d *Judge) Submit(ctx context.Context, number int) (a accepted, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("archive", "src.tar.gz")
	if err != nil {
		return a, err
	}
	if err := errors.Join(pack(part, "src/number", fmt.Sprint(number)), form.Close()); err != nil {
		return a, err
	}
	return a, d.ask(ctx, http.MethodPost, "submit", form.FormDataContentType(), &body, &a)
}

// Refused hands in what is no archive.
func (d *Judge) Refused(ctx context.Context) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("archive", "src.tar.gz")
	if err != nil {
		return err
	}
	_, err = io.WriteString(part, "no archive")
	if err := errors.Join(err, form.Close()); err != nil {
		return err
	}
	err = d.ask(ctx, http.MethodPost, "submit", form.FormDataContentType(), &body, &struct{}{})
	if err == nil {
		return errors.New("what is no archive was accepted")
	}
	if code, ok := errors.AsType[StatusError](err); !ok || code < 400 || code >= 500 {
		return fmt.Errorf("what is no archive was not refused: %w", err)
	}
	return nil
}

// StatusError is what a request was answered with in place of what it asked for.
type StatusError int

// Error implements error.
func (e StatusError) Error() string { return strconv.Itoa(int(e)) + " " + http.StatusText(int(e)) }

// pack writes an archive of one file.
func pack(w io.Writer, name, content string) error {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))})
	if err != nil {
		return err
	}
	_, err = io.WriteString(archive, content)
	return errors.Join(err, archive.Close(), zip.Close())
}

// Verdict waits for the verdict as an agent does. One that is there already comes at once.
func (d *Judge) Verdict(ctx context.Context, id string) error {
	var result struct {
		Status string
		Report struct{ Valid bool }
	}
	if err := d.ask(ctx, http.MethodGet, "result/"+id+"?wait=30s", "", nil, &result); err != nil {
		return err
	}
	if result.Status != "completed" || !result.Report.Valid {
		return fmt.Errorf("submission %s is %+v, not judged well", id, result)
	}
	return nil
}

func (d *Judge) ask(ctx context.Context, method, path, contentType string, body io.Reader, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, "http://judge/api/v1/"+path, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		q.Header.Set("Content-Type", contentType)
	}
	a, err := d.Do(q)
	if err != nil {
		return err
	}
	defer func() { _ = a.Body.Close() }() // only read
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %w", method, path, StatusError(a.StatusCode))
	}
	return json.NewDecoder(a.Body).Decode(answer)
}

// Timed measures a call in milliseconds.
func Timed(call func() error) (float64, error) {
	begun := time.Now()
	err := call()
	return result.Milliseconds(time.Since(begun)), err
}

// OverSocket is a client of what listens on a Unix socket.
func OverSocket(path string) http.Client {
	return http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}
}

// Judged submits a tree and waits for its verdict.
func (d *Judge) Judged(ctx context.Context, number int) error {
	a, err := d.Submit(ctx, number)
	if err != nil {
		return err
	}
	return d.Verdict(ctx, a.ID)
}

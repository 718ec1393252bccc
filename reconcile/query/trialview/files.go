package trialview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/agentlog"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// FileInfo is a file of a trial that can be read as a whole.
type FileInfo struct {
	N     int    `json:"n"`               // its place among the files of the trial; places have gaps
	Name  string `json:"name"`            // unique in the trial
	Kind  string `json:"kind"`            // of FileKinds
	Try   int    `json:"try"`             // of the trial
	Round string `json:"round,omitempty"` // absent = it is of the try
	Bytes int64  `json:"bytes"`           // so far, where it still grows
	// SHA256 is its digest; absent = it may still grow, or nobody has computed it.
	SHA256 string `json:"sha256,omitempty"`
	// Gone says that it is not kept any more: gc has removed it.
	Gone bool `json:"gone,omitempty"`
}

// Kinds of files.
const (
	FilePrompt     = "prompt"     // what the agent was told
	FileLog        = "log"        // what the agent printed
	FileTranscript = "transcript" // what passed between the agent and its models
	FileTrajectory = "trajectory" // the same as an ATIF document
	FilePatch      = "patch"      // what the agent handed in, in single mode
	FileArchive    = "archive"    // the tree that was judged in a round
	FileOutput     = "output"     // what the judge command printed
	FileStage      = "stage"      // what the run stage of a judge handed on
)

// FileKinds are all of them.
func FileKinds() []string { return append(append([]string{}, tryKinds...), roundKinds...) }

var (
	tryKinds   = []string{FilePrompt, FileLog, FileTranscript, FileTrajectory, FilePatch}
	roundKinds = []string{FileArchive, FileOutput, FileStage}
)

// endings are what names of files end in.
var endings = map[string]string{
	FilePrompt: ".md", FileLog: ".txt", FileTranscript: ".jsonl", FileTrajectory: ".json", FilePatch: ".diff",
	FileArchive: ".tar", FileOutput: ".txt", FileStage: ".tar",
}

// Places of files: those of tries come first, then those of rounds.
const (
	placesOfTry   = 8
	placesOfRound = 4
	firstRound    = 1 << 24
)

// Files returns at most limit files of a trial behind the place after: those of its tries, then those of its
// rounds, in the order in which they were made. A trial that is not known is an ErrUnknown.
func (r *Trials) Files(ctx context.Context, id string, after, limit int) (infos []FileInfo, err error) {
	if err := request.NeedsContent(ctx, "files of trials"); err != nil {
		return nil, err
	}
	var s trial.State
	var subs []round.Submission
	var places []int
	if err := r.store.View(ctx, func(tx *store.Tx) (err error) {
		if s, err = history.KnownTrial(tx, id); err != nil {
			return err
		}
		before := max(0, after-firstRound)/placesOfRound - 1 // the round that after is of has more of them
		rows, err := tx.SubmissionsAfter(id, max(0, before), limit+1)
		for _, row := range rows {
			sub, err := ledger.Decode(row)
			if err != nil {
				return err
			}
			subs, places = append(subs, sub), append(places, firstRound+row.N*placesOfRound)
		}
		return err
	}); err != nil {
		return nil, err
	}
	add := func(f FileInfo, ok bool, err error) error {
		if err == nil && ok && f.N > after && len(infos) < limit {
			infos = append(infos, f)
		}
		return err
	}
	for try := max(1, after/placesOfTry); after < firstRound && try <= s.Try; try++ {
		for i, kind := range tryKinds {
			f, ok, err := r.fileOfTry(s, try, kind)
			f.N = try*placesOfTry + i
			if err := add(f, ok, err); err != nil {
				return nil, err
			}
		}
	}
	for n, sub := range subs {
		for i, kind := range roundKinds {
			if len(infos) == limit {
				return infos, nil
			}
			f, ok, err := r.fileOfRound(sub, kind)
			f.N = places[n] + i
			if err := add(f, ok, err); err != nil {
				return nil, err
			}
		}
	}
	return infos, nil
}

// tryName is the name of a file of a try.
func tryName(try int, kind string) string {
	return fmt.Sprintf("try-%d.%s%s", try, kind, endings[kind])
}

// fileOfTry describes a file of a try; not ok = there is none.
func (r *Trials) fileOfTry(s trial.State, try int, kind string) (f FileInfo, ok bool, err error) {
	f = FileInfo{Name: tryName(try, kind), Kind: kind, Try: try}
	switch kind {
	case FilePrompt:
		f.Bytes = int64(len(s.Prompt()))
		return f, try == s.Try, nil // what an earlier one was told is not kept
	case FileLog:
		log, end, err := agentlog.Read(trydir.Of(r.stateDir, s.ID, try).Log(), 0)
		if errors.Is(err, fs.ErrNotExist) {
			return f, false, nil
		}
		if err == nil {
			err = log.Close()
		}
		f.Bytes = end
		return f, true, err
	}
	info, err := os.Stat(r.pathOfTry(s.ID, try, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("look for %s of %s: %w", f.Name, s.ID, err)
	}
	f.Bytes = info.Size()
	if done := s.Result; done != nil && try == s.Try {
		record := map[string]*trial.FileRecord{FileTranscript: done.Transcript, FileTrajectory: done.Trajectory, FilePatch: done.Patch}[kind]
		if record != nil {
			f.SHA256 = record.SHA256
		}
	}
	return f, true, nil
}

// pathOfTry is where a file of a try lies that is one file.
func (r *Trials) pathOfTry(id string, try int, kind string) string {
	dir := trydir.Of(r.stateDir, id, try)
	switch kind {
	case FileTranscript:
		return dir.Transcript()
	case FileTrajectory:
		return dir.Trajectory()
	}
	return dir.Patch()
}

// blobOf is the digest of a file of a round; "" = there is none.
func blobOf(sub round.Submission, kind string) string {
	switch {
	case kind == FileArchive:
		return sub.Archive
	case sub.Report == nil:
		return ""
	case kind == FileOutput:
		return sub.Report.Output
	}
	return sub.Report.Outputs
}

// fileOfRound describes a file of a round; not ok = there is none.
func (r *Trials) fileOfRound(sub round.Submission, kind string) (f FileInfo, ok bool, err error) {
	f = FileInfo{Name: sub.Round + "." + kind + endings[kind], Kind: kind, Try: sub.Try, Round: sub.Round, SHA256: blobOf(sub, kind)}
	if f.SHA256 == "" {
		return f, false, nil
	}
	if kind == FileArchive {
		f.Bytes = sub.Bytes
	}
	blob, err := r.openBlob(f.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		f.Gone = true
		return f, true, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("look for %s of %s: %w", f.Name, sub.Trial, err)
	}
	if at, seeks := blob.(io.Seeker); seeks {
		f.Bytes, err = at.Seek(0, io.SeekEnd)
	}
	if err = errors.Join(err, blob.Close()); err != nil {
		err = fmt.Errorf("look for %s of %s: %w", f.Name, sub.Trial, err)
	}
	return f, true, err
}

// OpenFile opens a file of a trial by its name; the caller closes it. One that is not known is an ErrUnknown, one that is
// gone a *Conflict.
func (r *Trials) OpenFile(ctx context.Context, id, name string) (f FileInfo, file io.ReadCloser, err error) {
	if err := request.NeedsContent(ctx, "files of trials"); err != nil {
		return f, nil, err
	}
	s, err := history.ReadTrial(ctx, r.store, id)
	if err != nil {
		return f, nil, err
	}
	of, kind, ok := parseFileName(name)
	if !ok {
		return f, nil, noFile(id, name)
	}
	if try, err := strconv.Atoi(strings.TrimPrefix(of, "try-")); err == nil && tryName(try, kind) == name {
		return r.openFileOfTry(s, try, kind)
	}
	if !slices.Contains(roundKinds, kind) {
		return f, nil, noFile(id, name)
	}
	var sub round.Submission
	if err := r.store.View(ctx, func(tx *store.Tx) (err error) {
		_, sub, err = history.KnownRound(tx, id, of)
		return err
	}); err != nil {
		return f, nil, err
	}
	if f, ok, err = r.fileOfRound(sub, kind); err != nil {
		return f, nil, err
	}
	switch {
	case !ok || f.Name != name:
		return f, nil, noFile(id, name)
	case f.Gone:
		return f, nil, request.Conflictf("%s of %s is not kept any more: gc has removed it", name, id)
	}
	file, err = r.openBlob(f.SHA256)
	return f, file, err
}

func noFile(id, name string) error {
	return history.Unknown("%s has no file %q; GET /v1/trials/%s/files lists those that it has", id, name, id)
}

// parseFileName splits the name of a file into what it is of, a try or a round, and its kind.
func parseFileName(name string) (of, kind string, ok bool) {
	for _, kind := range FileKinds() {
		if of, ok := strings.CutSuffix(name, "."+kind+endings[kind]); ok {
			return of, kind, true
		}
	}
	return "", "", false
}

func (r *Trials) openFileOfTry(s trial.State, try int, kind string) (f FileInfo, file io.ReadCloser, err error) {
	f, ok, err := r.fileOfTry(s, try, kind)
	if err != nil {
		return f, nil, err
	}
	if !ok || try < 1 || try > s.Try {
		return f, nil, noFile(s.ID, f.Name)
	}
	switch kind {
	case FilePrompt:
		return f, io.NopCloser(strings.NewReader(s.Prompt())), nil
	case FileLog:
		file, f.Bytes, err = agentlog.Read(trydir.Of(r.stateDir, s.ID, try).Log(), 0)
	default:
		file, err = os.Open(r.pathOfTry(s.ID, try, kind))
	}
	if err != nil {
		err = fmt.Errorf("open %s of %s: %w", f.Name, s.ID, err)
	}
	return f, file, err
}

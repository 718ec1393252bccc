package mining

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/output"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/statement"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
	"github.com/assayd/assayd/runtime/task/runner"
)

// workdir is where the repository of a mined task lies.
const workdir = "/workspace"

// repository is the pull request under the present name of its repository.
func (k *pipeline) repository() github.Pull {
	p := k.pull.Pull
	p.Ref = present(p)
	return p
}

func (k *pipeline) image() string {
	return cmp.Or(k.m.o.Spec.TestGeneration.Image, toolchain(k.pull.Repository.Language))
}

// material is what a statement is written from, with these hidden tests.
func (k *pipeline) material(tests []byte) statement.Material {
	return statement.Material{
		Repo: k.pull.Repo, Number: k.pull.Number, Title: k.pull.Title, Body: k.pull.Body, Issues: k.pull.Issues,
		SourcePatch: k.change.Source, TestPatch: tests, Commits: []string{k.pull.MergeSHA, k.pull.HeadSHA, k.pull.BaseSHA},
	}
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// taskName is the name of the task, as a folder: owner-name-12.
func taskName(ref github.Ref) string {
	return strings.TrimLeft(notInNames.ReplaceAllString(fmt.Sprintf("%s-%d", ref.Repo, ref.Number), "-"), "-._")
}

// compose makes the task of a proposal, with these hidden tests.
func (k *pipeline) compose(p workbench.Proposal, tests []byte) task.Task {
	touched, _ := runner.Files(tests) // tests that no base could take are told by the proof
	t := task.Task{
		Benchmark: k.m.o.Spec.Name, Name: k.called, Title: k.pull.Title, Workdir: workdir,
		Instruction: k.text, Network: task.Network{Mode: "none"}, Submit: folder.Submit("."),
		Image: k.image(), Repo: &task.Repo{URL: k.m.o.Forge + "/" + k.repository().Repo, Commit: k.change.Base},
		Work: folder.Limits(), Solution: &task.Solution{Patch: k.change.Source}, Metadata: map[string]string{}, Untrusted: true,
		Judge: task.Judge{
			Part: folder.Limits(), Patch: tests, Command: task.Command{Shell: p.Test}, Parser: p.Parser,
			Timeout: k.m.o.Spec.TestGeneration.CommandTimeout, Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
		},
	}
	t.Work.Setup = p.Setup
	for _, name := range touched {
		t.Submit.Exclude = append(t.Submit.Exclude, runner.Pattern(name))
	}
	return t
}

// tests are the hidden tests of a proposal: those of the pull request, and what the model has
// written, as a patch. wrong is for the model.
func (k *pipeline) tests(ctx context.Context, p workbench.Proposal) (tests []byte, wrong string, err error) {
	tests = bytes.Clone(k.change.Tests)
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		began := time.Now()
		_, err := k.m.o.Repos.File(ctx, k.repository().Repo, k.change.Base, name)
		k.m.spent.since(onGit, began)
		switch {
		case err == nil:
			return nil, fmt.Sprintf("%s is in the repository already: write tests into new files", name), nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, "", err
		}
		tests = append(tests, newFile(name, p.Files[name])...)
	}
	if len(tests) == 0 {
		return nil, "there are no tests: name the files that you have written in files", nil
	}
	return tests, "", nil
}

// newFile is a patch in Git's format that makes a file of text.
func newFile(name, content string) []byte {
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "diff --git %s %s\nnew file mode 100644\n", quoted("a/"+name), quoted("b/"+name))
	if len(lines) == 0 {
		return b.Bytes()
	}
	fmt.Fprintf(&b, "--- /dev/null\n+++ %s\n@@ -0,0 +1,%d @@\n", quoted("b/"+name), len(lines))
	for _, line := range lines {
		b.WriteString("+" + line)
	}
	if !strings.HasSuffix(content, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
	return b.Bytes()
}

// quoted is a name as Git writes it in a patch: in quotes where it would not be read otherwise.
func quoted(name string) string {
	plain := !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == '"' || c == '\\' || c >= 0x7f })
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// enoughOf rejects a task that would be one too many of its class.
func enoughOf(class string) error {
	return reason.Reject(ReasonEnough, "the spec has all %s tasks that it wants", class)
}

// export makes sure of the place and writes the task in the formats of the spec.
func (k *pipeline) export(ctx context.Context) error {
	switch ok, err := k.held.use(ctx, k.class.Class); {
	case err != nil:
		return err
	case !ok:
		return enoughOf(k.class.Class)
	}
	work, err := k.m.o.Images.Work(ctx, k.task, k.m.labels())
	if err != nil {
		return err
	}
	base, err := k.m.o.Images.Resolve(ctx, work.Parent, k.task.Platform)
	if err != nil {
		return err
	}
	usage, err := k.m.paid(ctx, k.pull.Ref)
	if err != nil {
		return err
	}
	r := k.repository()
	if err := k.m.o.Spec.Inside(); err != nil {
		return &unwritten{err}
	}
	out := k.m.o.Spec.Output
	files, err := k.testFiles(ctx)
	if err != nil {
		return err
	}
	w := written{Task: k.task.Name, URL: fmt.Sprintf("%s/%s/pull/%d", k.m.o.Forge, r.Repo, r.Number), Dir: out.Dir, Formats: out.Formats}
	if w.At, err = k.m.writes(ctx, k.pull.Ref, w); err != nil {
		return err
	}
	mined := output.Mined{Task: k.task, Provenance: output.Provenance{
		Repo: r.Repo, Number: r.Number, URL: w.URL, License: r.Repository.License,
		Title: r.Title, Body: r.Body, AddedLines: r.Added, RemovedLines: r.Removed, ChangedFiles: r.ChangedFiles, TestFiles: files,
		Base: k.change.Base, Merge: k.change.Merge, MergedAt: r.MergedAt, Language: strings.ToLower(r.Repository.Language),
		Difficulty: k.class.Class, DifficultyScore: k.class.Score, QualityScore: k.quality.Score,
		Image: work.Ref, ImageDigest: work.ID,
		BaseImage: k.task.Image, BaseImageDigest: base.ID, BaseRegistryDigest: registryDigest(k.task.Image, base.Digests),
		Model: k.m.o.Spec.Model, InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens, CostUSD: usage.CostUSD,
		MinedAt: w.At, Generated: k.generated,
		Hunks: k.proof.Hunks, Covered: k.proof.Covered, Stopping: k.proof.Stopping, NeverRan: output.TestsLeftOut(k.proof.NeverRan),
		Flaky: output.TestsLeftOut(k.proof.Flaky), Textual: output.TestsLeftOut(k.proof.Textual),
	}}
	if err := output.Write(ctx, out.Dir, out.Formats, mined, k.m.o.Trees); err != nil {
		if refused, ok := errors.AsType[*output.Refused](err); ok {
			return reason.Reject(reasonFormat, "%v", refused)
		}
		return &unwritten{err}
	}
	fault.Reached(fault.TaskWritten)
	mined.Provenance.TestFiles = nil // judge.patch makes them: they would be in each look at the task
	k.decision.Mined = &Mined{Task: mined.Described(), Dir: out.Dir, Language: mined.Provenance.Language}
	return nil
}

// registryDigest is the digest of an image in the registry that its name says, else in one that it
// came from: mirrors keep digests. It is "" where it came from none.
func registryDigest(name string, digests []string) string {
	if _, pinned, ok := strings.Cut(name, "@"); ok {
		return pinned
	}
	found := ""
	for _, d := range digests {
		repository, digest, _ := strings.Cut(d, "@")
		if rest, ok := strings.CutPrefix(name, repository); ok && (rest == "" || rest[0] == ':') {
			return digest
		}
		found = cmp.Or(found, digest)
	}
	return found
}

// labels say whose the images are that are built for the spec.
func (m *Miner) labels() map[string]string {
	return map[string]string{"assayd.spec": m.o.Spec.Address()}
}

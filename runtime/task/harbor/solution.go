package harbor

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// maxSolution bounds the files of a solution, which become one script.
const maxSolution = 16 << 20

// solution makes one script of solve.sh and the files beside it, which it finds at /solution.
func (r *reader) solution() {
	dir := path.Join(r.at, "solution")
	if !r.Folder(dir) || !r.Has(path.Join(dir, "solve.sh")) {
		r.Notice("has no solution, so nothing shows that it can be solved")
		return
	}
	names, err := r.Files(dir)
	if err != nil {
		r.Problem("%v", err)
		return
	}
	var b strings.Builder
	env := r.env("solution.env", r.config.Solution.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s\n", name, dockerfile.Quote(env[name]))
	}
	b.WriteString("mkdir -p /solution || exit 1\n")
	for _, name := range names {
		content, err := r.Root.Read(name, maxSolution-int64(min(b.Len(), maxSolution)))
		if err != nil {
			r.In(name, func(f *folder.Findings) { f.Problem("as a part of the solution, it %v", err) })
			return
		}
		to := path.Join("/solution", strings.TrimPrefix(name, dir+"/"))
		fmt.Fprintf(&b, "mkdir -p %s && base64 -d >%s <<'END' || exit 1\n%sEND\n", dockerfile.Quote(path.Dir(to)), dockerfile.Quote(to), lines(content))
	}
	b.WriteString("exec bash /solution/solve.sh\n")
	r.t.Solution = &task.Solution{Script: b.String()}
}

// lines is a text of base64 with ends of lines.
func lines(content []byte) string {
	var b strings.Builder
	text := base64.StdEncoding.EncodeToString(content)
	for part := range slices.Chunk([]byte(text), 76) {
		b.Write(part)
		b.WriteByte('\n')
	}
	return b.String()
}

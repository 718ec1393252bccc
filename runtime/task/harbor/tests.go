package harbor

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// testsAside is where tests lie in the working folder of the judge image until they are moved.
const testsAside = ".assayd-tests"

// testCommand is how tests are run; what they leave in /logs/verifier is the verdict.
const testCommand = "bash /tests/test.sh"

// tests fills in the judge.
func (r *reader) tests() {
	v := r.config.Verifier
	j := &r.t.Judge
	*j = task.Judge{
		Command: task.Command{Shell: testCommand}, Timeout: 10 * time.Minute, Parser: "reward",
		Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
	}
	if n := r.number("verifier.timeout_sec", v.Timeout); n > 0 && n < 31*24*3600 {
		j.Timeout = time.Duration(n * float64(time.Second))
	}
	r.t.Submit = folder.Submit(".")
	own := v.Environment
	if own == nil {
		own = &r.config.Environment
	}
	r.limits(&j.Part, *own, "verifier.environment")
	if v.Environment == nil {
		r.composed(&j.Part)
	}
	r.Notices = slices.Compact(r.Notices)
	r.Problems = slices.CompactFunc(r.Problems, func(a, b task.Problem) bool { return strings.TrimPrefix(b.Text, "verifier.") == a.Text })
	if env := r.env("verifier.env", v.Env); env != nil {
		j.Env = maps.Clone(j.Env)
		if j.Env == nil {
			j.Env = map[string]string{}
		}
		maps.Copy(j.Env, env)
	}
	if len(v.Collect) > 0 {
		r.Problem("runs commands in the container of the agent before it judges (verifier.collect)")
	}
	r.judgeNetwork()
	if v.Mode == "separate" || v.Environment != nil {
		r.separate()
	} else {
		r.shared()
	}
	image := r.t.Work.Dockerfile
	if j.Image+j.Dockerfile != "" {
		image = j.Dockerfile
	}
	r.judgedBy(image)
}

// judgeNetwork: most tests of this format install what they need while they judge.
func (r *reader) judgeNetwork() {
	v, e := r.config.Verifier, r.config.Environment
	mode, hosts := v.NetworkMode, v.Hosts
	from := func(e environment) {
		if mode != "" {
			return
		}
		if mode, hosts = e.NetworkMode, e.Hosts; mode == "" && e.Internet != nil && !*e.Internet {
			mode = "no-network"
		}
	}
	if v.Environment != nil {
		from(*v.Environment)
	} else if r.service.Offline {
		mode = "no-network"
	}
	from(e)
	switch {
	case mode == "" || mode == "public":
		r.t.Judge.Network = true
		r.Notice("is judged with an open network, because it does not say otherwise (network_mode of [verifier]); submitted code can use it")
	case mode == "allowlist" && len(hosts) > 0:
		r.Notice("is judged without a network, where it allows %s: a judge here has all of it or none", strings.Join(hosts, ", "))
	case mode != "allowlist" && mode != "no-network":
		r.Problem("the network mode %q of the verifier is not known", mode)
	}
}

// judgedBy settles who runs the tests: whom the verifier names, else whom its image does. The
// agent's user is the agent's alone.
func (r *reader) judgedBy(image string) {
	j := &r.t.Judge
	if j.User = user(r.config.Verifier.User); j.User == "" && j.Image+j.Dockerfile == "" {
		j.User = r.service.User
	}
	if j.User != "" || r.t.Work.User == "" {
		return
	}
	if j.User = dockerfile.User(image); j.User == "" {
		j.User = "root"
		r.Notice("is judged as root: the agent's user is another, and nothing says whose its image is")
	}
}

// shared judges in the image of the agent with tests/ at /tests.
func (r *reader) shared() {
	tests := path.Join(r.at, "tests")
	if !r.script(tests) {
		return
	}
	tree, err := r.Gather([]folder.Piece{{From: tests, To: testsAside}}, r.o.Trees)
	if err != nil {
		r.Problem("%v", err)
		return
	}
	r.t.Judge.Context = tree
	r.t.Judge.Setup = moving()
	r.Elsewhere(r.Root, r.t.Workdir, tests)
}

func (r *reader) script(tests string) bool {
	if r.Has(path.Join(tests, "test.sh")) && r.Folder(tests) {
		return true
	}
	r.In(tests, func(f *folder.Findings) { f.Problem("has no test.sh") })
	return false
}

// separate judges in an image of its own, which gets what is named as artifacts.
func (r *reader) separate() {
	tests := path.Join(r.at, "tests")
	j := &r.t.Judge
	file := path.Join(tests, "Dockerfile")
	text, err := r.Root.Read(file, maxConfig)
	switch own := r.config.Verifier.Environment; {
	case r.Has(path.Join(tests, "docker-compose.yaml")):
		r.Problem("judges in containers of a compose file")
	case own != nil && own.Image != "":
		j.Image = own.Image
	case err == nil:
		r.In(file, func(f *folder.Findings) { dockerfile.Tell(string(text), f) })
		j.Dockerfile, j.Context = string(text), r.keep(tests)
	default:
		r.shared() // in a fresh copy of the agent's, as always here
	}
	r.artifacts()
}

// artifacts are all that a judge of its own gets to see.
func (r *reader) artifacts() {
	r.t.Submit.Paths = nil
	for _, a := range r.config.Artifacts {
		source, more := "", map[string]any{}
		switch a := a.(type) {
		case string:
			source = a
		case map[string]any:
			source, _ = a["source"].(string)
			more = a
		}
		if s, ok := more["service"]; ok && s != "main" {
			r.Problem("an artifact comes from the side car %v", s)
		}
		if d, ok := more["destination"].(string); ok && d != "" && path.Clean(d) != path.Clean(source) {
			r.Problem("the artifact %s goes to another place, %s", source, d)
		}
		if list, ok := more["exclude"].([]any); ok {
			for _, e := range list {
				r.t.Submit.Exclude = append(r.t.Submit.Exclude, fmt.Sprint(e))
			}
		}
		if !path.IsAbs(source) {
			source = path.Join(r.t.Workdir, source)
		}
		name, err := filepath.Rel(r.t.Workdir, path.Clean(source))
		if err != nil || !filepath.IsLocal(name) {
			r.Problem("the artifact %s is not below the working folder %s, so it cannot be submitted", source, r.t.Workdir)
			continue
		}
		r.t.Submit.Paths = append(r.t.Submit.Paths, name)
	}
	if len(r.t.Submit.Paths) == 0 {
		r.Problem("names no artifacts below the working folder, so its judge would see none of the work")
	}
}

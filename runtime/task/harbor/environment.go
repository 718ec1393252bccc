package harbor

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// limits fills in what a part may use, and its environment.
func (r *reader) limits(p *task.Part, e environment, where string) {
	ours := folder.Limits()
	p.CPUs, p.Memory, p.PIDs, p.Disk = ours.CPUs, ours.Memory, ours.PIDs, ours.Disk
	if n := r.number(where+".cpus", e.CPUs); n > 0 {
		p.CPUs = n
	}
	for _, size := range []struct {
		name   string
		mb     number
		legacy string
		into   *int64
	}{{"memory", e.MemoryMB, e.Memory, &p.Memory}, {"storage", e.StorageMB, e.Storage, &p.Disk}} {
		if n := r.number(where+"."+size.name+"_mb", size.mb); n > 0 {
			*size.into = int64(n * (1 << 20))
		} else if size.legacy != "" {
			n, ok := sizeOf(size.legacy)
			if !ok {
				r.Problem("%s.%s is %q, which is no size", where, size.name, size.legacy)
			}
			*size.into = n
		}
	}
	p.Env = r.env(where+".env", e.Env)
	switch {
	case r.number(where+".gpus", e.GPUs) > 0 || len(e.TPU) > 0:
		r.Problem("%s needs an accelerator (gpus or tpu)", where)
	case e.OS != "" && e.OS != "linux":
		r.Problem("%s.os is %q; containers here are linux", where, e.OS)
	case len(e.MCPServers) > 0:
		r.Problem("%s has MCP servers, which agents are not given here", where)
	case len(e.Health) > 0:
		r.Problem("%s waits for a service that the image starts (healthcheck); no entry point is run here", where)
	}
	if e.SkillsDir != "" {
		r.Notice("%s.skills_dir: agents are not told of it", where)
	}
}

// number reads one that is not below zero.
func (r *reader) number(where string, n number) float64 {
	v, err := value(n)
	if err == nil && v < 0 {
		err = fmt.Errorf("is %v, below zero", n)
	}
	if err != nil {
		r.Problem("%s %v", where, err)
		return 0
	}
	return v
}

var size = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([KMGT]?)i?B?$`)

// sizeOf reads a size as the first schema had them: 2G, 512M.
func sizeOf(text string) (int64, bool) {
	m := size.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(text)))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	n *= math.Pow(1024, float64(strings.Index("KMGT", m[2])+1))
	if m[2] == "" {
		n /= 1024
	}
	return int64(n), err == nil && n >= 1 && n < 1<<60
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// env puts defaults in. Variables of the host are not read: what runs here must not depend
// on who started it.
func (r *reader) env(where string, env map[string]string) map[string]string {
	if len(env) == 0 {
		return nil
	}
	out := maps.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out[name] = variable.ReplaceAllStringFunc(env[name], func(ref string) string {
			m := variable.FindStringSubmatch(ref)
			if m[2] == "" {
				r.Problem("%s.%s takes %s from the environment of whoever runs it, which is not read here", where, name, m[1])
			}
			return m[3]
		})
	}
	return out
}

// environment finds out how the image of the agent is made, and where it works.
func (r *reader) environment() {
	e, dir := r.config.Environment, path.Join(r.dir, "environment")
	r.t.Work.User = user(r.config.Agent.User)
	r.t.Workdir = e.Workdir
	service, composed := r.compose(dir)
	context, file := dir, path.Join(dir, "Dockerfile")
	if composed && service.Context != "" {
		context = path.Join(dir, service.Context)
		file = path.Join(context, service.Dockerfile)
	}
	text, err := r.Root.Read(file, maxConfig)
	has := err == nil
	switch {
	case e.Image != "":
		r.t.Work.Image = e.Image
		if !has && !composed {
			r.t.Work.Context = r.keep(dir) // is uploaded into the working folder
		}
	case composed && service.Image != "" && service.Context == "":
		r.t.Work.Image = service.Image
	case has:
		dockerfile.Tell(string(text), &r.Findings)
		r.t.Work.Dockerfile, r.t.Work.Context = string(text), r.keep(context)
	case r.o.Image != "":
		r.t.Work.Image, r.t.Work.Context = r.o.Image, r.keep(dir)
	default:
		r.Problem("has no environment/Dockerfile, no compose file and no docker_image")
	}
	if r.t.Workdir == "" {
		r.t.Workdir = service.Workdir
	}
	r.workdir(string(text))
}

// compose reads the compose file, where there is one, and takes over what it says.
func (r *reader) compose(dir string) (s dockerfile.Service, ok bool) {
	name := path.Join(dir, "docker-compose.yaml")
	if !r.Has(name) {
		return s, false
	}
	data, err := r.Root.Read(name, maxConfig)
	if err == nil {
		s, err = dockerfile.Compose(data)
	}
	if err != nil {
		r.In(name, func(f *folder.Findings) { f.Problem("docker-compose.yaml %v", err) })
		return s, false
	}
	if env := r.env("docker-compose.yaml: environment", s.Env); len(env) > 0 {
		maps.Copy(env, r.t.Work.Env)
		r.t.Work.Env = env
	}
	if r.t.Work.User == "" {
		r.t.Work.User = s.User
	}
	r.service = s
	r.composed(&r.t.Work)
	return s, true
}

// composed sets the limits of the compose file, where task.toml has none.
func (r *reader) composed(p *task.Part) {
	s, e := r.service, r.config.Environment
	if e.CPUs != nil {
		s.CPUs = 0
	}
	if e.MemoryMB != nil || e.Memory != "" {
		s.Memory = 0
	}
	s.Limit(p)
}

// workdir settles where the agent works. What a foreign base image says cannot be seen here.
func (r *reader) workdir(text string) {
	known, ok := dockerfile.Workdir(text)
	switch {
	case r.t.Workdir == "" && r.t.Work.Image == r.o.Image && r.o.Image != "":
		r.t.Workdir = "/workspace"
	case r.t.Workdir == "" && ok && known != "":
		r.t.Workdir = known
	case r.t.Workdir != "" && !path.IsAbs(r.t.Workdir):
		r.t.Workdir = path.Join("/", known, r.t.Workdir)
	}
	if r.t.Workdir = path.Clean(r.t.Workdir); r.t.Workdir == "." || r.t.Workdir == "/" {
		r.Problem("says of no folder below / that the agent works in it; set workdir in [environment], or WORKDIR in its Dockerfile")
	}
}

// keep stores a folder, and tells what is in the way of that.
func (r *reader) keep(name string) task.Tree {
	tree, err := r.Keep(name, r.o.Trees)
	if err != nil {
		r.Problem("%v", err)
	}
	return tree
}

// network is that of the agent; the environment's where it has none of its own.
func (r *reader) network() {
	mode, hosts := r.config.Environment.NetworkMode, r.config.Environment.Hosts
	if a := r.config.Agent; a.NetworkMode != "" {
		mode, hosts = a.NetworkMode, a.Hosts
	}
	if i := r.config.Environment.Internet; mode == "" && i != nil && !*i {
		mode = "no-network"
	}
	if r.service.Offline {
		mode = "no-network"
	}
	switch mode {
	case "", "public":
		r.t.Network.Mode = "open"
	case "no-network":
		r.t.Network.Mode = "none"
	case "allowlist":
		r.t.Network.Mode = "none"
		if r.t.Network.Allow = r.allow(hosts); len(r.t.Network.Allow) > 0 {
			r.t.Network.Mode = "allow"
		}
	default:
		r.Problem("the network mode %q is not known", mode)
	}
}

// allow names the ports that web services have: the format has none.
func (r *reader) allow(hosts []string) (list []string) {
	for _, h := range hosts {
		if _, err := netip.ParsePrefix(h); err == nil {
			r.Notice("allows the network %s; only single hosts can be, so it is left out", h)
			continue
		}
		if a, err := netip.ParseAddr(h); err == nil && a.Is6() {
			h = "[" + h + "]"
		} else if strings.ContainsAny(h, "/: \n") || h == "" {
			r.Problem("the allowed host %q is none", h)
			continue
		}
		list = append(list, h+":80", h+":443")
	}
	if len(list) > 0 {
		r.Notice("allowed hosts are reached at the ports 80 and 443 only")
	}
	return list
}

// user is a name or a number.
func user(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// metadata flattens the free table, and keeps what the task says of itself.
func metadata(c config) map[string]string {
	out := map[string]string{}
	for key, v := range c.Metadata {
		if text, ok := v.(string); ok {
			out[key] = text
		} else if text, err := json.Marshal(v); err == nil {
			out[key] = string(text)
		}
	}
	if n, err := value(c.Agent.Timeout); err == nil && n > 0 && n < 1e9 {
		out["timeout"] = time.Duration(n * float64(time.Second)).String()
	}
	for key, text := range map[string]string{
		"description": c.Task.Description, "source": c.Source, "keywords": strings.Join(c.Task.Keywords, ", "),
	} {
		if text != "" {
			out[key] = text
		}
	}
	return out
}

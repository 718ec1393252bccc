package harbor

import (
	"cmp"
	"errors"
	"math"
	"net"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Write writes each task as a folder of its name below dir. What the format cannot hold is a
// problem, and that task is left out. The note in task.toml, which Harbor does not look at,
// makes Read give the same task back; what Harbor itself does with the folder is honest but
// coarser: the exit code of the judge command decides where it leaves no reward.
func Write(dir string, tasks []task.Task, trees task.Trees) (problems []task.Problem, err error) {
	return folder.WriteEach(dir, tasks, func(dir string, t task.Task) (why string, err error) {
		if why := cannot(t); why != "" {
			return why, nil
		}
		return write(dir, t, trees)
	})
}

// cannot says what the format cannot hold of a task.
func cannot(t task.Task) string {
	if why := folder.Beyond(t, "Harbor"); why != "" {
		return why
	}
	if t.Judge.Game != "" {
		return "is a game, which Harbor does not have"
	}
	return ""
}

func write(dir string, t task.Task, trees task.Trees) (why string, err error) {
	w, err := folder.Create(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	w.File("instruction.md", t.Instruction)
	dockerfile.Work(w, "environment", t, trees)
	writeTests(w, t, trees)
	writeSolution(w, t, trees)
	if !w.Verify(places(&t), trees) {
		return folder.NotHeld, nil
	}
	c := configOf(t)
	plainText, err := toml.Marshal(c)
	if err != nil {
		return "", err
	}
	sums := w.Sums()
	if sums[configName], err = configSum(plainText); err != nil {
		return "", err
	}
	short := t
	short.Instruction = ""
	note := folder.NewNote(short, sums).String()
	c.Metadata[noteTable] = map[string]any{noteKey: note}
	text, err := toml.Marshal(c)
	if err != nil {
		return "", err
	}
	if len(text) > maxConfig {
		return "holds too much in files and patches of its own", nil
	}
	w.File(configFile, string(text))
	return "", nil
}

// configOf says in Harbor's words what they can say.
func configOf(t task.Task) config {
	c := config{SchemaVersion: "1.4", Metadata: map[string]any{}}
	c.Task = about{Name: "assayd/" + t.Name, Description: cmp.Or(t.Metadata["description"], t.Title)}
	for key, v := range t.Metadata {
		if key != noteTable {
			c.Metadata[key] = v
		}
	}
	c.Environment = environmentOf(t.Work)
	c.Environment.Workdir = t.Workdir
	c.Environment.NetworkMode, c.Environment.Hosts = "no-network", nil
	switch t.Network.Mode {
	case "open":
		c.Environment.NetworkMode = "public"
	case "allow":
		c.Environment.NetworkMode, c.Environment.Hosts = "allowlist", hosts(t.Network.Allow)
	}
	if t.Work.User != "" {
		c.Agent.User = t.Work.User
	}
	v := &c.Verifier
	v.NetworkMode = "no-network"
	if t.Judge.Network || dockerfile.OnWork(t) && len(t.Judge.Setup) > 0 && !moved(t) {
		v.NetworkMode = "public" // what is installed at build time here is so at judging there
	}
	if s := t.Judge.Timeout.Seconds(); s > 0 {
		v.Timeout = s
	}
	if user := cmp.Or(t.Judge.User, t.Work.User); user != "" {
		v.User = judgedBy(t)
	}
	if len(t.Judge.Env) > 0 {
		v.Env = t.Judge.Env
	}
	if !dockerfile.OnWork(t) {
		e := environmentOf(t.Judge.Part)
		e.Workdir, e.NetworkMode = t.Workdir, v.NetworkMode
		v.Mode, v.Environment = "separate", &e
		for _, p := range t.Submit.Paths {
			c.Artifacts = append(c.Artifacts, path.Join(t.Workdir, p))
		}
	}
	return c
}

func environmentOf(p task.Part) environment {
	e := environment{}
	if p.CPUs > 0 {
		e.CPUs = int64(math.Ceil(p.CPUs))
	}
	if p.Memory > 0 {
		e.MemoryMB = (p.Memory + 1<<20 - 1) >> 20
	}
	if p.Disk > 0 {
		e.StorageMB = (p.Disk + 1<<20 - 1) >> 20
	}
	if len(p.Env) > 0 {
		e.Env = map[string]string{}
		for name, v := range p.Env {
			e.Env[name] = v
		}
	}
	return e
}

// hosts are those of host:port patterns, once each.
func hosts(allow []string) (list []string) {
	seen := map[string]bool{}
	for _, a := range allow {
		host, _, err := net.SplitHostPort(a)
		if err != nil {
			host = a
		}
		if host = strings.Trim(host, "[]"); !seen[host] {
			seen[host], list = true, append(list, host)
		}
	}
	return list
}

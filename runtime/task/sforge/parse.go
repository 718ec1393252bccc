package sforge

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/distribution/reference"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// file is what a task file says.
type file struct {
	id, title, category string
	platform, workdir   string
	submit, exclude     []string
	internet, game      bool
	work, judge         part
	specsDir, query     string

	eval                                 string
	timeout                              time.Duration
	parser, direction, selection, server string
	rescale                              *task.Rescale

	odd []*fault // keys that are not known
}

// part is what work and judge have in common.
type part struct {
	setup  []string // nil = none
	tag    string   // of the image: given, or computed
	cpus   float64
	memory int64
}

// maxTimeout is a bound of eval_timeout, in seconds: a month.
const maxTimeout = 31 * 24 * 3600

// Bounds of submit_paths and submit_exclude: each path of an archive is compared with all.
const (
	maxPatterns = 1000
	maxPattern  = 1000 // bytes
)

// parseTask reads a task file. All that is wrong with it is one error. Keys that nobody
// knows, which may be misspelt or of a newer SForge, are odd and no error.
func parseTask(data []byte, id string, bench *benchmark) (_ task.Task, odd *fault, _ error) {
	whole, err := parseDocument(data)
	if err != nil {
		return task.Task{}, nil, err
	}
	fields, ok := whole.value.(map[string]node)
	if !ok {
		return task.Task{}, nil, faultf(whole.line, "is no task: not a JSON object")
	}
	var faults []*fault
	o := &object{line: whole.line, fields: fields, known: map[string]bool{}, faults: &faults}
	f, base := readFields(o, id, bench)
	if len(faults) > 0 {
		return task.Task{}, nil, joined(faults)
	}
	t := f.task(bench, base)
	if err := checkImages(t); err != nil {
		return task.Task{}, nil, err
	}
	if len(f.odd) > 0 {
		odd = joined(f.odd)
	}
	return t, odd, nil
}

// joined makes one fault of several, at the line of the first.
func joined(faults []*fault) *fault {
	const most = 6
	text := faults[0].text
	for i, f := range faults[1:] {
		if i == most {
			text += "; and more"
			break
		}
		text += "; " + f.text
		if f.line > 0 {
			text += fmt.Sprintf(" (line %d)", f.line)
		}
	}
	return faultf(faults[0].line, "%s", text)
}

func readFields(o *object, id string, bench *benchmark) (file, *base) {
	for _, field := range []string{"task_id", "name", "base_image", "platform", "cwd", "submit_paths", "work", "judge"} {
		o.need(field)
	}
	f := file{
		id: o.text("task_id", id), title: folder.Printable(o.text("name", "")), category: o.text("category", ""),
		platform: o.text("platform", "linux/amd64"), workdir: o.text("cwd", "/x"),
		submit: o.texts("submit_paths", []string{"."}), exclude: o.texts("submit_exclude", []string{"tests/"}),
		internet: o.boolean("internet", true), game: o.boolean("game_mode", false),
	}
	f.checkTop(o, id)
	key := o.text("base_image", "")
	b := bench.bases[key]
	if b == nil && o.has("base_image") {
		o.failf(o.at("base_image"), "%q names %q, which is not in %s", "base_image", cut(key), benchmarkFile)
	}
	if b == nil {
		b = &base{}
	}
	o.known[noteKey] = true
	work, judge := o.object("work"), o.object("judge")
	f.work, f.judge = f.part(work, b), f.part(judge, b)
	f.specsDir, f.query = work.text("specs_dir", ""), work.text("agent_query", "")
	rescale := f.readJudge(judge)
	unknown := map[string]int{}
	for _, some := range []*object{o, work, judge, rescale} {
		maps.Copy(unknown, some.unknown())
	}
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		f.odd = append(f.odd, faultf(unknown[key], "%q is no key that is known", cut(key)))
	}
	if len(*o.faults) > 0 {
		*o.faults = append(*o.faults, f.odd...)
	}
	return f, b
}

// Shapes of values.
var (
	taskName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	platformName = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9_]+(/[a-z0-9]+)?$`)
	imageTag     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	memoryLimit  = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,6})?)([bkmgt]?)(?:i?b)?$`)
)

func (f *file) checkTop(o *object, id string) {
	switch {
	case !o.has("task_id"):
	case !taskName.MatchString(f.id):
		o.failf(o.at("task_id"), "%q is no name for a task", cut(f.id))
	case f.id != id:
		o.failf(o.at("task_id"), "%q differs from the name of the file", f.id)
	}
	if !platformName.MatchString(f.platform) {
		o.failf(o.at("platform"), `"platform" is %q; it is written system/architecture`, cut(f.platform))
	}
	if !path.IsAbs(f.workdir) || path.Clean(f.workdir) == "/" || strings.ContainsAny(f.workdir, ":\n\x00") {
		o.failf(o.at("cwd"), `"cwd" is %q, which is no absolute path below /`, cut(f.workdir))
	}
	for _, p := range f.submit {
		if clean := path.Clean(p); p == "" || path.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../") {
			o.failf(o.at("submit_paths"), `"submit_paths" holds %q, which is not below "cwd"`, cut(p))
		}
	}
	if len(f.submit) == 0 && !f.game {
		o.failf(o.at("submit_paths"), `"submit_paths" is empty, so nothing could be submitted`)
	}
	for i, p := range f.exclude {
		// There they mean nothing; alternatives in braces could take for ever to compare.
		f.exclude[i] = strings.NewReplacer(`\`, `\\`, "{", `\{`, "}", `\}`).Replace(strings.TrimRight(p, "/"))
		if len(p) > maxPattern || !doublestar.ValidatePattern(f.exclude[i]) {
			o.failf(o.at("submit_exclude"), `"submit_exclude" holds %q, which is no pattern`, cut(p))
		}
	}
	for _, field := range []string{"submit_paths", "submit_exclude"} {
		if list, _ := o.fields[field].value.([]node); len(list) > maxPatterns {
			o.failf(o.at(field), "%q holds more than %d entries", field, maxPatterns)
		}
	}
	f.exclude = slices.DeleteFunc(f.exclude, func(p string) bool { return p == "" })
}

// part reads what work and judge have in common, and fixes the tag of the image.
func (f *file) part(o *object, b *base) part {
	p := part{
		setup: o.texts("setup_cmds", nil), tag: o.text("image_tag", ""),
		cpus: float64(o.whole("cpu_limit", 0, 100_000)), memory: memory(o),
	}
	if o.has("image_tag") && !imageTag.MatchString(p.tag) {
		o.failf(o.at("image_tag"), "%q is %q, which is no tag", o.name+"image_tag", cut(p.tag))
	}
	if p.setup == nil {
		if !o.has("image_tag") {
			o.failf(o.line, "neither %q nor %q is there", o.name+"setup_cmds", o.name+"image_tag")
		}
		return p
	}
	tag := partHash(b.hash, f.workdir, f.platform, p.setup)[:tagLength]
	if o.has("image_tag") && p.tag != tag && b.hash != "" {
		o.failf(o.at("image_tag"), "%q is %q, but the commands give %q", o.name+"image_tag", cut(p.tag), tag)
	}
	p.tag = tag
	return p
}

// memory reads a size as engines take it: "512m", "8g".
func memory(o *object) int64 {
	text := o.text("mem_limit", "")
	if !o.has("mem_limit") {
		return 0
	}
	m := memoryLimit.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		o.failf(o.at("mem_limit"), `%q is %q; a size is written "512m" or "8g"`, o.name+"mem_limit", cut(text))
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	n *= float64(int64(1) << (10 * max(strings.Index("bkmgt", m[2]), 0)))
	if err != nil || n < 1 || n > 1<<60 {
		o.failf(o.at("mem_limit"), "%q is beyond all bounds", o.name+"mem_limit")
		return 0
	}
	return int64(n)
}

// readJudge reads what only the judge has, and returns the object with the rescaling.
func (f *file) readJudge(o *object) *object {
	f.eval = o.text("eval_cmd", "")
	f.timeout = time.Duration(o.whole("eval_timeout", 600, maxTimeout)) * time.Second
	f.direction = o.choice("score_direction", "maximize", "minimize")
	f.selection = o.choice("selection", "pass_rate_first", "score_first", "valid_then_score")
	f.server = o.text("game_server_cmd", "")
	if f.parser = o.text("parser", ""); f.parser != "" {
		o.choice("parser", "pytest_v", "score_sum", "structured_json")
	}
	switch {
	case f.game && f.server == "":
		o.failf(o.line, `a game needs %q`, o.name+"game_server_cmd")
	case !f.game && f.eval == "":
		o.failf(o.line, "%q is missing", o.name+"eval_cmd")
	case !f.game && f.parser == "":
		o.failf(o.line, "%q is missing", o.name+"parser")
	}
	rescale := o.object("rescale")
	if o.has("rescale") {
		f.rescale = readRescale(rescale)
	}
	return rescale
}

// anchors says what each kind of rescaling needs.
func anchors() map[string][]string {
	expert, unit := []string{"baseline", "expert"}, []string{"anchor_raw", "anchor_score"}
	pieces := []string{"baseline", "rank30", "rank1", "super_anchor"}
	return map[string][]string{
		"linear": {"lower", "upper"}, "min_linear": expert, "min_linear_positive": expert, "min_inverse_anchor": unit,
		"compression_ratio_cropped_guarded": expert, "log_anchor": unit, "log_max": expert,
		"log1p_max": {"baseline", "upper"}, "log_min": expert,
		"piecewise_max": pieces, "piecewise_min": pieces, "piecewise_log_min": pieces,
	}
}

func readRescale(o *object) *task.Rescale {
	o.need("kind")
	out := &task.Rescale{Kind: o.text("kind", ""), Anchors: map[string]float64{}}
	needed, ok := anchors()[out.Kind]
	if !ok && out.Kind != "" {
		o.failf(o.at("kind"), "%q is %q, which is none of %s", o.name+"kind", cut(out.Kind),
			strings.Join(slices.Sorted(maps.Keys(anchors())), ", "))
	}
	for _, field := range needed {
		o.need(field)
		out.Anchors[field] = o.number(field)
	}
	for _, field := range []string{"lower", "upper", "baseline", "expert", "rank30", "rank1", "super_anchor", "anchor_raw", "anchor_score"} {
		o.known[field] = true // also those that the kind does not use
	}
	return out
}

// checkImages reports a name that no engine would take.
func checkImages(t task.Task) error {
	for _, p := range []task.Part{t.Work, t.Judge.Part} {
		if err := checkImage(p.Image + p.Ref); err != nil {
			return err
		}
	}
	return nil
}

func checkImage(name string) error {
	if _, err := reference.ParseNormalizedNamed(name); err != nil {
		return errors.New(cut(name) + " cannot be the name of an image: " + strings.TrimPrefix(err.Error(), "invalid reference format: "))
	}
	return nil
}

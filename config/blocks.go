package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// each visits what all specs have.
func (bs *Blocks) each(visit func(b *Block, whole any)) {
	for i := range bs.Benchmarks {
		visit(&bs.Benchmarks[i].Block, &bs.Benchmarks[i])
	}
	for i := range bs.Agents {
		visit(&bs.Agents[i].Block, &bs.Agents[i])
	}
	for i := range bs.Runs {
		visit(&bs.Runs[i].Block, &bs.Runs[i])
	}
	for i := range bs.Minings {
		visit(&bs.Minings[i].Block, &bs.Minings[i])
	}
}

// Addresses returns the addresses of all specs, by kind and in the order of the file.
func (bs *Blocks) Addresses() []string {
	var out []string
	for _, h := range bs.headers() {
		out = append(out, h.address)
	}
	return out
}

func (bs *Blocks) headers() []header {
	var out []header
	bs.each(func(b *Block, _ any) { out = append(out, header{b.Address(), b.Pos}) })
	return out
}

// clone copies as deep as Load writes.
func (bs Blocks) clone() *Blocks {
	out := &Blocks{}
	bs.each(func(_ *Block, whole any) { out.add(whole) })
	return out
}

// add appends a copy of a spec given by pointer.
func (bs *Blocks) add(whole any) {
	switch spec := whole.(type) {
	case *Benchmark:
		copied := *spec
		copied.Tasks = append([]Task(nil), spec.Tasks...)
		bs.Benchmarks = append(bs.Benchmarks, copied)
	case *Agent:
		bs.Agents = append(bs.Agents, *spec)
	case *Run:
		bs.Runs = append(bs.Runs, *spec)
	case *Mining:
		bs.Minings = append(bs.Minings, *spec)
	}
}

// trees visits every folder that is copied at acceptance, with the place it is named at.
func (bs *Blocks) trees(visit func(t *Tree, b *Block, at Pos)) {
	some := func(t *Tree, b *Block, at Pos) {
		if t.Path != "" {
			visit(t, b, at)
		}
	}
	for i := range bs.Benchmarks {
		b := &bs.Benchmarks[i]
		for j := range b.Tasks {
			t := &b.Tasks[j]
			some(&t.Work.Context, &b.Block, t.Of("work.context"))
			some(&t.Judge.Context, &b.Block, t.Of("judge.context"))
			for k := range t.Judge.Stages {
				some(&t.Judge.Stages[k].Context, &b.Block, t.Of("judge.stage"))
			}
			if t.Private != nil {
				some(&t.Private.Context, &b.Block, t.Of("private.context"))
			}
			if t.Solution != nil {
				some(&t.Solution.Context, &b.Block, t.Of("solution.context"))
			}
		}
	}
	for i := range bs.Agents {
		some(&bs.Agents[i].Dir, &bs.Agents[i].Block, bs.Agents[i].Of("dir"))
	}
}

// dataFolders returns every folder that the specs name as data.
func (bs *Blocks) dataFolders() []string {
	var out []string
	bs.trees(func(t *Tree, _ *Block, _ Pos) { out = append(out, t.Path) })
	for _, b := range bs.Benchmarks {
		for _, imported := range b.Imports {
			if imported.Path != "" {
				out = append(out, imported.Path)
			}
		}
	}
	for _, m := range bs.Minings {
		out = append(out, m.Output.Dir)
	}
	return out
}

// seal fixes the generation of every block.
func (bs *Blocks) seal() {
	bs.each(func(b *Block, whole any) { b.Generation = generation(whole) })
}

// generation is a short hash of the compiled spec without what stands where.
func generation(whole any) string {
	sum := sha256.Sum256(normalForm(whole))
	return hex.EncodeToString(sum[:6])
}

// normalForm returns the JSON form of a spec without its @ fields, keys in order.
func normalForm(whole any) []byte {
	data, err := json.Marshal(whole)
	if err != nil {
		return []byte(err.Error()) // specs hold nothing that has no JSON form
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return []byte(err.Error())
	}
	data, _ = json.Marshal(bare(tree)) // what was decoded can be encoded
	return data
}

// bare drops the @ fields of a decoded JSON value.
func bare(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if strings.HasPrefix(key, "@") {
				delete(value, key)
				continue
			}
			value[key] = bare(inner)
		}
	case []any:
		for i := range value {
			value[i] = bare(value[i])
		}
	}
	return value
}

func splitAddress(address string) (kind, name string, ok bool) {
	return strings.Cut(address, ".")
}

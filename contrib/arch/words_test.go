package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oldWords are names that were given up for the word of the field, by the folder below which nothing is
// declared under them. What is written in records under an old name, too, is a value or a tag, and no
// declared name.
var oldWords = map[string][]string{
	"": {
		"Workshop", "notebook", "purse", "Sight", "Lent", "quarry", "house", "world", "twins", "landing", "spoilt", "weighing", "lanes",
	},
	"runtime/trial":         {"door", "openDoor", "doorDir", "front", "attend", "equip", "conduct", "live", "greet", "hear", "note", "furnish", "broke", "lack", "stuck", "bench"},
	"runtime/fault":         {"DoorOpened"},
	"runtime/gateway":       {"Broke"},
	"runtime/judge":         {"bell", "ring", "board", "land", "narrow", "Unfit", "Hold", "Apart", "wire", "bench"},
	"runtime/image":         {"site", "Leave"},
	"runtime/clock":         {"Line"},
	"runtime/mining/github": {"maker"},
	"runtime/container":     {"bench"},
	"reconcile": {
		"rest", "writing", "presence", "heed", "tend", "takeUp", "wind", "strays", "leftovers", "turns", "sighting", "harness", "Working", "Books", "miningBook",
	},
	"daemon": {"Hurry", "lean", "lentTo", "newWorld", "newQuarry"},
}

// exempt are declarations that mean another thing by the word.
var exempt = map[string][]string{
	"runtime/judge/judgetest": {"Hold"}, // takes a place
}

// Names are the words of the field: one that was given up does not come back.
func TestOldWordsAreGone(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root && d.Name() != ".." || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
		for _, name := range declared(file) {
			for area, words := range oldWords {
				if (area == "" || dir == area || strings.HasPrefix(dir, area+"/")) && slices.Contains(words, name) && !slices.Contains(exempt[dir], name) {
					t.Errorf("%s declares %s, which is an old word", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// declared are the names that a file declares for its package: functions, methods, types, constants, and
// variables.
func declared(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

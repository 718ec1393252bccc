package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// few is for how many methods a type can have that does one thing.
var few = []struct {
	folder, name string
	most         int
}{
	{"reconcile", "Reconciler", 40},
}

// What a type does on behalf of others belongs to a type of its own, or to a package.
func TestNoTypeDoesEverything(t *testing.T) {
	for _, tt := range few {
		methods, found := methodsOf(t, filepath.Join(root(t), tt.folder), tt.name)
		if !found {
			t.Errorf("%s has no type %s: this counts nothing", tt.folder, tt.name)
		}
		if len(methods) >= tt.most {
			t.Errorf("%s.%s has %d methods, and must have fewer than %d: %s", tt.folder, tt.name, len(methods), tt.most, strings.Join(methods, " "))
		}
	}
}

// methodsOf are the methods of a type in the production files of a folder, and whether the type is there.
func methodsOf(t *testing.T, dir, name string) (methods []string, found bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s, is := spec.(*ast.TypeSpec)
					found = found || is && s.Name.Name == name
				}
			case *ast.FuncDecl:
				if d.Recv != nil && receiver(d.Recv.List[0].Type) == name {
					methods = append(methods, d.Name.Name)
				}
			}
		}
	}
	return methods, found
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	if star, is := e.(*ast.StarExpr); is {
		e = star.X
	}
	if name, is := e.(*ast.Ident); is {
		return name.Name
	}
	return ""
}

func TestMethodsAreCounted(t *testing.T) {
	if methods, found := methodsOf(t, filepath.Join(root(t), "reconcile"), "Nobody"); found || len(methods) > 0 {
		t.Errorf("a type that does not exist: %v, %v", methods, found)
	}
	methods, found := methodsOf(t, filepath.Join(root(t), "reconcile"), "Reconciler")
	if !found || !strings.Contains(" "+strings.Join(methods, " ")+" ", " Run ") {
		t.Errorf("the methods of Reconciler: %v, %v", methods, found)
	}
}

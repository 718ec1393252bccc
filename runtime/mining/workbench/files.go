package workbench

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// Bounds of what is read of a file at once.
const (
	readLines = 400
	readLine  = 500 // bytes of a line
)

func (b *bench) shell(ctx context.Context, args struct{ Command string }) (result, error) {
	if wrong := line("command", args.Command); wrong != "" {
		return toolError("%s", wrong), nil
	}
	_, text, err := b.exec(ctx, b.job.CommandTimeout, "/bin/sh", "-c", args.Command)
	return reply("%s", text), err
}

func (b *bench) readFile(ctx context.Context, args struct {
	Path          string
	Offset, Limit int
},
) (result, error) {
	name, wrong := b.locate(args.Path)
	if wrong != "" {
		return toolError("%s", wrong), nil
	}
	content, err := b.room.Read(ctx, name)
	if err != nil {
		return result{}, err
	}
	if len(content) == 0 {
		return reply("the file is empty"), nil
	}
	lines := strings.Split(strings.TrimSuffix(legible(string(content)), "\n"), "\n")
	from := min(max(args.Offset, 1), len(lines)+1)
	if args.Limit <= 0 || args.Limit > readLines {
		args.Limit = readLines
	}
	to := min(from-1+args.Limit, len(lines))
	var text strings.Builder
	fmt.Fprintf(&text, "lines %d to %d of %d\n", from, to, len(lines))
	for i, line := range lines[from-1 : to] {
		fmt.Fprintf(&text, "%d: %s\n", from+i, cut(line, readLine, 0))
	}
	return reply("%s", strings.TrimRight(cut(text.String(), outputHead+outputTail, 0), "\n")), nil
}

func (b *bench) writeFile(ctx context.Context, args struct {
	Path    string
	Content *string
},
) (result, error) {
	name, wrong := b.locate(args.Path)
	if wrong == "" && args.Content == nil {
		wrong = "content is missing"
	}
	if wrong != "" {
		return toolError("%s", wrong), nil
	}
	if err := b.room.Write(ctx, name, []byte(*args.Content)); err != nil {
		return result{}, err
	}
	return reply("%d bytes written", len(*args.Content)), nil
}

const listScript = `[ -d "$1" ] || { echo "no such folder"; exit 1; }
exec ls -1Ap -- "$1"`

func (b *bench) listDir(ctx context.Context, args struct{ Path string }) (result, error) {
	if args.Path == "" {
		args.Path = "."
	}
	name, wrong := b.locate(args.Path)
	if wrong != "" {
		return toolError("%s", wrong), nil
	}
	return b.look(ctx, "the folder is empty", "/bin/sh", "-c", listScript, "sh", name)
}

// grepScript leaves out what no one reads, where the program can. Errors are lines like others.
const grepScript = `if echo a | grep -I --exclude-dir=b -q a 2>/dev/null
then grep -rnIE --exclude-dir=.git --exclude-dir=node_modules -e "$1" -- "$2"
else grep -rnE -e "$1" -- "$2"
fi 2>&1 | cut -c 1-300 | head -n 200`

func (b *bench) grep(ctx context.Context, args struct{ Pattern, Path string }) (result, error) {
	if wrong := line("pattern", args.Pattern); wrong != "" {
		return toolError("%s", wrong), nil
	}
	if args.Path == "" {
		args.Path = "."
	}
	name, wrong := b.locate(args.Path)
	if wrong != "" {
		return toolError("%s", wrong), nil
	}
	if below, ok := strings.CutPrefix(name+"/", b.job.Workdir+"/"); ok { // what is found is named alike
		name = path.Clean(below)
	}
	return b.look(ctx, "nothing matches", "/bin/sh", "-c", grepScript, "sh", args.Pattern, name)
}

// look runs what only looks at files, and shows only what it prints if all is well.
func (b *bench) look(ctx context.Context, nothing string, argv ...string) (result, error) {
	exit, text, err := b.exec(ctx, fileTime, argv...)
	if exit != 0 || err != nil {
		return reply("%s", text), err
	}
	_, text, _ = strings.Cut(text, "\n")
	if text == "" {
		text = nothing
	}
	return reply("%s", text), nil
}

// applyScript takes a patch as an argument. Counts of lines in the heads of hunks, which models
// get wrong, are made anew.
const applyScript = `if command -v git >/dev/null 2>&1
then printf '%s' "$1" | git apply --recount --whitespace=nowarn -
else printf '%s' "$1" | patch -p1 -N
fi && echo applied`

func (b *bench) applyPatch(ctx context.Context, args struct{ Patch string }) (result, error) {
	wrong := line("patch", args.Patch)
	if wrong == "" && strings.HasPrefix(strings.TrimSpace(args.Patch), "*** Begin Patch") {
		wrong = "this is another format: a unified diff is wanted, as git diff prints it"
	}
	if wrong != "" {
		return toolError("%s", wrong), nil
	}
	text := strings.TrimRight(args.Patch, "\n") + "\n"
	_, said, err := b.exec(ctx, fileTime, "/bin/sh", "-c", applyScript, "sh", text)
	return reply("%s", said), err
}

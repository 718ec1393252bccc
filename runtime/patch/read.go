package patch

import (
	"bytes"
	"context"
	"fmt"
)

// maxRead bounds a file that is read, in bytes.
const maxRead = 4 << 20

// Read has do look at files of the base. file returns one by its name, relative to the top of
// the tree, and whether it is there; its content is nil where it is no file, has more than
// 4 MiB or cannot be read. file must not be called once do has returned, nor at once.
func (b *Base) Read(ctx context.Context, do func(file func(name string) (content []byte, ok bool)) error) error {
	return b.use(ctx, func(r *repository, tree string) error {
		all, err := r.list(ctx, tree)
		if err != nil {
			return fmt.Errorf("list the tree that patches are against: %w", err)
		}
		return do(func(name string) ([]byte, bool) {
			f, ok := all[name]
			if !ok || f.mode != modeFile && f.mode != modeRun {
				return nil, ok
			}
			var content bytes.Buffer
			if r.git.Printing(maxRead).Pipe(ctx, nil, &content, "cat-file", "blob", f.id) != nil {
				return nil, true
			}
			return content.Bytes(), true
		})
	})
}

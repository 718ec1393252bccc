package request

import (
	"context"
	"fmt"
)

// Content is what agents and hidden tests wrote, and what tells of those tests: logs, outputs, diffs, steps, files, names and
// messages of tests, instructions. Somebody may be let see numbers and not that.

type withoutContent struct{}

// WithoutContent is a context in which questions are answered without content: answers that have numbers leave texts out,
// and a question for content alone is refused with a *Hidden.
func WithoutContent(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutContent{}, true)
}

// HidesContent reports whether who asks is to see no content.
func HidesContent(ctx context.Context) bool { return ctx.Value(withoutContent{}) != nil }

// NeedsContent refuses who is to see no content, with a *Hidden. what are things, in the plural.
func NeedsContent(ctx context.Context, what string) error {
	if HidesContent(ctx) {
		return &Hidden{what}
	}
	return nil
}

// Hidden is an error of a request for nothing but content, from somebody who is to see none.
type Hidden struct{ what string }

func (h *Hidden) Error() string {
	return fmt.Sprintf(`%s are not shown to viewers: the settings say http { content = "metadata" }`, h.what)
}

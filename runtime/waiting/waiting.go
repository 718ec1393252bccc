package waiting

import "context"

// noticeKey is the key of a context's notice.
type noticeKey struct{}

// With returns a context for work. notice is called with the reason whenever the work begins to
// wait, and with nil when it goes on; it may be called from several goroutines at once.
func With(ctx context.Context, notice func(why error)) context.Context {
	return context.WithValue(ctx, noticeKey{}, notice)
}

// Because says that the work of a context waits, and why; nil = it goes on. Where nobody wants to
// know, it does nothing.
func Because(ctx context.Context, why error) {
	if notice, ok := ctx.Value(noticeKey{}).(func(error)); ok {
		notice(why)
	}
}

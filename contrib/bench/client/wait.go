package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver of that name, read apart from our store, which would change it
)

// Patience bounds every wait for something that happens soon, also on a loaded machine and
// with ten thousand specs.
const Patience = 3 * time.Minute

// Until asks again and again until the condition holds. An error of it ends the wait.
func Until(ctx context.Context, what string, every time.Duration, holds func() (bool, error)) error {
	return UntilWithin(ctx, Patience, what, every, holds)
}

// UntilWithin is Until for what may take another while.
func UntilWithin(ctx context.Context, most time.Duration, what string, every time.Duration, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errors.New("it did not happen"))
	defer cancel()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		}
	}
}

package containertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

func execWaitsForThaw(b *fixture) {
	freezer, exec := b.engine.(container.Freezer), b.engine.(container.Execer)
	id := b.start(b.workload("sleep", "1h")).ID
	run := func(ctx context.Context) (int, error) {
		return exec.Exec(ctx, id, container.Command{Argv: []string{"/probe", "exit", "3"}})
	}
	b.must(freezer.Freeze(b.ctx, id))
	cause := errors.New("enough of it")
	ctx, cancel := context.WithTimeoutCause(b.ctx, 100*time.Millisecond, cause)
	defer cancel()
	_, err := run(ctx)
	b.want(err, cause)

	result := make(chan error, 1)
	go func() {
		code, err := run(b.ctx)
		if err == nil {
			equal(b, "exit code", code, 3)
		}
		result <- err
	}()
	b.must(freezer.Thaw(b.ctx, id))
	b.must(<-result)

	b.must(freezer.Freeze(b.ctx, id))
	go func() {
		_, err := run(b.ctx)
		result <- err
	}()
	b.must(b.engine.Remove(b.ctx, id))
	if err := <-result; !errors.Is(err, container.ErrConflict) { // it was seen to have stopped, and not yet to be gone
		b.want(err, container.ErrNotFound)
	}
}

// freezeWhileCommandsStart freezes a container again and again in which commands are being
// started, some of them by callers who go away in that moment, while somebody looks at it. An
// engine that lets the two meet can be asked nothing about the container any more.
func freezeWhileCommandsStart(b *fixture) {
	freezer, exec := b.engine.(container.Freezer), b.engine.(container.Execer)
	id := b.start(b.workload("sleep", "1h")).ID
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel() // ends the others when one has failed
	var group sync.WaitGroup
	repeat := func(times int, what string, do func(i int) error) {
		group.Go(func() {
			for i := range times {
				if err := do(i); err != nil && ctx.Err() == nil {
					b.Errorf("%s %d: %v", what, i, err)
					cancel()
					return
				}
			}
		})
	}
	repeat(15, "freeze and thaw", func(int) error {
		return errors.Join(freezer.Freeze(ctx, id), freezer.Thaw(ctx, id))
	})
	repeat(60, "inspection", func(int) error {
		_, err := b.engine.Inspect(ctx, id)
		return err
	})
	command := container.Command{Argv: []string{"/probe", "exit", "0"}}
	for range 2 {
		repeat(10, "command", func(int) error {
			_, err := exec.Exec(ctx, id, command)
			return err
		})
	}
	repeat(20, "command whose caller goes away", func(i int) error {
		short, cancel := context.WithTimeout(ctx, time.Duration(3*i)*time.Millisecond)
		defer cancel()
		if _, err := exec.Exec(short, id, command); short.Err() == nil {
			return err
		}
		return nil
	})
	group.Wait()
	equal(b, "phase", b.inspect(id).Phase, container.PhaseRunning)
}

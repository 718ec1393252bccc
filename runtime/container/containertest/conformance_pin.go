package containertest

import (
	"strings"

	"github.com/assayd/assayd/runtime/container"
)

func runPinner(test tester) {
	test("a pinned container runs where it was told, frozen or not, and everywhere again", pinMoves)
	test("a container that does not run is pinned for its next start", pinWaits)
	test("a pin that cannot be done says so and changes nothing", pinFails)
}

// spots are a single CPU that the host has, and all of them.
func (b *fixture) spots() (one, all string) {
	b.Helper()
	count := 1
	if h, ok := b.engine.(container.Host); ok {
		info, err := h.HostInfo(b.ctx)
		b.must(err)
		count = info.CPUs
	}
	return cpuRange(count-1, count-1), cpuRange(0, count-1)
}

func (b *fixture) cpus(id string) string { return strings.TrimSpace(b.run(id, "cpus")) }

func pinMoves(b *fixture) {
	pinner := b.engine.(container.Pinner)
	one, all := b.spots()
	w := b.workload("sleep", "1h")
	id := b.start(w).ID
	for _, cpuset := range []string{one, all, one} {
		for range 2 {
			b.must(pinner.Pin(b.ctx, id, cpuset))
		}
		equal(b, "CPUs", b.cpus(id), cpuset)
	}
	equal(b, "id when it is started again", b.start(w).ID, id)
	equal(b, "CPUs then", b.cpus(id), one)
	if f, ok := b.engine.(container.Freezer); ok {
		b.must(f.Freeze(b.ctx, id))
		b.must(pinner.Pin(b.ctx, id, all))
		equal(b, "frozen", b.inspect(id).Frozen, true)
		b.must(f.Thaw(b.ctx, id))
		equal(b, "CPUs after a pin while frozen", b.cpus(id), all)
	}

	w = b.workload("sleep", "1h")
	w.Limits.CPUSet = one
	equal(b, "CPUs of one that was made so", b.cpus(b.start(w).ID), one)
}

func pinWaits(b *fixture) {
	one, _ := b.spots()
	w := b.workload("sleep", "1h")
	id := b.start(w).ID
	b.must(b.engine.Stop(b.ctx, id, 0))
	b.must(b.engine.(container.Pinner).Pin(b.ctx, id, one))
	equal(b, "phase", b.inspect(id).Phase, container.PhaseExited)
	equal(b, "id of the same container", b.start(w).ID, id)
	equal(b, "CPUs", b.cpus(id), one)
}

func pinFails(b *fixture) {
	pinner := b.engine.(container.Pinner)
	_, all := b.spots()
	id := b.start(b.workload("sleep", "1h")).ID
	for _, cpuset := range []string{"", "x", "1000", "0-1000", "-1"} {
		if err := pinner.Pin(b.ctx, id, cpuset); err == nil {
			b.Errorf("a pin to CPUs %q succeeded", cpuset)
		}
	}
	equal(b, "CPUs", b.cpus(id), all)
	b.want(pinner.Pin(b.ctx, "assayd-test-nobody", all), container.ErrNotFound)
	b.want(pinner.Pin(b.ctx, "../images/json", all), container.ErrNotFound)
}

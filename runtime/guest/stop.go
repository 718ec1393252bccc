package guest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// serveStops answers agents that want to stop, until ctx ends.
func (s *supervisor) serveStops(ctx context.Context, addr string) {
	var ln net.Listener
	if insist(ctx, s.log, "listen on "+addr, func(ctx context.Context) (err error) {
		var c net.ListenConfig
		ln, err = c.Listen(ctx, "tcp", addr)
		return err
	}) != nil {
		return
	}
	server := &http.Server{
		Handler: http.HandlerFunc(s.answerStop), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second, MaxHeaderBytes: 4 << 10,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_ = server.Serve(ln) // it ends with ctx
}

func (s *supervisor) answerStop(w http.ResponseWriter, r *http.Request) {
	answer := make(chan protocol.StopAnswer, 1)
	s.do(func() { s.mayStop(func(a protocol.StopAnswer) { answer <- a }) })
	select {
	case a := <-answer:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // who has gone needs no answer
	case <-r.Context().Done():
	}
}

// mayStop decides about one attempt to stop. It counts as an end of the agent does: so many
// in a row without a change of the tree, and it may. Who asks while the tree is looked at is
// part of that attempt: a look takes long, and anybody in the container can ask.
func (s *supervisor) mayStop(tell func(protocol.StopAnswer)) {
	left := protocol.SecondsLeft(s.line.Now(), s.notes.look().Deadline)
	if left == 0 || s.config.Policy.Idle == 0 {
		tell(protocol.StopAnswer{Stop: left == 0, Seconds: left})
		return
	}
	if s.asking = append(s.asking, tell); len(s.asking) > 1 {
		return
	}
	s.lookAtTree(func(changed bool) {
		idle := 0
		s.change(func(m *memory) {
			m.Streaks.Idle = count(m.Streaks.Idle, !changed)
			idle = m.Streaks.Idle
		})
		for _, tell := range s.asking {
			tell(protocol.StopAnswer{Stop: idle >= s.config.Policy.Idle, Seconds: left})
		}
		s.asking = nil
	})
}

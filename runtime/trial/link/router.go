package link

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// router answers everything that an agent asks by its relay: the judge, the gateway to its
// model, and the proxy to what its network list names.
type router struct {
	judge   http.Handler
	session *gateway.Session // nil = the agent has no model
	egress  *egress.Proxy    // nil = the task has no network list
	left    func() protocol.Left
}

// ServeHTTP implements http.Handler.
func (f *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		if f.egress == nil {
			http.Error(w, "this task has no network", http.StatusForbidden)
			return
		}
		f.egress.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, gateway.OpenAIPrefix+"/") || strings.HasPrefix(r.URL.Path, gateway.AnthropicPrefix+"/"):
		if f.session == nil {
			http.Error(w, "this agent has no model: its api is \"none\"", http.StatusNotFound)
			return
		}
		f.session.ServeHTTP(w, r)
	case r.URL.Path == protocol.LeftPath && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(f.left()) // who has gone needs no answer
	default:
		f.judge.ServeHTTP(w, r)
	}
}

// left is what the trial still has. Before the agent has begun it is all of its time.
func (l *Link) left() protocol.Left {
	until := l.o.Timeout
	if deadline := l.deadline.Load(); deadline != nil {
		until = max(0, l.o.Line.Until(deadline.at))
	}
	left := protocol.Left{Seconds: int64(until.Seconds())}
	if l.o.Models != nil {
		budget := l.o.Models.Left()
		left.USD, left.Tokens = budget.USD, budget.Tokens
	}
	return left
}

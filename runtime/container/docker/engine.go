package docker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/singleflight"

	"github.com/assayd/assayd/runtime/container"
)

// callTimeout bounds every call that has a short answer. It is generous: a busy engine on
// a slow disk may need many seconds to start or remove something.
const callTimeout = 2 * time.Minute

// Options say how to reach the engine.
type Options struct {
	// Host is the engine's address, "unix:///var/run/docker.sock" or "tcp://…". Empty
	// means $DOCKER_HOST or else the default socket. For tcp $DOCKER_CERT_PATH is the
	// folder with ca.pem, cert.pem and key.pem; the engine is then always verified.
	Host string
	// Log hears about retries that no caller sees. Nil throws them away.
	Log *slog.Logger
	// Daemon is the id of this process, for the label of that name on every container. Empty
	// means no such label.
	Daemon string
	// Dir is a folder of this machine for the files of /etc that containers have mounted. It has
	// to stay for as long as they may be started again. Empty means one that ends with Close.
	Dir string
}

// Engine is a Docker engine with every capability of the contract. It is safe for
// concurrent use. Close it when done.
type Engine struct {
	log    *slog.Logger
	daemon string
	// calls gives up after callTimeout and serves what has a short answer; streams does not
	// and serves waits, stops, events, execs, archives, pulls and commits.
	calls, streams *client.Client
	local          bool // the engine runs on this machine, or nearly so

	// life ends with Close; what the engine does in the background belongs to it.
	life  context.Context
	end   context.CancelFunc
	work  sync.WaitGroup
	pulls singleflight.Group

	quotaLock sync.Mutex
	quota     *bool // whether the storage driver has quotas; nil: not asked yet

	gates gates

	deep chan struct{} // full while a deep tree is measured

	dirLock sync.Mutex
	dir     string // Options.Dir, or what was made in its place
	dirOurs bool   // it was
}

var (
	_ container.Engine    = (*Engine)(nil)
	_ container.Execer    = (*Engine)(nil)
	_ container.Restarter = (*Engine)(nil)
	_ container.Copier    = (*Engine)(nil)
	_ container.Freezer   = (*Engine)(nil)
	_ container.Pinner    = (*Engine)(nil)
	_ container.Hinter    = (*Engine)(nil)
	_ container.Meter     = (*Engine)(nil)
	_ container.Images    = (*Engine)(nil)
	_ container.Host      = (*Engine)(nil)
)

// New returns an engine without talking to it: an engine that is down makes the calls
// fail with container.ErrUnavailable, not New. Only options that cannot be right are an
// error. Pulls go on in the background until ctx ends or Close is called.
func New(ctx context.Context, o Options) (*Engine, error) {
	host := cmp.Or(o.Host, os.Getenv(client.EnvOverrideHost), client.DefaultDockerHost)
	scheme, _, ok := strings.Cut(host, "://")
	switch {
	case !ok:
		return nil, fmt.Errorf("docker host %q: not an address such as unix:///var/run/docker.sock or tcp://host:2376", host)
	case scheme != "unix" && scheme != "tcp":
		return nil, fmt.Errorf("docker host %q: %q is not supported, only unix and tcp are", host, scheme)
	}
	calls, err := connect(host, callTimeout)
	if err != nil {
		return nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	streams, err := connect(host, 0)
	if err != nil {
		return nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	e := &Engine{log: o.Log, daemon: o.Daemon, calls: calls, streams: streams, local: scheme == "unix", deep: make(chan struct{}, 1), dir: o.Dir}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.life, e.end = context.WithCancel(ctx)
	return e, nil
}

// connect makes a client whose calls fail when no answer begins within the timeout. It is
// the transport's: http.Client's own keeps a goroutine for each answer that the Docker
// client does not close, and there are such.
func connect(host string, timeout time.Duration) (*client.Client, error) {
	options := []client.Opt{
		client.WithHTTPClient(&http.Client{
			CheckRedirect: client.CheckRedirect,
			Transport: &http.Transport{
				ResponseHeaderTimeout: timeout, MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second,
			},
		}),
		client.WithHost(host),
		client.WithScheme("http"), // unless asked below; the client would guess it wrongly
		client.WithAPIVersionFromEnv(),
	}
	if dir := os.Getenv(client.EnvOverrideCertPath); dir != "" && strings.HasPrefix(host, "tcp:") {
		file := func(name string) string { return filepath.Join(dir, name) }
		options = append(options, client.WithScheme("https"),
			client.WithTLSClientConfig(file("ca.pem"), file("cert.pem"), file("key.pem")))
	}
	return client.New(options...)
}

// Close ends pulls that are under way and gives the connections back. Containers go on.
func (e *Engine) Close() error {
	e.end()
	e.work.Wait()
	err := e.calls.Close()
	return cmp.Or(err, e.streams.Close(), e.dropFolder())
}

// names of containers, and ids, as Docker allows them. Anything else, a slash above all,
// would address another part of the API.
var validName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// validID is a whole id, which is no name although it could be one.
var validID = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkName makes an id or name that no container can have a container that is not there.
func checkName(id string) error {
	if !validName.MatchString(id) {
		return fmt.Errorf("%w: %q is no name of a container", container.ErrNotFound, id)
	}
	return nil
}

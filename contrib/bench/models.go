package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/wire"
)

// What is asked of the gateway: questions one after the other, streams one after the other
// with so many events, and streams at once with so many events at the pace of a quick model.
const (
	questions     = 200
	streams       = 20
	streamEvents  = 2000
	streamsAtOnce = 200
	pacedEvents   = 200
	pace          = 20 * time.Millisecond
	promptBytes   = 90_000 // as the first request of a coding agent
)

// models measures what the gateway adds to requests to a model, against the same requests to
// the same scripted server without it. The gateway is a process of its own, on a store as the
// daemon has one.
func models(ctx context.Context, _ options, _ *docker.Engine) (all []result.Result, err error) {
	model := httptest.NewServer(http.HandlerFunc(scripted))
	defer model.Close()
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	through, err := beginGateway(ctx, dir, model.URL)
	if err != nil {
		return nil, err
	}
	defer through.end()
	direct := &asker{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streamsAtOnce}}, url: model.URL + "/v1"}
	for _, measure := range []func(context.Context, *gatewayProcess, *asker) ([]result.Result, error){perRequest, perToken, manyStreams} {
		found, err := measure(ctx, through, direct)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// scripted is the model: it answers with as many events as the question asks for in its
// model's name, "EVENTS:PACE". Each event has the time at which it was sent.
func scripted(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	const usage = `"usage":{"prompt_tokens":20000,"completion_tokens":200}`
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"content":"Yes."},"finish_reason":"stop"}],`+usage+`}`)
		return
	}
	count, wait, _ := strings.Cut(q.Model, ":")
	n, _ := strconv.Atoi(count)
	pause, _ := time.ParseDuration(wait)
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	for range n {
		if pause > 0 {
			time.Sleep(pause)
		}
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":%d,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", time.Now().UnixNano())
		if to.Flush() != nil {
			return
		}
	}
	_, _ = io.WriteString(w, `data: {"choices":[],`+usage+"}\n\ndata: [DONE]\n\n")
}

// asker asks the model, directly or through the gateway.
type asker struct {
	client *http.Client
	url    string
}

// ask asks and returns how long each event was on its way, in milliseconds.
func (a *asker) ask(ctx context.Context, model string, stream bool, prompt int) (late []float64, err error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": stream, "messages": []map[string]string{{"role": "user", "content": strings.Repeat("word ", prompt/5)}},
	})
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := a.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the scripted model: %w", client.StatusError(res.StatusCode))
	}
	lines := bufio.NewScanner(res.Body)
	whole := !stream
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), `"created":`); ok {
			sent, _, _ := strings.Cut(after, ",")
			at, err := strconv.ParseInt(sent, 10, 64)
			if err != nil {
				return nil, err
			}
			late = append(late, result.Milliseconds(time.Since(time.Unix(0, at))))
		}
		whole = whole || strings.HasSuffix(lines.Text(), "[DONE]")
	}
	if err := lines.Err(); err != nil || !whole {
		return nil, fmt.Errorf("the scripted model's answer is not whole: %w", err)
	}
	return late, nil
}

// perRequest asks one question after the other, in turns with and without the gateway.
func perRequest(ctx context.Context, through *gatewayProcess, direct *asker) ([]result.Result, error) {
	times := result.Samples{}
	for range questions {
		for name, a := range map[string]*asker{"through": through.asker, "direct": direct} {
			took, err := client.Timed(func() error { _, err := a.ask(ctx, "m", false, promptBytes); return err })
			if err != nil {
				return nil, err
			}
			times.Add(map[string]float64{name: took})
		}
	}
	r := result.Compare("ms", times["through"], times["direct"])
	r.Parts = map[string]float64{"the gateway's part": r.Ours - r.Reference}
	return []result.Result{r.Called("model_request", "a request to a model of 90 kB through the gateway", "the same without it")}, nil
}

// perToken asks for streams as fast as they come.
func perToken(ctx context.Context, through *gatewayProcess, direct *asker) ([]result.Result, error) {
	times := result.Samples{}
	for range streams {
		for name, a := range map[string]*asker{"through": through.asker, "direct": direct} {
			took, err := client.Timed(func() error { _, err := a.ask(ctx, fmt.Sprintf("%d:", streamEvents), true, 100); return err })
			if err != nil {
				return nil, err
			}
			times.Add(map[string]float64{name: 1000 * took / streamEvents})
		}
	}
	r := result.Compare("µs", times["through"], times["direct"])
	r.Parts = map[string]float64{"the gateway's part": r.Ours - r.Reference}
	return []result.Result{r.Called("model_token", "a streamed token through the gateway", "the same without it")}, nil
}

// manyStreams has many streams at once: how late their events are at the pace of a model, how
// many events come a second without a pace, and what memory the gateway needs for them.
func manyStreams(ctx context.Context, through *gatewayProcess, direct *asker) ([]result.Result, error) {
	before, err := through.resident()
	if err != nil {
		return nil, err
	}
	var during float64
	late, rates := map[string][]float64{}, map[string]float64{}
	for name, a := range map[string]*asker{"through": through.asker, "direct": direct} {
		var g errgroup.Group
		g.Go(func() (err error) {
			late[name], _, err = together(ctx, a, fmt.Sprintf("%d:%v", pacedEvents, pace))
			return err
		})
		if name == "through" {
			time.Sleep(pacedEvents * pace / 2) // in the middle
			during, err = through.resident()
		}
		if err := errors.Join(g.Wait(), err); err != nil {
			return nil, err
		}
		events, took, err := together(ctx, a, fmt.Sprintf("%d:", pacedEvents))
		if err != nil {
			return nil, err
		}
		rates[name] = float64(len(events)) / took.Seconds()
	}
	after, err := through.resident()
	if err != nil {
		return nil, err
	}
	latency := result.Compare("ms", late["through"], late["direct"])
	latency.Parts = map[string]float64{
		"p99": result.Quantile(late["through"], 0.99), "p99 without it": result.Quantile(late["direct"], 0.99), "added": latency.Ours - latency.Reference,
	}
	one := func(x float64) []float64 { return []float64{x} }
	memory := result.Compare("MB", one(during), one(before))
	memory.Parts = map[string]float64{"for each stream": (during - before) / streamsAtOnce, "afterwards": after}
	what := fmt.Sprintf("%d streams at once", streamsAtOnce)
	return []result.Result{
		latency.Called("model_streams_late", what+", 50 tokens a second each: a token is on its way", "without the gateway"),
		result.Compare("/s", one(rates["through"]), one(rates["direct"])).Called("model_streams_rate", what+", as fast as they come: tokens a second", "without the gateway"),
		memory.Called("model_streams_memory", what+": memory of the gateway's process", "before"),
	}, nil
}

// together has many streams at once, of 10 kB of prompt each.
func together(ctx context.Context, a *asker, model string) (late []float64, took time.Duration, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for range streamsAtOnce {
		g.Go(func() error {
			some, err := a.ask(ctx, model, true, 10_000)
			mu.Lock()
			defer mu.Unlock()
			late = append(late, some...)
			return err
		})
	}
	err = g.Wait()
	return late, time.Since(begun), err
}

// gatewayProcess is the gateway under measurement.
type gatewayProcess struct {
	*asker
	process *exec.Cmd
}

// asGateway is the first argument of this program when it is the gateway.
const asGateway = "as-gateway"

func beginGateway(ctx context.Context, dir, model string) (*gatewayProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g := &gatewayProcess{process: exec.CommandContext(ctx, self, asGateway, dir, model)}
	g.process.Stderr = os.Stderr
	if err := g.process.Start(); err != nil {
		return nil, err
	}
	gate := client.OverSocket(filepath.Join(dir, "s"))
	g.asker = &asker{client: &gate, url: "http://gateway" + gateway.OpenAIPrefix + "/v1"}
	err = client.Until(ctx, "the gateway answers", settle, func() (bool, error) {
		_, err := g.ask(ctx, "m", false, 5)
		return err == nil, nil
	})
	if err != nil {
		g.end()
		return nil, err
	}
	return g, nil
}

func (g *gatewayProcess) end() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait() // it was killed
}

// resident is the memory of the process, in MB.
func (g *gatewayProcess) resident() (float64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(g.process.Process.Pid), "status"))
	if err != nil {
		return 0, err
	}
	return megabytesOf(string(status), "VmRSS:")
}

// serveGateway is what the process does until it is killed.
func serveGateway(ctx context.Context, dir, model string) error {
	s, err := store.Open(ctx, filepath.Join(dir, "state"), store.Options{})
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Options{
		Providers: []gateway.Provider{{
			Name: "p", Protocol: wire.OpenAI, BaseURL: model + "/v1", Key: func() (string, error) { return "sk-of-nobody", nil },
			Prices: map[string]gateway.Price{"*": {Input: 3, Output: 15}},
		}},
		Ledger: ledger.NewUsageLedger(s), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	session, err := g.Open(ctx, gateway.Grant{
		Account: gateway.Account{Spec: "run.bench", Execution: 1, Trial: "bench.e1.1", Try: 1}, Provider: "p", Dir: dir, Each: gateway.Budget{USD: 1e6},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return err
	}
	return http.Serve(l, session)
}

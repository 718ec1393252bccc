package remotetest

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Large is from how many bytes on a file lies on the other host, as with LFS.
const Large = 1000

const pageSize = 2

// Hub is a dataset hub with datasets that stay in memory.
type Hub struct {
	URL   string
	Token string // that it wants; "" = none

	store *httptest.Server // the host for large files

	mu       sync.Mutex
	datasets map[string]map[string]string // "id commit" -> files by path
	heads    map[string]string
	asked    []string // "METHOD path Range"
	leaked   []string // requests that showed a token to the other host
	faults   []Fault
	lies     map[string]string
	gate     chan struct{} // closed to let requests for files go on; nil = they do
}

// Fault is what happens to one request for a file.
type Fault struct {
	Code  int    // instead of the file; 0 = the connection breaks
	After string // Retry-After
	Bytes int    // that come before the connection breaks
}

// NewHub starts a hub that ends with the test.
func NewHub(tb testing.TB) *Hub {
	h := &Hub{datasets: map[string]map[string]string{}, heads: map[string]string{}, lies: map[string]string{}}
	hub := httptest.NewServer(http.HandlerFunc(h.serve))
	h.store = httptest.NewServer(http.HandlerFunc(h.large))
	h.URL = hub.URL
	tb.Cleanup(func() { hub.Close(); h.store.Close() })
	return h
}

// Put makes a commit of a dataset with these files and returns its hash.
func (h *Hub) Put(id string, files map[string]string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %v", id, files))
	commit := hex.EncodeToString(sum[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	h.datasets[id+" "+commit], h.heads[id] = maps.Clone(files), commit
	return commit
}

// Fail has the next requests for files fail, one by one.
func (h *Hub) Fail(faults ...Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, faults...)
}

// Lie has a file be sent with another content than the list says; "" = no more.
func (h *Hub) Lie(path, content string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lies[path] = content
}

// Asked returns the requests for files so far, as "path" or "path bytes=N-", and forgets them.
func (h *Hub) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = nil
	return asked
}

// Leaked returns the requests that showed a token to the host for large files.
func (h *Hub) Leaked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leaked
}

// Hold has requests for files wait until release is called.
func (h *Hub) Hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = make(chan struct{})
	return sync.OnceFunc(func() { close(h.gate) })
}

func (h *Hub) wait(q *http.Request) {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	if gate == nil || strings.HasPrefix(q.URL.Path, "/api/") {
		return
	}
	select {
	case <-gate:
	case <-q.Context().Done():
	}
}

func (h *Hub) serve(w http.ResponseWriter, q *http.Request) {
	h.wait(q)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Token != "" && q.Header.Get("Authorization") != "Bearer "+h.Token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for key, files := range h.datasets {
		id, commit, _ := strings.Cut(key, " ")
		named := []string{commit}
		if h.heads[id] == commit {
			named = append(named, "main")
		}
		for _, name := range named {
			if q.URL.Path == "/api/datasets/"+id+"/revision/"+name {
				_ = json.NewEncoder(w).Encode(map[string]string{"id": id, "sha": commit})
				return
			}
		}
		if below, ok := strings.CutPrefix(q.URL.Path, "/api/datasets/"+id+"/tree/"+commit); ok {
			h.tree(w, q, strings.TrimPrefix(below, "/"), files)
			return
		}
		if path, ok := strings.CutPrefix(q.URL.Path, "/datasets/"+id+"/resolve/"+commit+"/"); ok {
			h.file(w, q, path, files)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// tree answers with one page.
func (h *Hub) tree(w http.ResponseWriter, q *http.Request, dir string, files map[string]string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(n string) bool { return dir != "" && !strings.HasPrefix(n, dir+"/") })
	from, _ := strconv.Atoi(q.FormValue("cursor"))
	to := min(from+pageSize, len(names))
	page := []map[string]any{{"type": "directory", "path": "dir", "size": 0, "oid": ""}}
	for _, name := range names[from:to] {
		text := files[name]
		blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))
		entry := map[string]any{"type": "file", "path": name, "size": len(text), "oid": hex.EncodeToString(blob[:])}
		if len(text) >= Large {
			sum := sha256.Sum256([]byte(text))
			entry["lfs"] = map[string]any{"oid": hex.EncodeToString(sum[:]), "size": len(text), "pointerSize": 130}
		}
		page = append(page, entry)
	}
	if to < len(names) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?recursive=true&cursor=%d>; rel="next"`, h.URL, q.URL.Path, to))
	}
	_ = json.NewEncoder(w).Encode(page)
}

func (h *Hub) file(w http.ResponseWriter, q *http.Request, path string, files map[string]string) {
	text, ok := files[path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if len(text) >= Large {
		http.Redirect(w, q, h.store.URL+"/"+q.URL.Path+"?signature=s1gned", http.StatusFound)
		return
	}
	h.send(w, q, path, text)
}

// large is the other host.
func (h *Hub) large(w http.ResponseWriter, q *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.Header.Get("Authorization") != "" {
		h.leaked = append(h.leaked, q.URL.Path)
	}
	for key, files := range h.datasets {
		id, commit, _ := strings.Cut(key, " ")
		if path, ok := strings.CutPrefix(strings.TrimPrefix(q.URL.Path, "/"), "/datasets/"+id+"/resolve/"+commit+"/"); ok {
			h.send(w, q, path, files[path])
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

func (h *Hub) send(w http.ResponseWriter, q *http.Request, path, text string) {
	if lie := h.lies[path]; lie != "" {
		text = lie
	}
	h.asked = append(h.asked, strings.TrimSpace(path+" "+q.Header.Get("Range")))
	var fault *Fault
	if len(h.faults) > 0 {
		fault = &h.faults[0]
		h.faults = h.faults[1:]
	}
	Send(w, q, text, "", fault)
}

// Send answers with a text as web servers do, or fails.
func Send(w http.ResponseWriter, q *http.Request, text, tag string, fault *Fault) {
	if fault != nil && fault.Code != 0 {
		if fault.After != "" {
			w.Header().Set("Retry-After", fault.After)
		}
		w.WriteHeader(fault.Code)
		return
	}
	if tag != "" {
		w.Header().Set("ETag", tag)
		if q.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	code, from := http.StatusOK, 0
	part, ranged := strings.CutPrefix(q.Header.Get("Range"), "bytes=")
	if match := q.Header.Get("If-Range"); ranged && (match == "" || match == tag) {
		from, _ = strconv.Atoi(strings.TrimSuffix(part, "-"))
		code = http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(text)-1, len(text)))
	}
	text = text[from:]
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	if fault == nil {
		_, _ = w.Write([]byte(text))
		return
	}
	_, _ = w.Write([]byte(text[:min(fault.Bytes, len(text))]))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Forgive has requests fail no more, and forgets those so far.
func (h *Hub) Forgive() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults, h.asked = nil, nil
}

package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assayd/assayd/daemon/api"
)

// Document reads the description, which must be a valid one.
var Document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return doc, nil
})

// contract is the description, with the members of objects closed: clients must ignore a member
// that they do not know, and a test must not.
type contract struct {
	doc     *openapi3.T
	paths   *http.ServeMux // by the patterns of the description
	error   *openapi3.Response
	schemas map[string]*jsonschema.Schema // by reference
}

var load = sync.OnceValues(func() (*contract, error) {
	doc, err := Document()
	if err != nil {
		return nil, err
	}
	c := &contract{doc: doc, paths: http.NewServeMux(), error: doc.Components.Responses["Problem"].Value}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			c.paths.Handle(method+" "+path, http.NotFoundHandler()) // only found, never called
		}
	}
	closed := map[*openapi3.Schema]bool{}
	for _, s := range doc.Components.Schemas {
		closeMembers(s, closed)
	}
	c.schemas, err = compiled(doc)
	return c, err
})

// compiled are the schemas of a document. A schema of OpenAPI 3.1 is one of JSON Schema, and openapi3
// would compile it for each answer.
func compiled(doc *openapi3.T) (map[string]*jsonschema.Schema, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode openapi.yaml: %w", err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml as JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	const at = "http://assayd/v1/openapi.json"
	if err := compiler.AddResource(at, whole); err != nil {
		return nil, fmt.Errorf("compile openapi.yaml: %w", err)
	}
	all := map[string]*jsonschema.Schema{}
	for name := range doc.Components.Schemas {
		ref := "#/components/schemas/" + name
		if all[ref], err = compiler.Compile(at + ref); err != nil {
			return nil, fmt.Errorf("compile the schema %s: %w", name, err)
		}
	}
	return all, nil
}

// closeMembers lets objects have no other members than those that are described.
func closeMembers(ref *openapi3.SchemaRef, closed map[*openapi3.Schema]bool) {
	if ref == nil || ref.Value == nil || closed[ref.Value] {
		return
	}
	s := ref.Value
	closed[s] = true
	if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		no := false
		s.AdditionalProperties.Has = &no
	}
	closeMembers(s.Items, closed)
	closeMembers(s.AdditionalProperties.Schema, closed)
	for _, p := range s.Properties {
		closeMembers(p, closed)
	}
	for _, some := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf, s.AllOf} {
		for _, p := range some {
			closeMembers(p, closed)
		}
	}
}

// response is what is described of an answer.
func (c *contract) response(q *http.Request, status int) (*openapi3.Response, error) {
	plain := q.Clone(context.Background())
	plain.Host, plain.URL.Host = "", ""
	_, pattern := c.paths.Handler(plain)
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		if status < http.StatusBadRequest {
			return nil, fmt.Errorf("%s %s is answered with %d, and is not described", q.Method, q.URL.Path, status)
		}
		return c.error, nil
	}
	answers := c.doc.Paths.Value(path).Operations()[method].Responses
	if known := answers.Status(status); known != nil {
		return known.Value, nil
	}
	if status < http.StatusBadRequest {
		return nil, fmt.Errorf("the status %d is not described", status)
	}
	return answers.Default().Value, nil
}

// Check says what of an answer is not as described. It reads the body of JSON whole and puts it back;
// of a stream it looks at each line as it is read, and tells wrong what it finds.
func Check(q *http.Request, a *http.Response, wrong func(error)) {
	if err := check(q, a, wrong); err != nil {
		wrong(fmt.Errorf("%s %s (%d): %w", q.Method, q.URL, a.StatusCode, err))
	}
}

func check(q *http.Request, a *http.Response, wrong func(error)) error {
	if strings.HasPrefix(q.URL.Path, "/debug/pprof/") || q.Method == http.MethodHead {
		return nil
	}
	c, err := load()
	if err != nil {
		return err
	}
	response, err := c.response(q, a.StatusCode)
	if err != nil {
		return err
	}
	if len(response.Content) == 0 {
		return nil
	}
	sent, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	content := response.Content[sent]
	if err != nil || content == nil {
		return fmt.Errorf("the type %q is not described", a.Header.Get("Content-Type"))
	}
	if sent == "text/event-stream" {
		a.Body = c.events(a.Body, func(err error) { wrong(fmt.Errorf("%s %s: %w", q.Method, q.URL, err)) })
		return nil
	}
	schema := c.schemas[content.Schema.Ref]
	if schema == nil { // a text, or an object of which nothing is said
		return nil
	}
	switch sent {
	case "application/x-ndjson":
		a.Body = &lines{ReadCloser: a.Body, each: func(line []byte) {
			if err := conforms(schema, line); err != nil {
				wrong(fmt.Errorf("%s %s: the line %s: %w", q.Method, q.URL, line, err))
			}
		}}
		return nil
	case "application/json", "application/problem+json":
		text, err := io.ReadAll(a.Body)
		if err = errors.Join(err, a.Body.Close()); err != nil { // the reader has to find that it is not whole
			a.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), iotest.ErrReader(err)))
			return nil
		}
		a.Body = io.NopCloser(bytes.NewReader(text))
		if err := conforms(schema, text); err != nil {
			return fmt.Errorf("%w\n%s", err, text[:min(len(text), 4096)])
		}
	}
	return nil
}

func conforms(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// lines looks at each line that is read.
type lines struct {
	io.ReadCloser
	each func(line []byte)
	part []byte
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.part = append(l.part, p[:n]...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			return n, err
		}
		l.each(line)
		l.part = rest
	}
}

// events looks at each event of a stream: that of the type look is an EventLook.
func (c *contract) events(body io.ReadCloser, wrong func(error)) io.ReadCloser {
	kind := ""
	return &lines{ReadCloser: body, each: func(line []byte) {
		name, value, _ := strings.Cut(string(line), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			schema := c.schemas["#/components/schemas/Event"+strings.ToUpper(kind[:min(1, len(kind))])+kind[min(1, len(kind)):]]
			if schema == nil {
				wrong(fmt.Errorf("the event %q is not described", kind))
			} else if err := conforms(schema, []byte(value)); err != nil {
				wrong(fmt.Errorf("the event %s %s: %w", kind, value, err))
			}
		}
	}}
}

// Transport sends requests by next and checks what comes back; nil is the default transport.
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{t, next}
}

type transport struct {
	t    testing.TB
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c transport) RoundTrip(q *http.Request) (*http.Response, error) {
	a, err := c.next.RoundTrip(q)
	if err == nil {
		Check(q, a, func(err error) { c.t.Error("not as openapi.yaml has it:", err) })
	}
	return a, err
}

// CloseIdleConnections lets a client close those of next.
func (c transport) CloseIdleConnections() {
	if next, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

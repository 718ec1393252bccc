package api

import (
	_ "embed"
	"net/http"
)

// OpenAPI is the description of this API, in YAML. It is written by hand, and tests compare it with
// the routes, the Go types, and every answer that they get.
//
//go:embed openapi.yaml
var OpenAPI []byte

func (h *handler) document(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(OpenAPI) // a reader that went away needs no answer
}

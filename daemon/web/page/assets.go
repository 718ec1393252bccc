package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

// StaticPath is below which scripts and styles are served.
const StaticPath = "/static/"

// build is a name for all scripts and styles as they are in this program: a page never gets those of another one.
var build = sync.OnceValue(func() string {
	sum := sha256.New()
	// An embedded file can always be read.
	_ = fs.WalkDir(static, "static", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		sum.Write(append([]byte(name), text...))
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16]
})

// asset is the address of a script or a style.
func asset(name string) string { return StaticPath + build() + "/" + name }

// Static serves scripts and styles. They never change under their address, so a browser asks for each once.
func Static() http.Handler {
	files := http.FileServerFS(static)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		rest, known := strings.CutPrefix(q.URL.Path, StaticPath+build()+"/")
		if !known || path.Clean("/"+rest) != "/"+rest || path.Ext(rest) == "" {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		own := q.Clone(q.Context())
		own.URL.Path = "/static/" + rest
		files.ServeHTTP(w, own)
	})
}

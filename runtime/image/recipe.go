package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
)

// recipeVersion is raised when the same recipe would give another image.
const recipeVersion = 1

// recipe is all that decides what is in an image, and for whom it is made, which decides only
// how it is called: equal recipes of an owner have one image. Absent fields add nothing; the fields stand
// in the order in which they are done.
type recipe struct {
	Version   int
	Role      string
	Owner     string `json:"-"` // of the image
	Benchmark string `json:"-"`
	Subject   string `json:"-"` // the task, or the base
	Name      string `json:"-"` // what the image is to be called; "" = after the hash
	Parent    string // image id

	UserDirective string   `json:",omitempty"`
	Packages      []string `json:",omitempty"`
	PipPackages   []string `json:",omitempty"`
	PostInstall   string   `json:",omitempty"`

	Dockerfile string `json:",omitempty"` // whose build context is Context
	Platform   string `json:",omitempty"` // which the text of the Dockerfile knows; "" without one

	Workdir string            `json:",omitempty"`
	Repo    *task.Repo        `json:",omitempty"`
	Context string            `json:",omitempty"` // digest of the tree
	Files   map[string]string `json:",omitempty"`
	Patch   []byte            `json:",omitempty"` // diff that is laid over workdir
	Setup   []string          `json:",omitempty"`
	AtHome  bool              `json:",omitempty"` // setup runs in the parent's own folder, workdir comes after it
	User    string            `json:",omitempty"`
	Env     map[string]string `json:",omitempty"`

	Untrusted bool `json:",omitempty"` // its commands are lent no secret
}

// hash returns the SHA-256 of the canonical JSON of the recipe.
func (r recipe) hash() string {
	r.Version = recipeVersion
	b, err := json.Marshal(r) // maps are sorted by encoding/json
	if err != nil {
		panic(err) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ref is the name of the image of the recipe.
func (r recipe) ref() (string, error) {
	if r.Name != "" {
		return r.Name, nil
	}
	return refName(r.Benchmark, r.Role, r.Subject, r.hash()[:tagDigits])
}

// tagDigits is how many digits of the hash the name of a task's image has.
const tagDigits = 12

// shared is the name that the image of the recipe has for all tasks of its owner. It has the
// whole hash, and neither the form of the names of a task's images nor one that Docker's hub
// has accounts for. Another owner's image is shared with nobody here: that owner removes it.
func (r recipe) shared() string {
	return "assayd-" + component(r.Owner, plainName) + "." + r.Role + ":" + r.hash()
}

// made reports whether the image was made by the recipe.
func (r recipe) made(img container.Image) bool { return img.Config.Labels[LabelRecipe] == r.hash() }

// tree is the digest of what is copied into workdir.
func (r recipe) tree() string {
	if r.Dockerfile != "" {
		return ""
	}
	return r.Context
}

// changes reports whether the recipe puts anything into the parent's file system.
func (r recipe) changes() bool {
	return strings.TrimSpace(r.UserDirective) != "" || strings.TrimSpace(r.PostInstall) != "" ||
		len(r.Packages)+len(r.PipPackages)+len(r.Files)+len(r.Patch)+len(r.Setup) > 0 || r.Repo != nil || r.Context != "" || r.Dockerfile != ""
}

// user is whom containers of the image run as.
func (r recipe) user(parent container.Image) string {
	if r.User != "" {
		return r.User
	}
	return parent.Config.User
}

// config is the parent's configuration with what the recipe says of it.
func (r recipe) config(parent container.ImageConfig) container.ImageConfig {
	c := parent
	c.Env, c.Labels = merge(parent.Env, r.Env), maps.Clone(parent.Labels)
	if r.User != "" {
		c.User = r.User
	}
	if r.Workdir != "" {
		c.Workdir = r.Workdir
	}
	return c
}

// labels are those of the finished image. They name no task, as several may share it. Every
// label of the build container that is not among them is emptied, because a commit would hand
// it on.
func (r recipe) labels(build map[string]string) map[string]string {
	l := map[string]string{container.LabelHash: ""}
	for k := range build {
		l[k] = ""
	}
	l[LabelImageOwner] = r.Owner
	l[LabelName] = r.shared()
	l[container.LabelRole] = r.Role
	l[LabelRecipe] = r.hash()
	l[LabelParent] = r.Parent
	return l
}

// merge returns a new map with the entries of both; those of over win.
func merge(under, over map[string]string) map[string]string {
	if len(under)+len(over) == 0 {
		return nil
	}
	m := make(map[string]string, len(under)+len(over))
	maps.Copy(m, under)
	maps.Copy(m, over)
	return m
}

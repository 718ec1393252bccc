package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
)

// Names of Docker's own registry: in references, and in what `docker login` stores.
const (
	hub     = "docker.io"
	hubAuth = "https://index.docker.io/v1/"
)

// noCredentials is what an engine is sent when there are none: {} in its encoding.
const noCredentials = "e30="

// helperTime is what a credential helper may take; one that wants to ask somebody never ends.
const helperTime = 30 * time.Second

// maxLogins bounds the file that `docker login` writes.
const maxLogins = 4 << 20

// helperName is what a credential helper may be called: it becomes the name of a program.
var helperName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// logins is what of the client's config.json matters here.
type logins struct {
	Auths map[string]struct {
		Auth          string `json:"auth"` // base64 of user:password
		IdentityToken string `json:"identitytoken"`
		RegistryToken string `json:"registrytoken"`
	} `json:"auths"`
	CredsStore  string            `json:"credsStore"`
	CredHelpers map[string]string `json:"credHelpers"`
}

// credentials returns what `docker login` stored for a registry, in the engine's encoding;
// "" when there is nothing. They are read each time: a login may come at any moment.
func credentials(ctx context.Context, domain string) (string, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", nil // a daemon without a home has not logged in
		}
		dir = filepath.Join(home, ".docker")
	}
	file := filepath.Join(dir, "config.json")
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err == nil && info.Size() > maxLogins {
		err = errors.New("it is too long")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	var all logins
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return "", fmt.Errorf("read the registry logins in %s: %w", file, err)
	}
	return all.of(ctx, domain)
}

// of finds the login of one registry: its own helper, the store of all, or the file.
func (l logins) of(ctx context.Context, domain string) (string, error) {
	names := []string{domain, "https://" + domain, "https://" + domain + "/"}
	if domain == hub {
		names = []string{hubAuth, "index.docker.io"}
	}
	for _, name := range names {
		if helper := l.CredHelpers[name]; helper != "" {
			return ask(ctx, helper, name)
		}
	}
	if l.CredsStore != "" {
		found, err := ask(ctx, l.CredsStore, names[0])
		if found != "" || err != nil {
			return found, err
		}
	}
	for _, name := range names {
		a, ok := l.Auths[name]
		if !ok || a.Auth+a.IdentityToken+a.RegistryToken == "" {
			continue
		}
		pair, err := base64.StdEncoding.DecodeString(a.Auth)
		if err != nil {
			return "", fmt.Errorf("the stored login of %s is not base64", name)
		}
		user, password, _ := strings.Cut(strings.TrimRight(string(pair), "\x00"), ":")
		return authconfig.Encode(registry.AuthConfig{
			Username: user, Password: password, ServerAddress: name,
			IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
		})
	}
	return "", nil
}

// ask gets a login from a credential helper, a program docker-credential-NAME. One that
// knows none ends with a failure and says so.
func ask(ctx context.Context, helper, server string) (string, error) {
	if !helperName.MatchString(helper) {
		return "", fmt.Errorf("credential helper %q: not a name", helper)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	program := exec.CommandContext(ctx, "docker-credential-"+helper, "get") //nolint:gosec // the user's own choice
	program.WaitDelay = time.Second
	program.Stdin = strings.NewReader(server)
	out, err := program.Output()
	if err != nil {
		if bytes.Contains(out, []byte("credentials not found")) {
			return "", nil
		}
		return "", fmt.Errorf("ask docker-credential-%s for the login of %s: %w", helper, server, err)
	}
	var found struct{ Username, Secret string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("docker-credential-%s: its answer cannot be read", helper)
	}
	auth := registry.AuthConfig{Username: found.Username, Password: found.Secret, ServerAddress: server}
	if found.Username == "<token>" {
		auth = registry.AuthConfig{IdentityToken: found.Secret, ServerAddress: server}
	}
	return authconfig.Encode(auth)
}

package git

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// configName is the file of configuration in a home.
const configName = "gitconfig"

// config is what holds for every command: folders of other people may be read, no transport
// is used that is not named, and nothing runs or changes by the way.
const config = `[safe]
	directory = *
[protocol]
	allow = never
[core]
	hooksPath = /dev/null
	fsmonitor = false
	logAllRefUpdates = false
	autocrlf = false
	attributesFile = /dev/null
	excludesFile = /dev/null
[submodule]
	recurse = false
[gc]
	auto = 0
	autoDetach = false
[maintenance]
	auto = false
[advice]
	detachedHead = false
`

// Fetching is more configuration, for who fetches from wherever people name: well-known
// transports alone, a commit by its hash, and no transfer that crawls for longer than
// patience, in whole seconds.
func Fetching(patience time.Duration) string {
	return fmt.Sprintf(`[uploadpack]
	allowAnySHA1InWant = true
[protocol "https"]
	allow = always
[protocol "http"]
	allow = always
[protocol "ssh"]
	allow = always
[protocol "file"]
	allow = always
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = %d
`, int(patience.Seconds()))
}

// New returns a Git whose home is that folder of this machine, and writes its configuration
// there: the one that holds for all, and then more, which may overrule it.
func New(home, more string) (Git, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return Git{}, err
	}
	file := filepath.Join(home, configName)
	if err := os.WriteFile(file, []byte(config+more), 0o600); err != nil {
		return Git{}, fmt.Errorf("write the configuration of git: %w", err)
	}
	env := append(passed(os.Environ()),
		"HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+file, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=never",
		"GIT_SSH_COMMAND="+sshCommand(filepath.Join(home, "known_hosts")), "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	return Git{env: env, within: defaultTime, most: defaultOutput}, nil
}

// sshCommand is an ssh that has no key, no agent and no configuration of this machine's users. It
// keeps the keys of hosts at first sight. ssh finds the home of its user without HOME.
func sshCommand(knownHosts string) string {
	options := []string{
		"BatchMode=yes", "IdentityFile=none", "IdentitiesOnly=yes", "IdentityAgent=none", "PKCS11Provider=none", "GSSAPIAuthentication=no",
		"HostbasedAuthentication=no", "StrictHostKeyChecking=accept-new", "GlobalKnownHostsFile=/dev/null",
	}
	command := "ssh -F /dev/null"
	for _, option := range options {
		command += " -o " + option
	}
	return command + ` -o 'UserKnownHostsFile="` + strings.ReplaceAll(knownHosts, "'", `'\''`) + `"'`
}

// passedOn is what Git needs of an environment: where programs are and how the network is
// reached.
var passedOn = regexp.MustCompile(`(?i)^(PATH|TMPDIR|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|GIT_SSL_CAINFO|GIT_EXEC_PATH)=`)

func passed(environ []string) []string {
	var env []string
	for _, e := range environ {
		if passedOn.MatchString(e) {
			env = append(env, e)
		}
	}
	return env
}

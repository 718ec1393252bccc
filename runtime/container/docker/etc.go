package docker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/moby/moby/api/types/mount"

	contract "github.com/assayd/assayd/runtime/container"
)

// hostname is every container's name for itself.
const hostname = "container"

// hosts are Docker's own names, and the container's.
const hosts = `127.0.0.1	localhost
127.0.0.1	` + hostname + `
::1	localhost ip6-localhost ip6-loopback
fe00::0	ip6-localnet
ff00::0	ip6-mcastprefix
ff02::1	ip6-allnodes
ff02::2	ip6-allrouters
`

// noServers is the /etc/resolv.conf of a container that reaches none.
const noServers = "# This container has no network.\n"

// What of this machine says which name servers containers ask, if it is there.
const (
	hostResolv      = "/etc/resolv.conf"
	hostResolvBelow = "/run/systemd/resolve/resolv.conf" // what stands behind the stub of systemd-resolved
	hostDocker      = "/etc/docker/daemon.json"
)

// etc makes the files of /etc that containers of the network are given, and mounts them
// read-only in the place of the engine's. Those are files of the host, which a container may
// write, and which no limit of its disk counts.
func (e *Engine) etc(n contract.Network) ([]mount.Mount, error) {
	dir, err := e.folder()
	if err != nil {
		return nil, err
	}
	servers, text := "resolv-none.conf", []byte(noServers)
	if n == contract.NetworkOpen {
		servers, text = "resolv-open.conf", nameServers(readSmall(hostDocker), readSmall(hostResolv), readSmall(hostResolvBelow))
	}
	var mounts []mount.Mount
	for _, f := range []struct {
		name, target string
		text         []byte
	}{
		{"hosts", "/etc/hosts", []byte(hosts)},
		{"hostname", "/etc/hostname", []byte(hostname + "\n")},
		{servers, "/etc/resolv.conf", text},
	} {
		name := filepath.Join(dir, f.name)
		// A file that is right stays: running containers have it mounted, and see no other.
		if have, err := os.ReadFile(name); err != nil || !bytes.Equal(have, f.text) {
			if err := renameio.WriteFile(name, f.text, 0o644, renameio.IgnoreUmask()); err != nil {
				return nil, fmt.Errorf("write %s for containers: %w", f.target, err)
			}
		}
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: name, Target: f.target, ReadOnly: true})
	}
	return mounts, nil
}

// folder is where the files of etc are.
func (e *Engine) folder() (string, error) {
	e.dirLock.Lock()
	defer e.dirLock.Unlock()
	if e.dir == "" {
		made, err := os.MkdirTemp("", "assayd-etc-")
		if err != nil {
			return "", fmt.Errorf("make a folder for the files of containers: %w", err)
		}
		e.dir, e.dirOurs = made, true
	}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the files of containers: %w", err)
	}
	return e.dir, nil
}

// dropFolder removes the folder if it was made for this engine alone.
func (e *Engine) dropFolder() error {
	e.dirLock.Lock()
	defer e.dirLock.Unlock()
	if !e.dirOurs {
		return nil
	}
	return os.RemoveAll(e.dir)
}

// nameServers is what Docker writes for a container of its default network: what its settings
// say of name servers, and else what the host has, but for servers on the host's loopback and
// those by IPv6, which the network does not have.
func nameServers(docker, host, below []byte) []byte {
	var set struct {
		DNS    []string `json:"dns"`
		Search []string `json:"dns-search"`
		Opts   []string `json:"dns-opts"`
	}
	_ = json.Unmarshal(docker, &set) // one that is not there, or that Docker does not understand, says nothing
	if stub := servers(host); len(stub) == 1 && stub[0] == "127.0.0.53" && len(below) > 0 {
		host = below
	}
	var out bytes.Buffer
	found := false
	server := func(s string) {
		found = true
		fmt.Fprintf(&out, "nameserver %s\n", s)
	}
	for _, s := range set.DNS {
		server(s)
	}
	if !found {
		for _, s := range servers(host) {
			if a, err := netip.ParseAddr(s); err == nil && a.Is4() && !a.IsLoopback() {
				server(s)
			}
		}
	}
	if !found {
		server("8.8.8.8")
		server("8.8.4.4")
	}
	for _, k := range []struct {
		word string
		set  []string
	}{{"search", set.Search}, {"options", set.Opts}} {
		if len(k.set) == 0 {
			k.set = resolvWords(host, k.word)
		}
		if len(k.set) > 0 {
			fmt.Fprintf(&out, "%s %s\n", k.word, strings.Join(k.set, " "))
		}
	}
	return out.Bytes()
}

// servers are the name servers of a resolv.conf.
func servers(conf []byte) []string {
	var all []string
	for line := range strings.Lines(string(conf)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			all = append(all, f[1])
		}
	}
	return all
}

// resolvWords is what the last line of a resolv.conf with the word says.
func resolvWords(conf []byte, word string) (words []string) {
	for line := range strings.Lines(string(conf)) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == word {
			words = f[1:]
		}
	}
	return words
}

// readSmall reads the beginning of a file of the host; one that cannot be read is empty.
func readSmall(name string) []byte {
	const most = 64 << 10
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil
	}
	return text
}

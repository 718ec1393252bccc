// Command assayd is the daemon and its command line. Under the names of the guest it is
// what runs inside containers.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/assayd/assayd/daemon/cli"
	"github.com/assayd/assayd/runtime/guest"
)

// version is set by the linker.
var version string

func main() {
	if code, handled := guest.Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, name()))
}

// name is the version as the build knows it.
func name() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

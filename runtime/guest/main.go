package guest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/assayd/assayd/runtime/guest/client"
	"github.com/assayd/assayd/runtime/guest/judgecmd"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// Main runs the program under whose name it was called: args is os.Args. handled is false
// when the name is none of the guest's, and then nothing was done; otherwise code is what
// the process is to exit with. It is to be called first thing by main.
func Main(args []string) (code int, handled bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch filepath.Base(args[0]) {
	case protocol.NameGuest:
		return guestMain(args[1:]), true
	case protocol.NameSubmit, protocol.NameSubmitSForge:
		return client.Submit(context.Background(), args), true
	}
	return 0, false
}

const guestUsage = `usage: assay-guest run      supervise the agent of a trial, as first process of its container
       assay-guest hold     do nothing but reap, as first process of a container
       assay-guest dial HOST:PORT
                            be a connection to a server in the same container
       assay-guest remove   remove the paths on standard input, each ended by NUL, from the
                            current folder
       assay-guest compare  tell which of the files on standard input, a digest, a space and a
                            path each, ended by NUL, is another in the current folder
       assay-guest sweep    kill all processes of a container that assay-guest holds
       assay-guest stop     say whether the agent may stop, as the hook that its program asks
       assay-guest oracle   apply the known solution and submit it
       assay-guest nop      do nothing
`

func guestMain(args []string) int {
	if len(args) == 2 && args[0] == "dial" {
		if err := judgecmd.Dial(context.Background(), args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "dial:", err)
			return exitFailure
		}
		return 0
	}
	if len(args) != 1 {
		fmt.Fprint(os.Stderr, guestUsage)
		return exitFailure
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch args[0] {
	case "run":
		if c, err := readConfig(layoutAt("/").config); err == nil && c.Kept {
			return hold()
		}
		if err := supervise(layoutAt("/"), log); err != nil {
			log.Error("the guest gives up", "err", err)
			return exitFailure
		}
		return 0
	case "hold":
		return hold()
	case "oracle":
		return client.Oracle(context.Background())
	case "remove":
		return told("remove", judgecmd.Remove(".", os.Stdin))
	case "compare":
		return told("compare", judgecmd.Compare(".", os.Stdin, os.Stdout))
	case "sweep":
		return told("sweep", judgecmd.Sweep(context.Background()))
	case "stop":
		return client.StopHook(context.Background())
	case "nop":
		return 0
	}
	fmt.Fprint(os.Stderr, guestUsage)
	return exitFailure
}

// told is the exit code of a command of the daemon, which reads its complaint.
func told(what string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return exitFailure
}

// exitFailure is the exit code of everything that did not do what it was asked.
const exitFailure = 1

// layout is where the supervisor finds things; tests put it elsewhere.
type layout struct {
	config      string
	guestSocket string
	judgeSocket string
	state       string
	etc         string // folder of passwd and group
	relayAddr   string
	stopAddr    string
}

func layoutAt(root string) layout {
	return layout{
		config:      filepath.Join(root, protocol.ConfigFile),
		guestSocket: filepath.Join(root, protocol.GuestSocket),
		judgeSocket: filepath.Join(root, protocol.JudgeSocket),
		state:       filepath.Join(root, protocol.StateDir),
		etc:         filepath.Join(root, "etc"),
		relayAddr:   protocol.RelayAddr,
		stopAddr:    protocol.StopAddr,
	}
}

package clock

import (
	"bytes"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// bootFile is the kernel's.
const bootFile = "/proc/sys/kernel/random/boot_id"

// clockBoottime is CLOCK_BOOTTIME, which nobody can set and which goes on in suspension.
const clockBoottime = 7

// machine reads which boot this is and how long ago it was; boot is "" where either cannot
// be known.
func machine() (boot string, up time.Duration) {
	id := booted()
	if id == "" {
		return "", 0
	}
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return "", 0
	}
	return rebooted(id), time.Duration(t.Nano())
}

// booted is the kernel's name of this boot, "" if it cannot be read. It is read once: no process
// outlives its boot.
var booted = sync.OnceValue(func() string {
	id, err := os.ReadFile(bootFile)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
})

package guest

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// isEstablished reports whether a connection is, as far as the kernel knows.
func isEstablished(fd int) bool {
	const stateEstablished = 1 // TCP_ESTABLISHED, in the first byte of struct tcp_info
	info, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_INFO)
	bytes := binary.NativeEndian.AppendUint32(nil, uint32(info))
	return err == nil && bytes[0] == stateEstablished
}

// notDumpable keeps everybody from reading and tracing this process's memory.
func notDumpable() error {
	const setDumpable = 4 // PR_SET_DUMPABLE
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// sigSTKFLT is nobody's but the kernel's.
const sigSTKFLT = syscall.SIGSTKFLT

// setAction tells the kernel what to do with a signal, past the runtime.
func setAction(n syscall.Signal, what uint64) {
	const setSize = 8            // bytes of a signal set
	action := [4]uint64{0: what} // struct sigaction: handler, flags, restorer, mask
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0)
}

// pipe makes a pipe that no other program inherits.
func pipe(ends *[2]int) error { return syscall.Pipe2(ends[:], syscall.O_CLOEXEC) }

package judgecmd

import "syscall"

// acknowledge has the kernel tell the peer at once what was read.
func acknowledge(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1) // without it things are slower, no more
}

//go:build !linux

package cellhost

import (
	"errors"
	"time"
)

func thisThread() int { return 0 }

func threadCPU(int) (time.Duration, error) {
	return 0, errors.New("only Linux tells what a thread takes")
}

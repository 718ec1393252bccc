package statedir

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The error of a lock that is held names the holder, and the lock is free again once the holder lets go.
func TestALockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	held, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir)
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Dir != dir || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second lock: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after the first lock is gone: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A caller learns from the error of a file whether the disk is full or read-only.
func TestErrorsOfTheDiskHaveACause(t *testing.T) {
	other := errors.New("other")
	for _, tc := range []struct{ err, cause error }{
		{&os.PathError{Err: unix.ENOSPC}, ErrNoSpace}, {&os.PathError{Err: unix.EDQUOT}, ErrNoSpace}, {&os.PathError{Err: unix.EROFS}, ErrReadOnly}, {other, nil}, {nil, nil},
	} {
		if got := Cause(tc.err); got != tc.cause {
			t.Errorf("the cause of %v is %v, want %v", tc.err, got, tc.cause)
		}
		if got := Explain(tc.err); !errors.Is(got, tc.err) || tc.cause != nil && !errors.Is(got, tc.cause) {
			t.Errorf("%v is explained as %v", tc.err, got)
		}
	}
}

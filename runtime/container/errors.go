package container

import "errors"

// Kinds of failure. Engines wrap them with %w and what was attempted on what.
var (
	// ErrNotFound: no such container, image or path. The engine was asked and answered.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the name belongs to something else, or the thing is in use.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: the engine could not be asked (down, restarting, no permission to
	// its socket). Nothing is known; waiting may help.
	ErrUnavailable = errors.New("container engine unavailable")
	// ErrNoSpace: the engine's disk is full.
	ErrNoSpace = errors.New("no space left for containers or images")
	// ErrCommandNotFound: the program to run is not in the image.
	ErrCommandNotFound = errors.New("command not found in the image")
	// ErrRegistry: the registry cannot be reached or has too much to do. Trying again may help.
	ErrRegistry = errors.New("registry out of reach")
	// ErrNoSuchRegistry: no name server knows the registry, whose name is likely misspelt.
	ErrNoSuchRegistry = errors.New("no such registry")
	// ErrNoAnswer is an ErrRegistry of a registry that has not said a word.
	ErrNoAnswer = errors.New("no answer")
	// ErrDenied: the registry does not let us; it may want a login.
	ErrDenied = errors.New("denied by the registry")
	// ErrUnsupported: this engine cannot do that.
	ErrUnsupported = errors.New("not supported by this engine")
)

// Unavailable reports whether the error says that the engine could not be asked.
func Unavailable(err error) bool { return errors.Is(err, ErrUnavailable) }

// Passes reports whether the error may pass by itself in a while: the engine's disk is full, or
// a registry that exists is out of reach.
func Passes(err error) bool { return errors.Is(err, ErrNoSpace) || errors.Is(err, ErrRegistry) }

// Final reports whether the error is an answer about an image, which is the same however often
// it is asked for: there is none, its registry does not exist, or it does not let us.
func Final(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoSuchRegistry) || errors.Is(err, ErrDenied)
}

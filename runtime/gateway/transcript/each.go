package transcript

import "io"

// Each calls f with each line of a transcript, in order, until f returns an error, which it
// returns. What is no whole line, or no JSON, is passed over.
func Each(r io.Reader, f func(Line) error) error {
	_, err := each(r, f)
	return err
}

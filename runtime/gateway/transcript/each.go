package transcript

import "io"

// Each calls f with each line of a transcript, in order, until f returns an error, which it
// returns. A line that a killed daemon did not finish is left out.
func Each(r io.Reader, f func(Line) error) error {
	_, err := each(r, f)
	return err
}

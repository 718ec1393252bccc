package sandbox

import (
	"bytes"
	"testing"
)

// What says that output is missing is what keeps it.
func TestACaptureSaysThatItIsCut(t *testing.T) {
	c := &Capture{half: 10}
	_, _ = c.Write(bytes.Repeat([]byte("x"), 20))
	if c.Cut() {
		t.Error("nothing is missing yet")
	}
	_, _ = c.Write([]byte("y"))
	if !c.Cut() {
		t.Error("a byte is missing")
	}
}

func TestOutputIsKeptAtBothEnds(t *testing.T) {
	for _, chunk := range []int{1, 3, 7, 100} {
		c := &Capture{half: 5}
		text := "0123456789abcdefghij"
		for i := 0; i < len(text); i += chunk {
			if _, err := c.Write([]byte(text[i:min(i+chunk, len(text))])); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(c.Bytes()); got != "01234\n[10 bytes of output left out]\nfghij" {
			t.Errorf("in pieces of %d: %q", chunk, got)
		}
	}
	c := &Capture{half: 5}
	if _, err := c.Write([]byte("01234567")); err != nil || string(c.Bytes()) != "01234567" {
		t.Errorf("kept %q (%v)", c.Bytes(), err)
	}
}

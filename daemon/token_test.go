package daemon

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
)

// TestTheTokenOfTheNetworkIsLong: a short one can be found by trying.
func TestTheTokenOfTheNetworkIsLong(t *testing.T) {
	for token, fits := range map[string]bool{"x": false, strings.Repeat("x", 31): false, " " + strings.Repeat("x", 31) + "\n": false, strings.Repeat("x", 32): true} {
		err := CheckHTTP(&config.Settings{HTTP: config.HTTP{Token: config.SecretText(token)}}, true)
		if (err == nil) != fits {
			t.Errorf("a token of %d characters: %v", len(token), err)
		}
		if err != nil && (!strings.Contains(err.Error(), "32 characters") || strings.Contains(err.Error(), strings.Repeat("x", 31))) {
			t.Errorf("the message says too little or too much: %v", err)
		}
	}
}

package layer

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// sum512 is the SHA-512 of an archive.
type sum512 [sha512.Size]byte

const sumPrefix = "sha512-"

// String is the sum as package-lock.json has it.
func (s sum512) String() string { return sumPrefix + base64.StdEncoding.EncodeToString(s[:]) }

// parseIntegrity reads what the W3C calls Subresource Integrity: hashes with spaces between
// them, each perhaps with options after a question mark. Any but a SHA-512 are passed over,
// because none of them keeps out a forger, or none is used by a registry.
func parseIntegrity(text string) (sum512, error) {
	for _, hash := range strings.Fields(text) {
		encoded, ok := strings.CutPrefix(hash, sumPrefix)
		if !ok {
			continue
		}
		encoded, _, _ = strings.Cut(encoded, "?")
		raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err == nil && len(raw) == sha512.Size {
			return sum512(raw), nil
		}
	}
	return sum512{}, fmt.Errorf("the integrity %q holds no SHA-512", text)
}

// check compares a file with the sum.
func (s sum512) check(path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	hash := sha512.New()
	if _, err := io.Copy(hash, in); err != nil {
		return err
	}
	if got := sum512(hash.Sum(nil)); got != s {
		return fmt.Errorf("its checksum is %s instead of %s", got, s)
	}
	return nil
}

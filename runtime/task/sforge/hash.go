package sforge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A name of an image ends in a hash of the JSON text that Python writes, so the text has
// to be the same to the byte.

// tagLength is how much of a hash stands in a name.
const tagLength = 12

// hashOf returns the SHA-256, in hex, of a value's text.
func hashOf(value any) string {
	var b strings.Builder
	dump(&b, value)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// baseHash is the hash of a base image.
func baseHash(key string, spec map[string]any) string {
	return hashOf(map[string]any{"key": key, "spec": spec})
}

// partHash is the hash of a work or a judge image.
func partHash(base, workdir, platform string, setup []string) string {
	commands := make([]any, len(setup))
	for i, c := range setup {
		commands[i] = c
	}
	return hashOf(map[string]any{"base_hash": base, "cwd": workdir, "platform": platform, "setup_cmds": commands})
}

// imageName is the name of an image: role is base, work or judge.
func imageName(benchmark, role, subject, tag string) string {
	return fmt.Sprintf("%s.%s.%s:%s", benchmark, role, subject, tag)
}

// dump writes a value as json.dumps(value, sort_keys=True) does. It knows nil, bool,
// *big.Int, float64, string, []any and map[string]any.
func dump(b *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(floatText(v))
	case string:
		dumpString(b, v)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			dump(b, item)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) { // bytes of UTF-8 sort as code points do
			if i > 0 {
				b.WriteString(", ")
			}
			dumpString(b, key)
			b.WriteString(": ")
			dump(b, v[key])
		}
		b.WriteByte('}')
	}
}

// dumpString leaves printable ASCII as it is and escapes the rest.
func dumpString(b *strings.Builder, s string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}
	b.WriteByte('"')
	for _, r := range s {
		switch escape, ok := short[r]; {
		case ok:
			b.WriteString(escape)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}

// floatText is the shortest text that gives the number again, written as Python does.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if n, err := strconv.Atoi(exponent); err == nil && n >= -4 && n < 16 {
		if text = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	return text
}

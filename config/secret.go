package config

import "log/slog"

// Secret is a value that stays at home. From secret() it holds a name only, to be looked
// up at use; written out or from env() it holds the text. All its printed forms are "***".
type Secret struct {
	name string
	text string
}

// SecretText returns a secret that holds the text itself.
func SecretText(text string) Secret { return Secret{text: text} }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// Name returns the name to look up, "" where the text was given.
func (s Secret) Name() string { return s.name }

// Value returns the text, looking a name up with read.
func (s Secret) Value(read func(name string) (string, bool)) (string, bool) {
	if s.name != "" {
		return read(s.name)
	}
	return s.text, s.text != ""
}

func (s Secret) masked() string {
	if s.IsZero() {
		return ""
	}
	return "***"
}

// String returns "***", or "" for no secret.
func (s Secret) String() string { return s.masked() }

// GoString returns what String does.
func (s Secret) GoString() string { return s.masked() }

// LogValue returns what String does.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.masked()) }

// MarshalJSON returns what String does.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.masked() + `"`), nil }

package patch

import "archive/tar"

// removed marks an entry of a tar that says that a path is gone.
const removed = "ASSAYD.removed"

// Removal is a tar entry that says that a path of the tree below is gone.
func Removal(name string) *tar.Header {
	return &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Format: tar.FormatPAX, PAXRecords: map[string]string{removed: "1"},
	}
}

// Removes reports whether an entry says that its path is gone.
func Removes(h *tar.Header) bool { return h.PAXRecords[removed] != "" }

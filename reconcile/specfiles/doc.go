// Package specfiles tells what may be made of spec files as they lie on the disk: which of them are gone rather than
// not seen (DeletionGuard), which somebody may still be writing (Debounce), how long none needs to be read again
// (ScanCache), and copies of the folders that they name, made beside the loop and each once (Copies).
package specfiles

package swebench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of a parquet file: the library makes room for whatever the file says that it holds.
const (
	maxFooter       = 16 << 20
	maxThrift       = 1_000_000 // entries of lists in one message
	maxThriftDepth  = 24
	maxColumns      = 2000
	maxPageHeader   = 3 * maxRow // some writers put the least and the greatest value there
	maxPage         = 256 << 20
	maxUncompressed = 4 << 30
	maxChunkValues  = 4_000_000
	maxLevels       = 30
)

var errBroken = errors.New("is no parquet file, or a broken one")

// auditFooter looks through the description of a parquet file before the library reads it.
func auditFooter(file io.ReaderAt, size int64) error {
	var end [8]byte
	if size < 12 {
		return errBroken
	}
	if _, err := file.ReadAt(end[:], size-8); err != nil {
		return fmt.Errorf("read the end: %w", err)
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	switch {
	case string(end[4:]) != "PAR1" || length > size-12:
		return errBroken
	case length > maxFooter:
		return fmt.Errorf("its description is larger than %d MiB", maxFooter>>20)
	}
	footer := make([]byte, length)
	if _, err := file.ReadAt(footer, size-8-length); err != nil {
		return fmt.Errorf("read the description: %w", err)
	}
	if _, err := skim(footer); err != nil {
		return err
	}
	return guarded("read the description", func() error {
		var meta format.FileMetaData
		var protocol thrift.CompactProtocol
		if err := thrift.NewDecoder(protocol.NewReaderFromBytes(footer)).Decode(&meta); err != nil {
			return err
		}
		if len(meta.Schema) > maxColumns {
			return fmt.Errorf("it has more than %d columns", maxColumns)
		}
		return nil
	})
}

// auditPages looks through all pages of a file: none may take more room than it says, and the
// whole not more than a bound.
func auditPages(file io.ReaderAt, size int64, f *parquet.File) error {
	a := pages{file: file, size: size, room: maxUncompressed}
	defer a.close()
	for _, group := range f.Metadata().RowGroups {
		for i := range group.Columns {
			chunk := &group.Columns[i].MetaData
			leaf, ok := f.Schema().Lookup(chunk.PathInSchema...)
			if !ok || leaf.MaxRepetitionLevel > maxLevels || leaf.MaxDefinitionLevel > maxLevels {
				return errBroken
			}
			if err := a.chunk(chunk, leaf); err != nil {
				return fmt.Errorf("column %v: %w", chunk.PathInSchema, err)
			}
		}
	}
	return nil
}

type pages struct {
	file io.ReaderAt
	size int64
	room int64
	unpacker
}

// chunk follows the pages of a column as the library will.
func (a *pages) chunk(c *format.ColumnMetaData, leaf parquet.LeafColumn) error {
	at := c.DataPageOffset
	if c.DictionaryPageOffset != 0 {
		at = c.DictionaryPageOffset
	}
	if at < 0 || c.TotalCompressedSize < 0 || at > a.size || c.TotalCompressedSize > a.size-at {
		return errBroken
	}
	values := int64(0)
	for end := at + c.TotalCompressedSize; at < end; {
		header, length, err := a.header(at, end)
		if err != nil {
			return err
		}
		at += length
		if header.CompressedPageSize < 0 || int64(header.CompressedPageSize) > end-at || header.UncompressedPageSize < 0 || header.UncompressedPageSize > maxPage {
			return errBroken
		}
		if a.room -= int64(header.UncompressedPageSize); a.room < 0 {
			return fmt.Errorf("the file holds more than %d GiB", maxUncompressed>>30)
		}
		data := make([]byte, header.CompressedPageSize)
		if _, err := a.file.ReadAt(data, at); err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		at += int64(len(data))
		n, err := a.page(header, data, c.Codec, leaf)
		if err != nil {
			return err
		}
		if values += n; values > maxChunkValues {
			return fmt.Errorf("more than %d values in one group of rows", maxChunkValues)
		}
	}
	return nil
}

// header reads the header of a page, which says nowhere how long it is.
func (a *pages) header(at, end int64) (h *format.PageHeader, length int64, err error) {
	for window := int64(1 << 12); ; window *= 16 {
		data := make([]byte, min(window, maxPageHeader, end-at))
		if _, err := a.file.ReadAt(data, at); err != nil {
			return nil, 0, fmt.Errorf("read the header of a page: %w", err)
		}
		n, err := skim(data)
		if err != nil {
			if int64(len(data)) < window {
				return nil, 0, errBroken
			}
			continue // it may only have been cut
		}
		h = new(format.PageHeader)
		var protocol thrift.CompactProtocol
		if err := thrift.NewDecoder(protocol.NewReaderFromBytes(data[:n])).Decode(h); err != nil {
			return nil, 0, fmt.Errorf("read the header of a page: %w", err)
		}
		return h, int64(n), nil
	}
}

// page checks the content of one page and returns how many values it has.
func (a *pages) page(h *format.PageHeader, data []byte, codec format.CompressionCodec, leaf parquet.LeafColumn) (int64, error) {
	limit := int(h.UncompressedPageSize)
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		n := h.DictionaryPageHeader.V.NumValues
		body, err := a.unpack(codec, data, limit)
		if err != nil {
			return 0, err
		}
		if n < 0 || int(n) > len(body) {
			return 0, errBroken
		}
		return int64(n), nil
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		v := h.DataPageHeader.V
		body, err := a.unpack(codec, data, limit)
		if err != nil {
			return 0, err
		}
		for _, level := range []struct {
			most     int
			encoding format.Encoding
		}{{leaf.MaxRepetitionLevel, v.RepetitionLevelEncoding}, {leaf.MaxDefinitionLevel, v.DefinitionLevelEncoding}} {
			if level.most == 0 {
				continue
			}
			part, rest, ok := prefixed(body)
			if !ok || level.encoding != format.RLE || !runs(part, width(level.most), v.NumValues) {
				return 0, errBroken
			}
			body = rest
		}
		return int64(v.NumValues), encoded(body, v.Encoding, v.NumValues)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := h.DataPageHeaderV2.V
		rep, def := int(v.RepetitionLevelsByteLength), int(v.DefinitionLevelsByteLength)
		if rep < 0 || def < 0 || rep > len(data) || def > len(data)-rep || v.NumNulls < 0 || v.NumRows < 0 ||
			!runs(data[:rep], width(leaf.MaxRepetitionLevel), v.NumValues) || !runs(data[rep:rep+def], width(leaf.MaxDefinitionLevel), v.NumValues) {
			return 0, errBroken
		}
		body := data[rep+def:]
		if v.IsCompressed.Valid && !v.IsCompressed.V {
			codec = format.Uncompressed
		}
		body, err := a.unpack(codec, body, limit)
		if err != nil {
			return 0, err
		}
		return int64(v.NumValues), encoded(body, v.Encoding, v.NumValues)
	}
	return 0, errBroken
}

// plainDictionary is how older writers call what the others call RLEDictionary.
const plainDictionary = format.Encoding(2)

// encoded checks values: what is written out is bounded by its page, and what repeats by the
// count of values. Encodings in which a value takes over a part of the one before are refused.
func encoded(body []byte, encoding format.Encoding, count int32) error {
	switch encoding {
	case format.Plain:
		return nil
	case format.RLE:
		if part, _, ok := prefixed(body); ok && runs(part, 1, count) {
			return nil
		}
	case plainDictionary, format.RLEDictionary:
		if len(body) == 0 || body[0] <= 32 && runs(body[1:], int(body[0]), count) {
			return nil
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		if deltas(body, count) {
			return nil
		}
	default:
		return fmt.Errorf("is encoded as %s; write it plain or with a dictionary", encoding)
	}
	return errBroken
}

// deltas checks the head of numbers that are written as differences, from which room is made.
func deltas(data []byte, count int32) bool {
	const maxBlock = 1 << 20
	block, n := binary.Uvarint(data)
	if n <= 0 || block > maxBlock {
		return false
	}
	minis, m := binary.Uvarint(data[n:])
	if m <= 0 || minis == 0 || minis > block {
		return false
	}
	total, k := binary.Uvarint(data[n+m:])
	return k > 0 && count >= 0 && total <= uint64(count)
}

// prefixed cuts off a part that begins with its length.
func prefixed(data []byte) (part, rest []byte, ok bool) {
	if len(data) < 4 {
		return nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(data))
	if n > int64(len(data)-4) {
		return nil, nil, false
	}
	return data[4 : 4+n], data[4+n:], true
}

// width is how many bits a number up to most takes.
func width(most int) int {
	bits := 0
	for ; most > 0; most >>= 1 {
		bits++
	}
	return bits
}

// runs checks that runs of values of some bits are not more than count, but for padding.
func runs(data []byte, bits int, count int32) bool {
	const padding = 512
	if count < 0 {
		return false
	}
	for total := uint64(0); len(data) > 0; {
		head, n := binary.Uvarint(data)
		if n <= 0 {
			return false
		}
		data = data[n:]
		many, bytes := head>>1, uint64(bits+7)/8
		if head&1 == 1 {
			many, bytes = many*8, (head>>1)*uint64(bits)
		}
		if many > maxChunkValues+padding || total+many > uint64(count)+padding {
			return false
		}
		total += many
		data = data[min(bytes, uint64(len(data))):]
	}
	return true
}

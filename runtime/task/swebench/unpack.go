package swebench

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// unpacker decompresses pages with a bound, which the library does not.
type unpacker struct {
	zstd *zstd.Decoder
	out  bytes.Buffer // of the last page
}

// unpack decompresses a page that must not be larger than limit. The result holds until the
// next call.
func (u *unpacker) unpack(codec format.CompressionCodec, data []byte, limit int) ([]byte, error) {
	switch codec {
	case format.Uncompressed:
		return data, nil
	case format.Snappy:
		n, err := snappy.DecodedLen(data)
		if err != nil || n > limit {
			return nil, errBroken
		}
		out, err := snappy.Decode(nil, data)
		if err != nil {
			return nil, fmt.Errorf("decompress a page: %w", err)
		}
		return out, nil
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("decompress a page: %w", err)
		}
		return u.read(r, limit)
	case format.Zstd:
		if u.zstd == nil {
			const window = 128 << 20
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
			if err != nil {
				return nil, fmt.Errorf("decompress a page: %w", err)
			}
			u.zstd = d
		}
		if err := u.zstd.Reset(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("decompress a page: %w", err)
		}
		return u.read(u.zstd, limit)
	}
	return nil, fmt.Errorf("is compressed with %s; write it with snappy, gzip or zstd", codec)
}

func (u *unpacker) read(r io.Reader, limit int) ([]byte, error) {
	u.out.Reset()
	n, err := io.Copy(&u.out, io.LimitReader(r, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress a page: %w", err)
	case n > int64(limit):
		return nil, errBroken
	}
	return u.out.Bytes(), nil
}

// close gives the decoder back.
func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

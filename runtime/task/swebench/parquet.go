package swebench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// readParquet reads the rows of a parquet file. The library trusts what it reads, so that the
// file is looked through first; what it chokes on all the same is told like any other fault.
func readParquet(file *os.File, size int64, yield func(found) bool) bool {
	for f := range parquetRows(file, size) {
		if !yield(f) {
			return false
		}
	}
	return true
}

func parquetRows(file io.ReaderAt, size int64) func(func(found) bool) {
	return func(yield func(found) bool) {
		p, err := openParquet(file, size)
		if err != nil {
			yield(found{err: err})
			return
		}
		for number := 1; ; number++ {
			r, err := p.next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(found{line: number, err: err})
				return
			case !yield(found{line: number, row: r}):
				return
			}
		}
	}
}

// parquetFile reads one row after the other.
type parquetFile struct {
	schema *parquet.Schema
	asJSON map[string]bool // columns that hold JSON, by what the schema says
	groups []parquet.RowGroup
	rows   parquet.Rows
}

// guarded runs what may panic over a file that is not what it says.
func guarded(what string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the file is broken: %v", what, p)
		}
	}()
	if err = do(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

func openParquet(file io.ReaderAt, size int64) (*parquetFile, error) {
	if err := auditFooter(file, size); err != nil {
		return nil, err
	}
	p := &parquetFile{asJSON: map[string]bool{}}
	err := guarded("open parquet file", func() error {
		f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			return err
		}
		if err := auditPages(file, size, f); err != nil {
			return err
		}
		p.schema, p.groups = f.Schema(), f.RowGroups()
		for _, field := range p.schema.Fields() {
			if field.Leaf() && field.Type().LogicalType() != nil && field.Type().LogicalType().String() == parquet.JSON().Type().LogicalType().String() {
				p.asJSON[field.Name()] = true
			}
		}
		return nil
	})
	return p, err
}

// next returns the next row, or io.EOF.
func (p *parquetFile) next() (r row, err error) {
	err = guarded("read parquet row", func() error {
		one := make([]parquet.Row, 1)
		for {
			if p.rows == nil {
				if len(p.groups) == 0 {
					return io.EOF
				}
				p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
			}
			n, err := p.rows.ReadRows(one)
			if n == 1 {
				r, err = p.row(one[0])
				return err
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err := p.rows.Close(); err != nil {
				return err
			}
			p.rows = nil
		}
	})
	return r, err
}

func (p *parquetFile) row(values parquet.Row) (row, error) {
	size := 0
	for _, v := range values {
		if v.Kind() == parquet.ByteArray || v.Kind() == parquet.FixedLenByteArray {
			size += len(v.ByteArray())
		}
	}
	if size > maxRow {
		return nil, fmt.Errorf("is larger than %d MiB", maxRow>>20)
	}
	whole := map[string]any{}
	if err := p.schema.Reconstruct(&whole, values); err != nil {
		return nil, err
	}
	r := make(row, len(whole))
	for name, v := range whole {
		switch v := plain(v).(type) {
		case nil:
		case string:
			if p.asJSON[name] {
				held, ok, err := newValue([]byte(v))
				if err != nil {
					return nil, fmt.Errorf("column %q: %w", name, err)
				}
				if ok {
					r[name] = held
				}
				continue
			}
			r[name] = value{text: v}
		default:
			if !textual(v) {
				return nil, fmt.Errorf("column %q holds text that is no UTF-8", name)
			}
			text, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", name, err)
			}
			r[name] = value{string(text), true}
		}
	}
	return r, nil
}

// plain turns what the library makes of nested columns into what JSON knows: the lists of
// parquet are objects of objects.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	case map[string]any:
		if len(v) == 1 {
			for _, name := range []string{"list", "bag"} {
				if items, ok := v[name].([]any); ok {
					return elements(items)
				}
			}
		}
		out := map[string]any{}
		for name, item := range v {
			if item := plain(item); item != nil {
				out[name] = item
			}
		}
		return out
	}
	return v
}

// textual reports whether all texts of a value are UTF-8, as those of JSON have to be.
func textual(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !textual(item) })
	case map[string]any:
		for _, item := range v {
			if !textual(item) {
				return false
			}
		}
	}
	return true
}

func elements(items []any) any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = plain(item)
		if m, ok := item.(map[string]any); ok && len(m) == 1 {
			for _, only := range m {
				out[i] = plain(only)
			}
		}
	}
	return out
}

// writeParquet writes rows with a column for each that any of them has. A column in which a row
// has something that is no text holds JSON, and its type says so.
func writeParquet(w io.Writer, rows []row) error {
	names, raw := map[string]bool{}, map[string]bool{}
	for _, name := range columns() {
		names[name] = true
	}
	for _, r := range rows {
		for name, v := range r {
			names[name], raw[name] = true, raw[name] || v.raw
		}
	}
	group := parquet.Group{}
	options := []parquet.WriterOption{parquet.CreatedBy("assayd", "1", "0")}
	for name := range names {
		options = append(options, parquet.SkipPageBounds(name)) // whole patches otherwise
		node := parquet.String()
		if raw[name] {
			node = parquet.JSON()
		}
		group[name] = parquet.Compressed(parquet.Encoded(parquet.Optional(node), &parquet.Plain), &parquet.Zstd)
	}
	out := parquet.NewWriter(w, append(options, parquet.NewSchema("instance", group))...)
	sorted := slices.Sorted(maps.Keys(names))
	for _, r := range rows {
		values := make(parquet.Row, 0, len(sorted))
		for i, name := range sorted {
			v, ok := r[name]
			switch {
			case !ok:
				values = append(values, parquet.NullValue().Level(0, 0, i))
			case raw[name]:
				values = append(values, parquet.ByteArrayValue(v.json()).Level(0, 1, i))
			default:
				values = append(values, parquet.ByteArrayValue([]byte(v.text)).Level(0, 1, i))
			}
		}
		if _, err := out.WriteRows([]parquet.Row{values}); err != nil {
			return fmt.Errorf("write instance as parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

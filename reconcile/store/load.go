package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Load is how large the database is.
type Load struct {
	Database int64 // bytes
	Log      int64 // bytes of what is not in it yet
}

// Load tells how large the database is. A file that is not there has no bytes.
func (s *Store) Load() Load {
	size := func(suffix string) int64 {
		info, err := os.Stat(filepath.Join(s.dir, databaseName+suffix))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return Load{Database: size(""), Log: size("-wal")}
}

// errEnough ends the reading of rows.
var errEnough = errors.New("there are enough")

// NumberedLine is a line with the number of the change that stored it.
type NumberedLine struct {
	N      int64
	Stream string
	Data   []byte // without its newline
}

// LinesAfter returns the lines of all streams that were stored after change n, in order: at most limit, and no
// more than about 4 MiB, but at least one where there is one. The line that closes a file of a stream that moves
// is none of them.
func (t *Tx) LinesAfter(n int64, limit int) (lines []NumberedLine, err error) {
	bytes := 0
	err = each(t, func(r row) (l NumberedLine, err error) { return l, r.Scan(&l.N, &l.Stream, &l.Data) }, func(l NumberedLine) error {
		lines = append(lines, l)
		if bytes += len(l.Data); bytes >= batchBytes {
			return errEnough
		}
		return nil
	}, "SELECT n, spec, data FROM lines WHERE n > 0 AND n > ? ORDER BY n LIMIT ?", n, limit)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read lines after change %d: %w", n, err)
	}
	return lines, nil
}

// OpenRow is how many cells of an open execution are in a state.
type OpenRow struct {
	Spec      string
	Execution int
	Only      int // cells that it is for alone; 0 = it is for all
	State     string
	Cells     int
}

// EachOpen calls do with the counts of all executions that are open, by spec and execution. One without cells has
// one row, whose State is "".
func (t *Tx) EachOpen(do func(OpenRow) error) error {
	err := each(t, func(r row) (o OpenRow, err error) {
		return o, r.Scan(&o.Spec, &o.Execution, &o.Only, &o.State, &o.Cells)
	}, do,
		`SELECT e.spec, e.n, ifnull(json_array_length(e.data, '$.only'), 0), ifnull(c.state, ''), ifnull(c.cells, 0)
		FROM executions e LEFT JOIN cell_counts c ON c.spec = e.spec AND c.execution = e.n
		WHERE e.finished_at = 0 ORDER BY e.spec, e.n`)
	if err != nil {
		return fmt.Errorf("count the cells of open executions: %w", err)
	}
	return nil
}

// OpenPullCount is how many pull requests of all specs have no verdict.
func (t *Tx) OpenPullCount() (int, error) {
	n, err := one(t, scanInt, "SELECT ifnull(sum(n), 0) FROM pull_counts WHERE verdict = ''")
	if err != nil {
		return 0, fmt.Errorf("count open pull requests: %w", err)
	}
	return n, nil
}

// Unwritten is how many stored lines are not durable in their file.
func (t *Tx) Unwritten() (int, error) {
	n, err := one(t, scanInt, "SELECT ifnull(sum(last - written), 0) FROM streams WHERE written < last")
	if err != nil {
		return 0, fmt.Errorf("count what result files lack: %w", err)
	}
	return n, nil
}

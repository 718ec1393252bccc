package store

import (
	"context"
	"database/sql"
	"fmt"
)

// VersionError says that a newer assayd wrote the state directory, or an older one that
// is opened for reading only.
type VersionError struct {
	Dir   string // the state directory
	Found int    // schema version of the database
	Known int    // newest schema version this program understands
}

func (e *VersionError) Error() string {
	if e.Found < e.Known {
		return fmt.Sprintf("state directory %q has schema version %d, and this assayd reads version %d: start a daemon on it, which brings it up to date",
			e.Dir, e.Found, e.Known)
	}
	return fmt.Sprintf("state directory %q has schema version %d, but this assayd knows only versions up to %d: use the newer assayd that wrote it, or another state directory",
		e.Dir, e.Found, e.Known)
}

// migrations lead from schema version i to i+1. One that was released is never edited.
// Times are Unix nanoseconds, 0 when unset.
var migrations = [...]string{`
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE files (
	path        TEXT PRIMARY KEY,
	root        TEXT NOT NULL,
	hash        TEXT NOT NULL,
	compiled    TEXT,
	accepted_at INTEGER NOT NULL
) STRICT;

CREATE TABLE executions (
	spec        TEXT NOT NULL,
	n           INTEGER NOT NULL CHECK (n > 0),
	trigger     TEXT NOT NULL,
	started_at  INTEGER NOT NULL,
	settled_at  INTEGER NOT NULL,
	finished_at INTEGER NOT NULL,
	data        TEXT,
	PRIMARY KEY (spec, n)
) STRICT;
CREATE INDEX executions_open ON executions (spec, n) WHERE finished_at = 0;

CREATE TABLE trials (
	id          TEXT PRIMARY KEY,
	spec        TEXT NOT NULL,
	execution   INTEGER NOT NULL,
	cell        TEXT NOT NULL,
	try         INTEGER NOT NULL,
	phase       TEXT NOT NULL,
	status      TEXT NOT NULL,
	wanted      INTEGER NOT NULL,
	data        TEXT,
	created_at  INTEGER NOT NULL,
	updated_at  INTEGER NOT NULL,
	finished_at INTEGER NOT NULL,
	FOREIGN KEY (spec, execution) REFERENCES executions DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE INDEX trials_execution ON trials (spec, execution);
CREATE INDEX trials_open ON trials (id) WHERE status = '';

CREATE TABLE trial_tries (
	id   TEXT NOT NULL REFERENCES trials DEFERRABLE INITIALLY DEFERRED,
	try  INTEGER NOT NULL,
	data TEXT,
	PRIMARY KEY (id, try)
) STRICT;

CREATE TABLE submissions (
	n      INTEGER PRIMARY KEY AUTOINCREMENT,
	id     TEXT NOT NULL UNIQUE,
	trial  TEXT NOT NULL,
	kind   TEXT NOT NULL,
	number INTEGER NOT NULL,
	key    TEXT NOT NULL,
	state  TEXT NOT NULL,
	data   TEXT,
	detail TEXT -- last and by itself: lists of rows never read it
) STRICT;
CREATE INDEX submissions_trial ON submissions (trial, n);
CREATE INDEX submissions_state ON submissions (state, n);
CREATE UNIQUE INDEX submissions_key ON submissions (trial, key) WHERE key <> '';

-- The file of a stream. The lines of a spec are shared by the files it has had: a closed
-- one ends before its own closing line, the open one goes on.
CREATE TABLE streams (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	spec    TEXT NOT NULL,
	root    TEXT NOT NULL,
	path    TEXT NOT NULL,
	last    INTEGER NOT NULL,
	size    INTEGER NOT NULL,
	closing BLOB,
	folder  TEXT NOT NULL DEFAULT '',
	file    TEXT NOT NULL DEFAULT '',
	number  INTEGER NOT NULL,
	written INTEGER NOT NULL DEFAULT 0,
	why     TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX streams_open ON streams (spec) WHERE closing IS NULL;
CREATE INDEX streams_dirty ON streams (id) WHERE written < last;
CREATE INDEX streams_path ON streams (path);

CREATE TABLE lines (
	spec TEXT NOT NULL,
	seq  INTEGER NOT NULL,
	ends INTEGER NOT NULL, -- bytes of a file up to and with this line
	data BLOB NOT NULL,
	PRIMARY KEY (spec, seq)
) STRICT;
`, `
CREATE TABLE exchanges (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	spec      TEXT NOT NULL,
	execution INTEGER NOT NULL,
	trial     TEXT NOT NULL,
	try       INTEGER NOT NULL,
	provider  TEXT NOT NULL,
	model     TEXT NOT NULL,
	input     INTEGER NOT NULL,
	output    INTEGER NOT NULL,
	cached    INTEGER NOT NULL,
	estimated INTEGER NOT NULL,
	usd       REAL NOT NULL
) STRICT;
CREATE INDEX exchanges_trial ON exchanges (trial, try);
CREATE INDEX exchanges_execution ON exchanges (spec, execution);
`, `
-- Pull requests that a mining spec has seen. One without a verdict is open.
CREATE TABLE pulls (
	n          INTEGER PRIMARY KEY AUTOINCREMENT,
	spec       TEXT NOT NULL,
	repo       TEXT NOT NULL,
	number     INTEGER NOT NULL,
	verdict    TEXT NOT NULL DEFAULT '',
	stage      TEXT NOT NULL DEFAULT '',
	reason     TEXT NOT NULL DEFAULT '',
	class      TEXT NOT NULL DEFAULT '',
	task       TEXT NOT NULL DEFAULT '',
	seen_at    INTEGER NOT NULL,
	decided_at INTEGER NOT NULL DEFAULT 0,
	UNIQUE (spec, repo, number)
) STRICT;
CREATE INDEX pulls_open ON pulls (spec, n) WHERE verdict = '';
CREATE INDEX pulls_count ON pulls (spec, verdict, stage, reason, class);

-- What the outside has answered about a pull request, and need not be asked again; the
-- pull request is '' of what is nobody's own.
CREATE TABLE answers (
	spec  TEXT NOT NULL,
	pull  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (spec, pull, key)
) STRICT;

CREATE TABLE mined (
	n    INTEGER PRIMARY KEY AUTOINCREMENT,
	spec TEXT NOT NULL,
	task TEXT NOT NULL,
	data TEXT NOT NULL,
	UNIQUE (spec, task)
) STRICT;

-- How a repository is installed and tested, as long as its lock files are the same.
CREATE TABLE environments (
	repo TEXT NOT NULL,
	lock TEXT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (repo, lock)
) STRICT;
`, `
-- How many pull requests are alike, counted as they change: a spec may have seen millions, and
-- is asked for them twice a second.
CREATE TABLE pull_counts (
	spec    TEXT NOT NULL,
	verdict TEXT NOT NULL,
	stage   TEXT NOT NULL,
	reason  TEXT NOT NULL,
	class   TEXT NOT NULL,
	n       INTEGER NOT NULL,
	PRIMARY KEY (spec, verdict, stage, reason, class)
) STRICT, WITHOUT ROWID;
INSERT INTO pull_counts SELECT spec, verdict, stage, reason, class, count(*) FROM pulls GROUP BY spec, verdict, stage, reason, class;
CREATE TRIGGER pulls_seen AFTER INSERT ON pulls BEGIN
	INSERT OR IGNORE INTO pull_counts VALUES (new.spec, new.verdict, new.stage, new.reason, new.class, 0);
	UPDATE pull_counts SET n = n + 1
		WHERE spec = new.spec AND verdict = new.verdict AND stage = new.stage AND reason = new.reason AND class = new.class;
END;
CREATE TRIGGER pulls_decided AFTER UPDATE ON pulls BEGIN
	UPDATE pull_counts SET n = n - 1
		WHERE spec = old.spec AND verdict = old.verdict AND stage = old.stage AND reason = old.reason AND class = old.class;
	INSERT OR IGNORE INTO pull_counts VALUES (new.spec, new.verdict, new.stage, new.reason, new.class, 0);
	UPDATE pull_counts SET n = n + 1
		WHERE spec = new.spec AND verdict = new.verdict AND stage = new.stage AND reason = new.reason AND class = new.class;
END;
DROP INDEX pulls_count;
CREATE INDEX pulls_reason ON pulls (spec, reason);
CREATE INDEX pulls_task ON pulls (spec, repo) WHERE task <> '';
`, `
-- The last number that a change got. All tables share one sequence; a commit makes it durable.
CREATE TABLE sequence (n INTEGER NOT NULL) STRICT;
INSERT INTO sequence VALUES (0);

-- What a trial is to lists, counts and plans, beside the trial itself. That of a trial which an
-- earlier version stored is made later (n = 0).
CREATE TABLE cells (
	trial      TEXT PRIMARY KEY,
	spec       TEXT NOT NULL,
	execution  INTEGER NOT NULL,
	key        TEXT NOT NULL,
	benchmark  TEXT NOT NULL,
	task       TEXT NOT NULL,
	repo       TEXT NOT NULL,
	agent      TEXT NOT NULL,
	model      TEXT NOT NULL,
	attempt    INTEGER NOT NULL,
	control    INTEGER NOT NULL,
	try        INTEGER NOT NULL,
	phase      TEXT NOT NULL,
	status     TEXT NOT NULL,
	state      TEXT NOT NULL,
	reason     TEXT NOT NULL,
	stands     INTEGER NOT NULL,
	superseded INTEGER NOT NULL,
	unwanted   INTEGER NOT NULL,
	created    INTEGER NOT NULL,
	started    INTEGER NOT NULL,
	deadline   INTEGER NOT NULL,
	ended      INTEGER NOT NULL,
	finished   INTEGER NOT NULL,
	rounds     INTEGER NOT NULL,
	round      TEXT NOT NULL,
	pass_rate  REAL,
	score      REAL,
	score_100  REAL,
	flags      TEXT NOT NULL,
	n          INTEGER NOT NULL
) STRICT;
CREATE INDEX cells_begun ON cells (spec, execution, created, trial);
CREATE INDEX cells_state ON cells (spec, execution, state, created, trial);
CREATE INDEX cells_changed ON cells (spec, execution, n, trial);
CREATE INDEX cells_n ON cells (n) WHERE n > 0;

-- How many cells of an execution are in a state, counted as they change, and the number of the
-- last change among them. (An upsert makes OR IGNORE in a trigger fail.)
CREATE TABLE cell_counts (
	spec      TEXT NOT NULL,
	execution INTEGER NOT NULL,
	state     TEXT NOT NULL,
	cells     INTEGER NOT NULL,
	n         INTEGER NOT NULL,
	PRIMARY KEY (spec, execution, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER cells_made AFTER INSERT ON cells BEGIN
	INSERT INTO cell_counts SELECT new.spec, new.execution, new.state, 0, 0 WHERE NOT EXISTS (
		SELECT 1 FROM cell_counts WHERE spec = new.spec AND execution = new.execution AND state = new.state);
	UPDATE cell_counts SET cells = cells + 1, n = max(n, new.n)
		WHERE spec = new.spec AND execution = new.execution AND state = new.state;
END;
CREATE TRIGGER cells_moved AFTER UPDATE OF state ON cells BEGIN
	UPDATE cell_counts SET cells = cells - 1, n = max(n, new.n)
		WHERE spec = old.spec AND execution = old.execution AND state = old.state;
	INSERT INTO cell_counts SELECT new.spec, new.execution, new.state, 0, 0 WHERE NOT EXISTS (
		SELECT 1 FROM cell_counts WHERE spec = new.spec AND execution = new.execution AND state = new.state);
	UPDATE cell_counts SET cells = cells + 1, n = max(n, new.n)
		WHERE spec = new.spec AND execution = new.execution AND state = new.state;
END;

-- What exchanges took together, by try, and by execution where the trial is ''. A row that is
-- missing is the sum of the exchanges. Dollars are in units of 1e-12.
CREATE TABLE spent (
	spec      TEXT NOT NULL,
	execution INTEGER NOT NULL,
	trial     TEXT NOT NULL,
	try       INTEGER NOT NULL,
	exchanges INTEGER NOT NULL,
	input     INTEGER NOT NULL,
	output    INTEGER NOT NULL,
	cached    INTEGER NOT NULL,
	estimated INTEGER NOT NULL,
	usd       INTEGER NOT NULL,
	PRIMARY KEY (trial, try, spec, execution)
) STRICT, WITHOUT ROWID;

-- What an execution's cells amount to, short or at length (kind), and the number of the last change
-- that is in it.
CREATE TABLE summaries (
	spec      TEXT NOT NULL,
	execution INTEGER NOT NULL,
	kind      TEXT NOT NULL,
	n         INTEGER NOT NULL,
	cells     INTEGER NOT NULL,
	made      INTEGER NOT NULL,
	data      TEXT NOT NULL,
	PRIMARY KEY (spec, execution, kind)
) STRICT, WITHOUT ROWID;

-- What changes are about, besides trials: addresses of specs, and 'specs' for the files.
CREATE TABLE topics (
	topic TEXT PRIMARY KEY,
	n     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX topics_n ON topics (n);

ALTER TABLE lines ADD COLUMN n INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX lines_n ON lines (n) WHERE n > 0;
`, pagesSchema, `
-- An execution's trials in the order of their ids, which reads all of them without sorting their texts.
DROP INDEX trials_execution;
CREATE INDEX trials_execution ON trials (spec, execution, id);

DROP TABLE trial_tries; -- nothing ever read it

-- What an agent has done last, for estimates.
CREATE INDEX cells_agent ON cells (agent, model, finished) WHERE finished > 0;

-- The cells of all runs at a task.
CREATE INDEX cells_task ON cells (benchmark, task, created, trial);
`, controlSchema, activitySchema, notesSchema, budgetSchema, deliverySchema, spendingSchema}

// migrate brings the database to the newest schema in one transaction.
func migrate(ctx context.Context, db *sql.DB, dir string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("open database of state directory %q: %w", dir, explain(err))
	}
	defer tx.Rollback()
	version, err := schemaVersion(ctx, tx, dir)
	if err != nil {
		return err
	}
	if version > len(migrations) {
		return &VersionError{Dir: dir, Found: version, Known: len(migrations)}
	}
	for i := version; i < len(migrations); i++ {
		if _, err := tx.ExecContext(ctx, migrations[i]); err != nil {
			return fmt.Errorf("migrate state directory %q to schema version %d: %w", dir, i+1, explain(err))
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations))); err != nil {
		return fmt.Errorf("set schema version of state directory %q: %w", dir, explain(err))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("migrate state directory %q: %w", dir, explain(err))
	}
	return nil
}

func schemaVersion(ctx context.Context, tx *sql.Tx, dir string) (version int, err error) {
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("read schema version of state directory %q: %w", dir, explain(err))
	}
	return version, nil
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultBaseURL is where GH Archive is.
const DefaultBaseURL = "https://data.gharchive.org"

// ErrMissing is the error of an hour that the archive does not have: not yet, or never.
var ErrMissing = errors.New("the archive does not have this hour")

// Options are what an archive is made of.
type Options struct {
	BaseURL string       // where the files lie; "" = DefaultBaseURL
	Client  *http.Client // asks for them; without a limit of time to a whole request. nil = the usual one
	Log     *slog.Logger // told of what is tried again; nil = nobody
	// Ended is told how each reading of an hour ended: with nil, or with the error of Hour. Nil tells nobody.
	Ended func(error)
}

// Archive is one place with hours. It can be used by several at once.
type Archive struct {
	base   string
	client *http.Client
	log    *slog.Logger
	ended  func(error)
}

// New returns the archive of the options, and asks it nothing. Its error is an address that
// is none.
func New(o Options) (*Archive, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of an archive", o.BaseURL)
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Ended == nil {
		o.Ended = func(error) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Archive{base: strings.TrimSuffix(o.BaseURL, "/") + "/", client: o.Client, log: o.Log, ended: o.Ended}, nil
}

// maxPasses is how often a file is begun whose server cannot go on where it broke off.
const maxPasses = 5

const extension = ".json.gz"

// Name returns the name of an hour's file: 2026-03-01-4.json.gz, in UTC.
func Name(hour time.Time) string {
	return hour.UTC().Format(time.DateOnly) + "-" + strconv.Itoa(hour.UTC().Hour()) + extension
}

// Hour reads the hour that the time is in, and tells each pull request that was merged in it
// once, in the order of the file. Nothing is kept on disk. A download that breaks off is
// taken up where it did, if the server can do that for the same file, or else begun again;
// a server that does not answer, or has no time, is asked again for ten minutes, not before
// it wants to be.
//
// It ends with an error of each or of the context as it is, and with ErrMissing, ErrTimeline,
// a *Damaged, a *Refused, a *Busy or words about the server in one that names the file. What was
// told before an error is true, and the counts are of that part.
func (a *Archive) Hour(ctx context.Context, hour time.Time, each func(Merge) error) (counts Counts, err error) {
	defer func() { a.ended(err) }()
	name := Name(hour)
	d := newDownload(ctx, a, a.base+name)
	defer d.close()
	var already told
	var own error // each's
	for pass := 1; ; pass++ {
		counts, err := scan(ctx, d, &already, func(m Merge) error {
			own = each(m)
			return own
		})
		if errors.Is(err, errOther) && pass < maxPasses {
			if err = d.pause(&trouble{err: err}); err == nil {
				continue
			}
		}
		if err == nil || own != nil || ctx.Err() != nil {
			return counts, err
		}
		return counts, fmt.Errorf("read %s: %w", name, err)
	}
}

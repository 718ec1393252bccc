package archive

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at reads a time of the first of March 2026, or of another day of it: "15:30" or "2 15:30".
func at(text string) time.Time {
	if !strings.Contains(text, " ") {
		text = "1 " + text
	}
	t, err := time.Parse("2006-01 2 15:04", "2026-03 "+text)
	if err != nil {
		panic(err)
	}
	return t
}

func names(hours []time.Time) string {
	var all []string
	for _, hour := range hours {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(Name(hour), "2026-03-"), extension))
	}
	return strings.Join(all, " ")
}

func TestHours(t *testing.T) {
	for name, tc := range map[string]struct {
		source Source
		now    string
		past   map[string]Past // by hour
		want   string
	}{
		"the last ones that can be there, the newest first": {Source{Lookback: 3 * time.Hour}, "15:30", nil, "01-13 01-12 01-11"},
		"at the full hour":                        {Source{Lookback: 2 * time.Hour}, "15:00", nil, "01-13 01-12"},
		"over midnight, without zeros":            {Source{Lookback: 4 * time.Hour}, "2 04:59", nil, "02-2 02-1 02-0 01-23"},
		"a lookback of parts of hours":            {Source{Lookback: 61 * time.Minute}, "15:30", nil, "01-13 01-12"},
		"a lookback of nothing":                   {Source{}, "15:30", nil, "01-13"},
		"what was read is not":                    {Source{Lookback: 3 * time.Hour}, "15:30", map[string]Past{"12:00": {Read, at("12:30")}}, "01-13 01-11"},
		"what was missing is, after a while":      {Source{Lookback: 3 * time.Hour}, "15:30", map[string]Past{"13:00": {Missing, at("15:15")}, "12:00": {Missing, at("15:16")}}, "01-13 01-11"},
		"and so is what was damaged":              {Source{Lookback: 2 * time.Hour}, "15:30", map[string]Past{"13:00": {Broken, at("14:00")}, "12:00": {Broken, at("15:29")}}, "01-13"},
		"and when the lookback is past it":        {Source{Lookback: time.Hour}, "15:30", map[string]Past{"13:00": {Read, at("15:30")}, "12:00": {Missing, at("14:30")}, "11:00": {Read, at("13:30")}}, "01-12"},
		"and what was never read":                 {Source{Lookback: time.Hour, Since: at("10:59")}, "15:30", map[string]Past{"12:00": {Read, at("14:30")}, "10:00": {Read, at("12:30")}}, "01-13 01-11"},
		"a lookback that begins before":           {Source{Lookback: 2 * time.Hour, Since: at("13:00")}, "15:30", nil, "01-13 01-12"},
		"but not for ever":                        {Source{Lookback: time.Hour}, "3 15:30", map[string]Past{"15:00": {Missing, at("17:00")}, "16:00": {Missing, at("18:00")}}, "03-13 01-16"},
		"a span, the oldest first":                {Source{From: at("09:00"), To: at("12:00")}, "2 15:30", nil, "01-9 01-10 01-11"},
		"a span within hours":                     {Source{From: at("09:59"), To: at("12:01")}, "2 15:30", nil, "01-9 01-10 01-11 01-12"},
		"a span elsewhere in the world":           {Source{From: at("09:00").In(time.FixedZone("", 5400)), To: at("10:00")}, "2 15:30", nil, "01-9"},
		"a span that is not over":                 {Source{From: at("12:00"), To: at("20:00")}, "15:30", nil, "01-12 01-13"},
		"one without an end":                      {Source{From: at("12:00")}, "15:30", nil, "01-12 01-13"},
		"the same an hour later":                  {Source{From: at("12:00")}, "16:30", map[string]Past{"12:00": {Read, at("15:30")}, "13:00": {Read, at("15:30")}}, "01-14"},
		"one that has not begun":                  {Source{From: at("16:00")}, "15:30", nil, ""},
		"one that ends before it begins":          {Source{From: at("12:00"), To: at("10:00")}, "15:30", nil, ""},
		"what was missing at last is no more":     {Source{From: at("09:00"), To: at("12:00")}, "3 10:00", map[string]Past{"9:00": {Missing, at("10:00")}, "10:00": {Broken, at("10:00")}, "11:00": {Missing, at("10:00")}}, "01-11"},
		"what was not read is, however old it is": {Source{From: at("09:00"), To: at("11:00")}, "30 10:00", map[string]Past{"9:00": {Unread, at("29 10:00")}}, "01-9 01-10"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.source.Hours(at(tc.now), func(hour time.Time) Past {
				if hour.Location() != time.UTC || hour.Minute() != 0 {
					t.Errorf("%v is asked for", hour)
				}
				for text, past := range tc.past {
					if at(text).Equal(hour) {
						return past
					}
				}
				return Past{}
			})
			if diff := cmp.Diff(tc.want, names(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGaps(t *testing.T) {
	state := map[string]State{"09": Read, "10": Missing, "11": Missing, "12": Broken, "13": Missing, "14": Read, "16": Read}
	gaps := Gaps(at("09:30"), at("18:00"), func(hour time.Time) Past { return Past{State: state[hour.Format("15")]} })
	var got []string
	for _, gap := range gaps {
		got = append(got, gap.String())
	}
	want := []string{
		"2026-03-01-10 to 2026-03-01-11 missing (2 hours)", "2026-03-01-12 damaged", "2026-03-01-13 missing", "2026-03-01-15 not read", "2026-03-01-17 not read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if gaps := Gaps(at("09:00"), at("09:00"), nil); gaps != nil {
		t.Errorf("a span of nothing has gaps: %v", gaps)
	}
	if got := Gaps(at("09:00"), at("9 09:00"), func(time.Time) Past { return Past{} }); len(got) != 1 || got[0].Hours() != 192 {
		t.Errorf("eight days without an hour are %v", got)
	}
}

func TestTheGapsOfASourceAreThoseOfItsSpan(t *testing.T) {
	s := Source{From: at("12:00"), To: at("20:00")}
	from, to := s.Span(at("15:30"))
	got := Gaps(from, to, func(time.Time) Past { return Past{} })
	if diff := cmp.Diff([]Gap{{From: at("12:00"), To: at("14:00")}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNamesHaveNoZeros(t *testing.T) {
	if got := Name(at("2 04:59").In(time.FixedZone("", -7200))); got != "2026-03-02-4.json.gz" {
		t.Error(got)
	}
}

package gateway

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// ownWorld is a provider that refuses what holds the word "bad" with one status, and all else
// with another, 200 = it answers.
type ownWorld struct {
	bad, others int
	says        string // what a refusal has in it; "" = notForYou
	asked       []string
	holds       time.Duration // what is not bad
}

func (w *ownWorld) session(t *testing.T, protocol string) *Session {
	p := Provider{Name: "p", Protocol: protocol, BaseURL: "http://provider/v1", Key: func() (string, error) { return "sk-0123456789", nil }}
	s := held(t, p, nil)
	s.provider.client.Transport = bodies(func(body string) (*http.Response, error) {
		w.asked = append(w.asked, body)
		status := w.bad
		if !strings.Contains(body, "bad") {
			status = w.others
			time.Sleep(w.holds)
		}
		if status == 200 {
			return answers(200, fine, "Content-Type: application/json")
		}
		return answers(status, cmp.Or(w.says, notForYou), "Retry-After: 100")
	})
	return s
}

const (
	notForYou = "not for you"
	noCredit  = `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API: not for you."}}`
	noBilling = `{"error":{"type":"billing_error","message":"not for you"}}`
)

// bodies is a provider that is told the bodies of requests.
type bodies func(string) (*http.Response, error)

func (f bodies) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	return f(string(body))
}

const badModel = `{"model":"bad"}`

// An agent can bring refusals about by what it asks for. The provider is to blame where it
// refuses the smallest question as well, and for nothing else.
func TestAProviderIsBlamedForWhatItRefusesUs(t *testing.T) {
	for name, tc := range map[string]struct {
		bad, others int
		blamed      bool
		says        string
	}{
		"a model without a right to it": {403, 200, false, ""},
		"a model that costs too much":   {402, 200, false, ""},
		"what no server survives":       {500, 200, false, ""},
		"too much":                      {429, 200, false, ""},
		"a question that it dislikes":   {403, 400, false, ""},
		"a key that is none":            {401, 401, true, ""},
		"no money":                      {402, 402, true, ""},
		"overloaded":                    {503, 529, true, ""},
		"no more for this key":          {429, 429, true, ""},
		"an account without credit":     {400, 400, true, noCredit},
		"one whose bill is not paid":    {400, 400, true, noBilling},
		"a model beyond its credit":     {400, 200, false, noCredit},
	} {
		t.Run(name, func(t *testing.T) {
			for _, protocol := range []string{wire.OpenAI, wire.Anthropic} {
				synctest.Test(t, func(t *testing.T) {
					w := &ownWorld{bad: tc.bad, others: tc.others, says: tc.says}
					s := w.session(t, protocol)
					s.ask(t.Context(), badModel)
					if why := s.Silent(); (why != "") != tc.blamed || tc.blamed && !strings.Contains(why, "not for you") {
						t.Errorf("%s: %q", protocol, why)
					}
					if last := w.asked[len(w.asked)-1]; !strings.Contains(last, `"model":"m"`) || !strings.Contains(last, "Hi") {
						t.Errorf("%s: it was asked %s", protocol, last)
					}
					want := Usage{}
					if tc.others == 200 {
						want = Usage{InputTokens: 1, OutputTokens: 1, Requests: 1}
					}
					if s.Usage() != want {
						t.Errorf("%s: our question costs %+v, want %+v", protocol, s.Usage(), want)
					}
				})
			}
		})
	}
}

// Our questions are few, whatever an agent does, and are asked anew once the provider has
// answered.
func TestOurQuestionsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ownWorld{bad: 403, others: 403}
		s := w.session(t, wire.OpenAI)
		own := func() (n int) {
			for _, body := range w.asked {
				if strings.Contains(body, "Hi") {
					n++
				}
			}
			return n
		}
		expect := func(when string, n int, blamed bool) {
			t.Helper()
			if own() != n || (s.Silent() != "") != blamed {
				t.Errorf("%s: %d questions of ours, want %d; %q", when, own(), n, s.Silent())
			}
		}
		for range 10 {
			s.ask(t.Context(), badModel)
		}
		expect("at first", 1, true)
		w.others = 200
		s.ask(t.Context(), plain)
		expect("once it answers", 1, false)
		s.ask(t.Context(), badModel)
		expect("and refuses again", 2, false)
		s.ask(t.Context(), badModel)
		expect("and again", 2, false)
		time.Sleep(ownStands)
		w.others = 401
		s.ask(t.Context(), badModel)
		expect("later", 3, true)
	})
}

// Who ends right after a refusal does so before it is known whose fault it was: that is waited
// for.
func TestItIsWaitedForWhoIsToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ownWorld{bad: 403, others: 200, holds: 5 * time.Second}
		s := w.session(t, wire.OpenAI)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			s.ask(t.Context(), badModel)
		}()
		synctest.Wait()
		if why := s.Silent(); why != "" {
			t.Errorf("%q", why)
		}
		<-gone
	})
}

// The question is asked where the program of the agent asked first, not where it ended.
func TestOurQuestionIsOfTheProgramsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &ownWorld{bad: 403, others: 200}
		s := w.session(t, wire.OpenAI)
		s.ask(t.Context(), plain) // chat completions
		s.askAt(t.Context(), "/openai/v1/responses", badModel)
		if last := w.asked[len(w.asked)-1]; !strings.Contains(last, "messages") {
			t.Errorf("it was asked %s", last)
		}
		other := w.session(t, wire.OpenAI)
		other.askAt(t.Context(), "/openai/v1/responses", badModel)
		if last := w.asked[len(w.asked)-1]; !strings.Contains(last, `"input":"Hi"`) {
			t.Errorf("it was asked %s", last)
		}
	})
}

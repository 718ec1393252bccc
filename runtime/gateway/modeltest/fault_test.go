package modeltest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

func TestErrorsHaveTheProvidersShape(t *testing.T) {
	openAI := func(kind string, code any) object {
		return object{"error": object{"message": "no", "type": kind, "param": nil, "code": code}}
	}
	anthropic := func(kind string) object {
		return object{"type": "error", "error": object{"type": kind, "message": "no"}}
	}
	for _, c := range []struct {
		protocol modeltest.Protocol
		status   int
		want     object
	}{
		{modeltest.Chat, 400, openAI("invalid_request_error", nil)},
		{modeltest.Chat, 401, openAI("invalid_request_error", "invalid_api_key")},
		{modeltest.Chat, 429, openAI("requests", "rate_limit_exceeded")},
		{modeltest.Responses, 429, openAI("requests", "rate_limit_exceeded")},
		{modeltest.Responses, 503, openAI("server_error", nil)},
		{modeltest.Messages, 400, anthropic("invalid_request_error")},
		{modeltest.Messages, 401, anthropic("authentication_error")},
		{modeltest.Messages, 403, anthropic("permission_error")},
		{modeltest.Messages, 404, anthropic("not_found_error")},
		{modeltest.Messages, 413, anthropic("request_too_large")},
		{modeltest.Messages, 429, anthropic("rate_limit_error")},
		{modeltest.Messages, 500, anthropic("api_error")},
		{modeltest.Messages, 504, anthropic("timeout_error")},
		{modeltest.Messages, 529, anthropic("overloaded_error")},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(c.protocol, " ", c.status, " stream=", stream), func(t *testing.T) {
				server := modeltest.New(t, always(modeltest.Answer{Status: c.status, Message: "no", RetryAfter: "17"}))
				response, err := talk(t, c.protocol, server.URL).post(t, pathOf(c.protocol), marshal(t, question(c.protocol, stream)))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				var got object
				unmarshal(t, body, &got)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				after, record := response.Header.Get("Retry-After"), server.Exchanges()[0]
				if response.StatusCode != c.status || record.Status != c.status || after != "17" || record.Final {
					t.Errorf("status %d, Retry-After %q, record %+v", response.StatusCode, after, record)
				}
			})
		}
	}
}

func TestRefusedRequestGetsNoAnswer(t *testing.T) {
	for _, protocol := range protocols {
		server := modeltest.New(t, always(modeltest.Answer{Refuse: true}))
		status, answer, err := talk(t, protocol, server.URL).ask(t, question(protocol, true))
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: status %d, error %v: %s", protocol, status, err, answer)
		}
		if record := server.Exchanges()[0]; record.Status != 0 || record.Gone {
			t.Errorf("%s: the record has status %d, gone %v", protocol, record.Status, record.Gone)
		}
	}
}

func TestStreamsBreakOff(t *testing.T) {
	for _, c := range []struct {
		at     modeltest.Break
		events map[modeltest.Protocol]int
		text   string
	}{
		{modeltest.Break{}, map[modeltest.Protocol]int{modeltest.Chat: 0, modeltest.Responses: 0, modeltest.Messages: 0}, ""},
		{modeltest.Break{Events: 1}, map[modeltest.Protocol]int{modeltest.Chat: 1, modeltest.Responses: 1, modeltest.Messages: 1}, ""},
		{modeltest.Break{Text: 4}, map[modeltest.Protocol]int{modeltest.Chat: 3, modeltest.Responses: 6, modeltest.Messages: 4}, "abcd"},
		{modeltest.Break{Text: 3}, map[modeltest.Protocol]int{modeltest.Chat: 3, modeltest.Responses: 6, modeltest.Messages: 4}, "abcd"},
		{modeltest.Break{Events: 3, Text: 6}, map[modeltest.Protocol]int{modeltest.Chat: 3, modeltest.Responses: 3, modeltest.Messages: 3}, "*"},
		// However late it is to be, it is before the usage.
		{modeltest.Break{Events: 99}, map[modeltest.Protocol]int{modeltest.Chat: 5, modeltest.Responses: 10, modeltest.Messages: 7}, "abcdef"},
	} {
		for _, protocol := range protocols {
			t.Run(fmt.Sprintf("%s %+v", protocol, c.at), func(t *testing.T) {
				answer := modeltest.Answer{Text: "abcdef", Deltas: 3, Usage: modeltest.Usage{Input: 5, Output: 9}, Break: &c.at}
				server := modeltest.New(t, always(answer))
				status, stream, err := talk(t, protocol, server.URL).ask(t, question(protocol, true))
				if status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("status %d, error %v", status, err)
				}
				if got := bytes.Count(stream, []byte("\n\n")); got != c.events[protocol] {
					t.Errorf("%d events, want %d:\n%s", got, c.events[protocol], stream)
				}
				record := server.Exchanges()[0]
				if record.Final || record.Gone || server.Usage() != (modeltest.Usage{}) {
					t.Errorf("the record is %+v", record)
				}
				if c.text != "*" && record.Text != c.text {
					t.Errorf("the text is %q, want %q", record.Text, c.text)
				}
			})
		}
	}
}

// A stream that was not asked for its usage breaks off before its end.
func TestStreamWithoutUsageBreaksOffBeforeItsEnd(t *testing.T) {
	server := modeltest.New(t, always(modeltest.Answer{Text: "ab", Break: &modeltest.Break{Text: 99}}))
	body := question(modeltest.Chat, true)
	delete(body, "stream_options")
	_, stream, err := talk(t, modeltest.Chat, server.URL).ask(t, body)
	if got := shapes(t, stream); !errors.Is(err, io.ErrUnexpectedEOF) || !cmp.Equal(got, []string{"role", "content", "finish"}) {
		t.Errorf("%v, then %v", got, err)
	}
}

func TestWholeAnswersBreakOffInTheirBody(t *testing.T) {
	for _, protocol := range protocols {
		server := modeltest.New(t, always(modeltest.Answer{Text: "ab", Break: &modeltest.Break{}}))
		status, answer, err := talk(t, protocol, server.URL).ask(t, question(protocol, false))
		if status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || len(answer) == 0 {
			t.Errorf("%s: status %d, error %v: %s", protocol, status, err, answer)
		}
		if record := server.Exchanges()[0]; record.Final || record.Usage != (modeltest.Usage{}) || record.Text != "" {
			t.Errorf("%s: the record is %+v", protocol, record)
		}
	}
}

func TestKeyIsAskedForWhereTheProviderWantsIt(t *testing.T) {
	bearer, own := "Authorization", "X-Api-Key"
	for _, c := range []struct {
		protocol      modeltest.Protocol
		header, value string
		admitted      bool
	}{
		{modeltest.Chat, bearer, "Bearer right", true},
		{modeltest.Chat, bearer, "Bearer wrong", false},
		{modeltest.Chat, bearer, "right", false},
		{modeltest.Chat, own, "right", false},
		{modeltest.Responses, bearer, "Bearer right", true},
		{modeltest.Responses, "Other", "right", false},
		{modeltest.Messages, own, "right", true},
		{modeltest.Messages, own, "wrong", false},
		{modeltest.Messages, bearer, "Bearer right", true},
		{modeltest.Messages, "Other", "right", false},
	} {
		t.Run(fmt.Sprint(c.protocol, " ", c.header, " ", c.value), func(t *testing.T) {
			server := modeltest.New(t, always(modeltest.Answer{Text: "x"}))
			server.RequireKey("right")
			client := talk(t, c.protocol, server.URL)
			client.header.Set(c.header, c.value)
			status, answer, err := client.ask(t, question(c.protocol, false))
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 200, false: 401}[c.admitted]; status != want {
				t.Errorf("status %d, want %d: %s", status, want, answer)
			}
			if asked := server.Exchanges()[0].Request.Number > 0; asked != c.admitted {
				t.Errorf("the script was asked: %v", asked)
			}
			if bytes.Contains(answer, []byte("right")) {
				t.Errorf("the key is told: %s", answer)
			}
		})
	}
}

func TestRequestsThatNoProviderTakesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		protocol   modeltest.Protocol
		path, body string
		header     [2]string
		status     int
	}{
		"no JSON":                     {modeltest.Chat, "/v1/chat/completions", `{"model"`, [2]string{}, 400},
		"a list":                      {modeltest.Responses, "/v1/responses", `[]`, [2]string{}, 400},
		"no model":                    {modeltest.Chat, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, [2]string{}, 400},
		"no messages":                 {modeltest.Messages, "/v1/messages", `{"model":"m","messages":[]}`, [2]string{}, 400},
		"no input":                    {modeltest.Responses, "/v1/responses", `{"model":"m"}`, [2]string{}, 400},
		"no version of Anthropic's":   {modeltest.Messages, "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, [2]string{"Anthropic-Version", ""}, 400},
		"another path":                {modeltest.Chat, "/v1/embeddings", `{}`, [2]string{}, 404},
		"an encoding nobody asked of": {modeltest.Responses, "/v1/responses", `(`, [2]string{"Content-Encoding", "zstd"}, 400},
		"no gzip":                     {modeltest.Responses, "/v1/responses", `{}`, [2]string{"Content-Encoding", "gzip"}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.New(t, always(modeltest.Answer{Text: "x"}))
			client := talk(t, c.protocol, server.URL)
			if c.header[0] != "" {
				client.header.Set(c.header[0], c.header[1])
			}
			response, err := client.post(t, c.path, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			var fault struct{ Error struct{ Message string } }
			unmarshal(t, body, &fault)
			record := server.Exchanges()[0]
			if response.StatusCode != c.status || fault.Error.Message == "" || record.Request.Number != 0 || record.Status != c.status {
				t.Errorf("status %d: %s; the record is %+v", response.StatusCode, body, record)
			}
		})
	}
}

func TestHeldAnswersGoOnWhenTheyMay(t *testing.T) {
	for _, c := range []struct {
		event   int
		before  int // events that are there before
		answers bool
	}{{0, 0, false}, {1, 0, true}, {3, 2, true}} {
		t.Run(fmt.Sprint("event ", c.event), func(t *testing.T) {
			until := make(chan struct{})
			server := modeltest.New(t, always(modeltest.Answer{Text: "ab", Deltas: 2, Hold: modeltest.HoldAt(c.event, until)}))
			client := talk(t, modeltest.Chat, server.URL)
			body := marshal(t, question(modeltest.Chat, true))
			type outcome struct {
				response *http.Response
				err      error
			}
			answered := make(chan outcome, 1)
			go func() {
				response, err := client.post(t, "/v1/chat/completions", body)
				answered <- outcome{response, err}
			}()
			if !c.answers {
				all, err := server.Wait(t.Context(), func(all []modeltest.Exchange) bool { return len(all) == 1 && all[0].Request.Number == 1 })
				if err != nil || all[0].Status != 0 {
					t.Fatalf("%v: %+v", err, all)
				}
				close(until)
			}
			got := <-answered
			if got.err != nil {
				t.Fatal(got.err)
			}
			defer got.response.Body.Close()
			first := make([]byte, 0, 1<<20)
			for bytes.Count(first, []byte("\n\n")) < c.before {
				n, err := got.response.Body.Read(first[len(first):cap(first)])
				if err != nil {
					t.Fatal(err)
				}
				first = first[:len(first)+n]
			}
			if record := server.Exchanges()[0]; c.answers && (record.Ended || bytes.Count(first, []byte("\n\n")) != c.before) {
				t.Errorf("it was not held: %+v, %s", record, first)
			}
			if c.answers {
				close(until)
			}
			rest, err := io.ReadAll(got.response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if text := understand(t, modeltest.Chat, true, append(first, rest...)).Text; text != "ab" {
				t.Errorf("the text is %q", text)
			}
		})
	}
}

func TestClientThatGoesAwayIsRecorded(t *testing.T) {
	for _, c := range []struct {
		event  int
		stream bool
	}{{0, false}, {0, true}, {2, true}} {
		t.Run(fmt.Sprintf("held at event %d stream=%v", c.event, c.stream), func(t *testing.T) {
			server := modeltest.New(t, always(modeltest.Answer{Text: "abc", Deltas: 3, Hold: modeltest.HoldAt(c.event, nil)}))
			client := talk(t, modeltest.Responses, server.URL)
			ctx, leave := context.WithCancel(t.Context())
			body := bytes.NewReader(marshal(t, question(modeltest.Responses, c.stream)))
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/responses", body)
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				response, err := client.http.Do(request)
				if err == nil {
					_, err = io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
				failed <- err
			}()
			asked := func(all []modeltest.Exchange) bool { return len(all) == 1 && all[0].Request.Number == 1 }
			if _, err := server.Wait(t.Context(), asked); err != nil {
				t.Fatal(err)
			}
			leave()
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
			all, err := server.Wait(t.Context(), func(all []modeltest.Exchange) bool { return all[0].Ended })
			if err != nil || !all[0].Gone || all[0].Final {
				t.Errorf("%v: %+v", err, all)
			}
		})
	}
}

// Close returns when the answer has ended, which here goes on for as long as the client does.
func TestCloseBreaksOffWhatIsHeldAndWaitsForIt(t *testing.T) {
	failed := make(chan struct{})
	server := modeltest.New(t, always(modeltest.Answer{Text: "abc", Hold: func(ctx context.Context, _ int) {
		<-ctx.Done()
		<-failed
	}}))
	client := talk(t, modeltest.Messages, server.URL)
	body := marshal(t, question(modeltest.Messages, true))
	var err error
	go func() {
		defer close(failed)
		var response *http.Response
		if response, err = client.post(t, "/v1/messages", body); err == nil {
			response.Body.Close()
		}
	}()
	asked := func(all []modeltest.Exchange) bool { return len(all) == 1 && all[0].Request.Number == 1 }
	if _, err := server.Wait(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if record := server.Exchanges()[0]; !record.Ended || record.Gone {
		t.Errorf("the record is %+v", record)
	}
	if <-failed; err == nil {
		t.Error("the client got an answer")
	}
	server.Close()
}

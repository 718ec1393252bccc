package modeltest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// What all clients together were told is what the records say, also when they come at once
// and some get nothing.
func TestRecordsOfManyRequestsAddUp(t *testing.T) {
	const requests = 150
	server := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		answer := modeltest.Answer{Text: "some text", Deltas: 4}
		answer.Usage = modeltest.Usage{Input: r.Number, Cached: r.Number % 7, CacheCreation: r.Number % 3, Output: 2 * r.Number}
		switch r.Number % 10 {
		case 1:
			answer.Status = http.StatusTooManyRequests
		case 2:
			answer.Break = &modeltest.Break{Text: 3}
		}
		return answer
	})
	told := make(chan modeltest.Usage, requests)
	var clients sync.WaitGroup
	for i := range requests {
		client := talk(t, protocols[i%len(protocols)], server.URL)
		stream := i%2 == 0
		clients.Go(func() {
			status, answer, err := client.ask(t, question(client.protocol, stream))
			if status == http.StatusOK && err == nil {
				told <- *understand(t, client.protocol, stream, answer).Usage
			}
		})
	}
	clients.Wait()
	close(told)
	var sum modeltest.Usage
	answered := len(told)
	for usage := range told {
		sum = sum.Plus(usage)
	}
	if got := server.Usage(); got != sum {
		t.Errorf("the records add up to %v, what was told to %v", got, sum)
	}
	// Of the ten numbers that requests end with, one gets an error and one half an answer.
	if want := requests / 10 * 8; answered != want {
		t.Errorf("%d answers, want %d", answered, want)
	}
	numbers := map[int]bool{}
	for _, x := range server.Exchanges() {
		numbers[x.Request.Number] = true
	}
	if len(numbers) != requests || numbers[0] || !numbers[requests] {
		t.Errorf("%d numbers for %d requests", len(numbers), requests)
	}
}

func TestRecordHasWhatWasSent(t *testing.T) {
	server := modeltest.New(t, always(modeltest.Answer{Text: "yes"}))
	client := talk(t, modeltest.Messages, server.URL)
	client.header.Set("X-Api-Key", "k")
	body := question(modeltest.Messages, false)
	response, err := client.post(t, "/v1/messages?beta=true", marshal(t, body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	all, err := server.Wait(t.Context(), func(all []modeltest.Exchange) bool { return all[0].Ended })
	if err != nil {
		t.Fatal(err)
	}
	x := all[0]
	var sent object
	unmarshal(t, marshal(t, body), &sent)
	if diff := cmp.Diff(sent, x.Body); diff != "" {
		t.Error(diff)
	}
	if x.Method != "POST" || x.Path != "/v1/messages?beta=true" || x.Header.Get("X-Api-Key") != "k" || x.Time.IsZero() || x.Status != 200 || x.Text != "yes" {
		t.Errorf("the record is %+v", x)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	server := modeltest.New(t, always(modeltest.Answer{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Wait(ctx, func([]modeltest.Exchange) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestGzippedRequestsAreRead(t *testing.T) {
	server := modeltest.New(t, always(modeltest.Answer{Text: "yes"}))
	client := talk(t, modeltest.Responses, server.URL)
	client.header.Set("Content-Encoding", "gzip")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(marshal(t, question(modeltest.Responses, false)))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	response, err := client.post(t, "/v1/responses", packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if record := server.Exchanges()[0]; response.StatusCode != http.StatusOK || record.Body["model"] != "m" {
		t.Errorf("status %d, body %v", response.StatusCode, record.Body)
	}
}

// Programs look with a HEAD whether somebody is there.
func TestLookingWhetherItIsThereNeedsNothing(t *testing.T) {
	server := modeltest.New(t, always(modeltest.Answer{}))
	server.RequireKey("k")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := talk(t, modeltest.Chat, server.URL).http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if record := server.Exchanges()[0]; response.StatusCode != http.StatusOK || record.Method != http.MethodHead {
		t.Errorf("status %d, record %+v", response.StatusCode, record)
	}
}

func TestModelsAreListedAndTokensCounted(t *testing.T) {
	server := modeltest.New(t, always(modeltest.Answer{}))
	for _, protocol := range []modeltest.Protocol{modeltest.Chat, modeltest.Messages} {
		client := talk(t, protocol, server.URL)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = client.header
		response, err := client.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Data []struct{ ID string } }
		if unmarshal(t, body, &list); len(list.Data) != 1 || list.Data[0].ID != modeltest.Model {
			t.Errorf("%s: the list is %s", protocol, body)
		}
	}

	client := talk(t, modeltest.Messages, server.URL)
	response, err := client.post(t, "/v1/messages/count_tokens", marshal(t, question(modeltest.Messages, false)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var count struct {
		Input int `json:"input_tokens"`
	}
	if unmarshal(t, body, &count); count.Input == 0 {
		t.Errorf("the count is %s", body)
	}
	if number := server.Exchanges()[2].Request.Number; number != 0 {
		t.Errorf("the script was asked to count: %d", number)
	}
}

func TestServesAnyListener(t *testing.T) {
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := modeltest.Start(listener, modeltest.Shell())
	t.Cleanup(server.Close)
	client := talk(t, modeltest.Chat, server.URL)
	client.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	if got := client.says(t, question(modeltest.Chat, true)).Text; got != modeltest.Done {
		t.Errorf("got %q", got)
	}
	server.Close()
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error(fmt.Errorf("%s is still listened on", socket))
	}
}

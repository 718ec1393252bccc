package notifier

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/assayd/assayd/config"
)

// Bounds of what is sent.
const (
	maxDigest = 50   // notices in one message
	maxText   = 300  // characters of one notice
	maxSlack  = 1900 // of a message of Slack's format: Discord takes 2000
)

// message is what a receiver gets in one call.
type message struct {
	id   string
	body []byte
	of   []Notice
}

// event is a message in the form of Standard Webhooks.
type event struct {
	ID        string         `json:"id,omitempty"` // in a digest
	Type      string         `json:"type"`
	Timestamp time.Time      `json:"timestamp"`
	Data      map[string]any `json:"data"`
}

func eventOf(n Notice) event {
	data := maps.Clone(n.Data)
	if data == nil {
		data = map[string]any{}
	}
	data["text"] = plain(n.Text)
	if n.Spec != "" {
		data["spec"] = n.Spec
	}
	return event{Type: n.Kind, Timestamp: n.Time.UTC(), Data: data}
}

// compose makes a message of one notice, or a digest of several.
func compose(format string, of []Notice) (message, error) {
	m := message{id: of[0].ID, of: of}
	if len(of) > 1 {
		m.id = "digest:" + of[len(of)-1].ID
	}
	var err error
	if format == config.FormatSlack {
		m.body, err = json.Marshal(map[string]any{"text": slack(of), "mrkdwn": false})
		return m, err
	}
	e := eventOf(of[0])
	if len(of) > 1 {
		all := make([]event, len(of))
		for i, n := range of {
			all[i] = eventOf(n)
			all[i].ID = n.ID
		}
		e = event{Type: "digest", Timestamp: of[len(of)-1].Time.UTC(), Data: map[string]any{"count": len(of), "notices": all}}
	}
	m.body, err = json.Marshal(e)
	return m, err
}

// slack is a message as text: of several notices how many there are of each kind, and as many as have room.
func slack(of []Notice) string {
	if len(of) == 1 {
		return escaped(of[0].Text)
	}
	kinds := map[string]int{}
	for _, n := range of {
		kinds[n.Kind]++
	}
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		counts = append(counts, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	text := fmt.Sprintf("%d notices: %s", len(of), strings.Join(counts, ", "))
	for i, n := range of {
		line := "\n" + escaped(n.Text)
		if len(text)+len(line) > maxSlack {
			return text + fmt.Sprintf("\nand %d more", len(of)-i)
		}
		text += line
	}
	return text
}

// plain is a text in one line, without what a terminal or a chat takes for a command, and not too long.
func plain(text string) string {
	clean := []rune(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�")))
	if len(clean) > maxText {
		return string(clean[:maxText-1]) + "…"
	}
	return string(clean)
}

// escaped is a text for Slack and those who take its format: it is no link, no mention, and no markup.
func escaped(text string) string {
	const unseen = "\u200b" // keeps @here, @everyone, and `code` from meaning anything
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@"+unseen, "`", "'", "*", "∗", "](", "]"+unseen+"(").Replace(plain(text))
}

// sign adds the headers of Standard Webhooks; without a key there is no signature.
func (m message) sign(h http.Header, key []byte, now time.Time) {
	at := strconv.FormatInt(now.Unix(), 10)
	h.Set("Webhook-Id", m.id)
	h.Set("Webhook-Timestamp", at)
	if key == nil {
		return
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", m.id, at, m.body) // a hash takes everything
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

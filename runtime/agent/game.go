package agent

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// gameURL is where the judge lets the trial's agent play.
func gameURL(t task.Task, s Setting) string {
	return s.JudgeURL + "/api/v1/game/" + url.PathEscape(s.Trial) + "/" + url.PathEscape(t.Name)
}

// gamePrompt tells how the game is played and what counts.
func gamePrompt(t task.Task, timeout time.Duration, s Setting) string {
	var b strings.Builder
	fmt.Fprintf(&b, gameText, t.Workdir, gameURL(t, s))
	fmt.Fprintf(&b, "- You have %s. `assay-submit --time` prints the seconds that are left; at the end open sessions are closed.\n", timeout)
	if t.Network.Mode == "none" {
		b.WriteString("- There is no network but this address.\n")
	}
	return b.String()
}

const gameText = `

## How the game is played

You work in ` + "`%[1]s`" + `. The game runs on a server that you reach by HTTP at ` + "`%[2]s`" + `,
which is in ` + "`$GAME_SERVER_URL`" + ` too. Bodies are JSON; an error is ` + "`{\"detail\": \"…\"}`" + `.

- ` + "`POST $GAME_SERVER_URL/new`" + ` with ` + "`{}`" + ` opens a session. The answer has ` + "`session_id`, `observation`, `score`,\n  `peak_score`, `max_score`, `done` and `moves`" + `.
- ` + "`POST $GAME_SERVER_URL/SESSION_ID/step`" + ` with ` + "`{\"action\": \"look\"}`" + ` makes a move and answers the same. An action is a
  text of at most 8 KiB; where the game waits for a key, a single space may do.
- ` + "`GET $GAME_SERVER_URL/SESSION_ID/status`" + ` tells the score without a move.
- ` + "`POST $GAME_SERVER_URL/SESSION_ID/close`" + ` ends a session.

With curl:

    curl -s -X POST -H 'Content-Type: application/json' -d '{"action": "look"}' "$GAME_SERVER_URL/SESSION_ID/step"

With Python:

    import json, os, urllib.request

    def call(path, body):
        request = urllib.request.Request(os.environ["GAME_SERVER_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=120))

    game = call("/new", {})
    print(call("/" + game["session_id"] + "/step", {"action": "look"})["observation"])

- What counts is your best session: the highest score it ever had, as a share of ` + "`max_score`" + `. A session that goes
  badly costs nothing.
- You may have 3 sessions open at a time, and as many in turn as you like. One that nothing is asked of for 10 minutes ends.
- Moves of one session are made one at a time. An answer that tells of a failed move leaves the session open, unless it says 410.
- What you played so far: ` + "`assay-submit --list`" + `.
`

#!/bin/bash
# An agent that works with the client of old and shows what it said and how it ended.
PATH=/agent/bin:$PATH

client() {
	echo "\$ sforge-submit $*"
	/agent/sforge-submit "$@" 2>/tmp/problems
	code=$?
	sed 's/^/stderr: /' /tmp/problems
	echo "exit $code"
}

echo "I am $(id -un) in $(pwd)"
ls /tmp/setup_workspace.sh /opt/judge 2>/dev/null
client --list
echo one three >answer.txt
client
client
/bin/sleep "$(sed 's/.*wait \([0-9]*\) seconds.*/\1/' /tmp/problems)"
echo one two three >answer.txt
client --details
client
client --list
client --verbose
env -u SFORGE_TOKEN /agent/sforge-submit
echo "exit $?"
jq -c '[.best_round, .best_score, (.submissions | length)]' /tmp/sforge_state.json

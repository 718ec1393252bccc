package sforge

import (
	_ "embed"
	"strings"
)

// gameServer plays a story file by way of the package jericho, which images of text
// adventures have. Such tasks expect to find it where gameServerPath says; it is written
// there when the game starts, so that their images stay what they are.
//
//go:embed game_server.py
var gameServer string

const gameServerPath = "/tmp/game_server_app.py"

// gameCommand is the line that starts a game server, for any shell.
func gameCommand(server string) string {
	start := "exec /bin/bash -c " + quote(server)
	if !strings.Contains(server, gameServerPath) {
		return start
	}
	return "cat >" + gameServerPath + " <<'END OF SERVER'\n" + gameServer + "END OF SERVER\n" + start
}

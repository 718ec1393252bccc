// Package game plays games with agents: a session has a container of its own, in which a game server
// of the task runs, and its peak is what it is worth.
//
// It never runs code of an agent, and never closes one session to make room for another. Requests come
// from whoever has the turn, one at a time. Start reading at Games and Game.
package game

// Package notify speaks with systemd: readiness, reload, stop and status, the watchdog,
// sockets that systemd opened for us, and credentials.
//
// Everything is a no-op where systemd is not: without NOTIFY_SOCKET nothing is sent,
// without LISTEN_FDS there are no listeners. It never changes the environment, because
// the watchdog needs the same variables again and again, and it never decides whether
// the daemon is well: it asks the function it is given. Start reading at Ready.
package notify

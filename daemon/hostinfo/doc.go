// Package hostinfo finds out what the machine of the container engine has: CPUs, memory, and free disk.
//
// It applies the limits of the settings over that, less a reserve. Unknown is not absent: a free disk
// of -1 is not known. The package never admits or refuses work. Start reading at Of and LimitsOf.
package hostinfo

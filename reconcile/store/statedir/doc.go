// Package statedir has what the parts of a state directory share: the lock that one daemon at a time holds, the modes that
// close it to other users, the names of a full and of a read-only disk, and the call that makes file names durable.
//
// It reads neither the database nor the blobs, and removes nothing. Start reading at Lock.
package statedir

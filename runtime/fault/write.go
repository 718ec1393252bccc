package fault

// Writes are the places that write to the disk of the daemon, for Err. The suite of full
// disks goes through the list, so that a new one is tested by being here.
var Writes = []Point{
	WriteSpool, WriteBlob, WriteState, WriteLine, WriteLog, WriteFolder, WriteDoor,
}

// Told are those that write what agents say and play. They need a model and a game: the
// suite goes through them apart.
var Told = []Point{WriteTranscript, WriteGame, WriteTrajectory}

// The places that write.
const (
	WriteSpool  Point = "write spool"        // an archive before it is cleaned
	WriteBlob   Point = "write blob"         // whatever is kept by its content
	WriteState  Point = "write state"        // a transaction's commit
	WriteLine   Point = "write line"         // to a result file
	WriteLog    Point = "write log"          // an agent's output
	WriteFolder Point = "write trial folder" // that is mounted into its container
	WriteDoor   Point = "write door"         // a trial's sockets

	WriteTranscript Point = "write transcript" // what an agent and its model say
	WriteTrajectory Point = "write trajectory" // the same when the try is over
	WriteGame       Point = "write game"       // what is played, move by move
)

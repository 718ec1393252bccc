package fault

// Point is a step at which a daemon can end, named for what has just been done. Each lies
// between an effect and whatever makes it known: its record, its answer, or its undoing.
type Point string

// Points are all of them. The crash suite goes through the list, so that a new one is tested
// by being here.
var Points = []Point{
	StoreOpened, SocketOpened, RoundsRestored, StraySwept,
	ContextStored, SpecsAccepted, RunBegun, RunFinished, HoldWritten, HoldStored, OrderWritten, OrderStored, NoteWritten, NoteStored,
	BuildStarted, WorkdirTaken, ImageBuilt, ImageRemoved, BlobRemoved,
	StateWritten, FolderMade, AgentStaged, LogAppended, GuestHeard, TrialStarted, TrialSocketOpened, TrialFrozen, AutoTaken,
	ContainerCreated, ContainerStarted,
	SanityAsked, SanityKnown, PatchTaken, PatchKept, FinalTaken, PrivateAsked, PrivateJudged, MixedDrawn, MixedAsked, MixedJudged,
	TrialFinished, ContainerRemoved, TrialCleaned, TrialScanned, TrialFlagged,
	RoundReserved, SpoolMade, BlobWritten, ArchiveStored, RoundAccepted, ImageLookedAt, WarmStarted, RoundRunning,
	JudgeStarted, ArchivePlaced, OutputsTaken, StageRemoved, VerdictParsed, VerdictStored, JudgeRemoved,
	LineAppended, LineFlushed, LineMarked,
	EvalOpened, EvalAccepted,
	GameReserved, GameStarted, GameOpened, GameMoved, GameSaved, GameKept, GameJudged, GameRemoved,
	ExchangeBooked, ExchangeSettled,
}

// Layers are those of making an agent layer and taking it away. They need no daemon: the
// crash suite of the layers goes through them.
var Layers = []Point{LayerFetched, LayerUnpacked, LayerRenamed, LayerRemoved}

// Mining are those of a mining spec: the crash suite of mining goes through them.
var Mining = []Point{PullsFound, AnswerKept, TaskWritten, PullDecided}

// A pull request.
const (
	PullsFound  Point = "pull requests found"  // what a source told is stored
	AnswerKept  Point = "answer kept"          // of GitHub or a model; nobody has used it
	TaskWritten Point = "task written"         // in the formats of its spec; nothing is decided
	PullDecided Point = "pull request decided" // nobody knows of its task
)

// The start of a daemon.
const (
	StoreOpened    Point = "store opened" // the state directory is this daemon's
	SocketOpened   Point = "control socket opened"
	RoundsRestored Point = "rounds restored" // the judge has what a former daemon left
	StraySwept     Point = "stray swept"     // a container that a former daemon left is removed
)

// A spec, and its run.
const (
	ContextStored Point = "context stored" // a copy of a folder, which no accepted spec names yet
	SpecsAccepted Point = "specs accepted"
	RunBegun      Point = "run begun"
	HoldWritten   Point = "hold written"  // a hold and its record are in a transaction that is not committed
	HoldStored    Point = "hold stored"   // a hold, or its end, is stored with its record; nobody was answered yet
	OrderWritten  Point = "order written" // what a user asks of a trial and its record are in a transaction that is not committed
	OrderStored   Point = "order stored"  // it is stored with its record; the trial was not told, nor anybody answered
	NoteWritten   Point = "note written"  // a note or a tag and its record are in a transaction that is not committed
	NoteStored    Point = "note stored"   // it is stored with its record; nobody was answered yet
	RunFinished   Point = "run finished"
)

// Images.
const (
	BuildStarted Point = "build started" // the container in which an image is made
	WorkdirTaken Point = "workdir taken" // a file has what is handed to the image's user
	ImageBuilt   Point = "image built"   // its container is still there
	ImageRemoved Point = "image removed" // as garbage
	BlobRemoved  Point = "blob removed"  // as garbage
)

// Agent layers.
const (
	LayerFetched  Point = "layer fetched"  // an archive is whole and checked
	LayerUnpacked Point = "layer unpacked" // under another name
	LayerRenamed  Point = "layer renamed"  // and what it was made with is still there
	LayerRemoved  Point = "layer removed"  // it has lost its name
)

// A trial, up to its end.
const (
	StateWritten      Point = "state written"  // a trial's transition is stored
	FolderMade        Point = "folder made"    // that is mounted into a trial's container
	AgentStaged       Point = "agent staged"   // what is mounted at /agent, before it has its name
	LogAppended       Point = "log appended"   // the agent's output, not acknowledged
	GuestHeard        Point = "guest heard"    // its event is stored, not acknowledged
	TrialStarted      Point = "trial started"  // the deadline is stored, the guest does not know it
	TrialSocketOpened Point = "door opened"    // the trial's sockets are there
	TrialFrozen       Point = "trial frozen"   // for a snapshot
	AutoTaken         Point = "snapshot taken" // an auto-eval's, before the trial knows
)

// Containers of any kind.
const (
	ContainerCreated Point = "container created"
	ContainerStarted Point = "container started" // a trial's, which does not know its id
)

// The end of a trial.
const (
	SanityAsked      Point = "sanity asked" // the untouched tree is being judged
	SanityKnown      Point = "sanity known"
	PatchTaken       Point = "patch taken" // and nowhere kept
	PatchKept        Point = "patch kept"  // and not judged
	FinalTaken       Point = "final snapshot taken"
	PrivateAsked     Point = "private set asked"
	PrivateJudged    Point = "private set judged"
	MixedDrawn       Point = "mixed runs drawn" // and not stored
	MixedAsked       Point = "mixed run asked"
	MixedJudged      Point = "mixed run judged"  // others may not be, and the trial does not know
	TrialFinished    Point = "trial finished"    // its verdict is stored, its container is there
	ContainerRemoved Point = "container removed" // the trial's folder is there
	TrialCleaned     Point = "trial cleaned"     // and its state does not say so
	TrialScanned     Point = "trial scanned"     // for signs of cheating, and nobody knows what was found
	TrialFlagged     Point = "trial flagged"     // and its run is not told
)

// A submission.
const (
	RoundReserved Point = "round reserved"
	SpoolMade     Point = "spool made"   // a temporary file that still has a name
	BlobWritten   Point = "blob written" // under a temporary name
	ArchiveStored Point = "archive stored"
	RoundAccepted Point = "round accepted" // committed, not answered
	ImageLookedAt Point = "image looked at"
	WarmStarted   Point = "warm container started"
	RoundRunning  Point = "round running" // committed, nothing is started
	JudgeStarted  Point = "judge container started"
	ArchivePlaced Point = "archive placed"
	OutputsTaken  Point = "outputs taken" // of a run stage, whose container is there
	StageRemoved  Point = "stage removed" // before the grade stage begins
	VerdictParsed Point = "verdict parsed"
	VerdictStored Point = "verdict stored" // nobody who waits has been told
	JudgeRemoved  Point = "judge container removed"
	LineAppended  Point = "line appended" // to a result file, not flushed
	LineFlushed   Point = "line flushed"  // and not marked as written
	LineMarked    Point = "line marked"
)

// A round without a trial.
const (
	EvalOpened   Point = "eval opened"
	EvalAccepted Point = "eval accepted" // nobody who waits has been told
)

// A game.
const (
	GameReserved Point = "game reserved"
	GameStarted  Point = "game container started"
	GameOpened   Point = "game opened" // committed, not answered
	GameMoved    Point = "game moved"  // in the transcript only
	GameSaved    Point = "game saved"  // a new peak is committed, not answered
	GameKept     Point = "game kept"   // the transcript is a blob, the verdict is not stored
	GameJudged   Point = "game judged" // the container and the transcript are there
	GameRemoved  Point = "game removed"
)

// An exchange with a model.
const (
	ExchangeBooked  Point = "exchange booked"  // in the ledger at its least, nothing is passed on
	ExchangeSettled Point = "exchange settled" // at its cost, its last event is not passed on
)

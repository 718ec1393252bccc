package container

// Labels of every container and image that assayd makes.
const (
	LabelOwner     = "assayd.owner"     // id of the state directory that made it
	LabelSpec      = "assayd.spec"      // address, "run.nightly"
	LabelExecution = "assayd.execution" // "e1"
	LabelTrial     = "assayd.trial"     // "nightly.e1.0123abcd"
	LabelTry       = "assayd.try"       // "1"
	LabelRole      = "assayd.role"      // one of the roles below
	LabelHash      = "assayd.workload"  // Workload.Hash, set by the engine
	LabelDaemon    = "assayd.daemon"    // id of the process that made it, set by the engine
)

// Roles of containers and images.
const (
	RoleWork  = "work"
	RoleJudge = "judge"
	RoleBuild = "build"
	RoleBase  = "base"
)

// Package mixedruns judges rounds of a trial once more, in which decoys have taken the place of some
// hidden tests. What passes a changed test knows which tests are real.
//
// Runs is what a trial keeps of it: which runs are drawn, and what each round has shown. A step judges
// one round or draws more for it. Runs are drawn and stored before they are judged, so that no crash
// draws again.
//
// The package makes no decoys, chooses no rounds, and decides no verdict of a trial: it says what runs
// show, and what the agent may have known.
//
// Start reading at Judging.Step.
package mixedruns

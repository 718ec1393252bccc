package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/daemon/notifier"
	"github.com/assayd/assayd/daemon/trace"
	"github.com/assayd/assayd/runtime/cheat"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/trial"
)

// other is the value of a label where the true one is in no list.
const other = "other"

// maxModels is how many models are told apart in a process; specs can name any number one after the other.
const maxModels = 100

// The values of labels. They exist from the start, so that a rate is right from the first event on.
var (
	statuses = []string{
		string(trial.Resolved), string(trial.Unresolved), string(trial.AgentError), string(trial.TestError),
		string(trial.SetupError), string(trial.SanityFail), string(trial.InfraError), string(trial.Cancelled),
	}
	reasons = []string{
		trial.ReasonDeadline, trial.ReasonIdle, trial.ReasonAgentExit, trial.ReasonAgent, trial.ReasonDisk, trial.ReasonOOM, trial.ReasonGuestLost,
		trial.ReasonImage, trial.ReasonSetup, trial.ReasonEngine, trial.ReasonJudge, trial.ReasonSanity, trial.ReasonCancelled, trial.ReasonUSD,
		trial.ReasonTokens, trial.ReasonProvider, trial.ReasonStopped, other,
	}
	lost   = []string{string(trial.SetupError), string(trial.InfraError), other}
	stages = []string{string(trial.Pending), string(trial.Images), string(trial.Sane), string(trial.Create), string(trial.Await)}
	events = []string{
		"adopted", "auto_eval", "budget", "cheat_scan_incomplete", "disk", "engine_lost", "final_refused", "guest_back", "guest_silent", "network", "not_extended", "not_taken", trial.ReasonStopped, trial.FlagExtended,
		protocol.TroubleLogTruncated, protocol.TroubleZombies, protocol.TroubleSpawn, protocol.TroubleState, protocol.TroubleUnkillable, protocol.TroubleOOM, protocol.TroublePIDs, other,
	}
	flags = []string{
		"tampered", "oom", "pids", "disk", "zombies", "final_refused", trial.ReasonStopped, trial.FlagNoManifest, trial.FlagExpected, trial.FlagUnstable, trial.FlagDecoyPassed, trial.FlagCut, trial.FlagExtended,
		"cheat:" + cheat.FutureHistory, "cheat:" + cheat.Upstream, "cheat:" + cheat.WebTools, "cheat:" + cheat.JudgePaths, "cheat:" + cheat.ResultMarkers,
		"cheat:" + cheat.SpecialCasing, "cheat:" + cheat.Answers, "cheat:" + cheat.Models, other,
	}
	kinds    = []string{string(round.KindAgent), string(round.KindAuto), string(round.KindFinal), string(round.KindManual), string(round.KindGame), other}
	verdicts = []string{
		string(round.StatusOK), string(round.StatusTimeout), string(round.StatusInvalid), string(round.StatusTampered), string(round.StatusError), other,
	}
	refusals = []string{"400", "403", "413", "429", "503", other}
	types    = []string{
		"run.started", "run.stale", "run.skipped", "run.settled", "run.finished", "image.built", "trial.started", "submission", "trial.resumed",
		"trial.event", "trial.finished", "trial.flagged", "trial.superseded", "task.validated", "pr", "task.mined", "mining.progress", "mining.finished",
		"spec.accepted", "spec.rejected", "spec.removed", "control", "note", other,
	}
	tokenTypes    = []string{"input", "output", "cached", "estimated"}
	uses          = []string{"trial", "mining", "check"}
	roles         = []string{container.RoleBase, container.RoleWork, container.RoleJudge, "agent", other}
	builds        = []string{"built", "failed"}
	pullVerdicts  = []string{string(mining.Accepted), string(mining.Rejected), string(mining.Failed), other}
	githubKinds   = []string{"core", "search", "graphql"}
	githubAnswers = []string{"answer", "limit", "none"}
	hourOutcomes  = []string{"read", "missing", "damaged", "failed"}
	logins        = []string{"ok", "wrong", "limited"}
)

// among is a value of a list, or other.
func among(list []string, value string) string {
	if slices.Contains(list, value) {
		return value
	}
	return other
}

// seed makes all series that are known beforehand.
func (m *Metrics) seed(settings *config.Settings) {
	c := &m.counters
	for vec, values := range map[*prometheus.CounterVec][][]string{
		c.loopErrors: {}, c.resumes: {}, c.judgeRetries: {}, c.tasksMined: {}, c.miningCost: {}, c.resultsErrors: {},
		c.trialsFinished: {statuses, reasons}, c.triesLost: {lost}, c.events: {events}, c.flags: {flags},
		c.submissions: {kinds, verdicts}, c.judgeRefused: {refusals}, c.records: {types},
		c.engineErrors: {{m.engine}, engines.Failures()}, c.imageBuilds: {roles, builds},
		c.pulls: {mining.Stages(), pullVerdicts}, c.githubRequests: {githubKinds, githubAnswers}, c.spans: {trace.Outcomes()}, c.archiveHours: {hourOutcomes}, c.logins: {logins},
	} {
		product(values, func(labels []string) { vec.WithLabelValues(labels...) })
	}
	for vec, values := range map[*prometheus.HistogramVec][][]string{
		c.loopTurn: {}, c.trialAgent: {}, c.judgeQueue: {}, c.judgeCommand: {}, c.judgeOverhead: {}, c.storeCommit: {},
		c.trialSetup: {stages}, c.imageBuild: {roles}, c.engineCall: {{m.engine}, engines.Calls()},
	} {
		product(values, func(labels []string) { vec.WithLabelValues(labels...) })
	}
	for name := range settings.Notifiers {
		product([][]string{{name}, notifier.Outcomes()}, func(labels []string) { c.notifications.WithLabelValues(labels...) })
	}
	for name, p := range settings.Providers {
		c.modelHeld.WithLabelValues(name)
		c.modelWait.WithLabelValues(name)
		m.seedModel(name, other)
		for model := range p.Prices {
			if !strings.ContainsAny(model, `*?[\`) {
				m.model(name, model, true)
			}
		}
	}
}

// seedModel makes the series of a model.
func (m *Metrics) seedModel(provider, model string) {
	c, of := &m.counters, [][]string{{provider}, {model}}
	product(append(of, gateway.Outcomes()), func(labels []string) { c.modelRequests.WithLabelValues(labels...) })
	product(append(of, tokenTypes), func(labels []string) { c.modelTokens.WithLabelValues(labels...) })
	product(append(of, uses), func(labels []string) { c.modelCost.WithLabelValues(labels...) })
	c.modelRequest.WithLabelValues(provider, model)
	c.modelFirstByte.WithLabelValues(provider, model)
}

// model is the label of a model: its name where it is declared and not one too many.
func (m *Metrics) model(provider, name string, declared bool) string {
	if !declared || name == "" || len(name) > 200 {
		return other
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := provider + "\x00" + name
	if m.models[key] {
		return name
	}
	if len(m.models) >= maxModels {
		return other
	}
	m.models[key] = true
	m.seedModel(provider, name)
	return name
}

// product calls do with each combination of values, one of each list.
func product(lists [][]string, do func([]string)) {
	if len(lists) == 0 {
		do(nil)
		return
	}
	for _, value := range lists[0] {
		product(lists[1:], func(rest []string) { do(append([]string{value}, rest...)) })
	}
}

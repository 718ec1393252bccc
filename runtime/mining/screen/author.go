package screen

import (
	"fmt"
	"regexp"
	"strings"
)

// bot says why a pull request is the work of a program; "" = nothing says so.
func bot(author, kind, branch string) string {
	switch lower := strings.ToLower(author); {
	case strings.EqualFold(kind, "Bot"):
		return fmt.Sprintf("the author %s is a bot", author)
	case botNames[lower], botName.MatchString(lower):
		return fmt.Sprintf("the author %s has the name of a bot", author)
	}
	if _, own, ok := strings.Cut(branch, ":"); ok { // "owner:branch"
		branch = own
	}
	if botBranch.MatchString(strings.ToLower(branch)) {
		return fmt.Sprintf("the branch %s is one that bots make", branch)
	}
	return ""
}

// botName knows names of programs by their form. A name that just ends in "bot" may be a
// person's.
var botName = regexp.MustCompile(`\[bot\]$|^app/|[-_.](bot|robot|automation|autoroller|autobot)$|^(bot|robot)[-_.]|[-_](bot|robot)[-_0-9]`)

// botNames are programs whose names do not show it.
var botNames = set(`dependabot dependabot-preview renovate renovatebot renovate-approve greenkeeper greenkeeperio-bot pyup-bot snyk-bot
	imgbot imgbotapp imgclip allcontributors mergify github-actions pre-commit-ci depfu whitesource-bolt mend-bolt mend-for-github-com
	weblate transifex-integration crowdin-bot copybara-service copybara-github google-ossf scala-steward scala-steward-bot release-please
	semantic-release-bot web-flow copilot copilot-swe-agent codecov-io deepsource-io deepsourcebot lgtm-com sourcery-ai
	restyled-io gitbook-bot gitlocalize-app l10n-bot dotnet-maestro vs-mobiletools-engineering-service2 skia-flutter-autoroll
	engine-flutter-autoroll angular-robot nodejs-github-bot k8s-ci-robot k8s-publishing-bot openshift-merge-robot
	openshift-cherrypick-robot homebrew-bot brewtestbot miss-islington bors bors-servo homu svc-scm svcbot sonatype-lift
	azure-sdk aws-sdk-python-automation yoshi-automation gcf-owl-bot gcf-merge-on-green changeset-bot nextcloud-command nextcloud-bot
	backportbot mattermod tg-bot ci-bot autofix-ci pixeebot stepsecurity-app step-security-bot`)

// botBranch knows the branches that programs make.
var botBranch = regexp.MustCompile(`^(dependabot|renovate|renovate-bot|snyk|greenkeeper|pyup|depfu|imgbot|whitesource|mend|crowdin|weblate|transifex|copybara|changeset-release|release-please|mergify|allcontributors|all-contributors|scala-steward|deepsource|patchback|create-pull-request|pre-commit-ci|autofix|autoroll|automated|tx)/` +
	`|^(dependabot|renovate|snyk-(fix|upgrade)|greenkeeper|pyup|release-please|pre-commit-ci|create-pull-request|crowdin|weblate|imgbot|whitesource|deepsource|whitesource-remediate)[-_]` +
	`|^(l10n_|imgbot$|pre-commit-ci|version-packages$|changeset-release$)`)

var (
	revertTitle  = regexp.MustCompile(`(?i)^\W*(reverts?\s|revert\s*"|revert(\([^)]*\))?!?:|([\w()/.-]+!?:|\[[^\]]*\])\s*reverts?\s+("|“|'|#\d|pr\b|commit\b|[0-9a-f]{7,40}\b)|back(ing)?[ -]?out\s+("|#\d|[0-9a-f]{7}|changeset|commit|pr\b)|roll(ing)? ?back\s+("|#\d|[0-9a-f]{7}|commit|pr\b))`)
	revertBranch = regexp.MustCompile(`(?i)(^|[/:])revert[-_/](\d+|pr|[0-9a-f]{7,40}\b)`)
	revertBody   = regexp.MustCompile(`(?im)^\W*(reverts\s+(https://\S+/pull/\d+|[\w.-]+/[\w.-]+#\d+|#\d+)\W*$|this reverts (commit|pull request|pr)\b)`)
)

// isRevert reports whether a pull request takes another one back.
func isRevert(title, branch, body string) bool {
	return revertTitle.MatchString(title) || revertBranch.MatchString(branch) || revertBody.MatchString(body)
}

var (
	backportTitle = regexp.MustCompile(`(?i)\bback-?port(ed|ing)?\b.*(#\d|\bto\b|\]|:|\bfrom\b|\bof\b|\bpr\b)|^\W*back-?port|^\W*automated cherry[- ]pick|^\W*cherry[- ]pick|\(cherry[- ]picked|` +
		`^\s*\[(v?\d+(\.(\d+|x))+|v?\d+[.-]x|release[-/ .][^\]]*|stable([-/ ][^\]]*)?|branch-\d[^\]]*|[^\]]*-stable|cp|cherry-?pick[^\]]*)\]|^🍒`)
	backportBranch = regexp.MustCompile(`(?i)(^|[/:])(back-?port|cherry-?pick|cherrypick|cp)[-_/].*\d|^(mergify/bp|patchback/backports)/|^(automated-)?cherry-pick-of-`)
	backportBody   = regexp.MustCompile(`(?im)\(cherry picked from commit [0-9a-f]{7,}|^\W*(this is an automat(ic|ed) (back-?port|cherry[- ]pick) of|(manual )?back-?ports?(ed)? (of |from )?((pr|pull request) )?(#\d+|https://\S+/pull/\d+|[0-9a-f]{7,40}\b|[\w.-]+/[\w.-]+#\d+)|cherry[- ]pick of #\d+)`)
)

// isBackport reports whether a pull request brings to one branch what another has already.
func isBackport(title, branch, body string) bool {
	return backportTitle.MatchString(title) || backportBranch.MatchString(branch) || backportBody.MatchString(body)
}

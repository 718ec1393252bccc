package parser

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rewardParser reads the file in which a judge command leaves its verdict by Harbor's
// convention: reward.json, an object of numbers, or else reward.txt, one number. Where both
// are side by side they must say the same: one may be left by what was judged.
func rewardParser() Parser {
	return Parser{Name: "reward", Protect: []string{"reward.json", "reward.txt"}, Files: rewardFiles(), Parse: parseReward}
}

// rewardFiles are the places of the file, the first that is there counts.
func rewardFiles() []string {
	return []string{"/logs/verifier/reward.json", "/logs/verifier/reward.txt", "reward.json", "reward.txt"}
}

func parseReward(in Input) Result {
	var wrong problems
	if in.TimedOut {
		wrong.addf("the command ran out of time")
	}
	result := Result{}
	at := slices.IndexFunc(rewardFiles(), func(name string) bool { _, ok := in.Files[name]; return ok })
	if at < 0 {
		wrong.addf("no reward file was left")
	} else {
		name := rewardFiles()[at]
		result = readReward(name, in.Files[name], &wrong)
		other := strings.TrimSuffix(name, ".json") + ".txt"
		if content, ok := in.Files[other]; ok && other != name {
			agree(&result, readReward(other, content, &wrong), &wrong)
		}
	}
	result.Complete = len(wrong) == 0
	result.Problem = strings.Join(wrong, "; ")
	return result
}

// agree takes a reward away that another file does not confirm.
func agree(r *Result, other Result, wrong *problems) {
	if r.Score != nil && other.Score != nil && *r.Score == *other.Score {
		return
	}
	wrong.addf("reward.json and reward.txt do not say the same")
	r.Score, r.PassRate, r.Summary = nil, nil, ""
}

// readReward turns the content of a reward file into a result. A file that is not wholly as
// it should be gives no score.
func readReward(name string, content []byte, wrong *problems) Result {
	var reward *float64
	var metrics map[string]float64
	if strings.HasSuffix(name, ".json") {
		reward, metrics = readRewards(name, content, wrong)
	} else if reward = finiteNumber(strings.TrimSpace(string(content))); reward == nil {
		wrong.addf("%s holds no finite number", name)
	}
	if reward == nil || len(*wrong) > 0 {
		return Result{Metrics: metrics}
	}
	rate := min(max(*reward, 0), 1)
	return Result{Score: reward, PassRate: &rate, Summary: fmt.Sprintf("reward %g", *reward), Metrics: metrics}
}

// readRewards reads an object of numbers. The one called reward is the verdict, or the only
// one there is; the others are metrics. JSON has no NaN or infinity.
func readRewards(name string, content []byte, wrong *problems) (*float64, map[string]float64) {
	fields, err := readObject(content)
	if err != nil {
		wrong.addf("%s holds no object: %v", name, err)
		return nil, nil
	}
	numbers := map[string]*float64{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		var n *float64
		if json.Unmarshal(fields[key], &n) != nil || n == nil {
			wrong.addf("%s: %s is not a number", name, key)
			continue
		}
		numbers[key] = n
	}
	main := "reward"
	if _, ok := numbers[main]; !ok && len(numbers) == 1 {
		main = slices.Collect(maps.Keys(numbers))[0]
	}
	reward, ok := numbers[main]
	if !ok {
		wrong.addf("%s holds no number called reward", name)
	}
	delete(numbers, main)
	metrics := map[string]float64{}
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		if len(metrics) == maxMetrics {
			wrong.addf("%s: more than %d numbers", name, maxMetrics)
			break
		}
		metrics[cleanName(key)] = *numbers[key]
	}
	return reward, metrics
}

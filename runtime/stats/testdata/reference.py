"""Computes golden.json, what package stats is compared with, by other people's code.

Debian has it all: apt-get install python3-scipy python3-statsmodels. Then, in this folder:

    /usr/bin/python3 reference.py > golden.json

Generators are seeded, so the same versions give the same file; it names them.
"""

import json
import platform
from fractions import Fraction
from math import comb

import numpy as np
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

OURS = 2000  # resamples of package stats
MANY = 200_000


def wilson():
    cases = [(k, n) for n in (1, 2, 3, 7, 12) for k in range(n + 1)]
    cases += [(0, 500), (3, 500), (250, 500), (500, 500), (17, 2294)]
    out = []
    for k, n in cases:
        low, high = proportion_confint(k, n, method="wilson")
        out.append({"passed": k, "n": n, "low": float(low), "high": float(high)})
    return out


def clustered(values, clusters):
    """The error of the mean by sandwich, with the diagonal that Miller writes."""
    values = np.asarray(values, float)
    n = len(values)
    fit = sm.OLS(values, np.ones(n)).fit(
        cov_type="cluster", cov_kwds={"groups": np.asarray(clusters), "use_correction": False}
    )
    deviations = values - values.mean()
    diagonal = (deviations**2).sum() * (1 / (n * (n - 1)) - 1 / n**2)
    return float(np.sqrt(fit.cov_params()[0, 0] + diagonal))


def interval(values, clusters, rng):
    """BCa by clusters, and how much an end varies between runs of as few resamples as ours."""
    values, names = np.asarray(values, float), sorted(set(clusters))
    sums = np.array([sum(v for v, c in zip(values, clusters) if c == name) for name in names])
    counts = np.array([clusters.count(name) for name in names], float)

    def mean(s, n, axis=-1):
        return s.sum(axis=axis) / n.sum(axis=axis)

    def ends(resamples):
        ci = stats.bootstrap(
            (sums, counts), mean, paired=True, vectorized=True, method="BCa",
            n_resamples=resamples, batch=5000, random_state=rng,
        ).confidence_interval
        return [float(ci.low), float(ci.high)]

    few = np.array([ends(OURS) for _ in range(100)])
    low, high = ends(MANY)
    return {"low": low, "high": high, "error": [float(x) for x in few.std(axis=0)]}


def means(rng):
    rates = [round(float(x), 3) for x in rng.beta(0.4, 0.9, 40)]
    repositories = [f"r{i % 3 if i < 18 else i % 11}" for i in range(40)]
    alike = [1.0 if r in ("r0", "r5", "r7") else float(rng.integers(0, 2)) for r in repositories]
    cases = {
        "rates of forty tasks": (rates, [f"t{i}" for i in range(40)]),
        "rates of forty tasks of eleven repositories": (rates, repositories),
        "repositories whose tasks are alike": (alike, repositories),
        "scores, a few of them high": ([round(float(x), 2) for x in rng.lognormal(3, 1, 25)], [f"t{i}" for i in range(25)]),
    }
    out = []
    for name, (values, clusters) in cases.items():
        case = {"name": name, "values": values, "clusters": clusters, "mean": float(np.mean(values))}
        case["se"] = clustered(values, clusters)
        case.update(interval(values, clusters, rng))
        out.append(case)
    return out


def passes():
    out = []
    for n, c, k in [(5, 2, 2), (8, 4, 4), (10, 1, 5), (10, 9, 3), (200, 13, 100), (200, 160, 10), (1000, 1, 100)]:
        at = 1 - Fraction(comb(n - c, k), comb(n, k))
        hat = Fraction(comb(c, k), comb(n, k))
        out.append({"n": n, "c": c, "k": k, "at": float(at), "hat": float(hat)})
    return out


def signs():
    out = []
    for won, lost in [(0, 1), (3, 0), (5, 5), (9, 2), (60, 41), (150, 86), (700, 600)]:
        p = mcnemar([[0, won], [lost, 0]], exact=True).pvalue
        out.append({"won": won, "lost": lost, "p": float(p)})
    return out


def every_sign(differences):
    """The exact p-value where ranks are tied, by trying all signs."""
    kept = np.array([d for d in differences if d != 0])
    ranks = stats.rankdata(np.abs(kept))
    test = stats.permutation_test(
        (np.sign(kept) * ranks,), lambda x, axis: np.where(x > 0, x, 0).sum(axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=np.inf,
    )
    return float(ranks[kept > 0].sum()), float(test.pvalue)


def ranks(rng):
    out = []
    for name, d in {
        "no ties": [float(x) for x in rng.normal(0.4, 1, 30)],
        "few": [0.25, 0.75, 1.5],
    }.items():
        r = stats.wilcoxon(d, mode="exact")
        above = float(stats.rankdata(np.abs(d))[np.array(d) > 0].sum())
        out.append({"name": name, "differences": d, "above": above, "p": float(r.pvalue)})
    for name, d in {
        "ties and zeros": [0.5, -0.5, 0, 1, 1, 0.5, 0.25, 0, -0.25, 1, 0.5, 0.75, -1, 0.5],
        "one value": [1.0] * 9,
    }.items():
        above, p = every_sign(d)
        out.append({"name": name, "differences": d, "above": above, "p": p})
    d = [round(float(x), 1) for x in rng.normal(0.1, 1, 300)]
    r = stats.wilcoxon(d, mode="approx", correction=True)
    kept = np.array([x for x in d if x != 0])
    out.append({
        "name": "so many that the normal distribution is taken", "differences": d,
        "above": float(stats.rankdata(np.abs(kept))[kept > 0].sum()), "p": float(r.pvalue),
    })
    return out


rng = np.random.default_rng(20260307)
print(json.dumps({
    "versions": {
        "python": platform.python_version(), "numpy": np.__version__,
        "scipy": scipy.__version__, "statsmodels": statsmodels.__version__,
    },
    "wilson": wilson(), "means": means(rng), "passes": passes(), "signs": signs(), "ranks": ranks(rng),
}, indent=1))

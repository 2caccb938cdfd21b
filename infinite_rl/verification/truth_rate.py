"""The share of wrong golds among rows, from what independent attempts at each row say.

A row has n attempts, of which k match its gold and r, the largest group of others, agree on another
answer. The model of a row:

    An attempt gives the true answer with probability p, which differs from row to row, the row's
    common mistake with probability (1 - p) h, and otherwise an answer of its own.
    A right gold is the true answer. A wrong gold is the common mistake with probability g, else an
    answer that no attempt gives.

So a hard row with a right gold is one whose attempts scatter, or meet in its common mistake; a
wrong gold is one whose attempts meet in another answer, as often as the solver is right. Over the
rows, p and h have Beta distributions, but for a share of rows that the solver hardly ever solves.
That share, the means and widths, g and the share of wrong golds are unknown: the posterior is
summed over a grid of them, with flat priors, and one that favours few wrong golds. The interval is
that of highest density, so that it may begin at 0; it carries the sampling of the rows and what
the attempts leave open: whether a row on which all meet in another answer has a wrong gold, or is
one that this solver always gets wrong in one way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import comb
from typing import NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"

# The posterior mass of an interval. It is more than 95 %, so that it covers the truth in 95 of 100
# simulated data sets, whose difficulties follow other distributions (see `benchmarks.truth_rate`).
MASS = 0.975
# The grids: means and widths of p, means of h, the chance g, rows hardly ever solved, wrong golds.
_MEANS = np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
_WIDTHS = np.array([0.7, 1.5, 4.0, 20.0])
_SHARED, _SHARED_WIDTH = np.array([0.02, 0.2, 0.4, 0.65, 0.9]), 3.0
_COMMON = np.array([0.0, 0.5, 1.0])
_NEVER = np.array([0, 0.04, 0.08, 0.15, 0.25])
_WRONG = np.concatenate([np.linspace(0, 0.15, 61), np.linspace(0.16, 0.6, 45)])
_WRONG_PRIOR = np.exp(-_WRONG / 0.15)
_NODES = 48  # of p; a quarter of them of h


class Votes(NamedTuple):
    """Of `judged` attempts at a row `agreeing` match its gold; `rival` agree on another answer."""

    judged: int
    agreeing: int
    rival: int


class TruthRate(NamedTuple):
    """The share of right golds: the posterior's mean, and the ends of its interval.

    `doubts` is the posterior probability that the gold is wrong, for each kind of votes.
    """

    rate: float
    low: float
    high: float
    doubts: Mapping[Votes, float]


def truth_rate(votes: Sequence[Votes], right: int = 0, wrong: int = 0) -> TruthRate:
    """Estimate the share of right golds of the data set that rows are a random sample of.

    `right` and `wrong` count further rows, whose golds need no model.

    Raises:
        ValueError: there is no row.
    """
    counts = Counter(each for each in votes if each.judged)
    total = counts.total()
    if not total + right + wrong:
        raise ValueError("there is no row to judge")
    share, doubts = _posterior(counts)
    counted = _beta(_WRONG, wrong + 0.5, right + 0.5)
    part = (right + wrong) / (total + right + wrong)
    values, weights = _mixed(share, counted, part)
    low, high = _densest(values, weights)
    return TruthRate(1 - float(values @ weights), 1 - high, 1 - low, doubts)


def _posterior(counts: Mapping[Votes, int]) -> tuple[Array, dict[Votes, float]]:
    """The posterior of the share of wrong golds on its grid, and of each kind of row."""
    log, parts = np.zeros(1), {}
    share = _WRONG[:, None, None, None, None, None]
    for each, count in counts.items():
        right, wrong = _likelihoods(each)
        parts[each] = share * wrong, (1 - share) * right
        log = log + count * np.log(sum(parts[each]) + 1e-300)
    prior = (_spacing(_WRONG) * _WRONG_PRIOR)[:, None, None, None, None, None]
    weights = np.exp(log - log.max()) * prior
    weights /= weights.sum()
    doubts = {
        each: float((weights * bad / (bad + good + 1e-300)).sum())
        for each, (bad, good) in parts.items()
    }
    return weights.sum(axis=(1, 2, 3, 4, 5)), doubts


@lru_cache(maxsize=1024)
def _likelihoods(votes: Votes) -> tuple[Array, Array]:
    """The likelihood of a right and of a wrong gold, over g and the parameters of p and h.

    The letters of the sum are axes: n the share of rows that nobody solves, w the width and m the
    mean of p, t the mean of h, p and h their nodes, k the three readings in `each`.
    """
    p, h = _nodes(_NODES)[:, None], _nodes(_NODES // 4)[None, :]
    true, common, alone = p + 0 * h, (1 - p) * h, (1 - p) * (1 - h)
    right = _of_groups(votes, true, common, alone)
    as_common = _of_groups(votes, common, true, alone)
    unmatched = _unmatched(votes, true, common, alone)
    each = np.stack([right, as_common, unmatched])
    over = np.einsum("nwmp,th,kph->ktwmn", _mixing(), _shared_mixing(), each, optimize=True)
    chance = _COMMON[:, None, None, None, None]
    wrong = chance * over[1][None] + (1 - chance) * over[2][None]
    return over[0][None], wrong


def _of_groups(votes: Votes, match: Array, rival: Array, alone: Array) -> Array:
    """The probability of the votes, if one answer matches and one other may be shared."""
    n, k, r = votes
    shared = [r] if r > 1 else [m for m in (0, 1) if m <= n - k]
    every = (
        comb(n, k) * comb(n - k, m) * match**k * rival**m * alone ** (n - k - m) for m in shared
    )
    return sum(every, np.zeros(np.broadcast(match, rival).shape))


def _unmatched(votes: Votes, one: Array, other: Array, alone: Array) -> Array:
    """The probability of the votes if no attempt can match, and two answers may be shared."""
    n, k, r = votes
    total = np.zeros(np.broadcast(one, other).shape)
    for a in range(n + 1 if k == 0 else 0):
        for b in range(n - a + 1):
            largest = max(a, b, min(1, n - a - b))
            if largest == r:
                total += comb(n, a) * comb(n - a, b) * one**a * other**b * alone ** (n - a - b)
    return total


def _nodes(count: int) -> Array:
    return (np.arange(count) + 0.5) / count


@lru_cache(maxsize=1)
def _mixing() -> Array:
    """The weights of the nodes of p, by its mean and width."""
    nodes = _nodes(_NODES)
    usual = np.array([[_beta(nodes, m * w, (1 - m) * w) for m in _MEANS] for w in _WIDTHS])
    never = _beta(nodes, 1.0, 60.0)
    return np.stack([(1 - share) * usual + share * never for share in _NEVER])


@lru_cache(maxsize=1)
def _shared_mixing() -> Array:
    """The weights of the nodes of h, by its mean."""
    w = _SHARED_WIDTH
    return np.array([_beta(_nodes(_NODES // 4), m * w, (1 - m) * w) for m in _SHARED])


def _beta(nodes: Array, a: float, b: float) -> Array:
    """The weights of nodes by a Beta distribution: the mass of each cell, by its distribution."""
    fine = np.linspace(0, 1, 20_001)[1:-1]
    log = (a - 1) * np.log(fine) + (b - 1) * np.log(1 - fine)
    density = np.exp(log - log.max())
    edges = np.concatenate([[-1.0], (nodes[1:] + nodes[:-1]) / 2, [2.0]])
    weights: Array = np.histogram(fine, edges, weights=density)[0]
    weights /= weights.sum()
    return weights


def _spacing(grid: Array) -> Array:
    """The width of each cell of a grid."""
    width: Array = np.gradient(grid)
    return width


def _mixed(one: Array, other: Array, part: float) -> tuple[Array, Array]:
    """The distribution of a mean of two shares, of which `part` is of the other."""
    if part in (0, 1):
        return _WRONG, one if part == 0 else other
    values = (1 - part) * _WRONG[:, None] + part * _WRONG[None, :]
    index = np.searchsorted((_WRONG[1:] + _WRONG[:-1]) / 2, values.ravel())
    weights: Array = np.zeros(len(_WRONG))
    np.add.at(weights, index, np.outer(one, other).ravel())
    return _WRONG, weights


def _densest(grid: Array, weights: Array) -> tuple[float, float]:
    """The ends of the region of highest density that has `MASS` of the weight."""
    order = np.argsort(-weights / _spacing(grid))
    count = int(np.searchsorted(np.cumsum(weights[order]), MASS)) + 1
    inside = grid[order[:count]]
    return float(inside.min()), float(inside.max())

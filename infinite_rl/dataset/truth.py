"""The share of right golds in a data set: a stratified sample of its rows, solved without answers.

A row is solved several times from its prompt alone. That a solver disagrees does not make a gold
wrong: `verification.truth_rate` weighs how often attempts match, agree on another answer or
scatter.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import check_range
from ..verification.derivation import derive
from ..verification.self_consistency import judge_solutions
from ..verification.truth_rate import TruthRate, Votes, truth_rate
from . import rows
from .solving import Cost, SolveConfig, Solved, solve
from .spill import SpillList

TRUTH_COLUMNS = (
    *("stratum", "judged", "agreeing", "rival", "majority_answer", "doubt"),
    *("derived_by", "derived_answer"),
)
CHECKED = "checked.jsonl"  # in the folder of the completions: finished rows, until all are
MIN_DOUBT = 0.2  # the probability of a wrong gold from which on a row is listed
_LEVELS = ("level", "difficulty")  # the first that a row has is a part of its stratum
_QUOTE = 60


class Doubt(NamedTuple):
    """A row whose gold is wrong with this probability, and the evidence."""

    id: str
    probability: float
    evidence: str


@dataclass
class Truth(Cost):
    """The estimate for a data set of `rows` rows, of which `sampled` were looked at.

    `strata` counts the sampled rows by kind, `derived` those whose answers were derived without a
    call (see `verification.derivation`), `unjudged` those without evidence: the reward cannot
    judge them, or no attempt came to an end. `rate` is None if no row could be judged. `doubtful`
    are the rows with a doubt of at least `MIN_DOUBT`, the gravest first.
    """

    rows: int = 0
    sampled: int = 0
    derived: int = 0
    unjudged: int = 0
    strata: Counter[str] = field(default_factory=Counter)
    rate: TruthRate | None = None
    doubtful: list[Doubt] = field(default_factory=list)


def truth(
    source: rows.Source,
    out: str | Path,
    config: SolveConfig,
    *,
    sample: int = 200,
    calls: str | Path | None = None,
    on_row: Callable[[int], None] = lambda _: None,
) -> Truth:
    """Estimate the share of right golds of `source`, and write the sampled rows with the evidence.

    The sample is in proportion to the kinds of rows: their type, language, and level or difficulty.
    With the same seed a larger sample has the rows of a smaller one, and resumes from its journal.
    Completions are stored in the folder `calls`, as those of `difficulty`.

    Raises:
        UsageError: an argument or a row is invalid.
        ProviderError: the provider failed, or `stop` is set (`Stopped`); earlier completions are
            stored.
        InfiniteRLError: `max_cost` is reached, or judging is impossible.
    """
    check_range("sample", sample, 1)
    out, result, every = Path(out), Truth(), SpillList()
    for row in rows.read_some(source):
        every.add(row)
    result.rows = len(every)
    chosen = stratified([(stratum(row), rows.id_of(row)) for row in every], sample, config.seed)
    wanted = set(chosen)
    picked = [row for number, row in enumerate(every) if number in wanted]
    result.sampled = len(picked)
    result.strata = Counter(map(stratum, picked))

    config = replace(config, asks=lambda sample: derive(sample).agrees is None)

    def take(row: rows.Row) -> Sequence[rows.Row]:
        return [row]

    solve(picked, out, CHECKED, config, result, _checked, take, calls=calls, on_row=on_row)
    if not config.dry_run:
        _conclude(result, out)
    return result


def stratum(row: Mapping[str, Any]) -> str:
    """Return the kind of a row: its type, language, and level or difficulty."""
    level = next((str(row[name]) for name in _LEVELS if row.get(name) not in (None, "")), "")
    return ", ".join(filter(None, (str(row.get("type")), str(row.get("language") or ""), level)))


def stratified(keys: Sequence[tuple[str, str]], count: int, seed: int = 0) -> list[int]:
    """Return the indices of a sample of (stratum, id) pairs in proportion to the strata.

    The rows of a stratum are drawn by a hash of the seed and their id. Of fractions of a row, the
    largest are rounded up.
    """
    strata: defaultdict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for index, (name, row_id) in enumerate(keys):
        digest = hashlib.sha256(f"{seed}:{row_id}".encode("utf-8", "surrogatepass")).digest()
        strata[name].append((digest, index))
    share = min(1.0, count / len(keys))
    sizes = {name: int(share * len(several)) for name, several in strata.items()}
    missing = min(count, len(keys)) - sum(sizes.values())
    rest = sorted(strata, key=lambda name: (-(share * len(strata[name]) % 1), name))
    for name in rest[:missing]:
        sizes[name] += 1
    return sorted(
        index for name, several in strata.items() for _, index in sorted(several)[: sizes[name]]
    )


def _checked(solved: Solved) -> rows.Row:
    """Return the row with the votes of its attempts."""
    derivation = derive(solved.sample)
    result = judge_solutions(solved.sample, solved.completions, solved.reward)
    votes = (result.judged, result.agreeing, result.rival, result.majority_answer, None)
    by = "" if derivation.agrees is None else derivation.by
    values = (stratum(solved.row), *votes, by, derivation.answer)
    return {**solved.columns(), **dict(zip(TRUTH_COLUMNS, values, strict=True))}


def _conclude(result: Truth, out: Path) -> None:
    """Estimate the rate from the rows in `out`, and write their doubts there."""
    checked = list(rows.read(out))
    votes = [Votes(int(r["judged"]), int(r["agreeing"]), int(r["rival"])) for r in checked]
    judged = [each for each in votes if each.judged]
    agrees = [derive(rows.sample_of(row)).agrees if row["derived_by"] else None for row in checked]
    derived = [each for each in agrees if each is not None]
    result.derived, right = len(derived), sum(derived)
    result.unjudged = len(votes) - len(judged) - len(derived)
    if not judged and not derived:
        return
    result.rate = truth_rate(judged, right, len(derived) - right)
    for row, each, agree in zip(checked, votes, agrees, strict=True):
        if agree is not None:
            row["doubt"] = 0.0 if agree else 1.0
        elif each.judged:
            row["doubt"] = round(result.rate.doubts[each], 4)
        if (row["doubt"] or 0.0) >= MIN_DOUBT:
            result.doubtful.append(Doubt(str(row["id"]), row["doubt"], _evidence(row, each)))
    result.doubtful.sort(key=lambda doubt: (-doubt.probability, doubt.id))
    rows.write(checked, out)


def _evidence(row: Mapping[str, Any], votes: Votes) -> str:
    if by := row["derived_by"]:
        return f"by {by} it is {str(row['derived_answer'])[:_QUOTE]!r}, not {row['answer']!r}"
    text = f"{votes.agreeing} of {votes.judged} attempts match {str(row['answer'])[:_QUOTE]!r}"
    if votes.rival > 1 and votes.rival >= votes.agreeing:
        return f"{text}, {votes.rival} agree on {str(row['majority_answer'])[:_QUOTE]!r}"
    return f"{text}, the others scatter"

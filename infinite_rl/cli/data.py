"""`infinite-rl data`: load, clean, split, mix and pair rows. Files in, files out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..config import FilePath, Number, Strings
from ..errors import UsageError, look_up
from .terminal import DONE, NOT_DONE, Emit, counted, counting, note, one_line, plain
from .verb import NamedColumns, RowsIn, RowsOut, Verb

if TYPE_CHECKING:
    from ..dataset.decontaminate import Leak
    from ..dataset.dedup import Duplicate
    from ..dataset.mix import Mixture
    from ..dataset.rows import Row

_SHARES = "train=0.9,validation=0.05,test=0.05"
_TOLERANCE = 0.01  # of all rows: a split farther from its share is reported
_LEAKS_SHOWN = 20


class _Near(Verb):
    """
    columns    columns to compare (default: the prompt)
    threshold  similarity in (0, 1] from which two rows are duplicates; 1: only equal rows
    numbers    exact: tasks that differ in their numbers are different; ignore: they are the same
    """

    columns: Strings = ()
    threshold: Number = 0.6
    numbers: Literal["exact", "ignore"] = "exact"

    @contextmanager
    def progress(self) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
        """Show the rows that are read, then those that are compared; what to call with each."""
        read = compared = 0

        def on_read(number: int) -> None:
            nonlocal read
            read = number
            count(read)

        def on_compared(number: int) -> None:
            nonlocal compared
            compared = number
            count(read)

        with counting("rows read", lambda: f"compared: {compared}" if compared else "") as count:
            yield on_read, on_compared


class Load(RowsOut):
    """Convert a public data set to rows: prompt, answer, response (the reference solution), the
    type that names the reward, and a stable id. Rows that cannot be judged are left out, and the
    reasons are counted.

    name        a published file, recognised by its columns; or the name of a set: gsm8k, math,
                mbpp, humaneval, ifeval, apps, taco, codecontests, codecontests_plus, livecodebench,
                deepcoder, rstar_coder, hardtests, codeforces, opencodereasoning2, kodcode, acecode,
                bigcodebench, bigmath, deepmath, numinamath, olympiadbench, minerva, bird, spider,
                verl; or reasoning_gym:TASK, which is generated
    path        the published file, s3://BUCKET/KEY, or hf:NAME[:CONFIG]:SPLIT of the Hugging Face
                hub (default: the set on the hub)
    shape       the set of a FILE, if its columns do not show it
    split       the split, if the file's name does not show it
    count       rows of a reasoning_gym task (default: 100)
    seed        seed of a reasoning_gym task, or of --pin (default: 0)
    pin         gsm8k only: write the folder OUT with train.jsonl, val.jsonl, test.jsonl and their
                hashes, or check that it is unchanged; --path is then a folder
    validation  number of rows of train that --pin moves to val (default: 512)

    Examples: infinite-rl data load gsm8k --path test.jsonl -o gsm8k.jsonl; infinite-rl data load
    problems.parquet -o rows.jsonl; infinite-rl data load gsm8k --pin --seed 42 -o artifacts/gsm8k.
    """

    positional = ("name",)
    aliases = {**RowsOut.aliases, "shape": "--as"}

    name: str
    path: str = ""
    shape: str = ""
    split: str = ""
    count: int | None = None
    seed: int | None = None
    pin: bool = False
    validation: int | None = None

    def run(self, emit: Emit) -> int:
        from ..dataset.loaders import BENCHMARKS, load, reasoning_gym_rows
        from ..dataset.rows import write
        from ..dataset.shapes import SHAPES, load_shape

        kind, _, task = self.name.partition(":")
        generated = kind == "reasoning_gym"
        if not generated and self.count is not None:
            raise UsageError("--count is for a reasoning_gym task: a benchmark is loaded whole")
        if self.pin:
            return self._pin(emit)
        if self.validation is not None:
            raise UsageError("--validation needs --pin")
        if generated and (self.path or self.split):
            raise UsageError("a reasoning_gym task is generated: leave --path and --split out")
        if not generated and self.seed is not None:
            raise UsageError("--seed is for a reasoning_gym task, or for --pin")
        is_source = re.search(r"[./:\\]", self.name) is not None
        if self.shape and not (is_source and not generated):
            raise UsageError("--as is for a file: `data load FILE --as SHAPE`")
        if is_source and not generated and self.path:
            raise UsageError(f"{self.name} is the file: leave --path out, or name a set")
        self.refuse_existing(self.out)
        reasons = Counter[str]()
        if generated:
            count = 100 if self.count is None else self.count
            rows = reasoning_gym_rows(task, count, self.seed or 0)
        elif self.name in BENCHMARKS:
            rows = load(self.name, self.path, split=self.split)
        elif is_source:
            rows = load_shape(self.name, self.shape, split=self.split, reasons=reasons)
        else:
            look_up("data set", self.name, SHAPES)
            rows = load_shape(self.path, self.name, split=self.split, reasons=reasons)
        count = write(rows, self.out)
        lines = [f"{number} rows {reason}" for reason, number in reasons.most_common()]
        values = {"rows": count, "reasons": dict(reasons), "out": self.out}
        emit(values, *map(one_line, lines), f"rows: {count}, in {self.out}")
        return DONE

    def _pin(self, emit: Emit) -> int:
        from ..dataset.loaders import VALIDATION, pin_gsm8k

        if self.name != "gsm8k" or self.split:
            raise UsageError("--pin makes all splits of gsm8k, and of no other benchmark")
        validation = VALIDATION if self.validation is None else self.validation
        options = {"validation": validation, "seed": self.seed or 0, **self.pick("overwrite")}
        pinned = pin_gsm8k(self.out, self.path, **options)
        rows = ", ".join(f"{name}: {count}" for name, count in pinned.rows.items())
        values = {"rows": sum(pinned.rows.values()), "splits": pinned.rows, "out": self.out}
        emit(values, f"rows pinned: {rows}, in {self.out}")
        return DONE


class Dedup(NamedColumns, RowsOut, _Near):
    """Remove rows whose task is that of an earlier row: equal except for case, white space and
    insignificant punctuation, or nearly the same words with the same numbers, signs and answer. The
    first row of each group is kept, or the best (--best).

    loose   rows are also duplicates if words or answers differ, but not the numbers
    best    column of numbers: keep the row with the highest
    report  file for the removed rows, each with the kept row and the similarity

    Example: infinite-rl data dedup data --best quality_score --report removed.csv -o unique.jsonl.
    """

    loose: bool = False
    best: str = ""
    report: FilePath | None = None

    def run(self, emit: Emit) -> int:
        from ..dataset.dedup import Duplicate, duplicates, without
        from ..dataset.rows import read, read_some, write

        self.refuse_existing(self.out, self.report, read=[self.source])
        options = self.pick("columns", "threshold", "numbers", "loose", "best")
        with_gold = 0

        def rows() -> Iterator[Row]:
            nonlocal with_gold
            for row in self.named(read_some(self.source)):
                with_gold += row.get("answer") not in (None, "")
                yield row

        with self.progress() as (count, compared):
            removed = duplicates(counted(rows(), count), on_compared=compared, **options)
        if self.report:
            write(map(_reported, removed), self.report, [each.name for each in fields(Duplicate)])
        kept = write(without(read(self.source), removed), self.out)
        exact = sum(duplicate.exact for duplicate in removed)
        if not with_gold:
            note(
                "no row has a gold in 'answer', so rows with different golds were not told apart: "
                "name its column with --answer"
            )
        if disputed := sum(duplicate.disputed for duplicate in removed):
            advice = "" if self.report else " (--report names them)"
            note(f"removed, with another answer than the kept row: {disputed}{advice}")
        total, near = kept + len(removed), len(removed) - exact
        emit(
            {
                **{"rows": total, "kept": kept, "exact": exact, "near": near, "disputed": disputed},
                **{"out": self.out, "report": self.report},
            },
            f"rows: {total}, kept: {kept}, equal to a kept one: {exact}, nearly so: {near}",
            f"in {self.out}" + (f", removed rows in {self.report}" if self.report else ""),
        )
        return DONE


def _reported(each: Duplicate) -> Row:
    """A duplicate as a row; one without an id is named by its number."""
    names = {"id": each.id or f"row {each.row}", "of_id": each.of_id or f"row {each.of_row}"}
    return {**asdict(each), **names}


class Decontaminate(RowsIn, RowsOut):
    """Remove rows that leak a benchmark: those that share 13 consecutive words with a prompt or a
    solution, 8 with a short prompt, or many shorter runs, or that equal a very short prompt. The
    shared text is listed.

    against          benchmarks: files or folders of rows with common column names
    columns          columns to compare (default: those of prompts and solutions)
    against_columns  columns of the benchmarks (default: those of prompts and solutions)
    n                number of shared consecutive words that is a leak
    short            the same for prompts of less than twice --n words
    common           words that more benchmark texts than this share are an idiom, not a leak
    share            fraction of a text's runs of 4 words that is a leak, to find texts with changed
                     words
    report           file for the shared text of each row

    Example: infinite-rl data decontaminate data --against gsm8k_test.jsonl HumanEval.jsonl.gz
    --report leaks.csv -o clean.jsonl.
    """

    repeated = ("against",)

    against: Strings
    columns: Strings = ()
    against_columns: Strings = ()
    n: int = 13
    short: int = 8
    common: int = 3
    share: Number = 0.3
    report: FilePath | None = None

    def run(self, emit: Emit) -> int:
        from ..dataset.decontaminate import REPORTED, Benchmarks, decontaminate
        from ..dataset.rows import read_some, write
        from ..dataset.spill import SpillList

        self.refuse_existing(self.out, self.report, read=[self.source])
        names = {name: name for name in self.against}
        sizes = self.pick("n", "short", "common", "share")
        against = Benchmarks(names, self.against_columns, **sizes)
        leaks, shown, reported = 0, list[str](), SpillList()  # all rows may leak: they go to disk

        def on_leak(leak: Leak) -> None:
            nonlocal leaks
            leaks += 1
            if leaks <= _LEAKS_SHOWN:
                shown.append(one_line(str(leak)))
            for row in leak.rows() if self.report else ():
                reported.add(row)

        with counting("rows compared") as count:
            rows = counted(read_some(self.source), count)
            kept = write(decontaminate(rows, against, self.columns, on_leak), self.out)
        if self.report:
            write(reported, self.report, REPORTED)
        for line in shown:
            note(line)
        if leaks > _LEAKS_SHOWN:
            note(f"and {leaks - _LEAKS_SHOWN} more rows")
        total, files = kept + leaks, {"out": self.out, "report": self.report}
        emit(
            {"rows": total, "kept": kept, "leaks": leaks, **files},
            f"rows: {total}, kept: {kept}, sharing with a benchmark: {leaks}",
            f"in {self.out}" + (f", what was shared in {self.report}" if self.report else ""),
        )
        return DONE


class Split(NamedColumns, RowsOut, _Near):
    """Split rows into train, validation and test, in the column `split`, so that similar tasks are
    in the same split. A row's split depends only on the row and on those before it: rows added at
    the end change no split. A row that links two splits is left out.

    out        one file for all rows (.csv, .jsonl, ...), or a new folder with a file per split
    threshold  similarity in (0, 1] from which two rows are in the same split; 1: only equal rows
    shares     splits and their fractions, which add up to 1
    seed       another seed gives another split
    keep       an earlier output: its rows stay in their splits, and similar rows join them

    Example: infinite-rl data split unique.jsonl --shares train=0.8,test=0.2 -o parts.
    """

    threshold: Number = 0.45
    shares: str = _SHARES
    seed: int = 0
    keep: str = ""

    def run(self, emit: Emit) -> int:
        from ..dataset.rows import read, read_some
        from ..dataset.split import LEFT_OUT, assign

        self.refuse_existing(self.out, read=[self.source])
        shares = _shares(self.shares)
        files = self._files([*shares])
        columns, replaced = dict[str, None](), 0

        def rows() -> Iterator[Row]:
            nonlocal replaced
            for row in read_some(self.source):
                columns.update(dict.fromkeys(row))
                replaced += row.get("split") is not None
                yield row

        with self.progress() as (count, compared):
            options = self.pick("columns", "seed", "threshold", "numbers")
            options["keep"] = self.named(read(self.keep)) if self.keep else ()
            sides = assign(
                self.named(counted(rows(), count)), shares, on_compared=compared, **options
            )
        columns["split"] = None
        self._write(sides, files, list(columns))
        counts, total = Counter(sides), len(sides)
        splits, left_out = {name: counts[name] for name in shares}, counts[LEFT_OUT]
        lines = [f"rows: {total}, " + ", ".join(f"{name}: {n}" for name, n in splits.items())]
        if replaced:
            lines.append(f"rows whose column `split` is replaced: {replaced}")
        if left_out:
            lines.append(f"left out, as they are close to rows of different splits: {left_out}")
        unmet = {
            name: {"asked": share, "rows": splits[name] / max(1, total)}
            for name, share in shares.items()
            if abs(splits[name] - share * total) > max(1, _TOLERANCE * total)
            or (share and not splits[name])
        }
        lines += [
            f"share not met: {name} has {each['rows']:.2%} of the rows, not {each['asked']:.2%}"
            for name, each in unmet.items()
        ]
        if unmet:
            lines.append(
                "similar rows stay together, so many of them, or few rows, miss the shares: "
                "try another --seed"
            )
        values = {
            "rows": total,
            "replaced": replaced,
            "splits": splits,
            "left_out": left_out,
            "unmet": unmet,
            "out": self.out,
        }
        emit(values, *lines, f"in {self.out}")
        return DONE

    def _files(self, names: list[str]) -> dict[Path, list[str]]:
        """The files to write, and the splits in each.

        Raises UsageError if a file of another split would stay beside these, or if the source would
        be overwritten while it is read.
        """
        from ..dataset.rows import ending_of, kind_of

        if ending_of(self.out.name) and not self.out.is_dir():
            return {self.out: names}
        source = Path(self.source)
        kind = kind_of(source) if source.is_file() else "jsonl"
        files = {self.out / f"{name}.{kind}": [name] for name in names}
        if self.out.resolve() in (source.resolve(), source.resolve().parent) and source.exists():
            raise UsageError(f"{source} would be changed while it is read: name another folder")
        if self.out.is_dir() and (others := sorted({*self.out.iterdir()} - {*files})):
            raise UsageError(
                f"{others[0]} would stay beside the new split: remove it, or name another folder"
            )
        return files

    def _write(self, sides: list[str], files: dict[Path, list[str]], columns: list[str]) -> None:
        from ..dataset.rows import read, write

        def rows_of(wanted: list[str]) -> Iterator[Row]:
            for row, side in zip(read(self.source), sides, strict=True):
                if side in wanted:
                    yield {**row, "split": side}

        for file, wanted in files.items():
            write(rows_of(wanted), file, columns)


def _shares(text: str) -> dict[str, float]:
    try:
        parts = [part.split("=") for part in text.split(",")]
        shares = [(name.strip(), float(share)) for name, share in parts]
    except ValueError:
        raise UsageError(f"--shares must be like {_SHARES}, not {text!r}") from None
    if len(dict(shares)) < len(shares):
        raise UsageError(f"--shares names a split twice: {text!r}")
    for name, _ in shares:
        if not re.fullmatch(r"\w+", name):  # it becomes a file's name
            raise UsageError(f"the name of a split has letters, digits and _, not {name!r}")
    return dict(shares)


class Mix(RowsOut):
    """Put the rows of all sources in one order, the same for the same seed, and report the share of
    each source. The column mix_id has each row's id: the name of its source and its own id.

    sources        files or folders of rows, as PATH[:weight[:count]] (PATH::count: no weight)
    mode           shuffled, sequential (source after source), or weighted (drawn by the weights)
    seed           seed of the order
    count          maximum number of rows
    keep_order     with weights: keep the order of the rows of each source
    order          file of ids, one per line: only these rows are taken, in this order
    allow_unknown  skip ids of the order file that no source has
    order_out      write the order to this file, as ids
    by             column of numbers to sort by, the highest first (pass rates: easy to hard)
    band           with --by: only rows between these bounds, such as 0.2,0.8
    ascending      with --by: lowest first

    Examples: infinite-rl data mix gsm8k.jsonl:3 code.csv:1:5000 --mode weighted -o train.jsonl
    --order_out train.order; infinite-rl data mix rated.jsonl --by pass_rate --band 0.2,0.8 -o
    curriculum.jsonl.
    """

    positional = ("sources",)

    sources: Strings
    mode: Literal["shuffled", "sequential", "weighted"] = "shuffled"
    seed: int = 0
    count: int | None = None
    keep_order: bool = False
    order: str | None = None
    allow_unknown: bool = False
    order_out: FilePath | None = None
    by: str = ""
    band: str = ""
    ascending: bool = False

    def run(self, emit: Emit) -> int:
        from ..dataset import rows
        from ..dataset.mix import Source, mix, write_order

        if self.ascending and not self.by:
            raise UsageError("--ascending needs --by")
        if self.keep_order and self.mode != "weighted":
            raise UsageError("--keep_order needs --mode weighted")
        if self.allow_unknown and self.order is None:
            raise UsageError("--allow_unknown needs --order")
        sources = [Source.parse(text) for text in self.sources]
        self.refuse_existing(self.out, self.order_out, read=[source.rows for source in sources])
        rows.kind_of(self.out)
        options = self.pick("mode", "seed", "count", "order", "allow_unknown", "keep_order")
        options |= self.pick("by", "ascending")
        with counting("rows read") as count:
            mixture = mix(sources, band=_band(self.band), on_row=count, **options)
        if not len(mixture):
            within = f": none has {self.by!r} within {self.band}" if self.band else ""
            raise UsageError(f"the mixture has no rows{within}; nothing is written")
        with counting("rows written") as count:
            rows.write(counted(mixture, count), self.out)
        if self.order_out:
            write_order(mixture.ids, self.order_out)
        self._report(mixture, emit)
        return DONE

    def _report(self, mixture: Mixture, emit: Emit) -> None:
        """Emit how much of each source is in it, and how much of the order file was found."""
        lines, order = [], None
        for part in mixture.coverage:
            share = f"{part.distinct / part.rows:.1%}" if part.rows else "no rows"
            again = part.sampled - part.distinct
            more = f", {again} of them repeated" if again else ""
            lines.append(
                f"  {plain(part.name)}: {part.sampled} of {part.rows} rows ({share}){more}"
            )
        if ordered := mixture.ordered:
            matched = ordered.lines - ordered.unknown
            order = {name: getattr(ordered, name) for name in ("lines", "unknown", "repeated")}
            lines.append(
                f"  order file: {matched} of {ordered.lines} ids found, {ordered.repeated} repeated"
            )
            if ordered.unknown:
                note(f"{ordered.unknown} ids of the order file are in no source")
        values = {"rows": len(mixture), "sources": mixture.coverage, "order": order}
        lines.append(f"rows: {len(mixture)}, in {self.out}")
        emit({**values, "out": self.out, "order_out": self.order_out}, *lines)


def _band(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--band must be two numbers, such as 0.2,0.8, not {text!r}") from None
    return low, high


class Pairs(RowsOut):
    """Build preference pairs: a passing and a failing completion of the same prompt. Pairs come
    from the folder of a run (its rows, and the attempts that failed before them, judged by the
    row's answer), and from rows with several scored completions of a prompt. Columns: prompt,
    chosen, rejected, chosen_score, rejected_score, type, id, source.

    sources     folders of runs, or files of scored rows
    most        maximum pairs per prompt
    seed        seed of the choice of pairs
    completion  column of the completion in scored rows (default: completion, else response)
    timeout     seconds one run of a program may take

    Example: infinite-rl data pairs data attempts.jsonl --most 2 -o pairs.jsonl.

    Exit code: 0 done, 1 there are no pairs, or not done, 2 wrong usage.
    """

    positional = ("sources",)

    sources: Strings
    most: int = 1
    seed: int = 0
    completion: str = ""
    timeout: Number = 5.0

    def run(self, emit: Emit) -> int:
        from ..dataset import rows
        from ..dataset.pairs import PairCounts, pairs

        self.refuse_existing(self.out, read=self.sources)
        rows.kind_of(self.out)
        counts, by_source = PairCounts(), Counter[str]()
        options = self.pick("most", "seed", "completion", "timeout")
        built = pairs(self.sources, counts=counts, **options)
        with counting("pairs made") as count:

            def counted_pairs() -> Iterator[Row]:
                for pair in built:
                    by_source[pair["source"]] += 1
                    count(by_source.total())
                    yield pair

            all_pairs = counted_pairs()
            first = list(islice(all_pairs, 1))  # an empty file would be in the next call's way
            total = rows.write(chain(first, all_pairs), self.out) if first else 0
        parts = ", ".join(f"{source} {number}" for source, number in by_source.most_common())
        nothing = "nothing is written: no prompt has a completion that passed and a worse one"
        out = self.out if total else None
        emit(
            {"pairs": total, "by_source": by_source, **vars(counts), "out": out},
            f"pairs: {total}{f' ({parts})' if parts else ''}",
            f"prompts: {counts.prompts}, with a pair: {counts.paired}",
            f"in {self.out}" if total else nothing,
        )
        return DONE if total else NOT_DONE

"""`infinite-rl export`: rows in the columns that a trainer reads, with a dataset card."""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from ..config import FilePath, Strings, one_of
from ..errors import UsageError, nearest
from ..export.formats import FORMATS
from .terminal import DONE, Emit, counted, counting, note, one_line
from .verb import OWN_REWARDS, Verb

if TYPE_CHECKING:
    from ..export import Statistics


class Export(Verb):
    """Write the rows of SOURCE (a run's folder, CSV, JSONL, JSON or Parquet) to the new folder OUT:
    a file per split, and README.md, the dataset card. Each row carries its ground truth as a
    string, by which the rewards judge. All rows are checked first; an error names a row that cannot
    be exported, and nothing is written.

    source     the rows
    out        the folder to write
    to         trl, verl, openrlhf, open-instruct, verifiers, ors, harbor, nemo-gym, skyrl,
               sharegpt, sft, jsonl or parquet; verifiers, ors, harbor and nemo-gym get a folder
               that the hub runs
    val        rows of another file, as the split validation
    split      the split of rows without a column split
    system     system prompt; '' for none (default: the form of the answer)
    plain      strings instead of messages, for models without a chat template (trl, openrlhf, sft)
    rewards    rewards of your own, by the `type` of their rows: NAME=FILE.py:CLASS, a subclass of
               RewardFunction; the file goes into OUT alone, for the hub or the trainer to import
    failed     keep rows whose response did not pass, in formats that train on responses (sft,
               sharegpt)
    name       name of the data set in the card (default: OUT)
    license    identifier of the licence, such as apache-2.0; asked for before an upload
    run_dir    folder of the run that made the rows, for the card (default: SOURCE, if it is a run)
    overwrite  replace an earlier export in OUT

    push_to_hub  upload the folder as the data set ORG/NAME of the Hugging Face hub, with the token
                 of HF_TOKEN
    private      create a new data set as private

    Example: infinite-rl export out --to verl -o for_verl --license cc-by-4.0. Then
    datasets.load_dataset('for_verl') loads it.
    """

    positional = ("source",)
    aliases = {**Verb.aliases, "license": "--licence"}
    metavars = {"rewards": OWN_REWARDS}

    source: FilePath
    out: FilePath
    to: Annotated[str, one_of(*FORMATS)]
    val: FilePath | None = None
    split: str = "train"
    system: str | None = None
    plain: bool = False
    rewards: Strings = ()
    failed: bool = False
    name: str | None = None
    license: str = "unknown"
    run_dir: FilePath | None = None
    overwrite: bool = False
    push_to_hub: str = ""
    private: bool = False

    def run(self, emit: Emit) -> int:
        from ..export import About, export
        from ..storage.hub import check_upload, push_dataset

        if self.private and not self.push_to_hub:
            raise UsageError("--private needs --push_to_hub")
        if self.push_to_hub:
            check_upload(self.push_to_hub)
        license_ = _license(self.license, must_be_known=bool(self.push_to_hub))
        about = About(self.name or self.out.absolute().name, license_, self._manifest())
        with counting("rows exported") as count:
            options = self.pick("split", "system", "plain", "rewards", "failed", "overwrite")
            rows = counted(self._rows(), count)
            statistics = export(rows, self.to, self.out, about=about, **options)
        self._note(statistics)
        pushed = ""
        if self.push_to_hub:
            pushed = push_dataset(self.out, self.push_to_hub, private=self.private)
        counts = ("rows", "splits", "left_out", "not_passed", "unverified")
        splits = ", ".join(f"{split}: {rows}" for split, rows in statistics.splits.items())
        emit(
            {
                **{key: getattr(statistics, key) for key in counts},
                "types": sorted({kind for kind, _ in statistics.kinds}),
                "columns": list(statistics.columns),
                "out": self.out,
                "hub": pushed or None,
            },
            f"rows exported: {statistics.rows} ({splits})",
            f"in {self.out}; its README.md describes them, and how to train on them",
            *([f"uploaded to {pushed}"] if pushed else []),
        )
        return DONE

    def _note(self, statistics: "Statistics") -> None:
        """Print what a reader of the rows should know of them."""
        from ..export.card import OWN_REWARD, own_types

        if statistics.left_out:
            why = "left out, since their responses did not pass"
            note(f"{why}: {statistics.left_out} (--failed keeps them)")
        elif statistics.not_passed:
            among = "responses among them that did not pass (status)"
            note(f"{among}: {statistics.not_passed}")
        if statistics.unverified:
            note(
                f"responses that are not verified, as their rows have no status: "
                f"{statistics.unverified}; run `infinite-rl score` on the rows first"
            )
        format_ = FORMATS[self.to]
        if (own := own_types(statistics)) and format_.make and not format_.learns:
            named = one_line(", ".join(own))
            note(f"types without a reward in this package: {named}; {OWN_REWARD}")

    def _manifest(self) -> dict[str, Any]:
        from ..manifest import MANIFEST, read_manifest
        from ..store import DATASET

        if self.run_dir:
            if not (self.run_dir / MANIFEST).is_file():
                raise UsageError(f"there is no {MANIFEST} in {self.run_dir}")
            return read_manifest(self.run_dir)
        # Only of a run's own file is it certain that it goes with run.json.
        folder = self.source.parent if self.source.name == DATASET else self.source
        return read_manifest(folder) if (folder / DATASET).is_file() else {}

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        from ..dataset.rows import read_some

        yield from read_some(self.source)
        if self.val:
            yield from ({**row, "split": "validation"} for row in read_some(self.val))


def _license(license_: str, *, must_be_known: bool) -> str:
    """The licence; one that must be known is asked for at a terminal. Raises UsageError."""
    from ..export.card import LICENSES

    if must_be_known and license_ == "unknown":
        if sys.stdin is not None and sys.stdin.isatty():
            note("licence of the data set, such as apache-2.0 or cc-by-4.0: ")
            sys.stderr.flush()
            license_ = sys.stdin.readline().strip() or license_
        if license_ == "unknown":
            raise UsageError("say under which licence: --licence apache-2.0, or another identifier")
    if license_ not in LICENSES:
        hint = nearest(license_, LICENSES)
        note(f"licence {license_!r}: the hub's page has no such identifier{hint}")
    return license_

"""Generate a data set: the public function of `infinite_rl.generation`."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .generation.plan import GenerateOptions, Shard
from .generation.progress import Progress
from .generation.run import generate
from .providers.backoff import RetryPolicy
from .providers.base import Provider
from .providers.models import Price
from .providers.rate_limit import Limits
from .reward_functions.reward_function import RewardFunction
from .types import TaskType
from .verification import MIN_AGREEMENT


def generate_dataset(
    model_name: str | None,
    num_samples: int,
    out_dir: str | Path,
    save_every: int = 10,
    max_retries: int = 5,
    timeout: float = 5,
    task_dist: str | Sequence[float] | Mapping[str, float] = "0.5,0.5",
    debug: bool = False,
    num_threads: int = 1,
    *,
    provider: str | Provider = "auto",
    seed: int = 0,
    languages: Sequence[str] = ("python", "javascript"),
    temperature: float | None = None,
    max_output_tokens: int | None = None,
    thinking: str | int | None = None,
    topics: Sequence[str] = (),
    extra_tasks: Mapping[str, TaskType] | None = None,
    extra_rewards: Mapping[str, RewardFunction] | None = None,
    extend: bool = False,
    price: str | Price | None = None,
    max_cost: float | None = None,
    dry_run: bool = False,
    verify: int | None = None,
    verify_model: str | Provider = "",
    min_agreement: float = MIN_AGREEMENT,
    axes: Mapping[str, Mapping[str, float]] | None = None,
    ideas: bool | None = None,
    novelty: bool | None = None,
    widen: int = 0,
    seeds: str | Path | None = None,
    operators: Sequence[str] = (),
    benchmarks: Sequence[str | Path] = (),
    pass_rate: str | None = None,
    solver: str | Provider = "",
    judge: str | Provider = "",
    deriver: str | Provider = "",
    rubric: str | Path | None = None,
    strengthen: str | None = None,
    base_url: str | None = None,
    structured: bool = False,
    batch: bool = False,
    level: int | str | Sequence[int] | None = None,
    families: Sequence[str] = (),
    limits: Limits | None = None,
    retry: RetryPolicy | None = None,
    shard: Shard | None = None,
    stop: threading.Event | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Bring `out_dir/dataset.csv` up to `num_samples` verified rows and return the progress.

    Only missing rows are generated. Every rejected attempt goes to `failed_dataset.csv`. Each
    completion goes to `journal.jsonl` before it is judged, so that none is paid for twice.

    Args:
        model_name: by default the model of the folder's earlier runs, else
            `providers.DEFAULT_MODEL`.
        save_every: rows after which files are forced to the disk; each row is appended at once.
        max_retries: consecutive failed samples of one family, after which it is given up.
        timeout: seconds for one run of a program, or one comparison.
        task_dist: a weight per family in the order coding, math, and then those of `extra_tasks`;
            or "coding=1,math=2", or a mapping by family.
        provider: "auto" (gemini if an API key is set, else procedural), a name, or an object.
        seed: of the run; the seed of each call derives from it and from the call's slot.
        max_output_tokens: of a completion, without thinking tokens.
        thinking: "off", "minimal", "low", "medium", "high" or a number of tokens, as the model
            supports; by default that of the folder's earlier runs, else the model's default.
        topics: subjects to use in turn.
        extra_tasks, extra_rewards: by name, in addition to or instead of the built-in ones.
        extend: continue a folder that was made with other settings.
        price: of the model, in US dollars per million tokens of input and output ("0.10,0.40");
            by default from the table in `prices`.
        max_cost: US dollars for all calls of the folder, including those of earlier runs.
        dry_run: call and write nothing; the progress has the missing rows and an estimate.
        verify: maximum number of independent solutions, each from the row's prompt alone, that
            decide whether the row is accepted: two, and more if they disagree. By default that of
            the folder's earlier runs, else 4 for a provider with a model, else 0.
        verify_model: the model that solves, or a provider object; by default that of the folder's
            earlier runs, else another model of the same provider if one is known, else the author.
        min_agreement: the share of these solutions that must agree with the row's answer.
        axes: weights of values by axis, as {"level": {"5": 2}, "form": {"class": 0}}; a value that
            is not named has the weight 1 of its task type.
        ideas: list ideas for many samples in one call, and write the new ones out; by default with
            a model.
        novelty: reject a row that repeats an earlier one up to names, numbers and wording; by
            default with a model. A family ends if its author has nothing new to write.
        widen: requests for further concepts when the author runs out of new ideas, before its
            family ends.
        seeds: a file of rows or documents to make the tasks from, by `operators` (all by default:
            see `generation.seeds`).
        benchmarks: files; a row whose prompt is in one of them is rejected.
        pass_rate: "LOW:HIGH", such as "0.2:0.8": keep the rows whose pass rate for `solver` is in
            this band, and ask for levels that fall into it. The solver's attempts are in
            `solutions.jsonl`.
        solver: the model that attempts each row for its pass rate: a name, "NAME@URL" of an
            OpenAI-compatible service, or a provider object.
        judge: a model that marks each row by `rubric`, in the same way; a row whose marks are too
            low is rejected, and one that the judge fails to mark is kept without.
        deriver: a model that writes a program for each maths row, from its prompt alone; a row
            whose answer the program does not print is rejected.
        rubric: a YAML file of questions by name (see `generation.rubric`); there is a default.
        strengthen: "search" adds tests to coding rows until no killable mutant passes, "author"
            also asks `verify_model` for a slow solution, a generator and a validator of inputs,
            "off" keeps the author's tests; by default "search" with a model.
        base_url: endpoint of a named provider.
        structured: constrain the model to the three sections by a schema.
        batch: upload the calls as file batches, at half price, and return; the same call stores
            the results later, and uploads what is missing then.
        level: of procedural tasks, 1 to 5: one, several ("1-2", [1, 3]), or None for all.
        families: of procedural tasks, by name (see `procedural.families`); () for all.
        limits: requests and tokens per minute, and requests in flight (by default `num_threads`);
            a solver that is another model has the same limits for itself.
        retry: the policy for temporary failures.
        shard: generate only this part, with its own folder and targets instead of `num_samples`;
            `generate_on_ray` uses it.
        stop: an event that ends the run; calls in flight are still waited for and stored.
        on_progress: called by this thread when the run begins, after every outcome, and every half
            second of waiting.

    Raises:
        UsageError: an argument is invalid, the folder was made with other settings, or a batch is
            in progress without `batch`; nothing was requested, and no row written.
        StoreError: the folder is not writable, or has foreign files.
        ProviderRefused: the provider cannot be set up. A failure during the run does not raise:
            the run stops, and `Progress.stopped` says why.
    """
    values = {**locals(), "axes": axes or {}}
    return generate(GenerateOptions(**values))

"""The config of an evaluation, read from a YAML file and flags, and validated before the run."""

from typing import Annotated, Literal

from pydantic import Field

from ..config import Config, Number, Strings, check_device, one_of, ranged
from ..errors import UsageError

HARNESSES = ("native", "lm_eval")
BACKENDS = ("transformers", "vllm", "server")
DTYPES = ("auto", "float32", "bfloat16", "float16")


class EvaluationConfig(Config):
    """The config of an evaluation.

    model           model directory or hub name; with a server, the name of the model it serves
    tasks           benchmark names (NAME, or NAME=FILE to read its rows from a file) or row files
    out             output directory
    harness         "native": tasks and rewards of this package; "lm_eval": lm_eval and its tasks
    backend         "transformers", "vllm", or "server" for an OpenAI-compatible server
    base_url        URL of the server, such as http://localhost:8000/v1
    prompt_template  one of chat, qwen, question_answer, r1_zero, mbpp, humaneval or plain
    system          system prompt; "default": that of the prompt template; "": no system prompt
    few_shot        number of worked examples before each item
    shots           file of few-shot examples (default: those of the benchmark, if any)
    samples         completions per item
    temperature     sampling temperature; "auto": 0 (greedy) for one sample, 1 for several
    top_p           probability mass of nucleus sampling
    max_new_tokens  maximum tokens per completion; 0: the default of the task
    stop            stop strings, in addition to those of the prompt template
    limit           number of items per task, from the first; 0: all
    seed            random seed for sampling and for the choice of few-shot examples
    batch_size      items per batch (transformers)
    device          "auto": a GPU if available; or "cpu", "cuda", "cuda:1", "mps"
    dtype           type of the weights: "float32", "bfloat16", "float16"; "auto": as saved
    tensor_parallel_size    GPUs per model (vLLM)
    gpu_memory_utilization  fraction of GPU memory to use (vLLM)
    max_model_len   maximum tokens of prompt plus completion; 0: from the model's configuration
    threads         concurrent requests (server)
    shards          number of processes that share the items
    convention      how IFEval judges a language: "own", or "published" as its authors' checker does
    timeout         time limit in seconds of one program run or one comparison
    include_path    directory of custom lm_eval tasks
    unsafe_code     let lm_eval execute the model's programs on this machine without a sandbox

    Raises:
        UsageError: a value has the wrong type or is out of range; the message names the key.
    """

    model: str
    tasks: Strings = ()
    out: str = ""
    harness: Annotated[str, one_of(*HARNESSES)] = "native"
    backend: Annotated[str, one_of(*BACKENDS)] = "transformers"
    base_url: str = ""
    prompt_template: str = "chat"
    system: str = "default"
    few_shot: int = ranged(0, 0, 1000)
    shots: str = ""
    samples: int = ranged(1, 1, 100_000)
    temperature: Literal["auto"] | Annotated[Number, Field(ge=0, le=100)] = "auto"
    top_p: Number = ranged(1.0, 1e-6, 1)
    max_new_tokens: int = ranged(0, 0)
    stop: Strings = ()
    limit: int = ranged(0, 0)
    seed: int = ranged(42, 0, 2**31 - 1)
    batch_size: int = ranged(16, 1)
    device: str = "auto"
    dtype: Annotated[str, one_of(*DTYPES)] = "auto"
    tensor_parallel_size: int = ranged(1, 1, 1024)
    gpu_memory_utilization: Number = ranged(0.9, 0.01, 1)
    max_model_len: int = ranged(0, 0)
    threads: int = ranged(8, 1, 1024)
    shards: int = ranged(1, 1, 1024)
    convention: Annotated[str, one_of("own", "published")] = "own"
    timeout: Number = ranged(5.0, 1e-3, 86_400)
    include_path: str = ""
    unsafe_code: bool = False

    def __post_init__(self) -> None:
        check_device(self.device)
        if not self.tasks:
            raise UsageError("tasks are missing: give benchmark names or files of rows")
        if self.samples > 1 and not self.sampling_temperature:
            raise UsageError(
                f"{self.samples} samples at temperature 0 would all be the same: "
                "set a temperature above 0, or samples to 1"
            )
        if "" in self.stop:
            raise UsageError(
                "stop holds an empty stop string, which would make every completion empty"
            )

    @property
    def sampling_temperature(self) -> float:
        """The temperature with "auto" resolved: 0 for one sample, 1 for several."""
        if isinstance(self.temperature, str):
            return 0.0 if self.samples == 1 else 1.0
        return self.temperature

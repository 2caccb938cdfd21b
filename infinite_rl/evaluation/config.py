"""The config of an evaluation: a YAML file and flags, validated before anything else."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..config import Config, Number, Strings, check_device, one_of, ranged
from ..errors import UsageError

HARNESSES = ("native", "lm_eval")
BACKENDS = ("transformers", "vllm", "server")
DTYPES = ("auto", "float32", "bfloat16", "float16")


class EvaluationConfig(Config):
    """The config of an evaluation.

    model           folder or hub name of the model; its name at the server
    tasks           names of tasks (NAME, or NAME=FILE for its rows), or files of rows
    out             the output folder
    harness         "native": our tasks and rewards; "lm_eval": that harness, with its tasks
    backend         "transformers", "vllm", or "server" for one of OpenAI's protocol
    base_url        URL of the server, such as http://localhost:8000/v1
    prompt_template  one of chat, qwen, question_answer, r1_zero, mbpp, humaneval or plain
    system          system prompt; "default": the template's; "": none
    few_shot        worked examples before each task
    shots           file of the worked examples (default: the task's, if it has some)
    samples         completions per item
    temperature     sampling temperature; "auto": 0 for one sample (greedy), 1 for several
    top_p           nucleus sampling
    max_new_tokens  tokens of a completion, at most; 0: the task's default
    stop            stop strings, in addition to the template's
    limit           the first n items of each task; 0: all
    seed            seed of sampling and of the choice of examples
    batch_size      items per batch (transformers)
    device          "auto": a GPU if there is one; or "cpu", "cuda", "cuda:1", "mps"
    dtype           "float32", "bfloat16" or "float16" of the weights; "auto": as they were saved
    tensor_parallel_size    GPUs per model (vLLM)
    gpu_memory_utilization  fraction of a GPU's memory (vLLM)
    max_model_len   tokens of prompt and completion; 0: from the model's configuration
    threads         concurrent requests (server)
    shards          processes that share the items
    timeout         seconds one run of a program, or one comparison, may take
    include_path    folder of your own lm_eval tasks
    unsafe_code     let lm_eval run programs of the model on this machine, outside any sandbox

    Raises:
        UsageError: a value of the wrong type, or out of its range; the message names the key.
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
    timeout: Number = ranged(5.0, 1e-3, 86_400)
    include_path: str = ""
    unsafe_code: bool = False

    def __post_init__(self) -> None:
        check_device(self.device)
        if not self.tasks:
            raise UsageError("tasks are missing: names of tasks, or files of rows")
        if self.samples > 1 and not self.sampling_temperature:
            raise UsageError(
                f"{self.samples} samples at temperature 0 would all be the same: "
                "give a temperature, or one sample"
            )
        if "" in self.stop:
            raise UsageError("an empty stop string would end every answer before it begins")

    @property
    def sampling_temperature(self) -> float:
        """The temperature that is meant."""
        if isinstance(self.temperature, str):
            return 0.0 if self.samples == 1 else 1.0
        return self.temperature

"""Prompt templates: the text that a model gets for a row.

A model tuned to chat has a template in its tokenizer. A base model has none, or one that it was not
trained with, and gets the frames that the field uses for base models. Each is a row of
`PROMPT_TEMPLATES`:

chat             the tokenizer's own template: instructions, examples as earlier turns, the task
qwen             ChatML with a box for the answer, as Qwen2.5-Math (2409.12122; also for its base
                 models, Liu et al. 2025, 2503.20783)
question_answer  "Question: ... Answer:", as lm_eval's GSM8K
r1_zero          the conversation of DeepSeek-R1-Zero (Guo et al. 2025, 2501.12948, table 1), with
                 <think> opened, as in Liu et al.
mbpp             the task, tests and [BEGIN] of Austin et al. 2021 (2108.07732), up to [DONE]
humaneval        the prompt, which the model continues, up to the stop strings of Chen et al. 2021
                 (2107.03374)
plain            the prompt, which the model continues

(The numbers are arXiv's.) The rewards read each form of answer; to the math reward, a boxed answer
may be correct, but only a tag is well formed.

A template only concatenates texts: braces and percent signs in a prompt stay as they are. Special
tokens that a prompt spells out are read as such, as by every chat template.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..errors import UsageError, look_up, reason_of
from ..layout import ANSWER_TAG, fenced, tagged
from ..parsing.markup import tag_matches
from ..reward_functions.coding import read_submission
from ..solver_prompts import default_system_prompt, is_value
from ..store import sample_of
from ..types import Sample

Messages: TypeAlias = "list[dict[str, str]]"

_THINK, _THOUGHT = "<think>", "</think>"
_NO_THOUGHT = f"{_THINK}\n\n{_THOUGHT}\n\n"  # as Qwen3's template has it without thinking
_TAG_END = f"</{ANSWER_TAG}>"


@dataclass(frozen=True)
class RenderedPrompt:
    """The text that a model gets, and its stop strings.

    `text` contains all special tokens, a first one such as <s> among them: tokenize it with
    `add_special_tokens=False`. `opened_thinking` is the start of the response that ends `text`.
    """

    text: str
    stop: tuple[str, ...] = ()
    opened_thinking: str = ""

    def response(self, completion: str) -> str:
        """The text to judge: `opened_thinking` and the completion up to the first stop string."""
        ends = [end for end in map(completion.find, self.stop) if end >= 0]
        return self.opened_thinking + completion[: min(ends, default=None)]

    def rest(self, response: str) -> str:
        """The part of a response to train on: without what `text` has begun of it.

        If `text` has opened thinking, and the response has none, thinking is closed at once: an
        answer within it would be no answer.
        """
        thinks = response.startswith(_THINK) or _THOUGHT in response
        if self.opened_thinking.startswith(_THINK) and not thinks:
            response = _NO_THOUGHT + response
        opened_thinking = (
            self.opened_thinking
            if response.startswith(self.opened_thinking)
            else self.opened_thinking.rstrip()
        )
        return response.removeprefix(opened_thinking)


class Frame(NamedTuple):
    """What stands before and after a message of each role, in the text that the model continues.

    Messages are an optional system message, then turns of user and assistant, the last of them the
    user's.
    """

    user: tuple[str, str] = ("", "")
    assistant: tuple[str, str] = ("", "\n\n")
    system: tuple[str, str] = ("", "\n\n")

    def text(self, messages: Messages) -> str:
        """The messages as one text."""
        around = self._asdict()
        parts = ((*around[each["role"]], each["content"]) for each in messages)
        return "".join(f"{before}{content}{after}" for before, after, content in parts)


class PromptTemplate(NamedTuple):
    """One way to prompt a model.

    `frame` joins the messages; None uses the tokenizer's template.
    `shown` puts the response of a few-shot example into the form that the template asks for, and
    `instruction` is the system message. `language` is that of the only programs the template asks
    for, `opened_thinking` the end of every text.
    """

    name: str
    frame: Frame | None
    shown: Callable[[Sample], str]
    instruction: Callable[[Sample], str] = lambda _: ""
    stop: tuple[str, ...] = ()
    language: str = ""
    opened_thinking: str = ""


def render_prompt(
    name: str,
    row: Mapping[str, Any],
    tokenizer: Any = None,
    few_shot: Sequence[Mapping[str, Any]] = (),
    *,
    system: str | None = None,
) -> RenderedPrompt:
    """Render a row with a template of `PROMPT_TEMPLATES`, after worked examples.

    `few_shot` are rows with a response, which is put into the form that the template asks for.
    `system` replaces the template's own instruction; "" leaves it out. `tokenizer` is one of
    transformers; only `chat` requires it, but with it the text begins as the tokenizer begins all
    texts (with <s>, say).

    Raises:
        UsageError: there is no such template, the row is no task of its kind, the tokenizer has no
            chat template, or an example has no response or is the row itself.
    """
    template = look_up("prompt template", name, PROMPT_TEMPLATES)
    sample = sample_of(row)
    if template.language and sample.language != template.language:
        raise UsageError(
            f"the prompt template {name} asks for {template.language} programs, but a row of the "
            f"type {sample.type!r} is for {sample.language or 'an answer in words or numbers'}"
        )
    instruction = template.instruction(sample) if system is None else system
    turns = [("system", instruction)] if instruction else []
    for example in map(sample_of, few_shot):
        if not example.response.strip():
            raise UsageError(f"an example needs a response: {example.prompt[:60]!r} has none")
        if example.prompt == sample.prompt:
            raise UsageError(f"an example gives the task itself away: {example.prompt[:60]!r}")
        turns += [("user", example.prompt), ("assistant", template.shown(example))]
    turns.append(("user", sample.prompt))
    messages = [{"role": role, "content": content} for role, content in turns]
    if template.frame is None:
        return _templated(messages, tokenizer)
    text = _first_token(tokenizer) + template.frame.text(messages)
    return RenderedPrompt(text, template.stop, template.opened_thinking)


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text, without special tokens around it.

    Raises:
        UsageError: the text is not valid Unicode: it contains half a surrogate pair, as JSON can.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        where = ascii(text[max(0, error.start - 30) : error.start + 30])
        raise UsageError(f"half a surrogate pair, which no tokenizer takes, in {where}") from None
    return list(tokenizer.encode(text, add_special_tokens=False))


# --- the tokenizer's own template ----------------------------------------------------------------


def _templated(messages: Messages, tokenizer: Any) -> RenderedPrompt:
    if not getattr(tokenizer, "chat_template", None):
        others = ", ".join(name for name, template in PROMPT_TEMPLATES.items() if template.frame)
        whose = "there is no tokenizer" if tokenizer is None else "this tokenizer has none"
        raise UsageError(
            f"the prompt template chat needs a tokenizer with a chat template, and {whose}; use "
            f"another one for a base model: {others}"
        )
    text = _applied(messages, tokenizer, add_generation_prompt=True)
    opened_thinking = _THINK + text.rpartition(_THINK)[2] if text.rstrip().endswith(_THINK) else ""
    return RenderedPrompt(text, _turn_end(tokenizer), opened_thinking)


def _applied(messages: Messages, tokenizer: Any, *, add_generation_prompt: bool) -> str:
    options = {"tokenize": False, "add_generation_prompt": add_generation_prompt}
    tries = [messages]
    if messages[0]["role"] == "system":  # some templates know no system message
        system, first, *others = messages
        merged = {**first, "content": f"{system['content']}\n\n{first['content']}"}
        tries.append([merged, *others])
    for each in tries:
        try:
            return str(tokenizer.apply_chat_template(each, **options))
        except Exception as error:  # a template is a program: it may raise anything
            reason = reason_of(error)
    raise UsageError(f"the tokenizer's chat template cannot be applied: {reason}")


def _turn_end(tokenizer: Any) -> tuple[str, ...]:
    """The token that ends the assistant's turns, unless it is the `eos_token`.

    The chat template of a base model ends turns with <|im_end|>, say, but its `eos_token` is
    another.
    """
    reply = "-" * 8
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": reply}]
    _, there, behind = _applied(turns, tokenizer, add_generation_prompt=False).rpartition(reply)
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    ends = [token for token in special if there and behind.lstrip().startswith(token)]
    end = max(ends, key=len, default="")
    return (end,) if end and end != tokenizer.eos_token else ()


def _first_token(tokenizer: Any) -> str:
    """The token that the tokenizer puts before all texts; "" if it adds none."""
    if tokenizer is None or tokenizer.bos_token is None:
        return ""
    full, bare = (tokenizer("a", add_special_tokens=each)["input_ids"] for each in (True, False))
    first = tokenizer.bos_token_id
    return str(tokenizer.bos_token) if full[:1] == [first] and bare[:1] != [first] else ""


_CONVERSATION = (
    "A conversation between User and Assistant. The user asks a question, and the Assistant solves "
    "it. The assistant first thinks about the reasoning process in the mind and then provides the "
    "user with the answer. The reasoning process and answer are enclosed within <think> </think> "
    "and <answer> </answer> tags, respectively, i.e., <think> reasoning process here </think> "
    "<answer> answer here </answer>."
)
_BOX = "Please reason step by step, and put your final answer within \\boxed{}."
_EXPERT = "You are an expert Python programmer, and here is your task: "


def _boxed_or_default(sample: Sample) -> str:
    """A box for a value; programs and instruction-following tasks have their own form."""
    return _BOX if is_value(sample) else default_system_prompt(sample)


# --- the response of a few-shot example, in the form that a template asks for ------------------


def _in_tag(sample: Sample) -> str:
    if tag_matches(sample.response) or not default_system_prompt(sample):
        return sample.response
    if sample.language:
        return tagged(f"\n{fenced(sample.response, sample.language)}\n")
    return f"{_steps(sample.response)}\n{tagged(sample.answer)}".lstrip()


def _in_box(sample: Sample) -> str:
    if not is_value(sample):
        return _in_tag(sample)
    steps = _steps(sample.response)
    return steps if "\\boxed" in steps else f"{steps}\n\\boxed{{{sample.answer}}}".lstrip()


def _as_published(sample: Sample) -> str:
    """GSM8K's solutions have the answer behind `####`; others get a box, as MATH's have."""
    if not is_value(sample) or "####" in sample.response:
        return sample.response
    return _in_box(sample)


def _after_thinking(sample: Sample) -> str:
    """What follows an opened <think>."""
    if not is_value(sample):
        return f" </think> {_in_tag(sample)}"
    whole = _in_tag(sample)
    if whole.startswith(_THINK):
        return whole.removeprefix(_THINK)
    return f" {_steps(sample.response)} </think> {tagged(sample.answer)}"


def _up_to_done(sample: Sample) -> str:
    has_tag = bool(tag_matches(sample.response))
    code = read_submission(sample.response, ANSWER_TAG, sample.language).code if has_tag else ""
    return f"{(code or sample.response).strip()}\n[DONE]"


def _steps(response: str) -> str:
    """A response without its final answer, in a tag or behind `####`."""
    text = response.rstrip()
    if text.endswith(_TAG_END):
        text = text[: text.rfind(f"<{ANSWER_TAG}>")].rstrip()
    before, hashes, last = text.rpartition("####")
    return before.rstrip() if hashes and "\n" not in last else text


_CHATML = Frame(
    ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"), ("", "<|im_end|>\n"),
    ("<|im_start|>system\n", "<|im_end|>\n"),
)  # fmt: skip
_R1_ZERO = Frame(("User: ", f"\nAssistant: {_THINK}"), ("", "\n"), ("", "\n"))
_EOT = "<|endoftext|>"  # a server without the model's own end of text may write it out

# One row a template.
PROMPT_TEMPLATES: Mapping[str, PromptTemplate] = {
    template.name: template
    for template in (
        PromptTemplate("chat", None, _in_tag, default_system_prompt),
        PromptTemplate("qwen", _CHATML, _in_box, _boxed_or_default, ("<|im_end|>", _EOT)),
        PromptTemplate(
            "question_answer", Frame(("Question: ", "\nAnswer:")),
            lambda sample: f" {_as_published(sample)}", stop=("\nQuestion:", _EOT),
        ),
        PromptTemplate(
            "r1_zero", _R1_ZERO, _after_thinking, lambda _: _CONVERSATION, ("\nUser:", _EOT),
            opened_thinking=_THINK,
        ),
        PromptTemplate(
            "mbpp", Frame((_EXPERT, "\n[BEGIN]\n")), _up_to_done, stop=("[DONE]", _EOT),
            language="python",
        ),
        PromptTemplate(
            "humaneval", Frame(), lambda sample: sample.response,
            stop=("\nclass", "\ndef", "\n#", "\nif", "\nprint", _EOT), language="python",
        ),
        PromptTemplate("plain", Frame(), lambda sample: sample.response),
    )
}  # fmt: skip

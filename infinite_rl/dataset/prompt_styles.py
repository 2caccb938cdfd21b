"""How a row becomes the text that a model is given: the tokenizer's chat template, or a frame.

A model that was tuned to chat has a template in its tokenizer. A base model has none, or has one
that it never learned, and is asked as the field asks base models. A style is a row of `STYLES`:

chat             the tokenizer's own template: instructions, examples as earlier turns, the task
qwen             ChatML with a box for the answer, as Qwen2.5-Math is asked (2409.12122; also
                 without tuning, Liu et al. 2025, 2503.20783)
question_answer  "Question: ... Answer:", as lm_eval asks for GSM8K
r1_zero          the conversation of DeepSeek-R1-Zero (Guo et al. 2025, 2501.12948, table 1), its
                 <think> already opened, as Liu et al. have it
mbpp             the task, tests and [BEGIN] of Austin et al. 2021 (2108.07732), up to [DONE]
humaneval        the prompt, which the model goes on with, up to the stop strings of Chen et al.
                 2021 (2107.03374)
plain            the prompt, which the model goes on with

(The numbers are arXiv's.) Each form of answer is one that the rewards read; to the math reward,
what stands in a box may be right, but only a tag is well formed.

A style only ever puts texts side by side: what a prompt says, braces and
percent signs too, stays as it is. Special tokens that a prompt spells out are read as such, as by
every chat template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import UsageError, look_up, reason_of
from ..layout import ANSWER_TAG, fenced, tagged
from ..parsing.tags import tag_matches
from ..reward_functions.coding.reward import read_submission
from ..store import sample_of
from ..types import Sample
from ..verification.self_consistency import default_system_prompt

Messages: TypeAlias = "list[dict[str, str]]"

_THINK, _THOUGHT = "<think>", "</think>"
_NO_THOUGHT = f"{_THINK}\n\n{_THOUGHT}\n\n"  # as Qwen3's template has it without thinking
_TAG_END = f"</{ANSWER_TAG}>"


@dataclass(frozen=True)
class Prompted:
    """What a model is given, and the strings at which its completion ends.

    `text` holds all special tokens that belong to it, a first one such as <s> among them: it is to
    be tokenised with `add_special_tokens=False`. `begun` is what of the response stands at its end
    already.
    """

    text: str
    stop: tuple[str, ...] = ()
    begun: str = ""

    def response(self, completion: str) -> str:
        """What a reward is to judge: what `text` has begun, and the completion up to the first of
        the stop strings, whether or not the engine has left it there."""
        ends = [end for end in map(completion.find, self.stop) if end >= 0]
        return self.begun + completion[: min(ends, default=None)]

    def rest(self, response: str) -> str:
        """What the model is to learn of a response: without what `text` has begun of it.

        Where that is thinking, and the response has none, it ends at once: an answer within it
        would be no answer.
        """
        thinks = response.startswith(_THINK) or _THOUGHT in response
        if self.begun.startswith(_THINK) and not thinks:
            response = _NO_THOUGHT + response
        begun = self.begun if response.startswith(self.begun) else self.begun.rstrip()
        return response.removeprefix(begun)


@dataclass(frozen=True)
class Style:
    """One way to ask.

    `frame` joins messages (a system message or none, then turns of user and assistant, the last of
    them the user's) to the text that the model continues; None leaves it to the tokenizer.
    `instruction` is what a solver is told of the form of an answer, and `shown` how the response of
    an example is put, so that it has that form. `language` is that of the only programs which the
    style asks for, `begun` the end of every text of it.
    """

    name: str
    says: str
    frame: Callable[[Messages], str] | None
    shown: Callable[[Sample], str]
    instruction: Callable[[Sample], str] = lambda _: ""
    stop: tuple[str, ...] = ()
    language: str = ""
    begun: str = ""


def prompt_text(
    style: str,
    row: Mapping[str, Any],
    tokenizer: Any = None,
    few_shot: Sequence[Mapping[str, Any]] = (),
    *,
    system: str | None = None,
) -> Prompted:
    """A row as a model is given it in a style of `STYLES`, after worked examples.

    `few_shot` are rows with a response, which is put in the form that the style asks for. `system`
    takes the place of the style's own instruction; "" leaves it out. `tokenizer` is one of
    transformers; only `chat` must have it, but with it the text begins as the tokenizer begins all
    texts (with <s>, say).

    Raises:
        UsageError: there is no such style, the row is no task of its kind, the tokenizer has no
            chat template, or an example has no response or is the row itself.
    """
    asked = look_up("prompt style", style, STYLES)
    sample = sample_of(row)
    if asked.language and sample.language != asked.language:
        raise UsageError(
            f"the style {style} asks for {asked.language} programs, but a row of the type "
            f"{sample.type!r} is for {sample.language or 'an answer in words or numbers'}"
        )
    told = asked.instruction(sample) if system is None else system
    messages = _messages(told, [*_turns(asked, sample, few_shot), ("user", sample.prompt)])
    if asked.frame is None:
        return _templated(messages, tokenizer)
    return Prompted(_first_token(tokenizer) + asked.frame(messages), asked.stop, asked.begun)


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text, without special tokens around it.

    Raises:
        UsageError: it is no Unicode text: it holds half a surrogate pair, as JSON can.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        where = ascii(text[max(0, error.start - 30) : error.start + 30])
        raise UsageError(f"half a surrogate pair, which no tokenizer takes, in {where}") from None
    return list(tokenizer.encode(text, add_special_tokens=False))


def _turns(
    style: Style, sample: Sample, few_shot: Iterable[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    turns = []
    for example in map(sample_of, few_shot):
        if not example.response.strip():
            raise UsageError(f"an example needs a response: {example.prompt[:60]!r} has none")
        if example.prompt == sample.prompt:
            raise UsageError(f"an example gives the task itself away: {example.prompt[:60]!r}")
        turns += [("user", example.prompt), ("assistant", style.shown(example))]
    return turns


def _messages(system: str, turns: Iterable[tuple[str, str]]) -> Messages:
    said = [("system", system)] if system else []
    return [{"role": role, "content": content} for role, content in [*said, *turns]]


# --- the tokenizer's own template ----------------------------------------------------------------


def _templated(messages: Messages, tokenizer: Any) -> Prompted:
    if not getattr(tokenizer, "chat_template", None):
        others = ", ".join(name for name, style in STYLES.items() if style.frame)
        whose = "there is no tokenizer" if tokenizer is None else "this tokenizer has none"
        raise UsageError(
            f"the style chat needs a tokenizer with a chat template, and {whose}; a base model is "
            f"asked in another style: {others}"
        )
    text = _applied(messages, tokenizer, add_generation_prompt=True)
    begun = _THINK + text.rpartition(_THINK)[2] if text.rstrip().endswith(_THINK) else ""
    return Prompted(text, _turn_end(tokenizer), begun)


def _applied(messages: Messages, tokenizer: Any, *, add_generation_prompt: bool) -> str:
    options = {"tokenize": False, "add_generation_prompt": add_generation_prompt}
    for given in (messages, _without_system(messages)):  # some templates know no system message
        try:
            return str(tokenizer.apply_chat_template(given, **options))
        except Exception as error:  # a template is a program: it may raise anything
            reason = reason_of(error)
    raise UsageError(f"the tokenizer's chat template cannot be applied: {reason}")


def _without_system(messages: Messages) -> Messages:
    """The same, with the instructions at the beginning of the first task."""
    if messages[0]["role"] != "system":
        return messages
    system, first, *others = messages
    return [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *others]


def _turn_end(tokenizer: Any) -> tuple[str, ...]:
    """The token that ends the assistant's turns, unless it is that at which all sampling ends.

    The chat template of a base model ends turns with <|im_end|>, say, but its `eos_token` is
    another.
    """
    said = "-" * 8
    turns = _messages("", [("user", "?"), ("assistant", said)])
    _, found, behind = _applied(turns, tokenizer, add_generation_prompt=False).rpartition(said)
    known = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    ends = [token for token in known if found and behind.lstrip().startswith(token)]
    end = max(ends, key=len, default="")
    return (end,) if end and end != tokenizer.eos_token else ()


def _first_token(tokenizer: Any) -> str:
    """The token that the tokenizer puts before all texts, "" where it puts none."""
    if tokenizer is None or tokenizer.bos_token is None:
        return ""
    told, bare = (tokenizer("a", add_special_tokens=each)["input_ids"] for each in (True, False))
    first = tokenizer.bos_token_id
    return str(tokenizer.bos_token) if told[:1] == [first] and bare[:1] != [first] else ""


# --- frames: messages to text --------------------------------------------------------------------


def _chatml(messages: Messages) -> str:
    turns = (f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in messages)
    return "".join(turns) + "<|im_start|>assistant\n"


def _in_blocks(before: str, after: str, between: str) -> Callable[[Messages], str]:
    """A frame that asks `before` task `after` each time, with `between` before the next one."""
    around = {"system": ("", "\n\n"), "user": (before, after), "assistant": ("", between)}

    def frame(messages: Messages) -> str:
        parts = ((*around[each["role"]], each["content"]) for each in messages)
        return "".join(f"{opening}{content}{closing}" for opening, closing, content in parts)

    return frame


def _r1_zero(messages: Messages) -> str:
    turns = _in_blocks("User: ", f"\nAssistant: {_THINK}", "\n")
    if messages[0]["role"] != "system":
        return turns(messages)
    return f"{messages[0]['content']}\n{turns(messages[1:])}"


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
    """A box for a value; a program has none, and instructions to follow say their own form."""
    return _BOX if _is_value(sample) else default_system_prompt(sample)


# --- the response of an example, in the form that is asked for -----------------------------------


def _is_value(sample: Sample) -> bool:
    return not sample.language and sample.type != "instruction"


def _as_it_is(sample: Sample) -> str:
    return sample.response


def _in_tag(sample: Sample) -> str:
    if tag_matches(sample.response) or not default_system_prompt(sample):
        return sample.response
    if sample.language:
        return tagged(f"\n{fenced(sample.response, sample.language)}\n")
    return f"{_steps(sample.response)}\n{tagged(sample.answer)}".lstrip()


def _in_box(sample: Sample) -> str:
    if not _is_value(sample):
        return _in_tag(sample)
    steps = _steps(sample.response)
    return steps if "\\boxed" in steps else f"{steps}\n\\boxed{{{sample.answer}}}".lstrip()


def _as_published(sample: Sample) -> str:
    """GSM8K's solutions have the answer behind `####`; others get a box, as MATH's have."""
    if not _is_value(sample) or "####" in sample.response:
        return sample.response
    return _in_box(sample)


def _after_thinking(sample: Sample) -> str:
    """What follows an opened <think>."""
    if not _is_value(sample):
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
    """A response without the statement of its answer at the end, in a tag or behind `####`."""
    text = response.rstrip()
    if text.endswith(_TAG_END):
        text = text[: text.rfind(f"<{ANSWER_TAG}>")].rstrip()
    before, hashes, last = text.rpartition("####")
    return before.rstrip() if hashes and "\n" not in last else text


_SHARED_STOP = "<|endoftext|>"  # a server without the model's own end of a text may write it out

# One row a style.
STYLES: Mapping[str, Style] = {
    style.name: style
    for style in (
        Style(
            "chat",
            "the tokenizer's own chat template; the answer in <answer> tags",
            None,
            _in_tag,
            default_system_prompt,
        ),
        Style(
            "qwen",
            "ChatML as base models of Qwen know it; the answer in \\boxed{}",
            _chatml,
            _in_box,
            _boxed_or_default,
            ("<|im_end|>", _SHARED_STOP),
        ),
        Style(
            "question_answer",
            "Question: ... Answer:, as lm_eval asks; the examples alone show the form",
            _in_blocks("Question: ", "\nAnswer:", "\n\n"),
            lambda sample: f" {_as_published(sample)}",
            stop=("\nQuestion:", _SHARED_STOP),
        ),
        Style(
            "r1_zero",
            "DeepSeek-R1-Zero's conversation; <think> is opened, the answer in <answer> tags",
            _r1_zero,
            _after_thinking,
            lambda _: _CONVERSATION,
            ("\nUser:", _SHARED_STOP),
            begun=_THINK,
        ),
        Style(
            "mbpp",
            "an expert's task, its tests and [BEGIN]; the program up to [DONE]",
            _in_blocks(_EXPERT, "\n[BEGIN]\n", "\n\n"),
            _up_to_done,
            stop=("[DONE]", _SHARED_STOP),
            language="python",
        ),
        Style(
            "humaneval",
            "the prompt alone, whose program the model ends",
            _in_blocks("", "", "\n\n"),
            _as_it_is,
            stop=("\nclass", "\ndef", "\n#", "\nif", "\nprint", _SHARED_STOP),
            language="python",
        ),
        Style(
            "plain",
            "the prompt alone, which the model goes on with",
            _in_blocks("", "", "\n\n"),
            _as_it_is,
        ),
    )
}

"""Prompt templates: the text, stops and examples of each, with tokenizers built here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from labelled import Tables, assert_none, unlike

from infinite_rl.dataset.ground_truth import score
from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.prompt_templates import PROMPT_TEMPLATES, RenderedPrompt, render_prompt
from infinite_rl.dataset.rows import Row, sample_of
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.solver_prompts import default_system_prompt

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
tables = Tables(__file__)
REWARDS = get_reward_functions(timeout=20)
BASE = [name for name, template in PROMPT_TEMPLATES.items() if template.frame]
HOSTILE = "Is {x} = %s? {{ 7 * 7 }} {% raw %} {0} \\boxed{} {prompt} #### 3"
ADD = "def add(a, b):\n    return a + b"
MATH: Row = {"type": "math", "prompt": "What is 2 + 5?", "answer": "7", "response": "2 + 5 = 7"}
GSM8K: Row = {
    **{"type": "gsm8k", "prompt": "Three of 5 each?", "answer": "15"},
    "response": "3 * 5 = <<3*5=15>>15\n#### 15",
}
BOXED: Row = {**MATH, "prompt": "Half?", "answer": "1/2", "response": "\\boxed{1/2}\n\n$1/2$"}
MBPP: Row = {
    "prompt": "Add.\nYour code should pass these tests:\n\nassert add(1, 2) == 3",
    **{"type": "program", "answer": '{"tests": ["assert add(1, 2) == 3"]}'},
    **{"response": ADD, "language": "python"},
}
TOLD: Row = {"type": "instruction", "prompt": "No commas.", "answer": "[]", "response": "Well."}


def row_for(name: str) -> Row:
    return MBPP if PROMPT_TEMPLATES[name].language else MATH


# --- the texts
@tables
def test_a_template_renders_the_text_as_it_is_published(
    name: str, row: str, example: str, text: str, stop: str
) -> None:
    other = {**MBPP, "prompt": "Sum.\nYour code should pass these tests:\n\nassert add(2, 2) == 4"}
    known = {"math": MATH, "gsm8k": GSM8K, "mbpp": MBPP, "sum": other, "told": TOLD}
    found = render_prompt(name, known[row], few_shot=[known[example]] if example else [])
    assert found.text == text and (stop in found.stop if stop else not found.stop)


def test_every_base_template_keeps_prompts_instructions_and_examples_as_they_are() -> None:
    for name in BASE:
        row = row_for(name)
        hostile, example = ({**row, "prompt": f"{HOSTILE} {n}"} for n in (1, 2))
        shots = [{**example, "response": HOSTILE}]
        text = render_prompt(name, hostile, few_shot=shots, system=HOSTILE).text
        assert f"{HOSTILE} 1" in text and text.count(HOSTILE) >= 3, name

        brief, silent = (render_prompt(name, row, system=text).text for text in ("Be brief.", ""))
        assert 0 <= brief.index("Be brief.") < brief.index(row["prompt"]), name
        assert len(silent) <= len(render_prompt(name, row).text)
        assert "A conversation" not in silent and "step by step" not in silent

        shots = [{**row, "prompt": f"Task {n}", "response": f"Reply {n}"} for n in range(3)]
        text = render_prompt(name, row, few_shot=shots).text
        words = [word for n in range(3) for word in (f"Task {n}", f"Reply {n}")]
        positions = [text.index(word) for word in [*words, row["prompt"]]]
        assert positions == sorted(positions), name

        # An example continues where a turn of the model begins.
        before = render_prompt(name, {**row, "prompt": "Task 0"}).text
        after = render_prompt(name, row, few_shot=[{**row, "prompt": "Task 0"}]).text
        assert after.startswith(before + PROMPT_TEMPLATES[name].shown(sample_of(row))), name


# --- answers and examples: the rewards read every form that a template asks for
def marks(row: Row, name: str) -> tuple[str, float]:
    """The verdict of the row's reward on its own response, as an example of this template."""
    sample, template = sample_of(row), PROMPT_TEMPLATES[name]
    shown = RenderedPrompt("", opened_thinking=template.opened_thinking).response(
        template.shown(sample)
    )
    verdict = score(sample, shown, REWARDS)
    return verdict.status, verdict.format_score


def test_an_answer_or_a_program_in_the_form_of_the_template_passes() -> None:
    for row in (MATH, GSM8K, BOXED):
        for name in ("chat", "r1_zero", "qwen", "question_answer"):
            in_tags = name in ("chat", "r1_zero") or row is GSM8K  # the math reward's form is a tag
            assert marks(row, name) == ("passed", 1.0 if in_tags else 0.0), (row, name)
    for name in ("chat", "r1_zero", "qwen", "mbpp", "humaneval", "plain"):
        assert marks(MBPP, name) == ("passed", 1.0), name


def test_an_example_is_shown_in_the_form_of_the_template() -> None:
    tagged_program = f"So:\n{tagged(fenced(ADD, 'python'))}"
    coding = {**MBPP, "type": "coding", "response": tagged_program}
    assert PROMPT_TEMPLATES["mbpp"].shown(sample_of(coding)) == f"{ADD}\n[DONE]"
    assert PROMPT_TEMPLATES["chat"].shown(sample_of(TOLD)) == "Well."


# --- stops
def test_a_response_is_what_the_prompt_begins_up_to_the_first_stop_string() -> None:
    prompt = RenderedPrompt("", ("[DONE]", "\nQuestion:"))
    assert prompt.response("7\nQuestion: 8? [DONE]") == prompt.response("7") == "7"
    assert RenderedPrompt("").response("7\nQuestion:") == "7\nQuestion:"
    prompt = render_prompt("r1_zero", GSM8K)
    said = prompt.response(" <answer>14</answer>? No. </think> <answer>15</answer>\nUser: And?")
    assert said == "<think> <answer>14</answer>? No. </think> <answer>15</answer>"
    found = score(sample_of(GSM8K), said, REWARDS)
    assert (found.status, found.format_score) == ("passed", 1.0)


def test_a_response_that_begins_with_its_thinking_goes_on_where_the_text_ends() -> None:
    trace = f"<think>\n2 + 5 = 7.\n</think>\n\nSo\n{tagged('7')}"
    row = {**MATH, "response": trace}
    assert render_prompt("r1_zero", row).text.endswith("Assistant: <think>")
    shown = PROMPT_TEMPLATES["r1_zero"].shown(sample_of(row))
    assert shown == trace.removeprefix("<think>")
    assert marks(row, "r1_zero") == marks(row, "chat") == ("passed", 1.0)
    opened = RenderedPrompt("... <think>\n", opened_thinking="<think>\n")
    assert opened.rest(trace) == shown.lstrip("\n")
    assert opened.rest("<think> 7 </think> 7") == " 7 </think> 7"
    assert opened.rest(shown) == shown
    assert opened.opened_thinking + opened.rest("7") == "<think>\n\n</think>\n\n7"
    assert RenderedPrompt("2 + 5 =", opened_thinking="2 + 5 =").rest("7") == "7"
    assert RenderedPrompt("").rest(trace) == trace


# --- the benchmarks
@pytest.mark.skipif(not DATA.is_dir(), reason="the benchmarks' files are not there")
def test_examples_from_benchmarks_pass_in_the_form_of_the_template() -> None:
    for benchmark, path, names in (
        ("gsm8k", "gsm8k/test.jsonl", ("chat", "qwen", "r1_zero", "question_answer")),
        ("math", "math500/test.jsonl", ("qwen", "r1_zero")),
        ("mbpp", "mbpp/sanitized-mbpp.json", ("mbpp", "chat")),
    ):
        rows = [*load(benchmark, DATA / path)]
        for name in names:
            form = 0.0 if (benchmark, name) == ("math", "qwen") else 1.0
            for row in rows[:: len(rows) // 10]:
                assert marks(row, name) == ("passed", form), row


# --- chat templates: a real tokenizer, with the template of a model that was tuned to chat
QWEN = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)
LLAMA = (
    "{{- bos_token }}"
    "{%- for message in messages %}"
    "{{- '<|start|>' + message.role + '<|end|>\n\n' + message.content | trim + '<|eot|>' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start|>assistant<|end|>\n\n' }}{%- endif %}"
)
NO_SYSTEM = (
    "{%- if messages[0].role == 'system' %}{{- raise_exception('no system role') }}{%- endif %}"
    + QWEN
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|start|>", "<|end|>", "<|eot|>", "<s>"]


def tokenizer_of(template: str = "", *, bos: bool = False, eos: str = "<|endoftext|>") -> Any:
    """Byte-level, so that every text can be read back; with `bos`, texts begin with <s>."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    inner.train_from_iterator(
        [MATH["prompt"], "system user assistant", default_system_prompt(sample_of(MATH))] * 3,
        tokenizers.trainers.BpeTrainer(
            vocab_size=400,
            show_progress=False,
            special_tokens=SPECIAL,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    if bos:
        inner.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", inner.token_to_id("<s>"))]
        )
    found = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=eos,
        bos_token="<s>" if bos else None,
        additional_special_tokens=SPECIAL[1:6],
    )
    found.chat_template = template or None
    return found


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def test_chat_is_the_tokenizers_own_template_up_to_where_the_model_speaks() -> None:
    tokenizer = tokenizer_of(QWEN, eos="<|im_end|>")
    found = render_prompt("chat", MATH, tokenizer, [GSM8K])
    turns = [
        ("system", default_system_prompt(sample_of(MATH))),
        ("user", GSM8K["prompt"]),
        ("assistant", "3 * 5 = <<3*5=15>>15\n<answer>15</answer>"),
        ("user", MATH["prompt"]),
    ]
    said = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns)
    assert found == RenderedPrompt(f"{said}<|im_start|>assistant\n")
    found = render_prompt("chat", {**MATH, "prompt": HOSTILE}, tokenizer, system=HOSTILE)
    assert found.text.count(HOSTILE) == 2, "braces stay as they are"
    told = ids(tokenizer, render_prompt("chat", MATH, tokenizer).text)
    start, end = map(tokenizer.convert_tokens_to_ids, ("<|im_start|>", "<|im_end|>"))
    assert (told.count(start), told.count(end)) == (3, 2), "single tokens, once a turn"


def test_the_end_of_a_turn_stops_a_model_whose_own_end_of_text_is_another() -> None:
    blind = QWEN.replace("messages %}", "messages if message.role != 'assistant' %}")
    assert blind != QWEN
    for tokenizer, stop in (
        (tokenizer_of(QWEN), ("<|im_end|>",)),
        (tokenizer_of(QWEN, eos="<|im_end|>"), ()),
        (tokenizer_of(LLAMA, bos=True), ("<|eot|>",)),
        (tokenizer_of(blind), ()),  # it shows no answers of the model
    ):
        assert render_prompt("chat", MATH, tokenizer).stop == stop


def test_a_template_without_a_system_role_gets_the_instructions_in_the_first_task() -> None:
    found = render_prompt("chat", MATH, tokenizer_of(NO_SYSTEM), system="Be brief.")
    assert found.text.startswith("<|im_start|>user\nBe brief.\n\nWhat is 2 + 5?<|im_end|>")


def test_what_cannot_be_rendered_is_one_clear_line() -> None:
    def rendered(name: str, *given: Any) -> Callable[[], object]:
        return lambda: render_prompt(name, MATH, *given)

    silent = {**MATH, "prompt": "What is 3 + 3?", "response": " "}
    failing = {
        "{{- raise_exception('roles must\nalternate') }}": "roles must alternate$",
        "{% for n in range(10 ** 9) %}.{% endfor %}": ".",
        **dict.fromkeys(("{{ 1 / 0 }}", "{% for n in %}", "{{ 'a' + 1 }}"), "."),
    }
    assert_none(unlike([
        (r"needs a response: 'What is 3 \+ 3\?'", rendered("plain", None, [silent])),
        ("gives the task itself away", rendered("plain", None, [MATH])),
        ("unknown prompt template 'qwem'; known: chat, .*plain", rendered("qwem")),
        *((f"the prompt template {name} asks for python programs, but .*'ma", rendered(name))
          for name in ("mbpp", "humaneval")),
        *((f"needs a tokenizer .* base model: {', '.join(BASE)}$", rendered("chat", tokenizer))
          for tokenizer in (None, object())),
        *((f"the tokenizer's chat template cannot be applied: {says}",
           rendered("chat", tokenizer_of(template))) for template, says in failing.items()),
    ]))  # fmt: skip


OPENING = QWEN.replace("assistant\n' }}{%- endif", "assistant\n<think>\n' }}{%- endif")


def test_thinking_that_the_template_opens_is_judged_and_learnt_once() -> None:
    assert OPENING != QWEN
    found = render_prompt("chat", MATH, tokenizer_of(OPENING))
    assert found.opened_thinking == "<think>\n" and found.text.endswith(found.opened_thinking)
    assert found.response("6? 7.\n</think>\n\n7") == "<think>\n6? 7.\n</think>\n\n7"

    tokenizer = tokenizer_of(OPENING, eos="<|im_end|>")
    examples = pytest.importorskip("infinite_rl.training.core.encoding").examples
    thinking = {**MATH, "response": f"<think>\n2 + 5.\n</think>\n\n{tagged('7')}"}
    plain = {**MATH, "response": f"2 + 5 = 7, so {tagged('7')}"}
    thought, bare = examples([thinking, plain], tokenizer, "chat", 1_000)
    assert tokenizer.decode(thought.prompt + thought.response).endswith(
        f"<|im_start|>assistant\n{thinking['response']}<|im_end|>"
    )
    learnt = tokenizer.decode(bare.response).removesuffix("<|im_end|>")
    said = render_prompt("chat", plain, tokenizer).response(learnt)
    assert said == f"<think>\n\n</think>\n\n{plain['response']}"
    assert score(sample_of(plain), said, REWARDS).status == "passed"


def test_a_text_begins_with_the_tokenizers_first_token_once() -> None:
    tokenizer, bare = tokenizer_of(LLAMA, bos=True), tokenizer_of(QWEN)
    for name in PROMPT_TEMPLATES:
        found = ids(tokenizer, render_prompt(name, row_for(name), tokenizer).text)
        first = tokenizer.bos_token_id
        assert found[0] == first and found.count(first) == 1, name
        assert not render_prompt(name, row_for(name), bare).text.startswith("<s>")


def test_prompt_and_answer_tokenised_apart_are_the_tokens_of_the_whole() -> None:
    """A turn ends in a special token or a line break, so nothing merges across the border."""
    answer = " So it is 7.\n<answer>7</answer>"
    for tokenizer in (tokenizer_of(QWEN), tokenizer_of(LLAMA, bos=True)):
        for name in PROMPT_TEMPLATES:
            text = render_prompt(name, row_for(name), tokenizer).text
            apart = ids(tokenizer, text) + ids(tokenizer, answer)
            assert apart == ids(tokenizer, text + answer), name
            assert tokenizer.decode(apart) == text + answer

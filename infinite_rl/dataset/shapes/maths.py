"""Mathematical questions with one answer, which the math reward compares by meaning.

Their own judges compare texts after some rewriting; the reward accepts what these accept if the
values are equal (docs/rewards.md), and reads proofs, pictures and tolerances as no answer.
"""

from __future__ import annotations

from typing import Any

from ...layout import tagged
from ...reward_functions.math.boxes import last_box
from ..rows import Row
from .parts import Skipped, loaded, text_of

_NO_ANSWER = ("", "proof", "notfound", "none", "n/a")


def math_row(question: str, answer: Any, solution: str = "", **more: Any) -> Row:
    """A row of the math reward; the response is the solution, and the answer in a tag."""
    text = str(answer if answer is not None else "").strip()
    if text.lower() in _NO_ANSWER:
        raise Skipped("it has no final answer")
    text = text[1:-1].strip() if text[:1] == text[-1:] == "$" and text.count("$") == 2 else text
    response = f"{solution.strip()}\n\n{tagged(f'${text}$')}".strip()
    row = {"type": "math", "prompt": question, "answer": text, "response": response}
    return {**row, "language": "", **more}


def big_math(published: Row) -> Row:
    """A row of SynthLabsAI/Big-Math-RL-Verified."""
    level = published.get("llama8b_solve_rate")
    row = math_row(text_of(published, "problem"), published["answer"])
    return {**row, "subject": _subject(published.get("domain")), "level": level}


def _subject(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def deep_math(published: Row) -> Row:
    """A row of zwhe99/DeepMath-103K; the response is the first of its three solutions."""
    solution = str(published.get("r1_solution_1") or "").rpartition("</think>")[2]
    row = math_row(text_of(published, "question"), published["final_answer"], solution)
    return {**row, "subject": published.get("topic", ""), "level": published.get("difficulty")}


def numina(published: Row) -> Row:
    """A row of AI-MO/NuminaMath-CoT or NuminaMath-1.5; without `answer` it is in the last box."""
    if published.get("question_type") == "proof":
        raise Skipped("it asks for a proof")
    solution = text_of(published, "solution")
    answer = published.get("answer") or last_box(solution)
    row = math_row(text_of(published, "problem"), answer, solution)
    return {**row, "subject": published.get("problem_type") or published.get("source", "")}


def olympiad_bench(published: Row) -> Row:
    """A row of Hothan/OlympiadBench: questions in text with final answers."""
    pictures = [each for name, each in published.items() if name.startswith("image")]
    if published.get("modality") == "Multimodal" or any(each is not None for each in pictures):
        raise Skipped("its question has an image")
    if "proof" in str(published.get("question_type") or "").lower():
        raise Skipped("it asks for a proof")
    if str(published.get("error") or "").strip():
        raise Skipped("its answer has a tolerance, which the math reward does not know")
    answers = loaded_answers(published["final_answer"])
    question = text_of(published, "question")
    if published.get("context"):
        question = f"{text_of(published, 'context')}\n\n{question}"
    solutions = loaded_answers(published.get("solution"))
    row = math_row(question, ", ".join(answers), solutions[0] if solutions else "")
    key, subject = str(published.get("id") or ""), published.get("subfield") or ""
    return {**row, "key": key, "subject": subject}


def loaded_answers(value: Any) -> list[str]:
    """A list of texts, as itself or as its JSON; each without its dollar signs."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = loaded(value, "list")
    values = value if isinstance(value, list) else [value] if value is not None else []
    return [str(each).strip().strip("$") if len(str(each)) < 400 else str(each) for each in values]


def minerva(published: Row) -> Row:
    """A row of the undergraduate problems of Minerva (2206.14858); `answer` or the last box."""
    question = text_of(published, "problem" if "problem" in published else "question")
    solution = str(published.get("solution") or "")
    answer = published.get("answer") or last_box(solution)
    row = math_row(question, answer, solution)
    key = published.get("idx")
    return {**row, "key": "" if key is None else str(key), "subject": published.get("type", "")}

"""The parser's promises. `corpus/` holds ugly outputs with the parse that each must give."""

from __future__ import annotations

import json
import pickle
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from infinite_rl import layout
from infinite_rl.errors import UsageError
from infinite_rl.parsing.markup import format_of, split_thinking
from infinite_rl.parsing.sections import CodeBlock, ExampleParser, Parsed, code_blocks, tag_matches

CORPUS = Path(__file__).parent / "corpus"
parse = ExampleParser.parse_text


class Corpus(unittest.TestCase):
    def test_every_output_gives_its_parse(self) -> None:
        cases = sorted(CORPUS.glob("*.txt"))
        self.assertGreaterEqual(len(cases), 60)
        for path in cases:
            with self.subTest(path.stem):
                text = path.read_bytes().decode("utf-8")
                wanted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
                parsed = parse(text)
                got = {
                    **parsed,
                    "strategy": parsed.strategy,
                    "tags": ExampleParser.extract_answer_tags(text),
                    "how": [match.how for match in tag_matches(text)],
                }
                self.assertEqual(got, wanted)

    def test_every_form_of_a_sample_is_read_and_what_is_none_is_refused(self) -> None:
        """Tables of texts with their three sections, compared but for their spaces."""
        faults, cases = [], 0
        for path in sorted(CORPUS.glob("*.jsonl")):
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                parsed, cases = parse(row["text"]), cases + 1
                if not (row["complete"] or parsed.complete):
                    continue
                wanted = [row.get(section, "").split() for section in layout.SECTIONS]
                sections = [section.split() for section in parsed.values()]
                if (parsed.complete, sections) != (row["complete"], wanted):
                    faults.append((path.stem, row["id"], dict(parsed)))
        self.assertGreaterEqual(cases, 240)
        self.assertEqual(faults, [])

    def test_a_clean_text_is_read_as_if_there_were_no_short_cut(self) -> None:
        tables = [path.read_text(encoding="utf-8") for path in CORPUS.glob("*.jsonl")]
        texts = [json.loads(line)["text"] for table in tables for line in table.splitlines()]
        for text in (*texts, *map(with_heads, texts)):
            short = parse(text)
            with unittest.mock.patch("infinite_rl.parsing.sections._clean", lambda _: None):
                long = parse(text)
            self.assertEqual((dict(short), short.strategy), (dict(long), long.strategy), text)
            self.assertEqual(short.found, long.found)


def with_heads(text: str) -> str:
    """The sections of a text, once more under clean heads."""
    parsed = parse(text)
    return layout.render(parsed["prompt"] or text, parsed["answer"] or text, parsed["response"])


class Sections(unittest.TestCase):
    def test_a_rendered_sample_comes_back(self) -> None:
        sample = ("Add 1 and 2.", "3", "1 + 2 is 3.\n\n<answer>3</answer>")
        wanted = dict(zip(layout.SECTIONS, sample, strict=True))
        self.assertEqual(parse(layout.render(*sample)), wanted)

    def test_none_and_empty_text_give_empty_sections(self) -> None:
        for text in (None, "", " \n"):
            self.assertEqual(parse(text), {"prompt": "", "answer": "", "response": ""})
            self.assertEqual(parse(text).strategy, "none")

    def test_json_that_is_no_sample_is_read_like_any_text(self) -> None:
        for text in (
            '{"prompt": "p", "answer": "1"}',
            '{"prompt": "p", "answer": "1", "response": "So',
            '{"prompt": "p", "answer": "1", "reward": "r"}',
            '{"a":' * 100_000,
        ):
            self.assertEqual(parse(text).strategy, "none", text[:60])

    def test_windows_line_ends_change_nothing(self) -> None:
        text = "[PROMPT]\na\n\nb\n\n[ANSWER]\n```json\n{}\n```\n[RESPONSE]\n<answer>\nc\n</answer>"
        self.assertEqual(parse(text), parse(text.replace("\n", "\r\n")))

    def test_the_answer_has_one_form_however_it_was_written(self) -> None:
        written = (
            "42",
            "<answer>42</answer>",
            "```\n42\n```",
            "<answer>\n```text\n42\n```\n</answer>",
        )
        for answer in (*written, "First <answer>41</answer>, then <answer>42</answer>."):
            parsed = parse(f"[PROMPT]\np\n[ANSWER]\n{answer}\n[RESPONSE]\nr")
            self.assertEqual(parsed.answer, "42", answer)

    def test_a_program_as_answer_keeps_its_fence(self) -> None:
        program = "```python\nprint(1)\n```"
        parsed = parse(f"[PROMPT]\np\n[ANSWER]\n<answer>{program}</answer>\n[RESPONSE]\nr")
        self.assertEqual(parsed.answer, program)

    def test_a_sub_heading_does_not_end_a_section(self) -> None:
        prompt = "# Title\n\n## Input\nn\n\n**Output:**\nm\n\n## Solution\nnone yet"
        parsed = parse(f"[PROMPT]\n{prompt}\n[ANSWER]\n1\n[RESPONSE]\nr")
        self.assertEqual(parsed.prompt, prompt)

    def test_a_cut_off_prompt_is_not_split_at_its_sub_headings(self) -> None:
        prompt = "Sort.\n\n**Input:**\nn\n\n**Output:**\nm\n\n## Solution\nnone yet"
        self.assertEqual(parse(f"[PROMPT]\n{prompt}").prompt, prompt)

    def test_the_first_complete_sample_of_several_counts(self) -> None:
        def sample(n: int) -> str:
            return f"[PROMPT]\np{n}\n[ANSWER]\n{n}\n[RESPONSE]\n<answer>{n}</answer>\n"

        self.assertEqual(parse(sample(1) + sample(2)).prompt, "p1")
        self.assertEqual(parse(sample(1) + "[PROMPT]\np2\n[ANSWER]\n").prompt, "p1")
        self.assertEqual(parse("[PROMPT]\np0\n[ANSWER]\n" + sample(1)).prompt, "p1")

    def test_a_sample_that_corrects_another_takes_its_place(self) -> None:
        first, second = (f"[PROMPT]\np{n}\n[ANSWER]\n{n}\n[RESPONSE]\nr{n}\n" for n in (1, 2))
        for words in ("Wait, that is wrong.", "Corrected version:", "Korrektur:", "修正版："):
            self.assertEqual(parse(f"{first}\n{words}\n\n{second}").prompt, "p2", words)
        for words in ("Here is one more:", "### Sample 2", ""):
            self.assertEqual(parse(f"{first}\n{words}\n\n{second}").prompt, "p1", words)
        response = "[RESPONSE]\nWait, that is wrong. It is 1.\n<answer>1</answer>\n"
        text = first.replace("[RESPONSE]\nr1\n", response) + second
        self.assertEqual(parse(text).prompt, "p1")

    def test_an_answer_without_head_is_marked_as_the_responses_own(self) -> None:
        parsed = parse("[PROMPT]\np\n[RESPONSE]\nr <answer>42</answer>")
        self.assertEqual((parsed.answer, parsed.found["answer"]), ("42", "tag"))
        self.assertFalse(parsed.complete)

    def test_a_prompt_without_head_is_marked_as_preamble(self) -> None:
        parsed = parse("Add.\n[ANSWER]\n3\n[RESPONSE]\n<answer>3</answer>")
        self.assertEqual((parsed.prompt, parsed.found["prompt"]), ("Add.", "preamble"))

    def test_complete_means_three_filled_sections_under_their_heads(self) -> None:
        self.assertTrue(parse("[PROMPT]\np\n[ANSWER]\na\n[RESPONSE]\nr").complete)
        self.assertFalse(parse("[PROMPT]\n[ANSWER]\na\n[RESPONSE]\nr").complete)

    def test_a_parse_is_a_mapping_of_the_three_sections(self) -> None:
        parsed = parse("[PROMPT]\np\n[ANSWER]\na\n[RESPONSE]\nr")
        self.assertEqual(dict(parsed), {"prompt": "p", "answer": "a", "response": "r"})
        self.assertEqual(parsed, dict(parsed))
        self.assertEqual(parsed.get("nothing", "-"), "-")
        self.assertNotEqual(parsed, Parsed())
        self.assertEqual(pickle.loads(pickle.dumps(parsed)), parsed)


class Choices(unittest.TestCase):
    """Which lines are heads, and which reading of the text wins."""

    def check(self, text: str, *wanted: str) -> None:
        self.assertEqual(tuple(parse(text).values()), wanted, text)

    def test_every_name_of_a_section_is_its_head(self) -> None:
        names = {
            "prompt": "Prompt Question Problem Input Instruction Instructions",
            "answer": "Answer Expected_Answer Solution Target",
            "response": "Response Output Model-Response Model_Output",
        }
        for section, words in names.items():
            for word in words.split():
                heads = {"prompt": "Prompt", "answer": "Answer", "response": "Response"}
                heads[section] = word.replace("_", " ")
                text = "".join(f"## {head}\n{name}\n" for name, head in heads.items())
                self.check(text, "prompt", "answer", "response")

    def test_a_bracket_is_a_head_and_a_link_or_an_index_is_none(self) -> None:
        self.check("[Prompt] p\n[Answer] f(2)\n[Response] r", "p", "f(2)", "r")
        self.check("[Question]\nWhat?", "What?", "", "")
        for line in ("[Answer](url) is a link", "[Response][1] is a source", "[answer] + 1"):
            self.check(f"[PROMPT]\n{line}\n[ANSWER]\n1\n[RESPONSE]\nr", line, "1", "r")

    def test_a_label_needs_its_colon_or_a_capital_and_a_line_of_its_own(self) -> None:
        for line in ("answer", "Answer the call."):
            self.check(f"Prompt: p\n{line}\nAnswer: 2\nResponse: r", f"p\n{line}", "2", "r")
        self.check("Prompt\np\nAnswer\n2\nResponse\nr", "p", "2", "r")
        self.check("## prompt\np\n## answer\n2\n## response\nr", "p", "2", "r")

    def test_a_synonym_beside_the_name_itself_is_content(self) -> None:
        text = "## Prompt\np\n## {}\nn\n## Answer\na\n## Response\nr"
        for name in ("Input", "Solution"):
            self.check(text.format(name), f"p\n## {name}\nn", "a", "r")
        self.check("## Question\nq\n## Solution\ns", "q", "s", "")

    def test_of_several_samples_the_one_with_most_counts_then_the_one_that_ends(self) -> None:
        whole = "[PROMPT]\np1\n[ANSWER]\n1\n[RESPONSE]\n"
        self.check(whole + "r\n[PROMPT]\np2\n[ANSWER]\n", "p1", "1", "r")
        ended = "<answer>1</answer>"
        for rest in ("2\n[RESPONSE]\n<answer>2", "<b>2</b>\n[RESPONSE]\ncut"):
            self.check(f"{whole}{ended}\n[PROMPT]\np2\n[ANSWER]\n{rest}", "p1", "1", ended)
        parsed = parse("[ANSWER]\n1\n[RESPONSE]\nr1\n[ANSWER]\n2\n[RESPONSE]\nr2")
        self.assertEqual((parsed.answer, parsed.response), ("2", "r2"))

    def test_sections_in_tags_are_read_from_the_first_sample_and_its_last_answer(self) -> None:
        first = "<prompt>p</prompt> <answer>2</answer> <answer>3</answer> <response>r</response>"
        second = "<prompt>other</prompt> <answer>1</answer> <response>d</response>"
        for text in (first, first + second):
            self.check(text, "p", "3", "r")
            self.assertEqual((parse(text).strategy, parse(text).complete), ("xml", True))

    def test_it_says_where_each_section_came_from(self) -> None:
        for text, found in (
            ("", "missing missing missing"),
            ("[PROMPT]\np", "head missing missing"),
            ("so <answer>42</answer>", "missing tag text"),
            ("[PROMPT]\np\n[ANSWER]\n<answer>42</answer>", "head head missing"),
            (f"[PROMPT]\np\n[ANSWER]\n{'so ' * 20}<answer>42</answer>", "head head answer"),
            ("Hello.\n[RESPONSE]\nr", "missing missing head"),
            ("Hello.\n[ANSWER]\n1\n[RESPONSE]\nr", "preamble head head"),
        ):
            self.assertEqual(" ".join(parse(text).found.values()), found, text)

    def test_the_last_tag_of_a_response_is_the_answer(self) -> None:
        response = "<answer>1</answer>, no, <answer>2</answer>"
        self.check(f"[PROMPT]\np\n[RESPONSE]\n{response}", "p", "2", response)

    def test_rules_between_all_sections_are_none_of_their_text(self) -> None:
        for rule in ("---", "***", "___", "===", "  -----"):
            self.check(f"[ANSWER]\na\n{rule}\n[RESPONSE]\nr\n{rule}", "", "a", "r")
        for text in ("p\n--", "p\n+++", "p\n-=-"):
            self.check(f"[PROMPT]\n{text}\n[ANSWER]\n{text}\n[RESPONSE]\nr", text, text, "r")
        self.check("[PROMPT]\np\n---", "p\n---", "", "")

    def test_marks_of_the_texts_beginning_and_end_are_none_of_it(self) -> None:
        sample = '{"prompt": "p", "answer": "1", "response": "r"}'
        for text in ("\ufeff" + sample, " \n" + sample, sample + "<|im_end|>\n</s>"):
            self.check(text, "p", "1", "r")
        text = "[PROMPT]\np\n[ANSWER]\n1\n[RESPONSE]\n{}</s>"
        self.check(text.format("<sum> r"), "p", "1", "<sum> r")
        self.check(text.format("<s>r"), "p", "1", "<s>r</s>")

    def test_a_fence_around_all_that_was_cut_off_leaves_the_last_program_whole(self) -> None:
        program = "```python\nx\n```"
        text = f"```markdown\n[PROMPT]\np\n[ANSWER]\n1\n[RESPONSE]\n{program}"
        self.check(text, "p", "1", program)


class Tags(unittest.TestCase):
    extract = staticmethod(ExampleParser.extract_answer_tags)

    def test_none_and_empty_text_have_no_tags(self) -> None:
        self.assertEqual((self.extract(None), self.extract("")), ([], []))

    def test_answer_and_summary_are_the_default_in_any_case(self) -> None:
        text = "<Summary> s </SUMMARY> <ANSWER>a</answer> <final>f</final>"
        self.assertEqual(self.extract(text), ["s", "a"])

    def test_own_tags_replace_the_default(self) -> None:
        text = "<final>f</final><answer>a</answer>"
        self.assertEqual(self.extract(text, ["final"]), ["f"])
        self.assertEqual(self.extract(text, "final"), ["f"])
        self.assertEqual(self.extract(text, []), [])

    def test_a_tags_name_is_text_not_a_pattern(self) -> None:
        self.assertEqual(self.extract("<a>1</a>", [".", "(", ""]), [])
        self.assertEqual(self.extract("<c++>1</c++>", ["c++"]), ["1"])

    def test_each_tag_is_read_on_its_own(self) -> None:
        self.assertEqual(self.extract("<summary>s</summary> <answer>42"), ["s", "42"])

    def test_an_answer_in_a_thinking_part_is_none(self) -> None:
        for thinking in (
            "<think>\n{}\n</think>",
            "{}\n</think>\n",
            "<thinking>{}</thinking>",
            "<think>{}",
        ):
            text = thinking.format("maybe <answer>1</answer>")
            self.assertEqual(self.extract(text), [], text)
            if not text.startswith("<think>maybe"):
                self.assertEqual(self.extract(text + "<answer>2</answer>"), ["2"], text)

    def test_an_end_of_thinking_without_beginning_ends_all_before_it(self) -> None:
        text = "<think>a</think><answer>1</answer>\nstill unsure\n</think>\n<answer>2</answer>"
        self.assertEqual(self.extract(text), ["2"])
        self.assertEqual(self.extract("<answer>0</answer>\n" + text), ["2"])

    def test_a_program_may_speak_of_the_end_of_thinking(self) -> None:
        text = '<answer>print("</think>")</answer>'
        self.assertEqual(self.extract(text), ['print("</think>")'])

    def test_quoted_tags_in_a_program_are_its_text(self) -> None:
        for program in ('print("<answer>")', "x = '</answer>'", 'print("<answer>", "</answer>")'):
            self.assertEqual(self.extract(f"<answer>{program}</answer>"), [program])

    def test_a_fenced_program_may_hold_bare_tags(self) -> None:
        program = "```python\n# <answer>\n# </answer>\n```"
        self.assertEqual(self.extract(f"<answer>\n{program}\n</answer>"), [program])

    def test_a_fenced_program_may_hold_half_a_tag(self) -> None:
        program = "```python\n# ends with </answer>\n```"
        self.assertEqual(self.extract(f"<answer>\n{program}\n</answer>"), [program])

    def test_content_may_end_in_a_backslash(self) -> None:
        self.assertEqual(self.extract("<answer>x \\\\</answer>"), ["x \\\\"])

    def test_how_says_which_reading_was_needed(self) -> None:
        wanted = {
            "<answer>42</answer>": "well_formed",
            "[answer]42[/answer]": "malformed",
            "`answer`42`/answer`": "malformed",
            "<answer>42[/answer]": "malformed",
            "<answer>42<answer/>": "malformed",
            "<answer>42": "unclosed",
            "<answer>42</answe": "unclosed",
            "42</answer>": "orphan_close",
        }
        for text, how in wanted.items():
            (match,) = tag_matches(text)
            self.assertEqual((match.content, match.how), ("42", how), text)

    def test_only_one_well_formed_tag_is_the_whole_format(self) -> None:
        for text, wanted in (
            ("<answer>1</answer>", 1.0),
            ("<answer>1</answer> <answer>2</answer>", 0.4),
            ("<answer>1", 0.4),
            ("1", 0.0),
        ):
            self.assertEqual(format_of(tag_matches(text)), wanted, text)

    def test_where_the_tags_were_escaped_so_was_what_they_hold(self) -> None:
        text = "&lt;answer&gt;a &lt; b &gt; c &amp;&amp; &quot;d&quot; &#39;e&#39;&lt;/answer&gt;"
        self.assertEqual(self.extract(text), ["a < b > c && \"d\" 'e'"])
        self.assertEqual(self.extract("<answer>a &lt; b</answer>"), ["a &lt; b"])

    def test_of_two_ends_without_a_beginning_the_last_counts(self) -> None:
        (match,) = tag_matches("1</answer> so 2</answer>")
        self.assertEqual((match.content, match.how), ("so 2", "orphan_close"))
        (match,) = tag_matches("x <answer 42</answer>")
        self.assertEqual((match.content, match.how), ("x <answer 42", "orphan_close"))

    def test_only_what_a_cut_tag_began_is_cut(self) -> None:
        for text, content in (("x <b", "x <b"), ("x </ans", "x"), ("</ans", ""), ("ab", "ab")):
            (match,) = tag_matches("<answer>" + text)
            self.assertEqual((match.content, match.how), (content, "unclosed"), text)

    def test_a_tag_beside_more_content_is_not_peeled(self) -> None:
        for inner in ("<answer>1</answer> x", "x <answer>1</answer>"):
            self.assertEqual(self.extract(f"<answer>{inner}</answer>"), [inner])
        self.assertEqual(self.extract("<answer> <answer>1</answer> </answer>"), ["1"])

    def test_a_text_that_speaks_of_thoughts_has_no_thinking_part(self) -> None:
        for text in ("I thought of thinking.", "a", ""):
            self.assertEqual(split_thinking(text), (text, ""))

    def test_a_well_formed_pair_beats_worse_readings(self) -> None:
        self.assertEqual(self.extract("[answer]1[/answer] <answer>2</answer> <answer>3"), ["2"])

    def test_a_section_head_or_a_mention_is_no_tag(self) -> None:
        for text in ("[ANSWER]\n42", "in `<answer>` tags", 'the "<answer>" tag', "x <answer 42"):
            self.assertEqual(self.extract(text), [], text)

    def test_tags_side_by_side_in_a_tag_are_not_peeled(self) -> None:
        inner = "<answer>1</answer> <answer>2</answer>"
        self.assertEqual(self.extract(f"<answer>{inner}</answer>"), [inner])


class Fences(unittest.TestCase):
    def test_a_block_has_language_and_code(self) -> None:
        self.assertEqual(
            code_blocks("x\n```Python title=a\nprint(1)\n\n```\n~~~\ny\n~~~"),
            [CodeBlock("python", "print(1)\n"), CodeBlock("", "y")],
        )

    def test_what_layout_fences_comes_back(self) -> None:
        for code in ("print(1)", "a\n\n  b", "s = '''\n```\nx\n```\n'''"):
            self.assertEqual(
                code_blocks(layout.fenced(code, "python")), [CodeBlock("python", code)]
            )

    def test_fences_stand_next_to_tags_and_code(self) -> None:
        for text in (
            "<answer>```js\nf()\n```</answer>",
            "Here: ```js\nf()\n```",
            "```js\nf()```",
            "```js\nf()```</answer>",
            "``` {.js}\nf()\n```",
            "```js f()```",
            "```js\r\nf()\r\n```\r\n",
        ):
            self.assertEqual(code_blocks(text), [CodeBlock("js", "f()")], text)

    def test_an_indented_block_loses_the_indentation_of_its_fence(self) -> None:
        text = "1. So:\n   ```python\n   if x:\n       y()\n   ```"
        self.assertEqual(code_blocks(text), [CodeBlock("python", "if x:\n    y()")])

    def test_a_fence_in_a_docstring_or_comment_is_code(self) -> None:
        for code in (
            'def f(x):\n    """Use:\n\n    ```python\n    f(1)\n    ```\n    """\n    return x',
            "def f(x):\n    '''\n    ```\n    f(1)\n    ```\n    '''\n    return x",
            "/**\n * ```\n * f(1)\n * ```\n */\nconst f = (x) => x",
            "# ```\n# f(1)\n# ```\nf = abs\n// ```",
        ):
            self.assertEqual(code_blocks(f"```x\n{code}\n```"), [CodeBlock("x", code)])
            indented = "\n".join(f"  {line}" for line in ["```x", *code.split("\n"), "```"])
            self.assertEqual(code_blocks(indented), [CodeBlock("x", code)], indented)

    def test_a_missing_fence_is_told(self) -> None:
        self.assertEqual(code_blocks("```python\nx"), [CodeBlock("python", "x", closed=False)])
        self.assertEqual(code_blocks("x = 1\n```"), [CodeBlock("", "x = 1", closed=False)])
        self.assertEqual(
            code_blocks("```json\n{}\n```python\nx\n```"),
            [CodeBlock("json", "{}", closed=False), CodeBlock("python", "x")],
        )

    def test_a_stray_fence_after_a_block_is_nothing(self) -> None:
        self.assertEqual(code_blocks("```js\nx\n```\n```"), [CodeBlock("js", "x")])

    def test_prose_about_backticks_is_no_fence(self) -> None:
        self.assertEqual(code_blocks("Put it in ```\nand ``` `x` and ~~~gone~~~"), [])
        self.assertEqual(code_blocks("it is ~~~gone~~~\nx"), [])
        self.assertEqual(code_blocks(None), [])

    def test_a_block_knows_its_place(self) -> None:
        text = "a <b>```js\nx\n```</b> c"
        (block,) = code_blocks(text)
        self.assertEqual(text[block.start : block.end], "```js\nx\n```")
        for fenced in ("```js f()```", "```js\nf()```"):
            text = f"some lines\nbefore\n<b>{fenced}</b> c"
            (block,) = code_blocks(text)
            self.assertEqual(text[block.start : block.end], fenced)

    def test_a_block_of_one_line_may_begin_with_its_language(self) -> None:
        for language in ("python", "python3", "py", "javascript", "js", "json", "text"):
            self.assertEqual(code_blocks(f"```{language} x```"), [CodeBlock(language, "x")])
        for code in ("go x", "js", "x"):
            self.assertEqual(code_blocks(f"```{code}```"), [CodeBlock("", code)])


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_a_file_is_parsed_as_utf_8(self) -> None:
        path = self.write("a.md", "\ufeff[PROMPT]\r\nπ?\r\n[ANSWER]\r\n3\r\n".encode())
        self.assertEqual(ExampleParser.parse_file(str(path)).prompt, "π?")

    def test_a_file_that_is_absent_or_not_text_is_an_error(self) -> None:
        with self.assertRaises(FileNotFoundError):
            ExampleParser.parse_file(self.folder / "absent.md")
        with self.assertRaisesRegex(UsageError, "latin.md is not UTF-8"):
            ExampleParser.parse_file(self.write("latin.md", b"[PROMPT]\n\xe9"))

    def test_a_folder_gives_its_examples_by_stem_in_order(self) -> None:
        for name in ("b.md", "a.md", "README.md", "c.txt"):
            self.write(name, f"[PROMPT]\n{name}".encode())
        examples = ExampleParser.get_all_examples(self.folder)
        self.assertEqual(
            [(k, v.prompt) for k, v in examples.items()], [("a", "a.md"), ("b", "b.md")]
        )

    def test_a_missing_folder_is_a_clear_error(self) -> None:
        with self.assertRaisesRegex(UsageError, "no folder of examples"):
            ExampleParser.get_all_examples(self.folder / "absent")


if __name__ == "__main__":
    unittest.main()

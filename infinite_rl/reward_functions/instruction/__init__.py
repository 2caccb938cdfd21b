"""Whether a text follows its instructions: the 25 verifiable ones of IFEval.

After Zhou et al. 2023, "Instruction-Following Evaluation for Large Language Models"
(arXiv 2311.07911), and the definitions of its reference implementation (google-research,
`instruction_following_eval`). No chance, no download, and time in proportion to the text.

    reward.py     the share of a row's instructions that a completion follows
    reference.py  a row's instructions, read from JSON
    checks.py     the table of instructions: what checks each, and its arguments
    arguments.py  what an argument may be
    compare.py    "less than" and "at least"

    case.py       capital and small letters
    content.py    placeholders, a postscript, commas
    edges.py      how a text begins and ends, and two texts in one
    form.py       bullets, highlights, sections, a title, JSON
    keywords.py   words and letters, and how often
    length.py     words, sentences, paragraphs
    language.py   which language a text is in
    words.py      how a text is cut into words and sentences

A row's answer is JSON, in one of two forms. Names with the value null count as absent:

    [{"instruction_id": "startend:end_checker", "kwargs": {"end_phrase": "Peace!"}}, ...]
    {"instruction_id_list": ["punctuation:no_comma", ...], "kwargs": [{}, ...]}

All arguments must be given: nothing is drawn at random. Keywords are text, never patterns.

Where IFEval leaves a choice, or its code and its instruction part, this is what holds here:

- Words are runs of letters, digits and underscores. Vowel signs and accents belong to their word.
- Sentences end at `.`, `?`, `!` (and at those of other writings) before white space, whatever
  case comes next, but not after an abbreviation, an initial or the number of a list item
  (`words.py`). A line break ends none. IFEval asks the model Punkt of NLTK, which also takes the
  "1." of a list for a sentence.
- A language is the likeliest of 54, by the model of `py3langid`, on the first 10,000 characters.
  Capital letters are made small first. IFEval asks `langdetect`, whose answers are drawn at random.
  A text without a letter is in no language; one of fewer than 60 letters, of which no language is
  as likely as not, is in all that are plausible: a list of names is not judged. (IFEval counts as
  followed whatever `langdetect` raises on.)
- A comma is a comma in any writing: "，" and "،" too.
- A placeholder has content: `[]` and `[ ]` are none.
- A bullet is a line that begins with `*` or `-` and has content. A rule (`---`, `* * *`), bold
  text and *emphasis* that begin a line are none; IFEval counts all but the bold.
- A highlighted section is *one* run of text between asterisks, or **two** or ***three***, counted
  once; "2 * 3 * 4" has none. IFEval counts some twice.
- A postscript mark stands on its own: "P.P.S." is no "P.S.", nor is "U.P.S.".
- Of the constrained responses there must be one: who says yes and no has not answered.
- The first word of a paragraph may be quoted, and any punctuation may follow. Blank paragraphs are
  not counted.
- Of words in capitals, "NASA's" and "I'm" are one each, and so is "DON'T", which IFEval counts
  twice.
- JSON is that of RFC 8259: NaN is no value.
- The letter of a frequency may be any character, as "#" in IFEval's own rows.
- Characters that take no room (zero width, soft hyphens) are removed before anything is judged.
"""

from __future__ import annotations

from .checks import CHECKS
from .reference import Instruction, read_instructions
from .reward import InstructionRewardFunction, follows

__all__ = ["CHECKS", "Instruction", "InstructionRewardFunction", "follows", "read_instructions"]

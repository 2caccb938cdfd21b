"""Which language a text is in, by a model that comes with its package."""

from __future__ import annotations

from functools import cache
from typing import Any

# Those that the detector of the reference implementation, langdetect 1.0.9, tells apart; its two
# kinds of Chinese are one here.
LANGUAGES = tuple(
    str.split(
        "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml"
        " mr ne nl no pa pl pt ro ru sk sl so sq sv sw ta te th tl tr uk ur vi zh"
    )
)
_MOST = 10_000  # characters that tell; langdetect reads as many
_FEW, _UNSURE = 20, 0.25  # letters, and the probability of the likeliest language


def is_in(text: str, language: str) -> bool:
    """Whether a text is in a language, by its ISO 639-1 code: one of `LANGUAGES`.

    A word or two in plain letters, of which no language is likely, may be English. From about five
    words on the model knows English from other languages in 99 of 100 texts.
    """
    text = text[:_MOST]
    letters = sum(map(str.isalpha, text))
    if not letters:
        return False
    likeliest, probability = identifier().classify(text)
    unsure = letters < _FEW and probability < _UNSURE and text.isascii()
    return bool(likeliest == language or (unsure and language == "en"))


@cache
def identifier() -> Any:
    """The model, loaded once; any thread may ask it."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    model.set_languages(LANGUAGES)
    return model

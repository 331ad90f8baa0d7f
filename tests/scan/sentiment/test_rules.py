"""Each of VADER's rules on its own: it changes the score of the text, as in the library."""

from __future__ import annotations

import polars as pl
import pytest

from cauce.scan.sentiment import vader_units
from tests.scan.sentiment.library import units

# Each text with one to which the rule does not apply: their scores must differ.
ACTING = {
    "booster": ("it was very good", "it was a good"),
    "dampener": ("it was slightly good", "it was a good"),
    "booster on a negative word": ("it was very bad", "it was a bad"),
    "booster two words away": ("very it good", "a it good"),
    "booster three words away": ("very it a good", "a it a good"),
    "booster in capitals": ("it was VERY good", "it was very good"),
    "booster in capitals on a negative word": ("it was VERY bad", "it was very bad"),
    "capitals among small letters": ("it was GOOD", "it was good"),
    "negation": ("it is not good", "it is a good"),
    "negation two words away": ("not it good", "a it good"),
    "negation three words away": ("not it a good", "a it a good"),
    "contraction of the list": ("it isn't good", "it is good"),
    "contraction without apostrophe": ("it isnt good", "it is good"),
    "contraction of no list": ("it xn'ty good", "it xnty good"),
    "contraction in capitals": ("it XN'T good", "it XNT good"),
    "never so": ("never so good", "never too good"),
    "never this": ("never this good", "never that good"),
    "never so, with a word between": ("never so a good", "never to a good"),
    "so before any third word": ("was it so good", "it so good"),
    "without doubt": ("without doubt good", "without a good"),
    "without doubt, with a word between": ("without doubt a good", "without that a good"),
    "least": ("the least good", "the last good"),
    "least as first word": ("least good", "last good"),
    "at least": ("at least good", "the least good"),
    "very least": ("very least good", "the least good"),
    "but": ("it is good but bad", "it is good and bad"),
    "but with equal valences": ("good good good but good good", "good good good and good good"),
    "no before a lexicon word": ("there is no fun", "there is a fun"),
    "no two words before": ("no such fun", "a such fun"),
    "no with or": ("no this or fun", "no this and fun"),
    "no with nor": ("no this nor fun", "no this and fun"),
    "no at the end": ("I say no", "I say it"),
    "kind of": ("kind of a good", "kind off a good"),
    "kind of as bigram booster": ("it is kind of good", "it is mind of good"),
    "sort of": ("it is sort of good", "it is a of good"),
    "just enough": ("just enough of good", "just a of good"),
    "special case of two words": ("this is the bomb", "this is a bomb"),
    "special case of three words": ("a book to die for, good", "a book to die of, good"),
    "special case that begins before": ("a yeah right good", "a yeah write good"),
    "special case of three words that follows": ("it is a kiss of death", "it is a kiss of birth"),
    "special case that follows": ("we are at bad ass", "we are at bad as"),
    "special case of zero": ("was at a bus stop", "was at a car stop"),
    "one exclamation mark": ("good!", "good"),
    "fourth exclamation mark": ("good!!!!", "good!!!"),
    "second question mark": ("good??", "good"),
    "fourth question mark": ("good????", "good???"),
    "marks on a negative sum": ("bad!", "bad"),
    "stripped punctuation": ("'(good),.'", "'(go),.'"),
    "emoticon": ("it :) is", "it :: is"),
    "emoji": ("it 😁 is", "it is"),
    "emoji after a letter": ("so😁", "so"),
    "text after an emoji": ("😁good", "😁 good"),
    "mark within an emoji's words": ("good 🆙", "good UP"),
    "Kelvin sign as k": ("\u212aill", "ill-"),
    "white space outside ASCII": ("very\u3000good", "veryxgood"),
    "capitals outside ASCII": ("É GOOD x", "É GOOD"),
}

# Near misses of a rule, and cases that only the library defines.
STILL = {
    "empty": "",
    "white space only": " \t\u3000 ",
    "second but": "good but good but bad",
    "all in capitals": "IT WAS GOOD",
    "fifth exclamation mark": "good!!!!!",
    "one question mark": "good?",
    "marks without sentiment": "what?!!",
    "two letters keep their punctuation": "no! ok.",
    "typographic quotes are not stripped": "“good” it’s isn’t good",
    "accents": "café naïve résumé good",
    "title letter is no capital": "ǅGOOD it GOOD",
    "dotted capital I": "LİKE it",
    "long s": "ſad",
    "Kelvin sign beside an emoji": "\u212aill 😁 very good",
    "NUL is no padding": "good\0 bad",
    "zero-width space is no space": "very\u200bgood",
    "a word longer than a block": "x" * 100 + " good",
    "punctuation longer than a block": "!" * 100 + "good but " + "?" * 80 + "bad",
    "a character across the end of a block": "x" * 40 + " " + "y" * 21 + "é\xa0good " + "é" * 60,
    "white space across the end of a block": "good" + " " * 59 + "\u3000very good",
    "nothing at the end of a text": "I do",
}


@pytest.mark.parametrize("rule", ACTING)
def test_rule_acts_as_in_the_library(rule: str) -> None:
    with_it, without = ACTING[rule]
    assert vader_units(pl.Series([with_it, without])).to_list() == [units(with_it), units(without)]
    assert units(with_it) != units(without)


@pytest.mark.parametrize("case", STILL)
def test_case_scores_as_in_the_library(case: str) -> None:
    assert vader_units(pl.Series([STILL[case]])).to_list() == [units(STILL[case])]


def test_a_contraction_does_not_reach_into_the_next_text() -> None:
    texts = ["it don", "'t good", "a don good", "'t"]
    assert vader_units(pl.Series(texts)).to_list() == [units(text) for text in texts]

"""What the two ways of writing are made of: opinions (reviews) and plots (descriptions, overviews)."""

from __future__ import annotations

from dataclasses import dataclass

from cauce.datasets.synth.draw import cumulative
from cauce.datasets.synth.words import ADJECTIVES, GIVEN, NOUNS, PEOPLE, PLACES, Words


@dataclass(frozen=True)
class Style:
    """Patterns and words of one way of writing; predicates go by mood: neutral, positive, negative."""

    number: int
    variety: int
    openers: tuple[str, ...]
    subjects: tuple[str, ...]
    predicates: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    shouts: tuple[str, ...]
    words: Words


_ENDS = (
    (". ", 780), (".", 60), ("! ", 45), ("!! ", 8), ("!!! ", 10), ("? ", 12), ("... ", 25), (".\n", 14),
    (".\n\n", 12), (" — or so I thought. ", 4), (" :) ", 4), (" :( ", 2), (" 😀 ", 1), (" ❤️ ", 1),
    (" 👍 ", 1),
    (" 😡 ", 1), (" &quot;sic&quot;. ", 4), (" &amp; more. ", 4), (" (see p. 212). ", 6),
    (' ("as they say"). ', 6),
)  # fmt: skip
ENDS = tuple(end for end, _ in _ENDS)
END_WEIGHTS = cumulative([weight for _, weight in _ENDS])

REVIEW = Style(
    number=1,
    variety=1500,
    openers=(
        "Honestly, ", "In my opinion, ", "After the first chapter, ", "To be fair, ", "As a teacher, ",
        "However, ", "I must say that ", "My sister says ", "I think ", "I believe that ",
        "On the other hand, ", "For me, ", "By the way, ", "Like many readers, I found that ", "At times ",
        "Somewhere past page 100, ", "But ", "And ", "Although I bought it for a class, ",
        "Having read it twice — once in school — I feel ", "Sadly, ", "Luckily ",
        "Compared with the earlier volumes, ", "If you ask me, ", "It's true that ", "Yes, ", "Well, ",
        "Frankly, ",
    ),
    subjects=(
        "the {part}", "this {book}", "the {part} of this {book}", "every {part}", "the author's {part}",
        "{name}", "the {part} about the {noun}", "it", "my copy", "the {adj} {part}", "the {book} “{noun}”",
        "the {noun}, like the {noun},", "what {name} does with the {part}",
        "the {part}, together with the {part},",
    ),
    predicates=(
        (
            " covers {number} years in {place}", " takes place in {place}",
            " is about a {person} and a {noun}", " runs to {number} pages", " was written in {place}",
            " follows {name} from {place} to {place}", " describes the {noun}, the {noun}, and the {noun}",
            " starts with a {noun} and ends with a {noun}",
            " was on the shelf next to the {noun} for {number} days",
            " deals with the {noun} in chapter {number}", " came in the mail with a {adj} cover",
            " is set in the {adj} {noun} of {place}",
        ),
        (
            " is {very} {good}", " was {very} {good} and {good}", " kept me {good_verb}",
            " is not {bad} at all", " makes you {love} the {noun}", " is {very} {good}, and I {love} it",
            " never gets {bad}", " is a {good} {book} that {person}s will {love}",
            " was {bad} at first, but the {part} is {very} {good}", " left me {happy}",
            " deserves five stars", " is {good} enough to read twice", " has a {good} {part}",
            " is worth every penny", " won me over with its {good} {part}",
        ),
        (
            " is {very} {bad}", " was {very} {bad} and {bad}", " is not {good}", " isn't {good} at all",
            " makes me {hate} the {noun}", " was {good} at first, but the {part} is {very} {bad}",
            " wasn't {very} {good}", " is a {bad} {book} that {person}s will {hate}", " left me {sad}",
            " is a waste of money", " lacks a {good} {part}", " could have been {good}, but it fails",
            " was so {bad} that I could not finish", " has a {bad} {part}, I'm afraid",
        ),
    ),
    shouts=(
        "DO NOT MISS THIS ONE", "I LOVED IT", "DON'T BUY THIS", "What a GREAT read", "WHAT A WASTE OF TIME",
        "Highly recommended, 5 stars", "Two thumbs up", "NOT GOOD", "A MUST READ", "Boring, boring, boring",
        "Enough said", 'As grandma used to say, "a good book is a friend"', '"Never again" is all I can say',
        "¡Qué maravilla!",
    ),
    words={
        "part": (
            "plot", "ending", "story", "writing", "prose", "first chapter", "dialogue", "pace", "style",
            "research", "cast of characters", "setting", "introduction", "appendix", "translation", "index",
            "argument", "tone", "artwork", "opening scene", "last third", "premise", "hero", "villain",
            "narrator", "humor", "level of detail",
        ),
        "book": ("book", "novel", "edition", "volume", "guide", "memoir", "paperback", "reprint", "textbook"),
        "very": (
            "very", "really", "extremely", "quite", "so", "absolutely", "somewhat", "just", "truly", "rather",
            "a bit", "incredibly", "fairly", "utterly", "VERY", "almost", "simply", "surprisingly",
        ),
        "good": (
            "good", "great", "wonderful", "excellent", "beautiful", "brilliant", "funny", "charming",
            "clever", "superb", "fascinating", "moving", "fun", "inspiring", "delightful", "amazing",
            "strong", "enjoyable", "useful", "GREAT", "thoughtful", "honest", "entertaining", "perfect",
            "helpful", "interesting", "original", "fresh", "warm",
        ),
        "bad": (
            "bad", "boring", "terrible", "awful", "dull", "poor", "disappointing", "predictable", "confusing",
            "weak", "horrible", "annoying", "slow", "ridiculous", "tedious", "shallow", "sloppy", "pathetic",
            "stupid", "useless", "depressing", "painful", "dreadful", "flat", "repetitive", "pretentious",
            "BORING", "ugly", "lame",
        ),
        "good_verb": ("laughing", "smiling", "entertained", "happy for days", "up all night", "inspired"),
        "love": ("love", "enjoy", "admire", "treasure", "recommend", "adore", "like", "appreciate"),
        "hate": ("hate", "dislike", "regret", "dread", "resent", "avoid"),
        "happy": ("happy", "hopeful", "satisfied", "thrilled", "impressed", "grateful", "in tears of joy"),
        "sad": ("sad", "angry", "disappointed", "cold", "bored", "frustrated", "confused", "tired"),
        "number": ("two", "30", "12", "400", "seven", "250", "a hundred", "18", "1,200", "55", "90"),
        "noun": NOUNS, "adj": ADJECTIVES, "place": PLACES, "person": PEOPLE, "name": GIVEN,
    },
)  # fmt: skip

STORY = Style(
    number=2,
    variety=1500,
    openers=(
        "One summer, ", "When the war ends, ", "Years later, ", "In the 1930s, ", "Meanwhile, ",
        "Far from home, ", "With the help of a stranger, ", "Based on true events, ", "After the funeral, ",
        "Soon ", "Set in a quiet town — the last of its kind — ", "In this sequel, ",
        "On the eve of a wedding, ", "Now ",
    ),
    subjects=(
        "a {adj} {person}", "{name}", "{name}, a {adj} {person},", "a {person} from {place}",
        "the {adj} {noun}", "one of two {person}s", "{name}, with {name},", "the {person} {name}",
        "a {person}'s {noun}", "a group of {person}s",
    ),
    predicates=(
        (
            " travels from {place} to {place}", " looks for a {noun} in {place}",
            " returns to the {noun} of {place}", " meets a {person}, a {person} and a {person}",
            " moves into the {adj} {noun} next door", " takes a job as a {person}",
            " is asked to carry a {noun} across the {noun}", " keeps a {adj} {noun}",
            " works on the {noun} by day and the {noun} by night", " explains the {noun} and the {noun}",
        ),
        (
            " falls in love with a {good} {person}", " finds {hope} in {place}",
            " wins the {noun} and saves the {noun}", " discovers a {good} {noun}",
            " celebrates the {hope} of a {good} {person}", " makes a {good} friend",
            " helps a {person} and earns the trust of {place}", " lives a {good} life with the {person}",
        ),
        (
            " is accused of {crime} in {place}", " must escape a {bad} {person}",
            " loses the {noun} in a {bad} {crime}", " is haunted by {crime} and {crime}",
            " hunts a {bad} {person} after a {crime}", " faces a {bad} {noun}",
            " is betrayed by a {bad} {person}", " dies in the {crime} of {place}", " fears a {bad} {person}",
        ),
    ),
    shouts=(
        "A story of love and loss", "Nothing will ever be the same", 'They call it "the long night"',
        "Time is running out", "Winner of a national prize", "Illustrated throughout",
        "With maps, tables and notes", "Who can be trusted",
    ),
    words={
        "good": ("beautiful", "brave", "kind", "generous", "charming", "brilliant", "loyal", "wise"),
        "bad": ("cruel", "ruthless", "violent", "corrupt", "evil", "jealous", "bitter", "mad", "deadly"),
        "crime": ("murder", "theft", "fraud", "war", "revenge", "betrayal", "guilt", "violence", "death"),
        "hope": ("hope", "peace", "freedom", "happiness", "friendship", "success", "joy", "courage", "love"),
        "noun": NOUNS, "adj": ADJECTIVES, "place": PLACES, "person": PEOPLE, "name": GIVEN,
    },
)  # fmt: skip

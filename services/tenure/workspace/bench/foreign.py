"""Questions that no repository answers: everyday sentences, and words that are none."""

import random

SENTENCES = (
    "How long should I boil an egg so that the yolk stays soft?",
    "Best time of the year to plant tomatoes on a balcony",
    "What is the train connection from Vienna to Trieste?",
    "My bicycle chain keeps slipping on the smallest sprocket",
    "Recipe for lentil soup with carrots and cumin",
    "Who won the women's marathon at the last Olympics?",
    "How do I remove red wine stains from a white carpet?",
    "The cat refuses to drink water from its bowl",
    "Symptoms of vitamin D deficiency in winter",
    "Which mushrooms in this forest are safe to eat?",
    "Renting a cabin near a lake for two weeks in August",
    "Explain the rules of cricket to a beginner",
    "What causes the northern lights?",
    "How much does a piano tuning cost?",
    "Learning to knit socks with five needles",
    "The history of the Ottoman empire in the sixteenth century",
    "Stretching exercises for lower back pain",
    "A good present for a grandmother's ninetieth birthday",
    "Why do leaves turn red in autumn?",
    "Paint colours for a small bathroom without windows",
    "How to train a puppy not to bite",
    "Mortgage interest rates compared with rent prices",
    "What does the moon look like during an eclipse?",
    "Bread dough does not rise in a cold kitchen",
    "The largest volcano in South America",
)
_SYLLABLES = (
    "ba",
    "cho",
    "dru",
    "fen",
    "gli",
    "hok",
    "ju",
    "kra",
    "lor",
    "mip",
    "nuv",
    "osk",
    "pel",
    "qua",
    "rin",
    "sto",
)
_WORDS = ("anchovy", "bassoon", "cathedral", "daffodil", "elbow", "fjord", "giraffe", "hammock", "iguana", "jasmine")


def foreign_questions(count: int, seed: int) -> list[str]:
    """So many questions of every kind, the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311  a repeatable draw is wanted, not a secret one
    made = []
    for number in range(count):
        kind = number % 3
        if kind == 0:
            made.append(SENTENCES[(number // 3) % len(SENTENCES)])
        elif kind == 1:
            made.append(" ".join("".join(chance.choices(_SYLLABLES, k=3)) for _ in range(4)))
        else:
            made.append(" ".join(chance.sample(_WORDS, 4)))
    return made

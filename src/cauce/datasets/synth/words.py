"""Word pools, and phrases made of them; the words are ordinary, the names are invented."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter

from cauce.datasets.synth.draw import Draw

Words = Mapping[str, Sequence[str]]
_ARTICLE = re.compile(r"\b([Aa]) ([aeiouAEIOU])")


def phrases(draw: Draw, patterns: Sequence[str], words: Words, count: int) -> list[str]:
    """`count` phrases, each a pattern drawn at random with every {slot} filled from its words."""
    parsed = [
        [(literal, words[slot] if slot else ()) for literal, slot, _, _ in Formatter().parse(pattern)]
        for pattern in patterns
    ]
    slots = max(len(parts) for parts in parsed)
    which = draw.below(len(parsed), count).tolist()
    fills = draw.below(1 << 30, count * slots).tolist()
    made = []
    for number, pattern in enumerate(which):
        at = number * slots
        text = ""
        for offset, (literal, options) in enumerate(parsed[pattern]):
            text += literal + options[fills[at + offset] % len(options)] if options else literal
        made.append(_ARTICLE.sub(r"\1n \2", text))
    return made


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GIVEN = _split(
    """Adela Alban Alma Amos Anselm Ansel Aurelia Bastian Beatrix Benita Bruno Calla Casimir Celeste Clement
    Corin Dagny Delia Dorian Edda Edmund Elio Eloise Emeric Enid Esteban Fabian Fern Fidel Flora Gaspar
    Gemma Gideon Greta Hamish Hester Hugo Ida Imre Ines Isolde Ivo Jana Joaquin Jonas Josefa Judit Kasimir
    Katla Lazlo Leona Leopold Lidia Linus Lorna Lucian Mabel Magnus Maren Marisol Matthias Mercy Milan
    Mina Nadia Nestor Noemi Norbert Octavia Odile Olaf Orla Oskar Paloma Pascal Petra Phoebe Quentin
    Ramona Regina Renata Roland Rosalind Rufus Sabine Selma Silas Sofía Stellan Sylvie Tadeo Tamsin Theo
    Thora Tobias Ulla Ursula Valentin Vera Viggo Wanda Wendel Xenia Yolanda Yves Zelda Zoé Renée José
    Björn"""
)
FAMILY = _split(
    """Abernay Aldwick Ambrel Arkwell Ashcombe Balfrey Barlow Bellweather Birkin Blaxland Bonnard Brackley
    Bramwith Brisco Calloway Cardew Carrick Castellan Chalmont Clavering Cobham Corwin Crane Dallow
    Danvers Dashwick Delacourt Dempster Dorsey Drummel Eastlake Eckhart Elmsley Fairweather Farrow Fenwick
    Ferrand Finchley Fontaine Galbraith Garrow Gilchrist Glanville Goodacre Grantham Haddon Halloran
    Harcross Hartnell Hawksby Hazelrigg Holloway Huxtable Ibarra Ingram Jessop Jorgensen Kearsley Kendrick
    Kestrel Kirkbride Lambourne Larkspur Latimer Leclair Lindqvist Lockhart Lovelace Mallory Marchetti
    Marwood Mayhew Medina Merriman Montrose Naismith Nettleton Northcote Oakley Ormond Osterman Palgrave
    Pemberly Penrose Pickering Quarles Quintana Radcliff Ravenel Redfern Rennick Rosier Rutherby Salvatore
    Sandoval Seabrook Selwyn Shackleby Sinclair Stanhope Sterling Tarrant Thackeray Thornbury Tremayne
    Underhill Valcourt Vantongeren Verity Wainscott Wakefield Wetherby Whitlock Winslow Yardley Zavala
    O'Hanlon O'Marra D'Arcey D'Amboise Núñez Müllner Lefèvre"""
)
PLACES = _split(
    """Alderby Ambleford Barrowmere Bexley Brindle Cairnhold Calderon Carvossa Dunmarrow Eastfall Elmsworth
    Farrowdale Glenmoor Greywater Halvorsund Harrowgate Ironbridge Juniper Kelmscot Kingsferry Lanternhill
    Larkhaven Marrowstone Millbrook Montalba Northmoor Oldcastle Ostrava Penhallow Quillan Ravensholt
    Redmarsh Saltcoats Sandoval Silverlake Stonehaven Tarragon Thornfield Umberland Valdoria Vermillion
    Westering Whitcombe Wyndham Yarrow Zephyria"""
)
NOUNS = _split(
    """anchor angel apple archive arrow ash autumn bell bird border bread bridge candle castle cat chapel
    child circle city clock cloud coast compass cottage crow crown daughter dawn desert door dragon dream
    dust eagle echo ember empire engine eye falcon farm father feather field fire fish flame flood flower
    forest fox frost garden gate ghost giant glass gold grave guest hand harbor harvest heart heir hill
    horse hour house hunter ice iron island journey judge key king kingdom kitchen knife ladder lake
    lantern law letter library light lily lion machine map market mask mercy mill mirror moon morning
    mother mountain music name night north oath ocean orchard owl paper path pearl piano pilot planet poet
    prison prophet queen rain raven reason river road rose sailor salt sand saint school sea season secret
    shadow ship shore silence silver sister sky smoke snow soldier song sparrow spring star stone storm
    story stranger street summer sun sword table teacher temple thief thorn thread tide tower town train
    tree trial valley village violin voice wall war water weaver well whale wheel widow wind window winter
    witness wolf wood world year"""
)
ADJECTIVES = _split(
    """ancient bitter black blue borrowed bright broken burning careful cold common crooked crystal dark deep
    distant early eastern empty endless eternal fading fallen false far final first forgotten forbidden
    frozen gentle golden gray green hidden hollow honest hungry idle last little lonely long lost lucky
    midnight modern narrow new old open painted pale patient perfect plain practical quiet red restless
    rising royal sacred scarlet second secret seventh shallow silent silver simple single small soft
    southern stolen strange sudden sunken tall tender third torn true twisted unseen vanishing velvet
    wandering warm western white wicked wild winter wooden young"""
)
SUBJECTS = (
    "Computer Networks", "Modern Gardening", "Medieval Trade", "Family Law", "Home Cooking", "Small Business",
    "Sacred Music", "Organic Chemistry", "Sea Kayaking", "Watercolor", "Public Speaking", "Islamic Art",
    "Child Development", "Railway History", "Applied Statistics", "Bread Baking", "Project Management",
    "Classical Guitar", "Military Strategy", "Moral Philosophy", "Marine Biology", "Travel Writing",
    "Folk Medicine", "Urban Planning", "Quilting", "Astronomy", "Database Design", "Spanish Grammar",
    "Horse Training", "Chess",
)  # fmt: skip
PEOPLE = _split(
    """accountant actress architect artist baker banker barber biologist boxer captain carpenter chef clerk
    cowboy dancer detective doctor engineer farmer fisherman gambler gardener general girl journalist
    judge lawyer librarian mechanic merchant musician nurse orphan painter pilot policeman priest princess
    professor sailor salesman schoolteacher scientist sculptor sheriff singer smuggler soldier student
    surgeon tailor teenager waitress widow writer"""
)

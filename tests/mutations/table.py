"""All mutations, by the attack that they concern."""

from __future__ import annotations

from tests.mutations.crashes import ATTACKS as CRASHES
from tests.mutations.mutation import Attack, Mutation

ATTACKS: tuple[Attack, ...] = (*CRASHES,)
MUTATIONS: tuple[Mutation, ...] = tuple(mutation for attack in ATTACKS for mutation in attack.mutations)

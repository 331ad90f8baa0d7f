"""All mutations, by the attack that they concern."""

from __future__ import annotations

from tests.mutations.local_users import ATTACKS as BY_LOCAL_USERS
from tests.mutations.mutation import Attack, Mutation
from tests.mutations.requests import ATTACKS as ON_GATEWAYS
from tests.mutations.storage import ATTACKS as ON_STORAGE
from tests.mutations.workers import ATTACKS as ON_WORKERS

ATTACKS: tuple[Attack, ...] = (*ON_WORKERS, *ON_GATEWAYS, *BY_LOCAL_USERS, *ON_STORAGE)
MUTATIONS: tuple[Mutation, ...] = tuple(mutation for attack in ATTACKS for mutation in attack.mutations)

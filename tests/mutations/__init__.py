"""Proof that the tests of every security fix can fail: each mutation restores an old behaviour, and named tests must
detect it. `./test mutations` runs them."""

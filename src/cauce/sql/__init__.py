"""SQL text to relations of the plan language. Does no I/O.

The package is callable, because it has the name of the public function `cauce.sql`: importing one of its modules
replaces the attribute of `cauce`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cauce.runner.answers import Answers


class _CallablePackage(ModuleType):
    def __call__(self, text: str, *arguments: Any, **options: Any) -> Answers:
        """As the function `cauce.sql`."""
        from cauce import answer_sql

        return answer_sql(text, *arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage

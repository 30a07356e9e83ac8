"""How many examples of a property hypothesis tries: few in `make test`, many in `make test-long`, by one profile.

No deadline, and no complaint about slow draws: a slow machine makes tests slow, and not red. In CI the examples are the
same in every run, so that what is red there is red here, too; the long run draws others every night.
"""

import os

from hypothesis import HealthCheck, settings

FEW, MANY = 20, 400
FREE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}


def register() -> None:
    """Make the profile "few" the one that holds; `pytest --hypothesis-profile=many` chooses the other."""
    settings.register_profile("few", **FREE, max_examples=FEW, derandomize=bool(os.environ.get("CI")))
    settings.register_profile("many", **FREE, max_examples=MANY, derandomize=False)
    settings.load_profile("few")


def examples(few: int) -> settings:
    """Decorate a property whose examples are costly: it gets so many instead of FEW, and its share of MANY."""
    return settings(max_examples=max(1, few * settings().max_examples // FEW))

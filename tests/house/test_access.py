"""What the browser check asks of which page: each look of texts once, by whichever page comes first."""

from concurrent.futures import ThreadPoolExecutor


def test_each_look_is_judged_once_also_by_browsers_side_by_side(ci):
    looks = ci("check_access").Looks()
    assert looks.new(["pale", "dark"]) == ["pale", "dark"] and looks.new(["dark", "red", "pale"]) == ["red"]
    pages = [[f"look {k}" for k in range(first, first + 50)] for first in range(0, 400, 10)]
    with ThreadPoolExecutor(8) as pool:
        judged = [look for found in pool.map(looks.new, pages) for look in found]
    assert sorted(judged) == sorted({look for page in pages for look in page})


def test_contrasts_are_in_no_rules_of_the_whole_page_and_targets_in_those_of_every_phone(ci):
    access = ci("check_access")
    for thorough in (False, True):
        assert access.rules_of(phone=True, thorough=thorough) == {"runOnly": [access.SCROLLS, access.TARGETS]}
        assert not access.rules_of(phone=False, thorough=thorough)["rules"][access.CONTRAST]["enabled"]
    assert access.TARGETS not in access.rules_of(phone=False, thorough=True)["rules"]

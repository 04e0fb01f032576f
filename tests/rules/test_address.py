import pytest

from runs.rules.address import household


@pytest.mark.parametrize(
    ("address", "home"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::"),
        ("testclient", ""),
        ("192.0.2.7:443", ""),
        ("", ""),
    ],
)
def test_one_household_is_one_address(address: str, home: str) -> None:
    assert household(address) == home

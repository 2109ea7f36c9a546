"""Passwords of several words without quotes, and those on the lines below their name, are masked (case 19)."""

import pytest

from tenure.core.secret_descriptions import is_description
from tenure.core.secret_names import Strictness
from tests.support.masking import masked, starred

CONFIGURATION, DOCUMENT, FREE_TEXT = Strictness.CONFIGURATION, Strictness.DOCUMENT, Strictness.FREE_TEXT
WORDS = "marble " + "onion ferry"


@pytest.mark.parametrize(
    "text",
    [
        f"password = {WORDS}\nport = 5\n",
        f"[db]\n  admin.password={WORDS}\n",
        f"db:\n  password: {WORDS}\n  port: 5\n",
        f"db:\n  password: {WORDS}  # since spring\n",
        f"db_password: {WORDS} ; port: 5\n",
        f"export SMTP_PASSWORD={WORDS}\n",
        f"- password: {WORDS}\r\n  port: 5\r\n",
        f"# password = {WORDS}\n",
        f"Database Password = {WORDS}\n",
        f"'root_password': {WORDS}, port: 5\n",
        f"password={WORDS} host=db.invalid port=5\n",
        f"db: {{password: {WORDS}, port: 5}}\n",
        f"db: {{port: 5, password: {WORDS}}}\n",
        f"- name: DB_PASSWORD\n  value: {WORDS}\n",
        f"- value: {WORDS}\n  name: DB_PASSWORD\n",
    ],
)
def test_a_password_of_several_words_is_masked_to_its_end(text: str) -> None:
    assert masked(text) == starred(text, WORDS)


@pytest.mark.parametrize("words", ["a lantern for the owl", "T1n drum 9", "ünder the brücke", "to be or 2 bees"])
def test_small_words_and_numbers_do_not_end_a_password(words: str) -> None:
    assert masked(f"password: {words}\n") == starred(f"password: {words}\n", words)


@pytest.mark.parametrize(
    "text",
    [
        "password: required, at least 8\n",
        "password: string or null\n",
        "password: 12 months\n",
        "password = 90 days max\n",
        "password: optional (see below)\n",
        "password: ${DB_PASSWORD} or nothing\n",
        "password: get_password(user, realm)\n",
        'password: "90 days"\n',
    ],
)
def test_words_that_tell_something_about_a_password_stay(text: str) -> None:
    assert masked(text) == text


def test_behind_a_password_that_is_given_to_a_program_only_the_password_is_masked() -> None:
    assert masked("PGPASSWORD=otterpond psql shop\n") == starred("PGPASSWORD=otterpond psql shop\n", "otterpond")
    assert masked("MYSQL_PWD=otterpond ./bin/dump all\n") == starred(
        "MYSQL_PWD=otterpond ./bin/dump all\n", "otterpond"
    )


@pytest.mark.parametrize("strictness", [DOCUMENT, FREE_TEXT])
def test_prose_behind_a_passwords_name_stays(strictness: Strictness) -> None:
    text = "Password: whatever people like best\n"
    assert masked(text, strictness) == text


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("password:\n  otterpond\nport: 5\n", ("otterpond",)),
        ("db:\n  - password:\n      otterpond\n    port: 5\n", ("otterpond",)),
        ('"password":\n  "otterpond"\n', ("otterpond",)),
        ("password:\r\n  otterpond\r\nport: 5\r\n", ("otterpond",)),
        ("password:\n\n  # since spring\n  otterpond  # still\nport: 5\n", ("otterpond",)),
        (f"password:\n  {WORDS}\nport: 5\n", (WORDS,)),
        (f"password:\n  {WORDS}\n  lamp\nport: 5\n", (WORDS, "lamp")),
        (f"password:\n  '{WORDS}\n  lamp'\nport: 5\n", (WORDS, "lamp")),
        (f"password: |\n  {WORDS}\nport: 5\n", (WORDS,)),
        (f"password: >-\n  {WORDS}\n  lamp\nport: 5\n", (WORDS, "lamp")),
        (f"password: |2\n    {WORDS}\nport: 5\n", (WORDS,)),
    ],
)
def test_a_value_on_the_lines_below_a_passwords_name_is_masked(text: str, secrets: tuple[str, ...]) -> None:
    assert masked(text) == starred(text, *secrets)


@pytest.mark.parametrize(
    "text",
    [
        "password:\n  type: string\n  format: password\n",
        "password:\nport: otterpond\n",
        "password:\n  - required\n  - otterpond\n",
        "password:\n  ${DB_PASSWORD}\n",
        "password:\n  required\n",
        "password:\n  The password of a user, which must be\n  a good one\n",
        "password:\n  *shared_password\n",
        "password:\n  !vault secret/db\n",
        "password:\n  # otterpond\nport: 5\n",
        "token:\n  otterpond\n",
    ],
)
def test_what_stands_below_a_passwords_name_and_is_no_value_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "value",
    [
        *("90-day", "90 days", "12 months", "8-64", "8+ characters", ">= 12", "256-bit", "every 30 days", "3 attempts"),
        *("2026-11-30", "30.11.2026", "11/30/26", "30 Nov 2026", "Nov 30, 2026", "2026-11-30T10:00:00Z", "10:30", "Q3 2026"),
        *("required*", "yes¹", "yes/no", "string|null", "(optional)", "n/a", "TBD", "none [2]", "sha256", "2FA", "TLS1.3"),
    ],
)  # fmt: skip
def test_types_amounts_and_dates_are_descriptions(value: str) -> None:
    assert is_description(value)


@pytest.mark.parametrize(
    "value", ["otterpond", "badger42Lamp", "12monkeys#", "0815471100", "d4y-90", "lamp 90 days", "a/b", "Nov4mber#"]
)
def test_what_could_be_a_password_is_no_description(value: str) -> None:
    assert not is_description(value)


@pytest.mark.parametrize(
    "piece", ["password = a ", "password ", "a, ", "{password: x ", "1 ", "12-", "yes/", "password:\n  a\n"]
)
def test_a_long_line_of_words_is_read_once(piece: str) -> None:
    """Ends at once; reading the rest of the line for every word would take hours."""
    for start in ("password: ", "password:\n  ", "password: |\n  ", "x, {"):
        masked(start + piece * 1_500 + "\n")

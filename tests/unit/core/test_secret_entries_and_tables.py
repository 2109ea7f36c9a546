"""A value before its name, and a column under a password's header, are masked; what only looks alike is not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.secret_names import Strictness
from tests.support.masking import masked, starred

CONFIGURATION, DOCUMENT, FREE_TEXT = Strictness.CONFIGURATION, Strictness.DOCUMENT, Strictness.FREE_TEXT
SECRET = "badger" + "42Lamp"


@pytest.mark.parametrize("strictness", [CONFIGURATION, DOCUMENT, FREE_TEXT])
@pytest.mark.parametrize(
    "text",
    [
        f'{{"value": "{SECRET}", "name": "API_TOKEN"}}',
        f'{{"value": "{SECRET}", "secure": true, "name": "DB_PASSWORD"}}',
        f'{{"name": "DB_PASSWORD", "secure": true, "value": "{SECRET}"}}',
        f'[{{"name": "PORT", "value": "lamp5lamp5"}}, {{"value": "{SECRET}", "name": "API_TOKEN"}}]',
        f'{{"value": "{{odd}} {SECRET}".replace(x), "name": "db_password"}}'.replace('".replace(x)', '"').replace("{odd} ", ""),
        f'{{\n  "value": "{SECRET}",\n  "name": "API_TOKEN"\n}}',
        f'{{\n\t"id": 7,\n\t"value": "{SECRET}",\n\t"tags": [\n\t\t"a"\n\t],\n\t"key": "client-secret"\n}}\n',
        f'{{\n"name": "API_TOKEN",\n"scope": "all",\n"value": "{SECRET}"\n}}\n',
        f'<property value="{SECRET}" name="db.password"/>',
        f'<add key="DbPassword" locked="yes" value="{SECRET}" />',
        f'[[variables]]\nvalue = "{SECRET}"\nname = "DB_PASSWORD"\n',
        f'env {{\n  value = "{SECRET}"\n  name  = "API_TOKEN"\n}}\n',
    ],
)  # fmt: skip
def test_a_value_and_its_telling_name_are_one_entry_in_either_order(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == starred(text, SECRET)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("env:\n  - value: letmein\n    name: DB_PASSWORD\n  - value: lamps\n    name: PORT\n", "letmein"),
        ("- value: 'letmein'  # old\n  # of the shop\n\n  name: DB_PASSWORD\n", "letmein"),
        ("- value: letmein\r\n  name: DB_PASSWORD\r\n", "letmein"),
        (f"value: {SECRET}\nname: API_TOKEN\n", SECRET),
        ("- name: DB_PASSWORD\n  type: text\n  options:\n    size: 5\n  value: letmein\n", "letmein"),
        ("- {value: letmein, name: DB_PASSWORD}\n", "letmein"),
        ("- {value: letmein,name: DB_PASSWORD}\n", "letmein"),
        ("- value: |\n    letmein\n  name: DB_PASSWORD\n", "letmein"),
        ('{"value": "let{me}in", "name": "DB_PASSWORD"}', "let{me}in"),
        ("- type: x\n  value: letmein\n  note: y\n  name: DB_PASSWORD\n  more: z\n", "letmein"),
        ("value=letmein\nkey=db.password\n", "letmein"),
        ("- name: DB_PASSWORD\n- value: letmein\n- name: PORT\n- value: lamps\n", "letmein"),
        ("- name: DB_PASSWORD\n- value: lamps\n  name: PORT\n- value: letmein\n  key: db_pw\n", "letmein"),
    ],
)
def test_in_configuration_any_value_beside_a_passwords_name_is_one(text: str, secret: str) -> None:
    assert masked(text, CONFIGURATION) == starred(text, secret)


@pytest.mark.parametrize("strictness", [CONFIGURATION, DOCUMENT, FREE_TEXT])
@pytest.mark.parametrize(
    "text",
    [
        "- value: lamp5lamp5\n  name: PORT\n- name: DB_PASSWORD\n  valueFrom: x\n",
        "- name: DB_PASSWORD\n  from: vault\n- value: lamp5lamp5\n  name: PORT\n",
        "- value: ${DB_PASSWORD}\n  name: DB_PASSWORD\n",
        "- value: changeme\n  name: DB_PASSWORD\n",
        "- value: true\n  name: max_tokens\n",
        '{"value": "lamp5lamp5"}, {"name": "API_TOKEN"}',
        '{"value": "lamp5lamp5", "name": "port"}, {"name": "API_TOKEN", "from": "vault"}',
        '{\n  "value": "lamp5lamp5"\n},\n{\n  "name": "API_TOKEN"\n}\n',
        '{\n  "outer": {\n    "name": "API_TOKEN"\n  },\n  "value": "lamp5lamp5"\n}\n',
        "value: lamp5lamp5\n---\nname: DB_PASSWORD\n",
        'value = "lamp5lamp5"\n[token]\nname = "API_TOKEN"\n',
        "  value: lamp5lamp5\nname: DB_PASSWORD\n",
        "- value: lamp5lamp5\n  name: PASSWORD_FILE\n",
        "the value: lamp5lamp5, of the name: password reset form\n",
        '<a value="lamp5lamp5"/><b name="db.password"/>',
    ],
)
def test_a_value_of_another_entry_stays(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == text


def test_a_name_is_looked_for_16_lines_away_and_no_further() -> None:
    for between, is_found in ((15, True), (16, False)):
        text = f"- value: {SECRET}\n" + "  note: x\n" * between + "  name: DB_PASSWORD\n"
        assert (SECRET not in masked(text, CONFIGURATION)) is is_found


@pytest.mark.parametrize("strictness", [CONFIGURATION, DOCUMENT, FREE_TEXT])
@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        (f"| user | password |\n|---|---|\n| bob | {SECRET} |\n| eve | otter#Lake |\n", (SECRET, "otter#Lake")),
        (f"# Access\n\nuser | Password | note\n:--- | :-: | ---\nbob | `{SECRET}` | 2nd login\n\nEnd 5x5x5\n", (SECRET,)),
        (f"> | **API token** | use |\n> |---|---|\n> | {SECRET} | all |\n", (SECRET,)),
        (f"|host|db_password|\n|-|-|\n|a\\|b1c2d3|{SECRET}|\n", (SECRET,)),
        (f" name | password\n------+----------\n bob  | {SECRET}\n(1 row)\n", (SECRET,)),
        (f"+-----+\n| user | secret |\n+=====+\n| bob | {SECRET} |\n+-----+\n| eve | {SECRET}7 |\n+-----+\n", (SECRET + "7", SECRET)),
        (f"| a | passwords |\r\n|---|---|\r\n| 1 | {SECRET} |\r\n", (SECRET,)),
        (f"user,password\nbob,{SECRET}\n", (SECRET,)),
        ("user;passwd\nbob;letmein\neve;opensesame\n", ("letmein", "opensesame")),
        ("user\tpwd\tmail\nbob\tletmein\tb@x.invalid\n", ("letmein",)),
        ('"User Name","Password"\n"Lake, Bob","letmein"\n"Say ""a, b""",opensesame\n', ("letmein", "opensesame")),
        (f"\ufeffid,api_key,name\n1,{SECRET},lamp5lamp5\n", (SECRET,)),
        (f"user, password\nbob, {SECRET}\n", (SECRET,)),
        ("user|password|host\nbob|letmein|a\n", ("letmein",)),
        (f"```csv\nuser,token\nbob,{SECRET}\n```\n", (SECRET,)),
    ],
)  # fmt: skip
def test_the_cells_under_a_telling_header_are_masked(
    text: str, secrets: tuple[str, ...], strictness: Strictness
) -> None:
    assert masked(text, strictness) == starred(text, *secrets)


@pytest.mark.parametrize("strictness", [CONFIGURATION, DOCUMENT, FREE_TEXT])
@pytest.mark.parametrize(
    "text",
    [
        "| field | password |\n|---|---|\n| type | varchar(64) |\n| hash | sha256 |\n| needed | yes |\n| sent | see the vault |\n",
        "| Token | Meaning |\n|---|---|\n| PLUS | + |\n| NUMBER | 12345678 |\n| `==` | equal to 5x5x5 |\n",
        "| password_hash | tokens_used |\n|---|---|\n| lamp5lamp5 | 123456789 |\n",
        "| user | note |\n|---|---|\n| password | lamps |\n| bob | lamp5lamp5 |\n",
        "| password |\n\n| lamp5lamp5 |\n",
        "id,kind,label\n1,password,reset\n2,lamp5lamp5,lamps\n",
        "user,password\nbob,${PASSWORD}\neve,changeme\n",
        "user,password\n\n\n\n\nbob,lamp5lamp5\n",
        "user,password\n\nThen bob,eve,lamp5lamp5 came\n",
        "user,max_tokens\nbob,lamp5lamp5\n",
        "username, password, email\nthen click, wait, and go\n",
        "Send the user, the password, and then wait.\nIt takes a, lamp5lamp5, second.\n",
        "login(user,password)\nfoo(lamp5lamp5,lamp5lamp5)\n",
        "case,pass,fail\nx,12,lamp5lamp5\n",
        "name,password\nbob,12\n",
    ],
)  # fmt: skip
def test_other_columns_and_words_that_are_no_values_stay(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == text


PIECES = ["value", "name", "key", ": ", " = ", '"', "'", "{", "}", "- ", "  ", "\n", "\r\n", ",", ";", "|", "|---|---|", "password", "API_TOKEN", "|\n", "|-\n", SECRET, "#", "<", "/>", "user"]  # fmt: skip


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(list(Strictness)))
def test_entries_and_tables_keep_their_lines_and_columns(pieces: list[str], strictness: Strictness) -> None:
    text = "".join(pieces)
    result = masked(text, strictness)
    assert all(a == b or a == "*" for a, b in zip(result, text, strict=True))


def test_a_long_table_or_line_of_entries_is_masked_to_its_end() -> None:
    rows = "".join(
        f"| u{number} | {SECRET}{number} |\n| password | {SECRET}{number} |\n|---|---|\n" for number in range(2000)
    )
    assert SECRET not in masked(f"| user | password |\n|---|---|\n{rows}", DOCUMENT)
    entries = ", ".join(f'{{"value": "{SECRET}{number}", "name": "API_TOKEN"}}' for number in range(2000))
    assert SECRET not in masked(f"[{entries}]", CONFIGURATION)


def test_lines_that_only_begin_like_a_tables_rule_cost_no_more_than_others() -> None:
    """Ends at once; a search for the rule that tries every beginning would take days."""
    spaces = " " * 60_000
    assert masked(f"| password |\n{spaces}|{spaces}{'-' * 60_000}x\n", DOCUMENT).endswith("x\n")


def test_each_of_many_tables_is_read_once() -> None:
    """Ends at once; reading the rest of the text for every table would take hours."""
    table = f"+---+\n+---+\n| password | a |\n+---+\n| {SECRET} | x |\n"
    assert masked(table * 6_000, DOCUMENT) == starred(table * 6_000, SECRET)


@pytest.mark.parametrize("value", ["true", "null", "string", "8080"])
def test_what_is_no_password_stays_beside_a_passwords_name(value: str) -> None:
    for text in (f"- value: {value}\n  name: DB_PASSWORD\n", f'{{"value": "{value}", "name": "DB_PASSWORD"}}'):
        assert masked(text, CONFIGURATION) == text


def test_a_value_with_more_lines_between_it_and_its_name_than_are_looked_at_stays() -> None:
    fields = "".join(f"  field_{number}: on\n" for number in range(20))
    for first, last in ((f"value: {SECRET}", "name: DB_PASSWORD"), ("name: DB_PASSWORD", f"value: {SECRET}")):
        text = f"- {first}\n{fields}  {last}\n"
        assert masked(text, CONFIGURATION) == text


@pytest.mark.parametrize("cell", ["version-1.2.30", "2026-11-30", "step 4 of 9", "a1-b2-c3-d4", "10.20.30.40"])
def test_a_cell_with_digits_below_a_weak_header_stays_if_it_is_no_token(cell: str) -> None:
    text = f"| token | step |\n|---|---|\n| {cell} | 1 |\n"
    assert masked(text, DOCUMENT) == text

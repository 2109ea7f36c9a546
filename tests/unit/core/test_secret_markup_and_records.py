"""Passwords in XML, HTML and RST, and in records that span lines, are masked; other cells and values stay (case 19)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.secret_names import Strictness
from tenure.core.secrets import mask
from tests.support.masking import masked, starred

CONFIGURATION, DOCUMENT, FREE_TEXT = Strictness.CONFIGURATION, Strictness.DOCUMENT, Strictness.FREE_TEXT
LOOSE = [CONFIGURATION, DOCUMENT, FREE_TEXT]
SECRET = "heron" + "58Kettle"
OTHER = "lamp5lamp5"


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "text",
    [
        f"<entry><key>password</key><value>{SECRET}</value></entry>",
        f"<entry><value>{SECRET}</value><key>password</key></entry>",
        f"<p>\n  <value>{SECRET}</value>\n  <description>of <b>the</b> shop</description>\n  <name>db.password</name>\n</p>\n",
        f"<p>\n  <name>db.password</name>\n  <final>true</final>\n  <value>{SECRET}</value>\n</p>\n",
        f"<m><key>host</key><value>{OTHER}</value><key>password</key><value>{SECRET}</value></m>",
        f"<m><value>{SECRET}</value><key>password</key></m><m><value>{OTHER}</value><key>host</key></m>",
        f'<param><param-name>api_key</param-name>\n<param-value xml:space="preserve">{SECRET}</param-value></param>',
        f"<c:name>API_TOKEN</c:name><c:value>{SECRET}</c:value>",
        f'<password encrypted="no">{SECRET}</password>',
        f"<smtp-password>\n    {SECRET}\n</smtp-password>\n",
        f"<note>the password</note>\n<password>{SECRET}</password>\n",
        f"<c:dbPassword><![CDATA[{SECRET}]]></c:dbPassword>",
    ],
)
def test_an_elements_value_is_masked_by_its_own_name_or_its_siblings(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == starred(text, SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "<password>marble onion ferry</password>\n",
        "<name>db.password</name>\n<value>marble onion ferry</value>\n",
        "<password>\n  marble onion ferry\n</password>\n",
    ],
)
def test_in_xml_a_password_may_have_several_words(text: str) -> None:
    assert masked(text, CONFIGURATION) == starred(text, "marble onion ferry")


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "text",
    [
        f"<p><name>host</name><value>{OTHER}</value></p><p><name>db.password</name><from>vault</from></p>",
        f"<p><name>db.password</name></p><value>{OTHER}</value>",
        f"<value>{OTHER}</value><p><name>db.password</name></p>",
        f"<m><key>password</key><key>host</key><value>{OTHER}</value></m>",
        "<password>${db.password}</password><password/>",
        "<key>password</key><value>string</value>",
        f'<label for="password">Password</label><span>{OTHER}</span>',
    ],
)
def test_values_of_other_elements_stay(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == text


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "text",
    [
        f"<td>password</td><td>{SECRET}</td>",
        f"<tr>\n  <td class='k'>\n    Admin password:\n  </td>\n  <td>\n    <code>{SECRET}</code>\n  </td>\n</tr>\n",
        f"<TR><TH>Password</TH><TD>{SECRET}</TD></TR><TR><TH>Host</TH><TD>{OTHER}</TD></TR>",
        f"<table><tr><th>user<th>password<tr><td>{OTHER}<td>{SECRET}</table>",
        f"<table>\n<thead><tr><th>user</th><th>password</th></tr></thead>\n<tr><td>{OTHER}</td><td>{SECRET}</td></tr>\n</table>\n<table><tr><td>a</td><td>{OTHER}</td></tr></table>",
        f"<table><tr><td>user</td><td>host</td><td>password</td></tr><tr><td>a</td><td>{OTHER}</td><td>{SECRET}</td></tr></table>",
        f"<dl><dt>Password</dt><dd>{SECRET}</dd><dt>Host</dt><dd>{OTHER}</dd></dl>",
    ],
)  # fmt: skip
def test_cells_of_html_are_masked_below_and_beside_a_passwords_name(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == starred(text, SECRET)


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "text",
    [
        "<tr><td>password</td><td>varchar(64)</td><td>lamp5</td></tr>",
        "<tr><td>password</td><td>90-day</td></tr><tr><td>password</td><td>required*</td></tr>",
        '<tr><td>Password</td><td><input type="password" name="p4ssword"></td></tr>',
        f"<tr><td>host</td><td>{OTHER}</td></tr><p>the password</p>",
        "<table><tr><th>password</th><th>since</th></tr><tr><td>2026-11-30</td><td>lamp5</td></tr></table>",
        "<tr><td>password</td><td>the <b>sha256</b> of lamp5lamp5</td></tr>",
        "<table><tr><th>user</th><th>password</th></tr><tr><td>bob</td></tr></table>",
    ],
)
def test_other_cells_of_html_stay(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == text


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "text",
    [
        f"=====  ==========\nuser   password\n=====  ==========\nbob    {SECRET}\n=====  ==========\n",
        f"Users:\n\n  ===== ================= ====\n  user  Password          note\n  ===== ================= ====\n  bob   ``{SECRET}`` no\n\n  eve   {SECRET}     42nd\n  ===== ================= ====\n\n  a     {OTHER}\n",
        f"==========  ============\nhost        {OTHER}\npassword    {SECRET}\n==========  ============\n",
        f"=====  =========\nuser   secret\n       password\n=====  =========\n{OTHER[:5]}  {SECRET}\n=====  =========\n",
        f"+----------+---------+\n| password | {SECRET} |\n+----------+---------+\n| host | {OTHER} |\n+----------+---------+\n",
        f"+------+----------+\n| user | password |\n|      | of it    |\n+======+==========+\n| bob  | {SECRET} |\n+------+----------+\n",
        f"+------+----------+\n| user | the      |\n|      | password |\n+======+==========+\n| bob  | {SECRET} |\n+------+----------+\n",
    ],
)  # fmt: skip
def test_cells_of_rst_are_masked_below_and_beside_a_passwords_name(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == starred(text, SECRET)


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "text",
    [
        f"=====  ==========\nuser   host\n=====  ==========\nbob    {OTHER}\n=====  ==========\n\nThe password.\n",
        "=========  =======\nsetting    default\n=========  =======\npassword   required\ntoken      90-day\n=========  =======\n",
        f"user   password\n{OTHER}  {OTHER}\n",
        f"=====  ==========\nuser   password\n=====  ==========\nno row at all: {OTHER}\n",
        f"=====  ==========\n\nuser   password\n\nbob    {OTHER}\n",
        f"one\ntwo\nthree\nfour\nfive\nuser   password\n=====  ==========\nbob    {OTHER}\n=====  ==========\n",
        "+------+----------+\n| user | password |\n"
        + "|      | of it    |\n" * 5
        + f"+======+==========+\n| bob  | {OTHER} |\n+------+----------+\n",
    ],
)
def test_other_cells_of_rst_stay(text: str, strictness: Strictness) -> None:
    assert masked(text, strictness) == text


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ('user,password,note\nbob,otterpond,"two\nlines"\neve,opensesame,x\n', ("otterpond", "opensesame")),
        ('user,password\n"Lake,\r\nBob",otterpond\r\n"a ""b""\n\nc",opensesame\n', ("otterpond", "opensesame")),
        ('user,password\nbob,"heron58\nKettle"\neve,opensesame\n', ("heron58", "Kettle", "opensesame")),
        ("user,password\n\nbob,otterpond\n\n\neve,opensesame\n", ("otterpond", "opensesame")),
        ("user;password\r\n\r\nbob;otterpond\r\n", ("otterpond",)),
        ("user,password\nbob,otterpond\n\npassword,user\nopensesame,eve\n", ("otterpond", "opensesame")),
        ("user,password\nbob,marble onion ferry\n", ("marble onion ferry",)),
        ("user,host,password\nbob,db1\neve,db2,opensesame\n", ("opensesame",)),
    ],
)
def test_records_may_span_lines_and_leave_lines_empty(
    text: str, secrets: tuple[str, ...], strictness: Strictness
) -> None:
    assert masked(text, strictness) == starred(text, *secrets)


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    "cell", ["90-day", "12 months", "required", "yes", "optional", "none", "string", "2026-11-30", "n/a", "Nov 2026"]
)
def test_what_a_column_says_of_passwords_stays(cell: str, strictness: Strictness) -> None:
    for text in (
        f"user,password\nbob,{cell}\n",
        f"| user | password |\n|---|---|\n| bob | {cell} |\n",
        f"| password | {cell} |\n",
        f"<table><tr><th>user</th><th>password</th></tr><tr><td>bob</td><td>{cell}</td></tr></table>",
        f"====  ==========\nuser  password\n====  ==========\nbob   {cell}\n====  ==========\n",
    ):
        assert masked(text, strictness) == text


PIECES = ["<td>", "</td>", "<tr>", "<th>", "<table>", "<dt>", "<dd>", "<key>", "</key>", "<value>", "</value>", "password", SECRET, "user", "\n", "\n\n", "====  ====\n", "+---+\n", "| a ", "|\n", ",", '"', '""', "  ", " a ", "ParameterKey: ", "ParameterValue: ", "<![CDATA[", "]]>", "- ", ": "]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(list(Strictness)))
def test_markup_and_records_keep_their_lines_and_columns(pieces: list[str], strictness: Strictness) -> None:
    text = "".join(pieces)
    assert all(a == b or a == "*" for a, b in zip(masked(text, strictness), text, strict=True))


HOSTILE = [
    "<td>password</td><td>",
    "<password ",
    "<key>password</key><value>",
    "<td ",
    "<a>password",
    'user,password\nb,"\nz\nuser,password\nx",b\na,"\n',
    "user,password\n\n",
    "====  ====\npassword  x\n",
    "password  x  ",
    "+---+\n| password | a |\n",
    "| password | a |\n",
    'a,"',
    "ParameterKey: password ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_markup_and_records_are_read_once(piece: str) -> None:
    """Ends at once; reading the rest of the text for every beginning would take hours."""
    for start in ("", "user,password\n", "<table>", "====  ====\nuser  password\n====  ====\n"):
        mask(start + piece * 1_500 + "\n", strictness=CONFIGURATION)

"""Passwords in blocks, lists, tables, sentences and command lines are masked; what only speaks of them is not."""

import pytest

from tenure.core.secret_names import Strictness
from tests.support.masking import masked, starred

PASSWORD = "Gr4nite" + "#Otter8"
WORDS = "velvet " + "harbour"
LETTERS = "Tz5Mq8Xv2Kc7Rb4Wn9Hd6Yf1Gs3Jp0La"
CONFIGURATION, DOCUMENT, FREE_TEXT = Strictness.CONFIGURATION, Strictness.DOCUMENT, Strictness.FREE_TEXT


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"db:\n  password: |\n    {PASSWORD}\n  port: 5\n", PASSWORD),
        ("db:\n  password: >-  # why\n    letmein\n  port: 5\n", "letmein"),
        ("- password: |\r\n    opensesame\r\n  port: 5\r\n", "opensesame"),
        (f"token: |\n  {LETTERS}\nport: 5\n", LETTERS),
        (f'password = """{PASSWORD}"""\nport = 5\n', PASSWORD),
        (f"password = '''{PASSWORD}'''\n", PASSWORD),
        (f'password = """\n{PASSWORD}"""\nport = 5\n', PASSWORD),
        (f'password = """\\\n  {PASSWORD}\\\n  """\nport = 5\n', PASSWORD),
        ('{"passwords": ["letmein", 5]}', "letmein"),
        ("passwords = [\n  'letmein',  # first\n]\nport = 5\n", "letmein"),
        ("passwords: [letmein]\n", "letmein"),
        ("passwords:\n- letmein\nport: 5\n", "letmein"),
        ("passwords:\n  # old\n  - 'letmein'  # still valid\nport: 5\n".replace("  # old\n", ""), "letmein"),
        (f'"api_keys": ["{LETTERS}"]', LETTERS),
        (f'"password": ["{LETTERS}"]', LETTERS),
        ("- name: DB_PASSWORD\n  value: letmein\n", "letmein"),
        ("- name: DB_PASSWORD\n  # from the old cluster\n  value: letmein\n", "letmein"),
        ('- name: "DB_PASSWORD"  # ours\n\n  value: "letmein"\n', "letmein"),
        ('{"name": "DB_PASSWORD", "value": "letmein"}', "letmein"),
        ("- {name: DB_PASSWORD, value: letmein}", "letmein"),
        ("<name>db.password</name>\n<value>letmein</value>\n", "letmein"),
        ("<key>Password</key>\n<string>letmein</string>\n", "letmein"),
        ("pw: letmein\n", "letmein"),
        ("db_pw=letmein\n", "letmein"),
        ("adminPw: letmein\n", "letmein"),
        ('psk="letmein now"\n', "letmein now"),
        ("wifi-psk = letmein\n", "letmein"),
        ("  pass: letmein\n", "letmein"),
        ("DBPASS=letmein\n", "letmein"),
        (f'password: "{WORDS}"\n', WORDS),
        (f"password = '{WORDS} {WORDS}'\n", f"{WORDS} {WORDS}"),
        ("password:\n  " + PASSWORD + "\nport: 5\n", PASSWORD),
        ("requirepass letmein\n", "letmein"),
        ("wpa-psk letmein\n", "letmein"),
    ],
)
def test_in_configuration_a_password_is_masked_wherever_its_name_leads(text, secret):
    assert masked(text, CONFIGURATION) == starred(text, secret)


def test_all_items_of_a_list_and_all_lines_of_a_block_are_masked():
    text = "passwords:\n  - letmein\n  - opensesame\npassword: |\n  firstline\n  secondline\nport: 5\n"
    assert masked(text, CONFIGURATION) == starred(text, "letmein", "opensesame", "firstline", "secondline")


@pytest.mark.parametrize(
    "text",
    [
        "password: |\nport: 5\n",
        "password: |\n  ${DB_PASSWORD}\n",
        "password: |\n  The one that was agreed upon by all of us.\n",
        "password:\n  type: string\n  description: of a user\n",
        "password:\n  - required\n  - min:8\n",
        '"password": ["required", "string", "min:8"]',
        "passwords: []\nport: 5\n",
        "passwords:\n  - name: first\n    from: vault\n",
        "secrets:\n  - db_password\n  - smtp-user\n",
        "tokens:\n  - comma\n  - semicolon\n",
        "secrets: [db_password, api_key]\n",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password\n",
        "- name: DB_PASSWORD\n  # see the wiki\n- name: PORT\n  value: lamps\n",
        '"password": "Enter your password"',
        '"password_required": "Please choose another one"',
        "passwordHint: shown below\n",
        'password = """${DB_PASSWORD}"""\n',
        "upward: north\nmpw: shop\npskov: town\n",
        "compass: north\nbypass: south\n",
        "pass: 12\n",
        "psk: ${PSK}\n",
    ],
)
def test_in_configuration_what_names_no_value_stays(text):
    assert masked(text, CONFIGURATION) == text


@pytest.mark.parametrize("strictness", [DOCUMENT, FREE_TEXT, CONFIGURATION])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"**Password:** {PASSWORD}\n", PASSWORD),
        (f"- **Password**: {PASSWORD}\n", PASSWORD),
        (f"*Admin password:* `{PASSWORD}`\n", PASSWORD),
        (f"__Password:__ {PASSWORD}\n", PASSWORD),
        (f"`password`: {PASSWORD}\n", PASSWORD),
        (f"my password is: {PASSWORD}", PASSWORD),
        ("my password is: otter42, keep it", "otter42"),
        ("The password for the lab is `otter42`.", "otter42"),
        ("the passphrase of box.invalid was: otter42", "otter42"),
        ("pw is: otter42", "otter42"),
        (f"| user | bob |\n| password | {PASSWORD} |\n", PASSWORD),
        (f"| **Admin password** | `{PASSWORD}` | rotated |\n", PASSWORD),
        ("|db_password|otter42|\n", "otter42"),
        (f"openssl rsa -in a.pem -passin pass:{PASSWORD} -out b", PASSWORD),
        ("openssl pkcs12 -export -passout 'pass:letmein' -out b", "letmein"),
        ("docker login -u bob -p letmein registry.invalid", "letmein"),
        ("podman login registry.invalid -p 'letmein' -u bob", "letmein"),
        ("helm registry login -u bob -p letmein r.invalid", "letmein"),
        ("redis-cli -h cache -a letmein ping", "letmein"),
        ("mongosh db.invalid -u bob -p letmein", "letmein"),
        ("ldapsearch -x -D cn=bob -w letmein", "letmein"),
        ("keytool -list -storepass letmein -keystore a", "letmein"),
        (f"mysql -u root -p'{PASSWORD}' db", PASSWORD),
    ],
)
def test_in_prose_tables_and_command_lines_a_password_is_masked(text, secret, strictness):
    assert masked(text, strictness) == starred(text, secret)


@pytest.mark.parametrize("strictness", [DOCUMENT, FREE_TEXT])
@pytest.mark.parametrize(
    "text",
    [
        "**Password:** required, at least 8 characters\n",
        "**Password:** see the vault\n",
        "The password is: required",
        "The password is: see section2 below",
        "The password for the lab is kept in the vault",
        "the password is `null` or `undefined`",
        "the password is `get_password()`",
        "| name | type |\n| password | string |\n| token | str |\n",
        "| password | varchar(255) | not null |\n| password_hash | sha256 |\n",
        "| password | The user's password | yes |\n",
        "| `password` | `--password` | `$PASSWORD` |\n",
        "| password | argon2id | required? |\n",
        "| password | 12 |\n| password | v1.2.3 |\n",
        "openssl rsa -passin pass:$PASS -in a; openssl rsa -passin env:PASS -in b",
        "docker login -u bob -p $TOKEN r.invalid; docker login --password-stdin",
        "docker run -p 8080:80 login",
        "docker compose -p shop up",
        "redis-cli -a <password> ping; redis-cli -h cache -p 6379",
        "mongod -p 5; the login page -p flag",
        "keytool -storepass ${STOREPASS} -keypass env:KEYPASS",
        "passwords = [ask(user) for user in users]",
        "PASS: tests/test_otter.py::test_42\npass: 12\n",
        "pw: required\n",
        "a || password || b42 is the logical or",
    ],
)
def test_in_prose_tables_and_command_lines_what_only_speaks_of_passwords_stays(text, strictness):
    assert masked(text, strictness) == text


def test_a_block_is_looked_at_for_64_lines() -> None:
    lines = [f"  {PASSWORD}{number:03}" for number in range(70)]
    shown = masked("password: |\n" + "\n".join(lines) + "\n", CONFIGURATION).splitlines()[1:]
    assert [number for number, line in enumerate(shown) if line == lines[number]] == list(range(64, 70))

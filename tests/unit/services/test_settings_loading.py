"""Settings: file, environment and flags in rising order; what is unknown fails, what is secret stays so."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.errors import InvalidInput
from tenure.runtime.settings import (
    DEFAULT_HOME,
    Settings,
    describe,
    known_keys,
    load_settings,
    masked_url,
    shipped_folder,
)

PLAIN_ENVIRONMENT: Mapping[str, str] = {}


def _profile(folder: Path, text: str | bytes) -> str:
    path = folder / "own.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def _refusal(profile: str, flags: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_settings(profile, flags, env or {})
    return str(caught.value)


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "server: {port: 1, host: localhost, idle_minutes: 5}")
    env = {"TENURE_SERVER__PORT": "2", "TENURE_SERVER__IDLE_MINUTES": "6"}
    settings = load_settings(profile, {"server.port": "3"}, env)
    assert (settings.server.port, settings.server.idle_minutes, settings.server.host) == (3, 6, "localhost")


def test_a_reference_takes_the_variable_and_else_its_default(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "server: {host: '${WHERE:localhost}', port: '${PORT:81}'}\nhome: /h/${WHO:nobody}/x")
    assert load_settings(profile, {}, {}).server.port == 81
    settings = load_settings(profile, {}, {"WHERE": "127.0.0.2", "PORT": "", "WHO": "ada"})
    assert (settings.server.host, settings.server.port, str(settings.home)) == ("127.0.0.2", 81, "/h/ada/x")


def test_a_reference_without_default_names_the_variable_that_is_missing(tmp_path: Path) -> None:
    message = _refusal(_profile(tmp_path, "home: ${WHERE_IT_IS}"))
    assert "WHERE_IT_IS" in message
    assert "set it" in message


@pytest.mark.parametrize(
    "value",
    ['"quoted"', "it's", "a: b", "user:pa#ss word", "[1, 2]", "{x: y}", "- x", "null", "12345", "*a", "&b", "!c", "%", "é\t€", "x" * 500, "\\n"],
)  # fmt: skip
@pytest.mark.parametrize("way", ["reference", "environment", "flag"])
def test_a_value_from_outside_means_itself_whatever_yaml_would_make_of_it(tmp_path: Path, value: str, way: str) -> None:
    profile = _profile(tmp_path, "embedder:\n  api_key: ${KEY:}\n")
    env = {"reference": {"KEY": value}, "environment": {"TENURE_EMBEDDER__API_KEY": value}}.get(way, {})
    flags = {"embedder.api_key": value} if way == "flag" else {}
    assert load_settings(profile, flags, env).embedder.api_key.get_secret_value() == value


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_text_survives_a_reference(value: str) -> None:
    assert load_settings("test", {}, {"OPENAI_API_KEY": value}).embedder.api_key.get_secret_value() == value


@pytest.mark.parametrize(
    ("flags", "env", "named", "origin"),
    [
        ({"server.prot": 1}, {}, "server.port", "flag server.prot"),
        ({"sever.port": 1}, {}, "server", "flag"),
        ({}, {"TENURE_INDEXING__ALLOWED_ROOT": "/x"}, "indexing.allowed_roots", "TENURE_INDEXING__ALLOWED_ROOT"),
        ({}, {"TENURE_HOMEE": "/x"}, "TENURE_HOME", "TENURE_HOMEE"),
        ({}, {"TENURE_SERVER_PORT": "1"}, "TENURE_SERVER__PORT", "TENURE_SERVER_PORT"),
    ],
)
def test_an_unknown_name_fails_with_the_nearest_known_one(
    flags: dict[str, object], env: dict[str, str], named: str, origin: str
) -> None:
    message = _refusal("test", flags, env)
    assert "unknown" in message
    assert f"did you mean {named!r}" in message
    assert origin in message


def test_an_unknown_key_of_the_file_fails_with_the_file_and_the_nearest_name(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "loging: {level: INFO}")
    message = _refusal(profile)
    assert profile in message
    assert "did you mean 'logging'" in message


def test_variables_that_are_no_settings_are_left_alone() -> None:
    env = {"TENURE_API_KEY": "tnr_x", "TENURE_REQUIRE": "", "TENURE_PROFILE": "test", "TENUREX": "1", "PATH": "/bin"}
    assert load_settings("test", {}, env).profile == "test"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server: [", "line 1"),
        ("a: b: c", "not valid YAML"),
        ("- a list", "must hold a mapping"),
        (b"server:\n  host: \xff", "not UTF-8 at byte 16"),
        (b"home: a\x00b", "not valid YAML"),
        ("server: 3", "server"),
        ("server: {port: eighty}", "server.port"),
        ("server: {port: 70000}", "server.port"),
        ("server: {idle_minutes: .nan}", "server.idle_minutes"),
        ("embedder: {provider: magic}", "embedder.provider"),
        ("indexing: {allowed_roots: [relative]}", "relative; give absolute"),
    ],
)
def test_a_bad_file_is_refused_with_where_and_why(tmp_path: Path, text: str | bytes, said: str) -> None:
    message = _refusal(_profile(tmp_path, text))
    assert said in message
    assert "own.yaml" in message


def test_a_message_never_repeats_the_value_that_was_wrong(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "embedder: {dimension: hunter2hunter2}\ndatabase: {url: [hunter2hunter2]}")
    assert "hunter2" not in _refusal(profile)


def test_a_nul_in_a_flag_is_refused_by_name() -> None:
    assert _refusal("test", {"server.host": "127.0.0.1\0"}) == "setting 'server.host' holds a NUL; remove it"


def test_unknown_profiles_and_missing_files_are_told_apart() -> None:
    assert "known profiles: embedded, test" in _refusal("embeded")
    assert "there is no configuration file /nowhere/x.yaml" in _refusal("/nowhere/x.yaml")
    assert "profile" in _refusal("../config/test")


def test_a_file_without_home_never_means_the_current_folder(tmp_path: Path) -> None:
    settings = load_settings(_profile(tmp_path, "{}"), {}, {})
    assert (settings.profile, settings.home) == ("own", Path(DEFAULT_HOME).expanduser())
    assert load_settings(_profile(tmp_path, "home: ''"), {}, {}).home == Path(DEFAULT_HOME).expanduser()


def test_roots_may_be_a_list_in_yaml_and_like_a_path_variable_elsewhere(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "indexing: {allowed_roots: [/srv/a, ~/b]}")
    assert load_settings(profile, {}, {}).indexing.allowed_roots == (Path("/srv/a"), Path("~/b").expanduser())
    env = {"TENURE_INDEXING__ALLOWED_ROOTS": "/srv/a:/srv/b"}
    assert load_settings("test", {}, env).indexing.allowed_roots == (Path("/srv/a"), Path("/srv/b"))


def test_describe_masks_secrets_and_credentials_in_urls() -> None:
    env = {
        "OPENAI_API_KEY": "canary-one",
        "DATABASE_URL": "postgresql://ada:canary#two@db/t?sslkey=canary-three",
        "OPENAI_BASE_URL": "https://ada:canary-four@models/v1",
    }
    described = json.dumps(describe(load_settings("test", {}, env)))
    assert "canary" not in described
    assert "postgresql://***@db/t?***" in described
    assert "https://***@models/v1" in described


def test_describe_shows_the_database_that_is_really_used() -> None:
    described = describe(load_settings("test", {"home": "/h"}, {}))
    assert described["database"]["url"] == "sqlite+aiosqlite:////h/tenure.sqlite3"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("https://host/v1", "https://host/v1"),
        ("sqlite+aiosqlite:////h/x.db", "sqlite+aiosqlite:////h/x.db"),
        ("pg://u:p@ss@host/db", "pg://***@host/db"),
        ("no url at all", "***"),
    ],
)
def test_a_masked_url_keeps_only_the_place(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_both_shipped_profiles_name_every_setting() -> None:
    leaves = set(known_keys()) - set(Settings.model_fields) | {"profile", "home"}
    for profile in ("embedded", "test"):
        text = (shipped_folder("config") / f"{profile}.yaml").read_text("utf-8")
        missing = [key for key in leaves if f"{key.rpartition('.')[2]}:" not in text]
        assert not missing, f"{profile}.yaml does not name {missing}"

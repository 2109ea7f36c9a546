"""The effective configuration: YAML with `${VAR:default}`, then environment, then flags, each over the one before.

Unknown keys fail in all three, with the nearest known name. Values from the environment and from flags are plain text:
quotes, colons and `#` in them mean themselves, and the setting's own type reads them. Nothing is read at import;
`load_settings` is called once, by the composition root.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from tenure.core.context import FusionMethod
from tenure.core.errors import InvalidInput
from tenure.runtime.loopback import is_loopback_host
from tenure.runtime.settings_errors import Origins, explain, refuse_unknown_variable

ENV_PREFIX = "TENURE_"
OTHER_VARIABLES = frozenset({"TENURE_HOME", "TENURE_PROFILE", "TENURE_API_KEY", "TENURE_REQUIRE"})
"""Variables with our prefix that are no settings: where everything is stored (read by the shipped YAML), two options
of the command line, and the backends that a test run must find.
"""
DEFAULT_HOME = "~/.local/share/tenure"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")
_HERE = Path(__file__).resolve()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ServerSettings(_Section):
    """The local server."""

    host: str = Field("127.0.0.1", min_length=1)
    port: int = Field(7878, ge=0, le=65535)
    idle_minutes: float = Field(30, gt=0, allow_inf_nan=False)
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1024)

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server."""
        return is_loopback_host(self.host)


class DatabaseSettings(_Section):
    """SQL, the truth."""

    url: SecretStr = SecretStr("")


class VectorSettings(_Section):
    """The vector store."""

    provider: Literal["qdrant_edge"] = "qdrant_edge"


class EmbedderSettings(_Section):
    """The model that makes dense vectors."""

    provider: Literal["onnx", "openai"] = "onnx"
    model: str = Field("minilm-l6-v2-int8", min_length=1)
    dimension: int = Field(384, ge=1, le=65536)
    base_url: str = ""
    api_key: SecretStr = SecretStr("")


class TokenSettings(_Section):
    """The tokenizer whose tokens the budget counts."""

    encoding: str = Field("o200k_base", min_length=1)


class IndexingSettings(_Section):
    """What is indexed and with how much of the machine."""

    allowed_roots: tuple[Path, ...] = ()
    workers: int = Field(2, ge=0, le=64)
    history_commits: int = Field(5000, ge=0)
    full_pass_rate: float = Field(0.3, gt=0, le=1)
    dense: bool = True

    @field_validator("allowed_roots", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Text, as the environment and flags give it, is a list like PATH: `/srv/a:/srv/b`."""
        return [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value

    @field_validator("allowed_roots")
    @classmethod
    def _absolute(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        expanded = tuple(root.expanduser() for root in value)
        relative = next((root for root in expanded if not root.is_absolute()), None)
        if relative is not None:
            raise ValueError(f"{str(relative)!r} is relative; give absolute paths")
        return expanded


class RetrievalSettings(_Section):
    """How a question is answered."""

    source_deadline_ms: int = Field(1000, ge=1)
    fusion: FusionMethod = FusionMethod.RELATIVE_SCORE


class LoggingSettings(_Section):
    """Logs go to standard error."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    format: Literal["text", "json"] = "text"


class Settings(_Section):
    """The whole configuration; immutable, built once."""

    profile: str
    home: Path
    server: ServerSettings = ServerSettings()
    database: DatabaseSettings = DatabaseSettings()
    vectors: VectorSettings = VectorSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    tokens: TokenSettings = TokenSettings()
    indexing: IndexingSettings = IndexingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    logging: LoggingSettings = LoggingSettings()

    @property
    def database_url(self) -> str:
        """The SQLAlchemy URL; SQLite inside `home` unless one is set."""
        return self.database.url.get_secret_value() or f"sqlite+aiosqlite:///{self.home / 'tenure.sqlite3'}"

    @property
    def database_path(self) -> Path | None:
        """The file of an embedded database; None where a server holds it."""
        scheme, _, place = self.database_url.partition(":///")
        return Path(place.partition("?")[0]) if scheme.startswith("sqlite") and place else None

    @property
    def vectors_path(self) -> Path:
        """The folder of the embedded vector store."""
        return self.home / "vectors"


def load_settings(
    profile: str = "embedded",
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of a profile (a file `config/<profile>.yaml`, or a path to a YAML file).

    `flags` are dotted names (`server.port`). Raises `InvalidInput` that names the key, where it came from and the
    nearest known name.
    """
    env = os.environ if environment is None else environment
    path = _profile_path(profile)
    origins = Origins(str(path))
    loaded = _read(path, env)
    for name, value in _environment_keys(env):
        _assign(loaded, name, value, origins, f"the environment variable {_variable(name)}")
    for name, value in (flags or {}).items():
        _assign(loaded, name, value, origins, f"the flag {name}")
    _refuse_nul(loaded, "")
    loaded.setdefault("profile", path.stem)
    loaded["home"] = _home(loaded.get("home") or DEFAULT_HOME)
    try:
        return Settings.model_validate(loaded)
    except ValidationError as error:
        raise InvalidInput(explain(error, list(known_keys()), origins)) from error


def describe(settings: Settings) -> dict[str, Any]:
    """The effective configuration as plain data, secrets masked, credentials inside URLs as well."""
    described = settings.model_dump(mode="json")
    described["database"]["url"] = masked_url(settings.database_url)
    described["embedder"]["base_url"] = masked_url(settings.embedder.base_url)
    return described


def masked_url(url: str) -> str:
    """A URL without its user, password and query, where credentials may stand."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return "***" if url else ""
    _, at, place = rest.rpartition("@")
    place, question, _ = place.partition("?")
    return f"{scheme}://{'***@' if at else ''}{place}{'?***' if question else ''}"


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    """Every setting by its dotted name, sections included."""
    for name, info in model.model_fields.items():
        yield prefix + name
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from known_keys(info.annotation, f"{prefix}{name}.")


def shipped_folder(name: str) -> Path:
    """The folder `config` or `migrations`: at the root of the clone, or inside the installed package."""
    for base in (_HERE.parents[3], _HERE.parents[1]):
        if (base / name).is_dir():
            return base / name
    raise InvalidInput(f"the folder {name!r} is missing from this installation; install Tenure from a clone or a wheel")


def is_profile_file(profile: str) -> bool:
    """Whether a profile is given as the path of a YAML file, not as the name of a shipped one."""
    return profile.endswith((".yaml", ".yml"))


def _profile_path(profile: str) -> Path:
    folder = shipped_folder("config")
    known = sorted(p.stem for p in folder.glob("*.yaml"))
    path = Path(profile) if is_profile_file(profile) else folder / f"{profile}.yaml"
    if not is_profile_file(profile) and profile not in known:
        raise InvalidInput(f"no profile {profile!r}; known profiles: {', '.join(known)}, or give a YAML file")
    return path


def _read(path: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """The mapping of a YAML file with its references replaced."""
    try:
        loaded = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no configuration file {path}") from error
    except OSError as error:
        raise InvalidInput(f"the configuration file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidInput(f"{path}{where} is not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path} is not valid YAML: {str(error).splitlines()[0]}") from error
    replaced = _interpolate(loaded if loaded is not None else {}, env)
    if not isinstance(replaced, dict):
        raise InvalidInput(f"{path} must hold a mapping of settings")
    return replaced


def _interpolate(value: Any, env: Mapping[str, str]) -> Any:
    """The value with every `${VAR:default}` in its texts replaced. What a variable holds is never read as YAML."""
    if isinstance(value, dict):
        return {key: _interpolate(entry, env) for key, entry in value.items()}
    if isinstance(value, list):
        return [_interpolate(entry, env) for entry in value]
    return _REFERENCE.sub(lambda match: _referenced(match, env), value) if isinstance(value, str) else value


def _referenced(match: re.Match[str], env: Mapping[str, str]) -> str:
    found: str | None = env.get(match[1]) or match[2]
    if found is None:
        raise InvalidInput(f"the configuration needs the environment variable {match[1]}; set it")
    return found


def _environment_keys(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = [_variable(key) for key in known_keys() if "." in key]
    for variable, value in env.items():
        if not variable.startswith(ENV_PREFIX) or variable in OTHER_VARIABLES:
            continue
        name = variable.removeprefix(ENV_PREFIX).lower().replace("__", ".")
        if "." not in name:
            refuse_unknown_variable(variable, [*names, *OTHER_VARIABLES])
        yield name, value


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper().replace(".", "__")


def _assign(loaded: dict[str, Any], dotted: str, value: object, origins: Origins, origin: str) -> None:
    *sections, last = dotted.split(".")
    target: Any = loaded
    for section in sections:
        target = target.setdefault(section, {})
        if not isinstance(target, dict):
            raise InvalidInput(f"{origin}: {section!r} is not a section of settings")
    target[last] = value
    origins.note(dotted, origin)


def _refuse_nul(value: object, name: str) -> None:
    if isinstance(value, dict):
        for key, entry in value.items():
            _refuse_nul(entry, f"{name}.{key}" if name else str(key))
    elif isinstance(value, str) and "\0" in value:
        raise InvalidInput(f"setting {name!r} holds a NUL; remove it")


def _home(value: object) -> Path:
    try:
        return Path(str(value)).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(f"home {value!r}: there is no such user's folder; give an absolute path") from error

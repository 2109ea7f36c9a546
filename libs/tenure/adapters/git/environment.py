"""How git is started: which program, which environment, which settings. A repository gets no say in any of them."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tenure.core.errors import StoreUnavailable

# Every setting by which a repository's own configuration can name a program, or bend what git prints, is overridden on
# the command line: that scope wins over the repository's. `false` is a program that does nothing and fails.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.alternateRefsCommand=false",
    "core.attributesFile=/dev/null",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "credential.helper=",
    "diff.external=",
    "diff.orderFile=/dev/null",
    "diff.relative=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showRoot=true",
    "log.showSignature=false",
    "log.mailmap=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "uploadpack.packObjectsHook=",
    # A mounted repository belongs to another user: reading it runs nothing, so its ownership does not matter.
    "safe.directory=*",
)

HARDENING: tuple[str, ...] = ("--no-pager", *(part for setting in _SETTINGS for part in ("-c", setting)))
"""Arguments that stand before every git command."""

_FIXED_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # An empty list allows no transport; older gits don't know the switch against lazy fetching, so both are set.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    # A commit id in the index names the object with that hash, not what a replace ref or a graft puts in its place.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_PAGER": "cat",
}

_HOME_VARIABLES = ("HOME", "XDG_CONFIG_HOME")
_CONFIG_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


def search_path(environment: Mapping[str, str], root: str) -> list[str]:
    """The folders of PATH that may hold programs: absolute ones outside `root`.

    A relative folder would be looked up inside the repository, and a virtual environment inside it is the repository's.
    Where nothing is left (the root holds the whole system) these are the system's own program folders.
    """
    top = Path(os.path.realpath(root))
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    outside = [name for name in folders if Path(name).is_absolute() and not _is_inside(name, top)]
    return outside or [name for name in os.defpath.split(os.pathsep) if name]


def _is_inside(folder: str, top: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(top)


def program(folders: list[str]) -> str:
    """The absolute path of git; `StoreUnavailable` if it is in none of the folders."""
    found = shutil.which("git", path=os.pathsep.join(folders))
    if found is None:
        raise StoreUnavailable("git was not found on PATH outside the repository; install git 2.36 or newer")
    return found


def hardened_environment(folders: list[str]) -> dict[str, str]:
    """The whole environment of a git that reads a repository: no variable is inherited but the cleaned PATH."""
    return _FIXED_ENVIRONMENT | {"PATH": os.pathsep.join(folders)}


def listing_environment(environment: Mapping[str, str], folders: list[str]) -> dict[str, str]:
    """As `hardened_environment`, with the user's home, where git finds the user's own ignore file."""
    homes = {name: environment[name] for name in _HOME_VARIABLES if name in environment}
    return hardened_environment(folders) | homes


def user_config_environment(environment: Mapping[str, str], folders: list[str]) -> dict[str, str]:
    """As `listing_environment`, with the user's and the system's configuration. Fit for reading a setting, no more."""
    base = listing_environment(environment, folders)
    del base["GIT_CONFIG_NOSYSTEM"], base["GIT_CONFIG_GLOBAL"]
    return base | {name: environment[name] for name in _CONFIG_VARIABLES if name in environment}

"""Vendor errors in our words: what happened, where, and what to do next."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tenure.core.errors import InvalidInput, NotAllowed, RecordConflict, StoreUnavailable, TenureError

_PRIMARY_CODE = 0xFF
"""The low byte of an extended SQLite result code is the primary one."""
_CONSTRAINT = 19
_FOREIGN_KEY = 787
_READ_ONLY = 8

_ADVICE = {
    5: "is locked by another process; wait until it ends, or end it, and try again",
    6: "is locked by another process; wait until it ends, or end it, and try again",
    7: "needs more memory than there is; free some and try again",
    _READ_ONLY: "can't be written; check the permissions of the file and of its folder",
    10: "can't be read or written (I/O error); check the disk, then run `tenure verify`",
    11: "is damaged; restore a backup, or move it away and index again",
    13: "is on a full disk; free space and try again. What was stored before is whole",
    14: "can't be opened; check that its folder exists and that you may read and write there",
    26: "is not a database; move that file away, or set another DATABASE_URL",
}
"""What to say by SQLite's primary result code."""


@contextmanager
def translated(where: str, *, is_reading: bool = False) -> Iterator[None]:
    """Raises only errors of `tenure.core.errors` for what the vendor raises. `where` names the database."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(f"The database {where} is busy: no connection came free; try again") from error
    except DBAPIError as error:
        raise _translation(error.orig, where, is_reading=is_reading) from error
    except sqlite3.Error as error:
        raise _translation(error, where, is_reading=is_reading) from error
    except StatementError as error:
        if isinstance(error.orig, TenureError):  # a column type has refused the value, in our words
            raise error.orig from None
        raise InvalidInput(f"A value does not fit its column: {error.orig}") from error
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"The database {where} did not answer: {error}") from error


def _translation(error: BaseException | None, where: str, *, is_reading: bool) -> TenureError:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    text = str(error)
    if code is None:
        return _by_sqlstate(error, where)
    primary = code & _PRIMARY_CODE
    if code == _FOREIGN_KEY:
        return RecordConflict("The record belongs to a workspace, repository or file that does not exist (any more)")
    if primary == _CONSTRAINT:
        return RecordConflict(f"Such a record exists already ({text}); read it instead of storing it again")
    if primary == _READ_ONLY and is_reading:
        return NotAllowed("This unit of work only reads; open one with `writing` to change something")
    if text.startswith("no such table"):
        return StoreUnavailable(f"The database {where} has no tables of this version; run `tenure migrate`")
    advice = _ADVICE.get(primary)
    return StoreUnavailable(f"The database {where} {advice}" if advice else f"The database {where} refused: {text}")


def _by_sqlstate(error: BaseException | None, where: str) -> TenureError:
    state = str(getattr(error, "sqlstate", "") or "")
    if state.startswith("23"):  # the class of integrity violations
        return RecordConflict(f"Such a record exists already, or what it belongs to is gone ({error})")
    if state == "25006":
        return NotAllowed("This unit of work only reads; open one with `writing` to change something")
    return StoreUnavailable(f"The database {where} did not answer: {error}; check that it runs and try again")

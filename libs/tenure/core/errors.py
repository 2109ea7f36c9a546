"""The errors that Tenure raises, by what the caller can do about them.

Every message says what is wrong and what to do next. Edges turn a class into a status code or an
exit code; nothing else looks at the class of an error.
"""


class TenureError(Exception):
    """Root of all errors that a caller is meant to see. `str(error)` is fit to be shown."""


class InvalidInput(TenureError):
    """The request can't be served as it stands; sending it again changes nothing (422)."""


class GitRefused(InvalidInput):
    """Git could not do what was asked of it in this repository; the message has git's own words (422)."""


class NotAllowed(TenureError):
    """The caller is known but may not do this; the message names the setting or the role (403)."""


class NotAuthenticated(TenureError):
    """No valid API key came with the request (401)."""


class RecordNotFound(TenureError):
    """No such record in this workspace; a record of another workspace looks the same (404)."""


class RecordConflict(TenureError):
    """The record's present state forbids the change; the message names that state (409)."""


class StoreUnavailable(TenureError):
    """A store did not answer or refused for a passing reason; a retry may help (503)."""


class StoreMismatch(TenureError):
    """Stored data and configuration disagree (dimension, model, version); the message names the way out (409)."""


class LeaseLost(TenureError):
    """Another worker holds the job now; what this worker meant to write was not written."""

"""What holds for all tests."""

from hypothesis import settings

# No test asserts a time: a busy machine takes what it takes.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

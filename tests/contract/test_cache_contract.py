"""What every cache promises. A later adapter subclasses `CacheContract` and says how its time passes."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.adapters.in_process.cache import InProcessCache

WORKSPACE, OTHER = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"


class CacheContract:
    """Bind it by the fixtures `cache`, and `pass_time`, which lets seconds go by for that cache."""

    async def test_what_was_put_is_found_byte_for_byte(self, cache, pass_time):
        for value in (b"", b"\0\xff\r\n", bytes(range(256)) * 40):
            await cache.put(WORKSPACE, "key", value, 60)
            assert await cache.get(WORKSPACE, "key") == value

    async def test_a_missing_key_is_none(self, cache, pass_time):
        assert await cache.get(WORKSPACE, "key") is None

    async def test_a_later_value_replaces_the_former(self, cache, pass_time):
        await cache.put(WORKSPACE, "key", b"old", 60)
        await cache.put(WORKSPACE, "key", b"new", 60)
        assert await cache.get(WORKSPACE, "key") == b"new"

    async def test_a_value_ends_with_its_time_and_not_before(self, cache, pass_time):
        await cache.put(WORKSPACE, "short", b"1", 10)
        await cache.put(WORKSPACE, "long", b"2", 100)
        pass_time(8)
        assert await cache.get(WORKSPACE, "short") == b"1"
        pass_time(4)
        assert await cache.get(WORKSPACE, "short") is None
        assert await cache.get(WORKSPACE, "long") == b"2"

    async def test_putting_again_starts_the_time_anew(self, cache, pass_time):
        await cache.put(WORKSPACE, "key", b"1", 10)
        pass_time(8)
        await cache.put(WORKSPACE, "key", b"2", 10)
        pass_time(8)
        assert await cache.get(WORKSPACE, "key") == b"2"

    @pytest.mark.parametrize("ttl", [0, -1])
    async def test_a_value_without_time_is_not_kept_and_ends_the_former(self, cache, pass_time, ttl):
        await cache.put(WORKSPACE, "key", b"old", 60)
        await cache.put(WORKSPACE, "key", b"new", ttl)
        assert await cache.get(WORKSPACE, "key") is None

    async def test_another_workspace_neither_sees_nor_drops_it(self, cache, pass_time):
        await cache.put(WORKSPACE, "key", b"mine", 60)
        assert await cache.get(OTHER, "key") is None
        await cache.drop(OTHER, "key")
        await cache.put(OTHER, "key", b"theirs", 60)
        assert await cache.get(WORKSPACE, "key") == b"mine"

    async def test_no_key_reaches_into_another_workspace(self, cache, pass_time):
        await cache.put("a", "b:c", b"mine", 60)
        for workspace, key in (("a:b", "c"), ("", "a:b:c"), ("a/b", "c"), ("", "ab:c")):
            assert await cache.get(workspace, key) is None

    async def test_a_dropped_key_is_gone_and_a_missing_one_is_fine(self, cache, pass_time):
        await cache.put(WORKSPACE, "key", b"1", 60)
        await cache.drop(WORKSPACE, "key")
        await cache.drop(WORKSPACE, "key")
        assert await cache.get(WORKSPACE, "key") is None


class Time:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TestInProcessCache(CacheContract):
    """The cache in memory, on a clock of the test."""

    @pytest.fixture
    def time(self) -> Time:
        return Time()

    @pytest.fixture
    def cache(self, time: Time) -> InProcessCache:
        return InProcessCache(clock=time)

    @pytest.fixture
    def pass_time(self, time: Time) -> Callable[[float], None]:
        def pass_seconds(seconds: float) -> None:
            time.now += seconds

        return pass_seconds

    async def test_the_least_recently_used_goes_first(self):
        cache = InProcessCache(max_bytes=3 * 1300)
        for key in "abc":
            await cache.put(WORKSPACE, key, bytes(1000), 60)
        await cache.get(WORKSPACE, "a")
        await cache.put(WORKSPACE, "d", bytes(1000), 60)
        assert [await cache.get(WORKSPACE, key) is not None for key in "abcd"] == [True, False, True, True]

    async def test_a_value_larger_than_the_cache_is_not_kept_and_pushes_nothing_out(self):
        cache = InProcessCache(max_bytes=2000)
        await cache.put(WORKSPACE, "small", b"1", 60)
        await cache.put(WORKSPACE, "large", bytes(2000), 60)
        assert await cache.get(WORKSPACE, "large") is None
        assert await cache.get(WORKSPACE, "small") == b"1"

    @settings(max_examples=60)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["put", "get", "drop"]), st.integers(0, 5), st.integers(0, 900), st.integers(0, 9)
            ),
            max_size=40,
        )
    )
    async def test_it_never_takes_more_than_its_bytes_and_gives_them_all_back(self, steps):
        time = Time()
        cache = InProcessCache(max_bytes=2500, clock=time)
        for action, key, size, seconds in steps:
            time.now += seconds
            if action == "put":
                await cache.put(WORKSPACE, str(key), bytes(size), 20)
            elif action == "get":
                assert await cache.get(WORKSPACE, str(key)) in {None, *(bytes(n) for n in range(901))}
            else:
                await cache.drop(WORKSPACE, str(key))
            assert 0 <= cache.size_bytes <= 2500
        for key in range(6):
            await cache.drop(WORKSPACE, str(key))
        assert cache.size_bytes == 0

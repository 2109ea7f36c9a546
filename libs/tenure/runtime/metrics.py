"""Prometheus metrics, low in cardinality: no workspace, user, path or task is ever a label."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tenure.core.context import ContextBundle

_LATENCY_BUCKETS = (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 1.0, 2.0, 5.0)
"""Seconds, dense around what a retrieve may take: p50 under 40 ms, p95 under 100."""
_JOB_BUCKETS = (0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0)
"""Seconds: from one changed file to a first index with all its vectors."""


_STORE_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds: from a lookup by id to a batch of thousands of rows."""


class Metrics:
    """The metrics of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._retrieve = Histogram(
            "tenure_retrieve_seconds", "Time to answer a retrieve", registry=self.registry, buckets=_LATENCY_BUCKETS
        )
        self._queries = Counter("tenure_queries", "Answered queries", ["result"], registry=self.registry)
        self._requests = Histogram(
            "tenure_http_request_seconds",
            "Time of HTTP requests",
            ["method", "route", "status"],
            registry=self.registry,
            buckets=_LATENCY_BUCKETS,
        )
        self._jobs = Histogram(
            "tenure_job_seconds",
            "Time of ended jobs",
            ["kind", "state"],
            registry=self.registry,
            buckets=_JOB_BUCKETS,
        )
        self._source_failures = Counter(
            "tenure_source_failures", "Retrieval sources that did not answer", ["source"], registry=self.registry
        )
        self._store_calls = Histogram(
            "tenure_store_seconds",
            "Time of calls of a store",
            ["store", "operation"],
            registry=self.registry,
            buckets=_STORE_BUCKETS,
        )
        self._store_histograms: dict[tuple[str, str], Histogram] = {}
        self._store_errors = Counter(
            "tenure_store_errors",
            "Calls that a store did not answer",
            ["store", "error"],
            registry=self.registry,
        )
        self._embedded = Counter(
            "tenure_embedded_texts",
            "Texts that were given a vector: chunks in the background, queries",
            ["kind"],
            registry=self.registry,
        )
        self._embedding = Counter(
            "tenure_embedding_seconds",
            "Time that the embedder took for them",
            ["kind"],
            registry=self.registry,
        )
        self.gauges = Gauges(self.registry)
        self._started = Gauge("tenure_start_time_seconds", "When the process started", registry=self.registry)
        self._started.set_to_current_time()

    def retrieved(self, bundle: ContextBundle) -> None:
        """Count one answered retrieve, and the sources that did not answer it."""
        self._retrieve.observe(bundle.timings_ms["total"] / 1000)
        self._queries.labels(result=bundle.result).inc()
        for source in bundle.failed_sources:
            self._source_failures.labels(source=source).inc()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one HTTP request, by route template."""
        self._requests.labels(method=method, route=route, status=str(status)).observe(seconds)

    def job_ended(self, kind: str, state: str, seconds: float) -> None:
        """Count one ended job and how long it ran."""
        self._jobs.labels(kind=kind, state=state).observe(seconds)

    def store_answered(self, store: str, operation: str, seconds: float) -> None:
        """Count one call of a store, whether it went well or not."""
        histogram = self._store_histograms.get((store, operation))
        if histogram is None:
            histogram = self._store_calls.labels(store=store, operation=operation)
            self._store_histograms[store, operation] = histogram
        histogram.observe(seconds)

    def store_failed(self, store: str, error: BaseException) -> None:
        """Count one call that a store did not answer, by the kind of error."""
        self._store_errors.labels(store=store, error=type(error).__name__).inc()

    def embedded(self, kind: str, texts: int, seconds: float) -> None:
        """Count texts that were given a vector."""
        self._embedded.labels(kind=kind).inc(texts)
        self._embedding.labels(kind=kind).inc(seconds)

    def render(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


class Gauges:
    """What is looked up when the metrics are read; `Lookout` does that. A gauge without a value is not exposed."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.queue_depth = Gauge("tenure_queue_depth", "Entries that wait", ["queue"], registry=registry)
        self.queue_age = Gauge(
            "tenure_queue_oldest_seconds", "Age of the oldest entry that waits", ["queue"], registry=registry
        )
        self.items = Gauge("tenure_memory_items", "Stored memories", ["kind", "state"], registry=registry)
        self.bytes = Gauge("tenure_memory_bytes", "Disk that a store takes", ["store"], registry=registry)
        self.capacity = Gauge(
            "tenure_memory_capacity_bytes", "Size of the disk of a store: used and free", ["store"], registry=registry
        )

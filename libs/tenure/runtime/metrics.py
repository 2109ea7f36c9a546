"""Prometheus metrics, low in cardinality: no workspace, user, path or task is ever a label."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tenure.core.context import ContextBundle

_LATENCY_BUCKETS = (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.4, 1.0, 2.0, 5.0)
"""Seconds, dense around what a retrieve may take: p50 under 40 ms, p95 under 100."""
_JOB_BUCKETS = (0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0)
"""Seconds: from one changed file to a first index with all its vectors."""


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

    def render(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)

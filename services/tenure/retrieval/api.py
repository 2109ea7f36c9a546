"""The retrieval service over HTTP."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tenure.contracts.retrieval import (
    BundleOut,
    ImpactOut,
    ImpactRequest,
    MessageOut,
    PromptOut,
    PromptRequest,
    RetrieveRequest,
    SearchHit,
    SearchOut,
)
from tenure.core.context import FusionMethod
from tenure.retrieval.impact import ImpactService
from tenure.retrieval.prompting import PromptService
from tenure.retrieval.service import RetrievalService
from tenure.runtime.metrics import Metrics
from tenure.runtime.web import CurrentCaller, ViewedWorkspace
from tenure.runtime.web_bodies import JsonRoute


@dataclass(frozen=True, slots=True)
class RetrievalEdge:
    """What the endpoints need: the services, the default fusion, and where answers are counted."""

    retrieval: RetrievalService
    prompts: PromptService
    impact: ImpactService
    default_fusion: FusionMethod
    metrics: Metrics


def _edge(request: Request) -> RetrievalEdge:
    edge: RetrievalEdge = request.app.state.retrieval
    return edge


Edge = Annotated[RetrievalEdge, Depends(_edge)]
router = APIRouter(prefix="/v1/workspaces/{workspace_id}", tags=["context"], route_class=JsonRoute)


@router.post("/context")
async def context(edge: Edge, workspace_id: ViewedWorkspace, caller: CurrentCaller, body: RetrieveRequest) -> BundleOut:
    """What a model should see for this query, within the token budget, with reasons."""
    options = body.options(edge.default_fusion)
    bundle = await edge.retrieval.retrieve(workspace_id, body.query, options, reader=caller.reader)
    edge.metrics.retrieved(bundle)
    return BundleOut.model_validate(bundle)


@router.post("/search")
async def search(edge: Edge, workspace_id: ViewedWorkspace, caller: CurrentCaller, body: RetrieveRequest) -> SearchOut:
    """Where something is: the items of `context` without their text."""
    options = body.options(edge.default_fusion)
    bundle = await edge.retrieval.retrieve(workspace_id, body.query, options, whole=False, reader=caller.reader)
    edge.metrics.retrieved(bundle)
    return SearchOut(
        result=bundle.result,
        hits=tuple(SearchHit.model_validate(item) for item in bundle.items),
        freshness=BundleOut.model_validate(bundle).freshness,
        is_partial=bundle.is_partial,
        failed_sources=bundle.failed_sources,
        hints=bundle.hints,
    )


@router.post("/prompt")
async def prompt(edge: Edge, workspace_id: ViewedWorkspace, caller: CurrentCaller, body: PromptRequest) -> PromptOut:
    """The finished prompt: system part, fenced context, the request last."""
    built = await edge.prompts.build(
        workspace_id,
        body.query,
        body.options(edge.default_fusion),
        body.history_tokens,
        body.tool_tokens,
        caller.reader,
    )
    edge.metrics.retrieved(built.bundle)
    return PromptOut(
        messages=tuple(MessageOut(**message) for message in built.messages),
        token_count=built.token_count,
        bundle=BundleOut.model_validate(built.bundle),
    )


@router.post("/impact")
async def impact(edge: Edge, workspace_id: ViewedWorkspace, body: ImpactRequest) -> ImpactOut:
    """What else changes with these files."""
    return ImpactOut.model_validate(
        await edge.impact.impact(workspace_id, body.repository_id, list(body.paths), body.limit)
    )

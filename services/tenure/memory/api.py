"""The memory service over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tenure.code.masking import mask_free_text
from tenure.contracts.memory import AcceptedOut, EventOut, NewEvent, NewEvents, NewSession, SessionOut
from tenure.core.events import EventType, RecordedEvent
from tenure.core.prompts import WorkingMemory
from tenure.memory.service import MemoryService
from tenure.runtime.web import CurrentCaller, EditedWorkspace, ViewedWorkspace
from tenure.runtime.web_bodies import JsonRoute


def _service(request: Request) -> MemoryService:
    service: MemoryService = request.app.state.memory
    return service


Service = Annotated[MemoryService, Depends(_service)]
MAX_POSITION = 2**63 - 1
Limit = Annotated[int, Query(ge=1, le=1000)]
router = APIRouter(prefix="/v1/workspaces/{workspace_id}", tags=["memory"], route_class=JsonRoute)


@router.post("/events", status_code=202)
async def add_event(
    service: Service, workspace_id: EditedWorkspace, caller: CurrentCaller, body: NewEvent
) -> AcceptedOut:
    """Accept one fact; the same id twice is one fact."""
    return AcceptedOut.model_validate((await service.ingest(workspace_id, [body.event(caller.principal_id)]))[0])


@router.post("/events/batch", status_code=202)
async def add_events(
    service: Service, workspace_id: EditedWorkspace, caller: CurrentCaller, body: NewEvents
) -> list[AcceptedOut]:
    """Accept facts in order, all or none."""
    events = [event.event(caller.principal_id) for event in body.events]
    return [AcceptedOut.model_validate(accepted) for accepted in await service.ingest(workspace_id, events)]


@router.get("/events")
async def events(
    service: Service,
    workspace_id: ViewedWorkspace,
    caller: CurrentCaller,
    after: Annotated[int, Query(ge=0, le=MAX_POSITION)] = 0,
    limit: Limit = 100,
) -> list[EventOut]:
    """Events behind a position, in order: page by the last position."""
    return [_event(recorded) for recorded in await service.read(workspace_id, after, limit, caller.reader)]


@router.get("/timeline")
async def timeline(
    service: Service,
    workspace_id: ViewedWorkspace,
    caller: CurrentCaller,
    type: Annotated[list[EventType] | None, Query()] = None,
    session_id: str | None = None,
    limit: Limit = 100,
) -> list[EventOut]:
    """The newest events, newest first."""
    found = await service.timeline(workspace_id, limit, type or (), session_id, caller.reader)
    return [_event(recorded) for recorded in found]


@router.post("/sessions", status_code=201)
async def begin_session(
    service: Service, workspace_id: EditedWorkspace, caller: CurrentCaller, body: NewSession
) -> SessionOut:
    """Begin a piece of work."""
    session_id = await service.begin_session(workspace_id, body.task, caller.principal_id)
    return SessionOut(id=session_id, task=mask_free_text(body.task))


@router.post("/sessions/{session_id}/commit", status_code=204)
async def commit_session(
    service: Service, workspace_id: EditedWorkspace, caller: CurrentCaller, session_id: str
) -> None:
    """Close a session; twice is once."""
    await service.commit_session(workspace_id, session_id, caller.principal_id)


@router.post("/sessions/{session_id}/resume")
async def resume_session(
    service: Service, workspace_id: ViewedWorkspace, caller: CurrentCaller, session_id: str
) -> SessionOut:
    """What the session is about, wherever it was left."""
    return _session(session_id, await service.working_memory(workspace_id, session_id, caller.reader))


def _event(recorded: RecordedEvent) -> EventOut:
    event = recorded.event
    return EventOut(
        position=recorded.position,
        id=event.id,
        type=event.type,
        at=event.at,
        recorded_at=recorded.recorded_at,
        session_id=event.session_id,
        actor=event.actor,
        payload=event.payload,
    )


def _session(session_id: str, memory: WorkingMemory) -> SessionOut:
    return SessionOut(
        id=session_id,
        task=memory.task,
        active_files=tuple(memory.active_files),
        recent_edits=tuple(memory.recent_edits),
        events=tuple(memory.events),
    )

"""The ingestion service over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tenure.contracts.ingestion import (
    FindingsOut,
    IndexRequest,
    IndexStatusOut,
    JobOut,
    NewRepository,
    ProblemOut,
    RebuildOut,
    RefusedOut,
    RepositoryOut,
)
from tenure.ingestion.service import IndexStatus, IngestionService
from tenure.ingestion.verification import Findings
from tenure.runtime.web import EditedWorkspace, OwnedWorkspace, ViewedWorkspace
from tenure.runtime.web_bodies import JsonRoute


def _service(request: Request) -> IngestionService:
    service: IngestionService = request.app.state.ingestion
    return service


Service = Annotated[IngestionService, Depends(_service)]
router = APIRouter(prefix="/v1/workspaces/{workspace_id}", tags=["index"], route_class=JsonRoute)


@router.get("/repositories")
async def repositories(service: Service, workspace_id: ViewedWorkspace) -> list[RepositoryOut]:
    """The workspace's repositories, by name."""
    return [RepositoryOut.model_validate(r) for r in await service.repositories(workspace_id)]


@router.post("/repositories", status_code=201)
async def add_repository(service: Service, workspace_id: EditedWorkspace, body: NewRepository) -> RepositoryOut:
    """Register the tree that holds a path; the same root gives the same record."""
    return RepositoryOut.model_validate(await service.add_repository(workspace_id, body.path, body.name, body.tree))


@router.delete("/repositories/{repository_id}", status_code=204)
async def remove_repository(service: Service, workspace_id: EditedWorkspace, repository_id: str) -> None:
    """Remove a repository from every store."""
    await service.remove_repository(workspace_id, repository_id)


@router.post("/repositories/{repository_id}/index", status_code=202)
async def index(service: Service, workspace_id: EditedWorkspace, repository_id: str, body: IndexRequest) -> JobOut:
    """Request an index job; one that is queued or running is joined."""
    return JobOut.model_validate(await service.request_index(workspace_id, repository_id, body.full))


@router.post("/repositories/{repository_id}/embed", status_code=202)
async def embed(service: Service, workspace_id: EditedWorkspace, repository_id: str) -> JobOut:
    """Request dense vectors for what has none; refused texts are tried again."""
    return JobOut.model_validate(await service.request_embed(workspace_id, repository_id))


@router.get("/repositories/{repository_id}/status")
async def repository_status(service: Service, workspace_id: ViewedWorkspace, repository_id: str) -> IndexStatusOut:
    """The state of one repository's index."""
    return _status(await service.status(workspace_id, repository_id))


@router.get("/index/status")
async def status(service: Service, workspace_id: ViewedWorkspace) -> list[IndexStatusOut]:
    """The state of every repository's index."""
    found = await service.repositories(workspace_id)
    return [_status(await service.status(workspace_id, repository.id)) for repository in found]


@router.get("/jobs")
async def jobs(
    service: Service, workspace_id: ViewedWorkspace, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[JobOut]:
    """Jobs, newest first."""
    return [JobOut.model_validate(job) for job in await service.jobs(workspace_id, limit)]


@router.get("/verify")
async def verify(service: Service, workspace_id: ViewedWorkspace) -> list[FindingsOut]:
    """Compare truth and projections both ways."""
    return [findings_out(found) for found in await service.verify(workspace_id)]


@router.post("/repair")
async def repair(service: Service, workspace_id: OwnedWorkspace) -> list[FindingsOut]:
    """Mend what verify finds; answers what was found before."""
    return [findings_out(found) for found in await service.repair(workspace_id)]


@router.post("/rebuild")
async def rebuild(service: Service, workspace_id: OwnedWorkspace) -> RebuildOut:
    """Restore the projections from SQL alone."""
    return RebuildOut(projected=await service.rebuild(workspace_id))


def _status(status: IndexStatus) -> IndexStatusOut:
    return IndexStatusOut.model_validate(
        {
            **{
                name: getattr(status, name)
                for name in IndexStatusOut.model_fields
                if name not in {"problems", "refused"}
            },
            "problems": [ProblemOut.model_validate(problem) for problem in status.problems],
            "refused": [RefusedOut(path=path, reason=reason) for path, reason in status.refused],
        }
    )


def findings_out(found: Findings) -> FindingsOut:
    """Findings on the wire."""
    return FindingsOut(
        repository_id=found.repository_id,
        repository_name=found.repository_name,
        is_clean=found.is_clean,
        is_partial=found.is_partial,
        detail=found.detail,
        counts=found.counts(),
        examples=found.examples(),
    )

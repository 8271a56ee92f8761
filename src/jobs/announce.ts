import type { Coordination } from '../coordination/coordination.ts'
import type { Clock } from '../core/clock.ts'
import type { EventData, EventType, WorkspaceEvent } from '../core/event.ts'
import type { AnyJob } from '../core/job.ts'

/** The job that an event is about. */
export interface AnnouncedJob {
  readonly id: string
  readonly name: string
  readonly workspaceId: string | null
}

export interface AnnounceOptions {
  readonly clock: Clock
  readonly coordination: Coordination
  readonly declared: ReadonlyMap<string, AnyJob>
}

/** Sends an event about a job to the members in `seenBy`. Jobs without a workspace or without `seenBy` send none. */
export function announce<E extends EventType>(
  { clock, coordination, declared }: AnnounceOptions,
  { id, name, workspaceId }: AnnouncedJob,
  type: E,
  data: Omit<EventData<E>, 'workspaceId' | 'jobId' | 'name'>,
): void {
  const scope = declared.get(name)?.seenBy
  if (workspaceId === null || scope === undefined) return
  const event: WorkspaceEvent = {
    workspaceId,
    seq: 0,
    type: type.name,
    data: { workspaceId, jobId: id, name, ...data },
    at: new Date(clock.now()).toISOString(),
    scope,
  }
  coordination.publish(`ev:${workspaceId}`, [event])
}

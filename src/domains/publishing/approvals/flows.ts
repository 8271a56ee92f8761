import type { Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { Sql } from '../../../core/sql.ts'
import type { MemoryKey, Turn } from '../../../core/turn.ts'
import { findGroup, findRole } from '../../workspace/workspaces/index.ts'
import type { PlanningScope } from '../posts/index.ts'
import { candidatesOf, isNamed, roleApproves, type Candidate } from './approvers.ts'
import { flowDeleted, flowUpdated } from './events.ts'
import type { Reviews } from './reviews.ts'
import { APPROVED_PARTS, type FlowData, type FlowInputData, type StageData } from './schemas.ts'
import { approvalFlows, type FlowRow } from './tables.ts'

/** The flow that an actor remembers. Only its turns change it. Undefined before the first read. */
const KNOWN_FLOW: MemoryKey<{ flow: FlowRow | null | undefined }> = {
  name: 'approval flow',
  make: () => ({ flow: undefined }),
}

/** The flow of the workspace, if it has one. */
export async function flowOf(scope: PlanningScope): Promise<FlowRow | undefined> {
  const memory = scope.memory(KNOWN_FLOW)
  if (memory.flow !== undefined) return memory.flow ?? undefined
  const flow = await approvalFlows.first(scope.sql, { workspaceId: scope.workspaceId })
  // At once, because a bulk request asks for each of its posts. A turn that writes the flow and fails drops the memory.
  memory.flow = flow ?? null
  return flow
}

/** The approval flows of workspaces. */
export class ApprovalFlows {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #reviews: Reviews

  constructor(sql: Sql, clock: Clock, reviews: Reviews) {
    this.#sql = sql
    this.#clock = clock
    this.#reviews = reviews
  }

  /** @throws AppError not_found if the workspace has no flow */
  async get(workspaceId: string): Promise<FlowData> {
    const row = await approvalFlows.first(this.#sql, { workspaceId })
    if (row === undefined) throw NotFound()
    return flowView(row)
  }

  /**
   * Adds or replaces the flow. Posts in review continue in the new flow: a stage keeps its decisions if it and those
   * before it have the same approvers and the same rule. Otherwise the post goes back to the first stage that differs.
   * @throws AppError precondition_failed, validation_failed
   */
  async replace(turn: Turn, input: FlowInputData, ifMatch: IfMatch): Promise<FlowData> {
    const old = await approvalFlows.first(turn.sql, { workspaceId: turn.workspaceId })
    requireVersion(ifMatch, old?.version ?? 0)
    const stages = input.stages.map(withDefaults)
    await requireApprovers(turn, stages)
    const now = new Date(this.#clock.now()).toISOString()
    const flow: FlowRow = {
      workspaceId: turn.workspaceId,
      stages,
      authorsMayApprove: input.authorsMayApprove ?? false,
      version: (old?.version ?? 0) + 1,
      createdAt: old?.createdAt ?? now,
      updatedAt: now,
    }
    await approvalFlows.upsert(turn.sql, flow, ['workspaceId'])
    this.#forget(turn)
    if (old !== undefined) await this.#reviews.moveTo(turn, old, flow)
    const view = flowView(flow)
    turn.emit(flowUpdated, view)
    turn.audit({ kind: 'approval_flow', id: turn.workspaceId, details: { stages: stages.map(({ name }) => name) } })
    return view
  }

  /**
   * Deletes the flow. Posts in review keep their times, and wait with those that are ready to be released.
   * @returns how many posts were in review
   * @throws AppError not_found, precondition_failed
   */
  async delete(turn: Turn, ifMatch: IfMatch): Promise<number> {
    const old = await approvalFlows.first(turn.sql, { workspaceId: turn.workspaceId })
    if (old === undefined) throw NotFound()
    requireVersion(ifMatch, old.version)
    await approvalFlows.delete(turn.sql, { workspaceId: turn.workspaceId })
    this.#forget(turn)
    const count = await this.#reviews.endAll(turn)
    turn.emit(flowDeleted, { approvalFlowId: turn.workspaceId })
    turn.audit({ kind: 'approval_flow', id: turn.workspaceId, details: { waitingPosts: count } })
    return count
  }

  #forget(turn: Turn): void {
    turn.memory(KNOWN_FLOW).flow = undefined
  }
}

function withDefaults(stage: FlowInputData['stages'][number]): StageData {
  const { userIds = [], roleIds = [], groupIds = [], guests = false } = stage.approvers
  return {
    name: stage.name,
    approvers: { userIds, roleIds, groupIds, guests },
    rule: stage.rule ?? 'any',
    autoSchedule: stage.autoSchedule ?? true,
    deadlineHours: stage.deadlineHours ?? null,
    afterDeadline: stage.afterDeadline ?? 'remind',
    parts: [...(stage.parts ?? APPROVED_PARTS)],
  }
}

export function flowView({ authorsMayApprove, createdAt, stages, updatedAt, version, workspaceId }: FlowRow): FlowData {
  return { workspaceId, createdAt, updatedAt, version, stages: [...stages], authorsMayApprove }
}

interface Fault {
  readonly path: string
  readonly code: string
  readonly message: string
}

/**
 * Checks that the approvers of each stage exist and can decide.
 * @throws AppError validation_failed
 */
async function requireApprovers(turn: Turn, stages: readonly StageData[]): Promise<void> {
  const members = await candidatesOf(turn)
  const faults: Fault[] = []
  for (const [index, stage] of stages.entries()) {
    const path = `/body/stages/${index}`
    const named = await namedFaults(turn, members, stage, `${path}/approvers`)
    faults.push(...named)
    if (named.length === 0) faults.push(...numberFaults(members, stage, path))
  }
  if (faults.length > 0) throw ValidationFailed({ message: faults[0]?.message ?? '', errors: faults })
}

async function namedFaults(
  turn: Turn,
  members: readonly Candidate[],
  { approvers: { groupIds, roleIds, userIds }, name }: StageData,
  path: string,
): Promise<Fault[]> {
  const faults: Fault[] = []
  const add = (field: string, index: number, code: string, what: string) =>
    faults.push({ path: `${path}/${field}/${index}`, code, message: `The stage “${name}” names ${what}.` })
  const lacks = 'who cannot approve posts. Give them the scope posts:approve first'
  for (const [index, userId] of userIds.entries()) {
    const member = members.find((one) => one.userId === userId)
    if (member === undefined) add('userIds', index, 'no_member', 'a user who is not a member of the workspace')
    else if (!member.canApprove) add('userIds', index, 'no_scope', `a member ${lacks}`)
  }
  for (const [index, roleId] of roleIds.entries()) {
    const row = roleApproves(roleId) === undefined ? await roleOf(turn, roleId) : undefined
    const approves = roleApproves(roleId) ?? row?.includes('posts:approve')
    const isHeld = members.some((one) => one.roleId === roleId && one.canApprove)
    if (approves === undefined) add('roleIds', index, 'unknown', 'a role that the workspace does not have')
    else if (!approves && !isHeld) add('roleIds', index, 'no_scope', `a role with members ${lacks}`)
  }
  for (const [index, groupId] of groupIds.entries()) {
    const group = await findGroup(turn.sql, turn.workspaceId, groupId)
    const isHeld = members.some((one) => one.groupIds.includes(groupId) && one.canApprove)
    if (group === undefined) add('groupIds', index, 'unknown', 'a group that the workspace does not have')
    else if (!isHeld) add('groupIds', index, 'no_scope', `a group with members ${lacks}`)
  }
  return faults
}

async function roleOf(turn: Turn, id: string): Promise<readonly string[] | undefined> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return undefined
  return (await findRole(turn.sql, turn.workspaceId, id))?.scopes
}

function numberFaults(members: readonly Candidate[], stage: StageData, path: string): Fault[] {
  const { approvers, name, rule } = stage
  const count = members.filter((one) => one.canApprove && isNamed(approvers, one)).length
  if (approvers.guests) return []
  if (count === 0) {
    const message = `The stage “${name}” has nobody who can decide. Name a member with the scope posts:approve.`
    return [{ path: `${path}/approvers`, code: 'nobody', message }]
  }
  if (typeof rule === 'string' || rule <= count) return []
  const message = `The stage “${name}” asks for ${rule} approvals, and ${count} of its approvers can decide.`
  return [{ path: `${path}/rule`, code: 'too_many', message }]
}

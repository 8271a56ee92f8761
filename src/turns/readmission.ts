import type { Caller, Member } from '../core/caller.ts'
import type { NamedOperation, PreludeBatch } from '../core/operation.ts'
import type { Turn } from '../core/turn.ts'
import type { OperationTurn } from './payload.ts'

/**
 * Asks again, in the turn itself, what was asked at the door: a turn may have waited in a mailbox, or come from a node
 * that had not heard yet, while its caller was removed or lost the scope.
 */
export interface Readmission {
  /** Reads what the turns of a batch will be asked, in one go. */
  prepare(batch: PreludeBatch, userIds: readonly string[]): Promise<void>
  /**
   * The caller as a member, as of this place in the workspace's order.
   * @throws AppError not_found, forbidden
   */
  member(operation: NamedOperation, caller: Caller, turn: Turn): Member | Promise<Member>
}

/** Whether the door asked for a membership. */
export function asksForMember(operation: NamedOperation | undefined, { context }: OperationTurn): boolean {
  return operation?.workspace !== undefined && operation.access.includes(':') && context.workspaceId !== undefined
}

import type { Caller, Member } from '../core/caller.ts'
import type { NamedOperation, PreludeBatch } from '../core/operation.ts'
import type { Turn } from '../core/turn.ts'
import type { OperationTurn } from './payload.ts'

/**
 * Authorizes the caller of an operation a second time, inside its turn. The pipeline has done so before, but the turn may
 * have waited in a mailbox, or come from a node with an old cache, while the caller was removed or lost the scope.
 */
export interface TurnAuthorizer {
  /** Reads the members that the turns of a batch need, with one statement. */
  prepare(batch: PreludeBatch, userIds: readonly string[]): Promise<void>
  /**
   * The caller as a member, as of this turn.
   * @throws AppError not_found, forbidden
   */
  member(operation: NamedOperation, caller: Caller, turn: Turn): Member | Promise<Member>
}

/** Whether an operation requires a scope in its workspace. */
export function needsMember(operation: NamedOperation | undefined, { context }: OperationTurn): boolean {
  return operation?.workspace !== undefined && operation.access.includes(':') && context.workspaceId !== undefined
}

import type { Caller, Member } from '../core/caller.ts'

/** What the pipeline knows of a request, as the handler's context carries it. Plain data but for the scope set. */
export interface RequestData {
  readonly path: unknown
  readonly query: unknown
  readonly body: unknown
  readonly caller: Caller
  readonly member: Member
  readonly requestId: string
  readonly remoteAddress: string
  readonly userAgent: string
  readonly ifMatch: string | undefined
}

export interface IdempotencyClaim {
  readonly principal: string
  readonly key: string
  /** Of path and body: the same key with another fingerprint is refused. */
  readonly fingerprint: string
  readonly keepMs: number
}

export interface OperationTurn {
  readonly kind: 'operation'
  readonly operation: string
  readonly audited: boolean
  readonly context: RequestData
  readonly idempotency?: IdempotencyClaim
}

export interface SystemTurnPayload {
  readonly kind: 'system'
  readonly name: string
  readonly input: unknown
}

export type TurnPayload = OperationTurn | SystemTurnPayload

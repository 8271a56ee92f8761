import type { RequestData } from '../core/context.ts'

export interface IdempotencyClaim {
  readonly principal: string
  readonly key: string
  /** Hash of path and body. A request with the same key and another fingerprint is refused. */
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

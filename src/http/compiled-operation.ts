import { limitClassOf, RATE_LIMITS } from '../core/limits.ts'
import { isDownload, type NamedOperation } from '../core/operation.ts'
import { pipelineErrors } from './declared-errors.ts'
import { inputReader, type InputReader } from './input.ts'
import { ReplyChecker } from './reply-checker.ts'
import { serializers, type Serializer } from './serialize.ts'

/** An operation with everything that its requests need, derived once from its declaration. */
export interface CompiledOperation {
  readonly op: NamedOperation
  readonly reader: InputReader
  /** Serializers of the replies by status. */
  readonly serializers: ReadonlyMap<number, Serializer>
  /** Set if replies are checked against the declaration. */
  readonly checker: ReplyChecker | undefined
  /** Value of the RateLimit-Policy header. */
  readonly ratePolicy: string
  /** The policy's name in the RateLimit header. */
  readonly rateName: string
  /** Whether it takes download links in place of a credential. */
  readonly isDownload: boolean
  /** Whether its handler has always replied without waiting. Undefined before its first request. */
  neverWaits: boolean | undefined
}

export function compiledOperation(op: NamedOperation, checkReplies: boolean): CompiledOperation {
  const limit = limitClassOf(op)
  const policy = RATE_LIMITS[limit as keyof typeof RATE_LIMITS]
  return {
    op,
    reader: inputReader(op),
    serializers: serializers(op),
    checker: checkReplies ? new ReplyChecker(op, pipelineErrors(op)) : undefined,
    ratePolicy: policy ? `"${limit}";q=${policy.burst};w=${policy.windowSeconds}` : '',
    rateName: `"${limit}"`,
    isDownload: isDownload(op),
    neverWaits: undefined,
  }
}

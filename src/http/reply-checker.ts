import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import type { AppError, ErrorDefinition } from '../core/error.ts'
import { memoize } from '../tools/memoize.ts'
import type { NamedOperation } from '../core/operation.ts'
import { FileBody, LiveBody, PreparedBody, RawBody, StoredList, type Reply } from '../core/reply.ts'
import { rawContentType } from './serialize.ts'

/** A reply or an error that the operation does not declare. It becomes a 500, so that tests notice it. */
export class ContractError extends Error {
  override readonly name = 'ContractError'
}

/** Checks that an operation keeps to its declaration: statuses, bodies and error codes. For development and tests. */
export class ReplyChecker {
  readonly #op: NamedOperation
  /** By status. Null for a reply without a body, or with a raw one. */
  readonly #schemas = new Map<number, TSchema | null>()
  readonly #codes: ReadonlySet<string>

  constructor(op: NamedOperation, pipeline: readonly ErrorDefinition[]) {
    this.#op = op
    this.#codes = new Set([...pipeline, ...(op.errors ?? [])].map((error) => error.code))
    for (const [status, schema] of Object.entries(op.returns as Record<string, TSchema | null>)) {
      this.#schemas.set(Number(status), schema === null || rawContentType(schema) !== undefined ? null : schema)
    }
  }

  /** @throws ContractError */
  checkReply(reply: Reply): void {
    const schema = this.#schemas.get(reply.status)
    if (schema === undefined)
      throw new ContractError(`${this.#op.name} replied with the undeclared status ${reply.status}`)
    if (schema === null) {
      const { body } = reply
      const raw = body instanceof RawBody || body instanceof FileBody || body instanceof LiveBody
      if (body !== undefined && !raw) {
        throw new ContractError(`${this.#op.name} replied with ${reply.status} and an undeclared body`)
      }
      return
    }
    const plain = JSON.parse(jsonOf(reply.body)) as unknown
    const compiled = compile(schema)
    if (compiled.Check(plain)) return
    const faults = compiled.Errors(plain).map((fault) => `${fault.instancePath} ${fault.message}`)
    throw new ContractError(
      `${this.#op.name} replied with ${reply.status} and a body that does not match its schema: ${faults.join('; ')}`,
    )
  }

  /** @throws ContractError for an error code that the operation does not declare, or a message that is no sentence */
  checkError(error: AppError): void {
    if (!this.#codes.has(error.code))
      throw new ContractError(`${this.#op.name} raised the undeclared error ${error.code}`)
    const fault = faultOfMessage(error.message)
    if (fault !== undefined) throw new ContractError(`${this.#op.name}: “${error.message}” ${fault}`)
  }
}

/** Why a message for people is no sentence; undefined for a good one. */
export function faultOfMessage(message: string): string | undefined {
  if (!/^[\p{Lu}\p{N}“(@#]/u.test(message)) return 'does not begin like a sentence'
  return /[.?!…][”’"')\]]?$/.test(message) && !/[.?!…]\.$/.test(message) ? undefined : 'does not end like a sentence'
}

const compile = memoize((schema: TSchema) => Compile(closed(schema) as TSchema))

/** The JSON that is sent for a body. */
function jsonOf(body: unknown): string {
  if (body instanceof StoredList) return body.text
  if (body instanceof PreparedBody) return Buffer.from(body.bytes).toString('utf8')
  if (body instanceof RawBody) return Buffer.from(body.content).toString('utf8')
  return JSON.stringify(body ?? null)
}

/** The same schema with every object closed, because undeclared fields would otherwise be dropped silently. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (schema === null || typeof schema !== 'object') return schema
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  if (copy['type'] === 'object' && copy['properties'] !== undefined && copy['additionalProperties'] === undefined) {
    copy['additionalProperties'] = false
  }
  return copy
}

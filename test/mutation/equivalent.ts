import type { Mutant } from './mutants.ts'

/** A mutant, identified by its line and its change. Line numbers are not used, because they change. */
interface Equivalent {
  readonly file: string
  /** The first changed line of the source, without indentation. */
  readonly line: string
  /** The replaced code: a part of the line, or a statement that begins in it. */
  readonly before: string
  readonly after: string
  /** Why no test can or should distinguish the mutant from the source. */
  readonly reason: string
}

/** Mutants whose change does not matter. They are not counted. */
const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'src/turns/turn-executor.ts',
    line: 'if (row === undefined) throw new UnknownOutcomeError(OutcomeUnknown({ retryAfter: 2 }))',
    before: '2',
    after: '(2 + 1)',
    reason: 'How many seconds a client should wait is a choice. Two or three are equally right.',
  },
  {
    file: 'src/domains/talk/chat/search.ts',
    line: 'createdBefore === undefined || idBefore === undefined',
    before: '||',
    after: '&&',
    reason: 'A page names both or neither.',
  },
  {
    file: 'src/core/openapi.ts',
    line: '...(example === undefined ? {} : { example }),',
    before: 'example === undefined',
    after: 'false',
    reason: 'JSON leaves out a field that is undefined.',
  },
  {
    file: 'src/core/log-writer.ts',
    line: 'return this.#gathered.length + line.length <= SIZE',
    before: '<=',
    after: '<',
    reason: 'Whether the buffer holds 65,536 characters or one less is a choice.',
  },
  {
    file: 'src/turns/driver.ts',
    line: '...(config.CLUSTER_ADDRESS === undefined ? {} : { advertise: config.CLUSTER_ADDRESS }),',
    before: 'config.CLUSTER_ADDRESS === undefined',
    after: 'false',
    reason: 'An address that is undefined is the same as none.',
  },
  {
    file: 'src/http/socket-calls.ts',
    line: 'if (op.socket !== true) this.#messages.set(op.socket, callable)',
    before: 'op.socket !== true',
    after: 'true',
    reason: 'An entry under the key `true` is never looked up: messages are looked up by name.',
  },
  {
    file: 'actors/cluster-actors.ts',
    line: 'return place !== undefined && this.#ownership.isSelf(place) && this.#lease.live',
    before: '!==',
    after: '===',
    reason:
      'The command is then routed again, which asks for the owner once more and activates the actor all the same.',
  },
  {
    file: 'src/http/admission.ts',
    line: "compiled.op.pattern.replace(/\\{\\w+\\}/g, () => parameters[index++] ?? ''),",
    before: 'index++',
    after: 'index--',
    reason: 'The one operation with signed links has one parameter.',
  },
  {
    file: 'src/domains/talk/chat/messages.ts',
    line: 'if (cached === undefined || clientId === undefined) return []',
    before: 'cached === undefined || clientId === undefined',
    after: 'true',
    reason:
      '`send` then looks the earlier message up itself: one statement per message, not per batch, for the same reply.',
  },
  {
    file: 'src/domains/talk/chat/message-store.ts',
    line: 'return ids.length === 0 ? [] : (await byId.rows(database, { ids })).map(messageView)',
    before: 'ids.length === 0',
    after: 'false',
    reason: 'Without ids, the statement finds no message. The check saves the statement.',
  },
  {
    file: 'src/turns/turn-executor.ts',
    line: 'if (needsMember(operation, payload)) callers.push(payload.context.caller.userId)',
    before: 'needsMember(operation, payload)',
    after: 'true',
    reason: 'More members are read ahead than are needed. Each turn decides for itself whether it needs one.',
  },
  {
    file: 'src/turns/announcements.ts',
    line: 'if (due.length === 0) return',
    before: 'due.length === 0',
    after: 'false',
    reason: 'Without actors, the statement clears nothing. The check saves the statement.',
  },
  {
    file: 'actors/links/tcp.ts',
    line: 'shown = now',
    before: 'shown = now',
    after: ';',
    reason: 'The same certificates are then set again for each connection. The check saves that.',
  },
  {
    file: 'src/core/random.ts',
    line: 'if (used + count > pool.length) {',
    before: 'used + count > pool.length',
    after: 'true',
    reason: 'The pool is filled for every call, so the bytes are as random, and cost more.',
  },
  {
    file: 'actors/ownership.ts',
    line: '#unbalanced = false',
    before: 'false',
    after: 'true',
    reason: 'At the start a node owns nothing, so one balancing more does nothing.',
  },
]

/** Why a mutant is not counted; undefined if it is counted. */
export function reasonOf(mutant: Mutant, line: string): string | undefined {
  return EQUIVALENT.find((one) => isOf(one, mutant, line))?.reason
}

/**
 * The entries that no longer match a mutant, because the code has changed.
 * @param mutants all mutants of the listed files, with their lines
 */
export function staleEntries(mutants: readonly { readonly mutant: Mutant; readonly line: string }[]): string[] {
  return EQUIVALENT.filter((one) => !mutants.some(({ mutant, line }) => isOf(one, mutant, line))).map(
    ({ after, before, file, line }) => `${file}: ${before} → ${after} in: ${line}`,
  )
}

function isOf(one: Equivalent, { after, before, file }: Mutant, line: string): boolean {
  return one.file === file && one.line === line && one.before === before && one.after === after
}

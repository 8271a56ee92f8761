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
  {
    file: 'src/turns/announcements.ts',
    line: 'if (options.shared) this.#timer = setInterval(() => void this.#clear(this.#idle()), CLEAR_AFTER_MS).unref()',
    before: 'options.shared',
    after: 'true',
    reason: 'A node that is alone records nothing, so its timer finds nothing to clear.',
  },
  {
    file: 'src/turns/announcements.ts',
    line: 'if (!this.#announced.has(actor)) return',
    before: '!this.#announced.has(actor)',
    after: 'false',
    reason: 'An actor without a mark is then left out of the statement. The check saves waiting for it.',
  },
  {
    file: 'src/turns/announcements.ts',
    line: '({ seq, unannouncedAfter }) => seq > unannouncedAfter && seq - unannouncedAfter <= MOST_EVENTS,',
    before: '>',
    after: '>=',
    reason: 'A batch without stored events then asks for events between two equal numbers, and there are none.',
  },
  {
    file: 'src/turns/announcements.ts',
    line: 'listed.length === 0',
    before: 'listed.length === 0',
    after: 'false',
    reason: 'Without ranges, the statement finds no events. The check saves the statement.',
  },
  {
    file: 'src/turns/batch.ts',
    line: 'if (known === undefined) {',
    before: 'known === undefined',
    after: 'true',
    reason: 'What is known of a table is then made again for each row, and is the same.',
  },
  {
    file: 'src/turns/batch.ts',
    line: 'shapes.set(table, known)',
    before: 'shapes.set(table, known)',
    after: ';',
    reason: 'What is known of a table is then made again for each row, and is the same.',
  },
  {
    file: 'src/turns/driver.ts',
    line: 'if (ca === undefined || cert === undefined || key === undefined) return {}',
    before: '||',
    after: '&&',
    reason: 'The configuration accepts all three files or none.',
  },
  {
    file: 'src/turns/driver.ts',
    line: 'const empty = new LocalActors({ host: nobody, monotonic: () => 0 })',
    before: '0',
    after: '(0 + 1)',
    reason: 'It has no commands, so its clock is never asked.',
  },
  {
    file: 'src/turns/turn-executor.ts',
    line: "if (row === undefined) throw new Error('activation returned no row')",
    before: 'row === undefined',
    after: 'false',
    reason: 'The statement inserts or updates the row, so it always returns one.',
  },
  {
    file: 'src/turns/turn-executor.ts',
    line: "if (row === undefined) throw new Error('activation returned no row')",
    before: "throw new Error('activation returned no row')",
    after: ';',
    reason: 'The statement inserts or updates the row, so it always returns one.',
  },
  {
    file: 'actors/cluster-actors.ts',
    line: 'if (call) this.#route(call)',
    before: 'call',
    after: 'true',
    reason: 'Without a call, the promise is rejected already, and ignores that nothing cannot be routed.',
  },
  {
    file: 'actors/local-actors.ts',
    line: 'if (call) this.#engine.submit(call)',
    before: 'call',
    after: 'true',
    reason: 'Without a call, the promise is rejected already, and ignores that nothing cannot be submitted.',
  },
  {
    file: 'src/domains/talk/chat/channel-operations.ts',
    line: 'socket: true,',
    before: 'true',
    after: 'false',
    reason: 'Every value allows calls over sockets, and the compiler accepts no `false`.',
  },
  {
    file: 'src/domains/talk/chat/message-operations.ts',
    line: 'socket: true,',
    before: 'true',
    after: 'false',
    reason: 'Every value allows calls over sockets, and the compiler accepts no `false`.',
  },
  {
    file: 'src/domains/talk/chat/message-list.ts',
    line: 'messages.rows(this.#sql, { channelId, ...filter, ...from, limit: most + 1 })',
    before: '1',
    after: '(1 + 1)',
    reason: 'A list cuts what it has read to its limit. The row after that shows only that there is one.',
  },
  {
    file: 'src/domains/talk/chat/channel-list.ts',
    line: 'limit: limit + 1,',
    before: '1',
    after: '(1 + 1)',
    reason: 'A list cuts what it has read to its limit. The row after that shows only that there is one.',
  },
  {
    file: 'src/domains/talk/chat/channel-list.ts',
    line: 'const row = await visibleChannels.row(this.#sql, { workspaceId, userId, joinedAt, channelId, limit: 1 })',
    before: '1',
    after: '(1 + 1)',
    reason: 'One channel has the id.',
  },
  {
    file: 'src/domains/talk/chat/search.ts',
    line: 'const filters = { ...reading, userId, tsquery: tsquery(terms), channelId, from, limit: limit + 1 }',
    before: '1',
    after: '(1 + 1)',
    reason: 'A list cuts what it has read to its limit. The row after that shows only that there is one.',
  },
  {
    file: 'src/domains/talk/chat/search.ts',
    line: 'const matched = await countMatches.row(database, { workspaceId, terms, most: MOST_MATCHES + 1 })',
    before: '1',
    after: '(1 + 1)',
    reason: 'It is known that there are more matches than are sorted, however many are counted beyond that.',
  },
  {
    file: 'src/domains/talk/chat/message-store.ts',
    line: '.limit((e) => e.lit(1))',
    before: '1',
    after: '(1 + 1)',
    reason: 'One message of an author has the id of the client in a channel.',
  },
  {
    file: 'src/turns/workspace-logs.ts',
    line: 'limit: limit + 1,',
    before: '1',
    after: '(1 + 1)',
    reason: 'A list cuts what it has read to its limit. The row after that shows only that there is one.',
  },
  {
    file: 'src/core/asyncapi.ts',
    line: 'return a < b ? -1 : 1',
    before: '1',
    after: '(1 + 1)',
    reason: 'Only the sign of a comparison counts.',
  },
  {
    file: 'src/core/asyncapi.ts',
    line: 'return a < b ? -1 : 1',
    before: '<',
    after: '<=',
    reason: 'Names are unique, so none is equal to another one.',
  },
  {
    file: 'src/core/openapi.ts',
    line: 'if (a.pattern !== b.pattern) return a.pattern < b.pattern ? -1 : 1',
    before: '1',
    after: '(1 + 1)',
    reason: 'Only the sign of a comparison counts.',
  },
  {
    file: 'src/core/openapi.ts',
    line: 'if (a.pattern !== b.pattern) return a.pattern < b.pattern ? -1 : 1',
    before: '<',
    after: '<=',
    reason: 'Equal patterns are compared by method.',
  },
  {
    file: 'src/core/openapi-webhooks.ts',
    line: 'const sorted = sent.toSorted((a, b) => (a.name < b.name ? -1 : 1))',
    before: '1',
    after: '(1 + 1)',
    reason: 'Only the sign of a comparison counts.',
  },
  {
    file: 'src/core/openapi-webhooks.ts',
    line: 'const sorted = sent.toSorted((a, b) => (a.name < b.name ? -1 : 1))',
    before: '<',
    after: '<=',
    reason: 'Names are unique, so none is equal to another one.',
  },
  {
    file: 'src/jobs/outbox.ts',
    line: 'a.runAt === b.runAt ? (a.id < b.id ? -1 : 1) : a.runAt < b.runAt ? -1 : 1,',
    before: '1',
    after: '(1 + 1)',
    reason: 'Only the sign of a comparison counts.',
  },
  {
    file: 'src/jobs/outbox.ts',
    line: 'a.runAt === b.runAt ? (a.id < b.id ? -1 : 1) : a.runAt < b.runAt ? -1 : 1,',
    before: '<',
    after: '<=',
    reason: 'Equal times are compared by id, and ids are unique.',
  },
  {
    file: 'src/jobs/lines.ts',
    line: 'const inOrder = rows.toSorted((a, b) => (a.line < b.line ? -1 : 1))',
    before: '1',
    after: '(1 + 1)',
    reason: 'Only the sign of a comparison counts.',
  },
  {
    file: 'src/jobs/lines.ts',
    line: 'const inOrder = rows.toSorted((a, b) => (a.line < b.line ? -1 : 1))',
    before: '<',
    after: '<=',
    reason: 'A claim takes one row of each line.',
  },
  {
    file: 'src/jobs/queue-rows.ts',
    line: 'return [...rows.values()].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, page.limit + 1)',
    before: '<',
    after: '<=',
    reason: 'Ids are unique, so none is equal to another one.',
  },
  {
    file: 'src/domains/talk/chat/state.ts',
    line: 'return a < b ? -1 : 1',
    before: '1',
    after: '(1 + 1)',
    reason: 'Only the sign of a comparison counts.',
  },
  {
    file: 'src/domains/talk/chat/state.ts',
    line: 'return a < b ? -1 : 1',
    before: '<',
    after: '<=',
    reason: 'Equal texts were found before.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'max: QUEUE_NAMES.length + 4,',
    before: '4',
    after: '(4 + 1)',
    reason: 'How many there are is a choice. One more is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'connectionTimeoutMillis: 5_000,',
    before: '5_000',
    after: '(5_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'idleTimeoutMillis: 10_000,',
    before: '10_000',
    after: '(10_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'drainDelay: 15,',
    before: '15',
    after: '(15 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'drainDelay: 10,',
    before: '10',
    after: '(10 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'commandTimeout: 5_000,',
    before: '5_000',
    after: '(5_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'connectTimeout: 2_000,',
    before: '2_000',
    after: '(2_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'const workerConnection = quiet(new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 2_000, retryStrategy }))',
    before: '2_000',
    after: '(2_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'const retryStrategy = (tries: number) => Math.min(1_000, 50 * 2 ** Math.min(tries, 5))',
    before: '1_000',
    after: '(1_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'const retryStrategy = (tries: number) => Math.min(1_000, 50 * 2 ** Math.min(tries, 5))',
    before: '50',
    after: '(50 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'const retryStrategy = (tries: number) => Math.min(1_000, 50 * 2 ** Math.min(tries, 5))',
    before: '2',
    after: '(2 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'const retryStrategy = (tries: number) => Math.min(1_000, 50 * 2 ** Math.min(tries, 5))',
    before: '5',
    after: '(5 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/backend.ts',
    line: 'runRetryDelay: 1_000,',
    before: '1_000',
    after: '(1_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/runtime.ts',
    line: 'return await Promise.race([work, delay(1_500, undefined, { signal: over.signal }).catch(() => undefined)])',
    before: '1_500',
    after: '(1_500 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/runner.ts',
    line: 'await Promise.race([Promise.all(this.#running.keys()), delay(GRACE_MS + 500)])',
    before: '500',
    after: '(500 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'pool.setMaxListeners(2 * QUEUE_NAMES.length + 10)',
    before: '2',
    after: '(2 + 1)',
    reason: 'Node only warns when there are more listeners.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'pool.setMaxListeners(2 * QUEUE_NAMES.length + 10)',
    before: '10',
    after: '(10 + 1)',
    reason: 'Node only warns when there are more listeners.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'pool.setMaxListeners(2 * QUEUE_NAMES.length + 10)',
    before: '*',
    after: '/',
    reason: 'Node only warns when there are more listeners.',
  },
  {
    file: 'src/jobs/stores.ts',
    line: 'pool.setMaxListeners(2 * QUEUE_NAMES.length + 10)',
    before: '+',
    after: '-',
    reason: 'Node only warns when there are more listeners.',
  },
  {
    file: 'actors/redis-lease-store.ts',
    line: 'retryStrategy: (tries) => Math.min(500, 25 * 2 ** Math.min(tries, 5)),',
    before: '5',
    after: '(5 + 1)',
    reason: 'The pause is the longest one by then. The limit only keeps the power from overflowing.',
  },
  {
    file: 'actors/links/tcp.ts',
    line: 'socket.setKeepAlive(true, 5_000)',
    before: '5_000',
    after: '(5_000 + 1)',
    reason: 'How long to wait is a choice. A little longer is equally right.',
  },
  {
    file: 'src/domains/talk/chat/search.ts',
    line: 'if ((matched?.count ?? 0) <= MOST_MATCHES) {',
    before: '<=',
    after: '<',
    reason: 'Both ways to read find the same messages. From how many matches on the second one is quicker is a choice.',
  },
  {
    file: 'src/domains/talk/chat/search.ts',
    line: 'const start = first <= BEFORE ? 0 : first - BEFORE',
    before: '<=',
    after: '<',
    reason: 'A snippet of a match at this position begins at 0 in both cases.',
  },
  {
    file: 'src/http/byte-queue.ts',
    line: 'const into = block ?? Buffer.allocUnsafeSlow(64 * 1024)',
    before: '64',
    after: '(64 + 1)',
    reason: 'How many bytes are read from disk at once is a choice.',
  },
  {
    file: 'src/http/byte-queue.ts',
    line: 'const into = block ?? Buffer.allocUnsafeSlow(64 * 1024)',
    before: '1024',
    after: '(1024 + 1)',
    reason: 'How many bytes are read from disk at once is a choice.',
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

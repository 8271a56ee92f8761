import { setTimeout as delay } from 'node:timers/promises'
import type { LogRow, TestNode } from './actors-cluster.ts'
import type { NodeReply } from './actors-node.ts'

export const ACTORS = ['ws:a', 'ws:b', 'ws:c', 'ws:d', 'ws:e', 'ws:f']
const TIMEOUT_MS = 4_000
/** How late a reply may be. On a busy machine that says little, so it is only less than what a hang takes. */
const GRACE_MS = process.env['FAULT_PACE'] === undefined ? 20_000 : 1_000

export interface Sent {
  readonly op: string
  readonly actor: string
  readonly node: string
  readonly sentAt: number
  readonly tookMs: number
  readonly reply: NodeReply
}

let lastOp = 0

/** Clients of some nodes that append to all actors, one command after the other, until the load stops. */
export class Load {
  readonly sent: Sent[] = []
  readonly #latest = new Map<string, number>()
  #running = true
  readonly #clients: Promise<void>[] = []
  readonly #timeoutMs: number

  /** @param timeoutMs how long a command may take */
  constructor(timeoutMs = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs
  }

  add(node: TestNode): void {
    for (const actor of ACTORS) this.#clients.push(this.#client(node, actor))
  }

  /** Whether each of these nodes has acknowledged a command to each actor that was sent after `since`. */
  isServedSince(since: number, nodes: readonly TestNode[]): boolean {
    return nodes.every((node) => ACTORS.every((actor) => (this.#latest.get(`${node.name} ${actor}`) ?? 0) > since))
  }

  /** The longest time without an acknowledged command for these actors through these nodes, in milliseconds. */
  longestGap(nodes: readonly TestNode[], actors: readonly string[] = ACTORS): number {
    let longest = 0
    for (const node of nodes) {
      for (const actor of actors) {
        const times = this.sent
          .filter((one) => one.reply.ok && one.node === node.name && one.actor === actor)
          .map((one) => one.sentAt + one.tookMs)
          .sort((a, b) => a - b)
        times.forEach((time, index) => {
          if (index > 0) longest = Math.max(longest, time - (times[index - 1] as number))
        })
      }
    }
    return longest
  }

  get acknowledged(): number {
    return this.sent.filter((one) => one.reply.ok).length
  }

  async stop(): Promise<readonly Sent[]> {
    this.#running = false
    await Promise.all(this.#clients)
    return this.sent
  }

  async #client(node: TestNode, actor: string): Promise<void> {
    while (this.#running && node.alive) {
      const op = `op${(lastOp += 1)}`
      const sentAt = performance.now()
      const reply = await node.run(actor, op, this.#timeoutMs)
      this.sent.push({ op, actor, node: node.name, sentAt, tookMs: performance.now() - sentAt, reply })
      if (reply.ok) this.#latest.set(`${node.name} ${actor}`, sentAt)
      await delay(reply.ok ? 4 : 25)
    }
  }
}

/** Compares the log with the replies that clients got. @param stopped nodes whose process was paused @returns the faults */
export function faultsOf(log: readonly LogRow[], sent: readonly Sent[], stopped: readonly string[] = []): string[] {
  const found: string[] = []
  const rows = new Map<string, LogRow>()
  let previous: LogRow | undefined
  for (const row of log) {
    const next = previous?.actor === row.actor ? previous.seq + 1 : 1
    if (row.seq !== next) found.push(`${row.actor}: seq ${row.seq} instead of ${next}`)
    if (previous?.actor === row.actor && row.epoch < previous.epoch)
      found.push(`${row.actor} ${row.seq}: epoch went back`)
    if (rows.has(row.op)) found.push(`${row.op} was applied twice`)
    rows.set(row.op, row)
    previous = row
  }
  for (const { op, reply, tookMs, node } of sent) {
    const row = rows.get(op)
    if (reply.ok && row?.seq !== reply.value)
      found.push(`${op}: the reply was ${String(reply.value)}, the log has ${row?.seq ?? 'nothing'}`)
    const mayExist = reply.reason === 'unknown' || reply.reason === 'died'
    if (!reply.ok && !mayExist && row) found.push(`${op}: the reply was ${reply.reason}, but it was applied`)
    // No request may hang, except in a paused process.
    if (tookMs > TIMEOUT_MS + GRACE_MS && !stopped.includes(node)) found.push(`${op} took ${tookMs.toFixed(0)} ms`)
  }
  return found
}

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../../src/setup/free-port.ts'
import { cpuSeconds, median, processTree, start, type Running } from '../support/process.ts'
import { ask, makeWorkspace, withSetup, type Setup } from './setup.ts'
import type { Order } from './load.ts'

export interface DeliveryBench {
  readonly databaseUrl: string
  readonly folder: string
  /** The text of the messages. */
  readonly body: string
  readonly rounds: number
  readonly seconds: number
  /** Sockets in the room. */
  readonly receivers: number
  /** Concurrent messages in progress. */
  readonly window: number
}

interface Side {
  readonly name: string
  readonly running: Running
  readonly text: string
  /** The target share of the upper limit. */
  readonly aim?: string
}

interface Figures {
  readonly perSecond: number
  /** Microseconds of CPU per delivery. */
  readonly server: number
  readonly database: number
  readonly load: number
}

/** Compares persisted messages to a room with bare broadcasts of the same frame, and prints a Markdown table. */
export async function benchDelivery(bench: DeliveryBench): Promise<void> {
  await withSetup(bench.databaseUrl, bench.folder, async (setup) => {
    const baselines: Running[] = []
    try {
      await compare(bench, setup, baselines)
    } finally {
      for (const baseline of baselines) await baseline.stop()
    }
  })
}

async function compare(bench: DeliveryBench, setup: Setup, baselines: Running[]): Promise<void> {
  const { load, port } = setup
  const { channelId, keys, workspaceId } = await makeWorkspace(setup, 'hot', bench.receivers)
  const body = { body: bench.body, clientId: 'message-%' }
  const call = { operation: 'sendMessage', path: { workspaceId, channelId }, body }
  const order = ({ name, text }: Side, seconds: number): Order => ({
    kind: 'send',
    side: name,
    seconds,
    window: bench.window,
    text,
  })
  const crier: Side = { name: 'Crier, persisted', running: setup.crier, text: `42%["call",${JSON.stringify(call)}]` }
  await ask(load, { kind: 'open', side: crier.name, port, isSocketIo: true, tokens: keys })
  const { sample } = await ask(load, order(crier, 1))
  const file = join(bench.folder, 'frame.txt')
  mkdirSync(bench.folder, { recursive: true })
  writeFileSync(file, sample)

  const baseline = async (name: string, kind: string, aim: string): Promise<Side> => {
    const at = await freeLoopbackPort()
    const running = await start(
      [new URL('../baselines/bare-fan-out.ts', import.meta.url).pathname, kind, String(at), file],
      /ready/,
    )
    baselines.push(running)
    const isSocketIo = kind !== 'publish'
    await ask(load, { kind: 'open', side: name, port: at, isSocketIo, tokens: keys })
    return { name, running, aim, text: isSocketIo ? '42["publish",#]' : '#' }
  }
  const sides = [
    crier,
    await baseline('socket.io `io.to(room).emit`, on ws', 'ws', '≥ 80 %'),
    await baseline('socket.io `io.to(room).emit`, on uWebSockets.js', 'uws', '≥ 80 %'),
    await baseline('uWebSockets.js `publish`', 'publish', '≥ 70 %'),
  ]
  for (const side of sides) await ask(load, order(side, 1))
  const rounds: Figures[][] = []
  for (let round = 0; round < bench.rounds; round += 1) {
    const row: Figures[] = []
    for (const side of sides) row.push(await measure(side, setup, order(side, bench.seconds)))
    rounds.push(row)
  }
  console.log(
    `\nOne room of ${bench.receivers} sockets, ${bench.window} messages in progress, frames of ${Buffer.byteLength(sample)} bytes.`,
  )
  print(sides, rounds)
}

async function measure(side: Side, { database, load }: Setup, order: Order): Promise<Figures> {
  const { rows } = await database.query<{ pid: number }>('select pg_backend_pid() as pid')
  const postgres = parentOf(rows[0]?.pid ?? 0)
  const before = [cpuSeconds(side.running.pid), cpuOfTree(postgres)] as const
  const { cpu, deliveries, refused, seconds } = await ask(load, order)
  const after = [cpuSeconds(side.running.pid), cpuOfTree(postgres)] as const
  if (refused > 0) throw new Error(`${side.name}: ${refused} messages were rejected, so there is no ratio`)
  const each = (total: number) => (total * 1e6) / deliveries
  return {
    perSecond: deliveries / seconds,
    server: each(after[0] - before[0]),
    database: side.aim === undefined ? each(after[1] - before[1]) : 0,
    load: each(cpu),
  }
}

function print(sides: readonly Side[], rounds: readonly Figures[][]): void {
  const of = (side: number, figure: (one: Figures) => number) =>
    median(rounds.flatMap((row) => row[side] ?? []).map(figure))
  /** The median ratio of Crier to an upper limit. */
  const ratio = (side: number, share: (ours: Figures, theirs: Figures) => number) =>
    median(
      rounds.flatMap(([ours, ...rest]) => (ours && rest[side - 1] ? [share(ours, rest[side - 1] as Figures)] : [])),
    )
  const percent = (value: number) => `${(value * 100).toFixed(0)} %`
  console.log(
    '\n| delivery | deliveries/s | ratio | target | CPU µs per delivery: server | PostgreSQL | receivers | ratio by CPU of the server | with PostgreSQL |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|')
  for (const [index, { aim, name }] of sides.entries()) {
    const cells = [name, of(index, (one) => one.perSecond).toFixed(0)]
    cells.push(
      aim === undefined ? '' : `**${percent(ratio(index, (ours, theirs) => ours.perSecond / theirs.perSecond))}**`,
      aim ?? '',
    )
    for (const key of ['server', 'database', 'load'] as const) cells.push(of(index, (one) => one[key]).toFixed(2))
    cells.push(
      aim === undefined ? '' : percent(ratio(index, (ours, theirs) => theirs.server / ours.server)),
      aim === undefined ? '' : percent(ratio(index, (ours, theirs) => theirs.server / (ours.server + ours.database))),
    )
    console.log(`| ${cells.join(' | ')} |`)
  }
  console.log('\nNo message was rejected, and each one reached every socket.')
}

/** The CPU seconds of a process and its live descendants. */
function cpuOfTree(pid: number): number {
  let sum = 0
  for (const one of processTree(pid)) {
    try {
      sum += cpuSeconds(one)
    } catch {
      // The process has exited meanwhile.
    }
  }
  return sum
}

const parentOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[1])

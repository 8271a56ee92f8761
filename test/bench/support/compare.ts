import { deepStrictEqual } from 'node:assert'
import { cpuSeconds, median, residentBytes, type Running } from './process.ts'
import { wrk, type Load } from './wrk.ts'

/** One of two servers that give the same replies. */
export interface Side {
  readonly name: string
  readonly running: Running
  readonly load: (connections: number) => Load
}

export interface Comparison {
  readonly title: string
  readonly ours: Side
  readonly baseline: Side
  readonly connections: number
  /** The figure that the ratio compares. */
  readonly by: 'perSecond' | 'perCpuSecond'
  readonly rounds: number
  /** Fields that always differ between replies, such as new ids and times. */
  readonly varying?: readonly string[]
}

interface Figures {
  readonly perSecond: number
  readonly perCpuSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** The header of the rows that {@link compare} prints. */
export const COLUMNS =
  '| what | server | req/s | req per CPU second | p50 / p99 ms | RSS MB | ratio | range |\n|---|---|---|---|---|---|---|---|'

/**
 * Loads two servers alternately and prints a row for each, with the median ratio of the rounds. Compares their replies
 * before and after each round.
 * @throws Error when a request fails on either side, or when the replies differ
 */
export async function compare(comparison: Comparison): Promise<void> {
  const { by, connections, ours, baseline, rounds, title } = comparison
  await sameReplies(comparison)
  await measure(ours, connections)
  await measure(baseline, connections)
  const rows: [Figures, Figures][] = []
  for (let round = 0; round < rounds; round += 1) {
    await sameReplies(comparison)
    rows.push([await measure(ours, connections), await measure(baseline, connections)])
    await sameReplies(comparison)
  }
  const ratios = rows.map(([one, other]) => one[by] / other[by])
  const percent = (ratio: number) => `${(ratio * 100).toFixed(0)} %`
  const print = (side: 0 | 1, { name, running }: Side, last: string) => {
    const of = (key: keyof Figures) => median(rows.map((row) => row[side][key]))
    console.log(
      `| ${title}, ${connections} connections | ${name} | ${of('perSecond').toFixed(0)} | ${of('perCpuSecond').toFixed(0)} | ${of('p50Ms').toFixed(1)} / ${of('p99Ms').toFixed(1)} | ${(residentBytes(running.pid) / 1e6).toFixed(0)} | ${last} |`,
    )
  }
  print(0, ours, `**${percent(median(ratios))}** | ${percent(Math.min(...ratios))}–${percent(Math.max(...ratios))}`)
  print(1, baseline, '|')
}

async function measure(side: Side, connections: number): Promise<Figures> {
  const before = cpuSeconds(side.running.pid)
  const { failed, requests, ...result } = await wrk(side.load(connections))
  const cpu = cpuSeconds(side.running.pid) - before
  if (failed > 0) throw new Error(`${side.name}: ${failed} of ${requests} requests failed, so there is no ratio`)
  return { ...result, perCpuSecond: requests / cpu }
}

async function sameReplies({ ours, baseline, connections, title, varying = [] }: Comparison): Promise<void> {
  const mine = { name: ours.name, request: ours.load(connections) }
  await requireSameReplies(title, mine, { name: baseline.name, request: baseline.load(connections) }, varying)
}

interface NamedRequest {
  readonly name: string
  readonly request: Pick<Load, 'url' | 'method' | 'body' | 'headers'>
}

/**
 * Sends a request to each of two servers and compares the replies.
 * @param varying fields that always differ between replies, such as new ids and times
 * @throws Error unless both succeed with the same status and JSON
 */
export async function requireSameReplies(
  title: string,
  ours: NamedRequest,
  baseline: NamedRequest,
  varying: readonly string[],
): Promise<void> {
  const [mine, theirs] = await Promise.all([sample(ours.request), sample(baseline.request)])
  for (const [{ name }, { status, text }] of [[ours, mine] as const, [baseline, theirs] as const]) {
    if (status >= 300) throw new Error(`${title}: ${name} answers ${status}: ${text}`)
  }
  const comparable = ({ status, text }: Sample) => ({
    status,
    body: JSON.parse(text, (key, value: unknown) => (varying.includes(key) ? `<${key}>` : value)) as unknown,
  })
  const message = `${title}: the replies of ${baseline.name} and ${ours.name} differ`
  deepStrictEqual(comparable(theirs), comparable(mine), message)
}

interface Sample {
  readonly status: number
  readonly text: string
}

async function sample({ body, headers, method, url }: NamedRequest['request']): Promise<Sample> {
  const response = await fetch(url, {
    method: method ?? 'GET',
    headers: { ...headers },
    ...(body !== undefined && { body }),
  })
  return { status: response.status, text: await response.text() }
}

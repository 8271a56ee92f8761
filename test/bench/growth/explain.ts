import { escapeLiteral, type Client } from 'pg'
import { createRequire } from 'node:module'
import { backendMs } from './recorder.ts'

const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils') as {
  prepareValue: (value: unknown) => string | Buffer | null
}

/** What a statement costs. */
export interface Cost {
  readonly blocks: number
  readonly ms: number
  /** Rows that it returns. */
  readonly rows: number
  /** Large tables that it reads in full. */
  readonly scans: readonly string[]
  /** The most rows that it sorts because no index has them in that order. */
  readonly sorted: number
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly Plan[]
}

/** Executions after which PostgreSQL may choose a plan for all values. */
const EXECUTIONS = 6

const SLOW_MS = 25
const SLOW_AGAIN = 3

/**
 * The cost of a read with the plan of a used connection. Undefined for other statements.
 * @param isSearch its transaction plans each statement for its values (`Searches`)
 */
export async function explain(
  client: Client,
  text: string,
  values: readonly unknown[],
  large: ReadonlySet<string>,
  isSearch: boolean,
): Promise<Cost | undefined> {
  if (!/^\s*(select|with)\b/i.test(text) || /\b(insert into|update|delete from|set_config|for update)\b/i.test(text)) {
    return undefined
  }
  const list = values.map(literal).join(', ')
  const execution = `execute growth${list === '' ? '' : `(${list})`}`
  await client.query(`set plan_cache_mode = ${isSearch ? 'force_custom_plan' : 'auto'}`)
  await client.query(`set max_parallel_workers_per_gather = ${isSearch ? '0' : 'default'}`)
  await client.query(`prepare growth as ${text}`)
  try {
    for (let count = 0; count < EXECUTIONS; count += 1) await client.query(`explain ${execution}`)
    const analyze = async () => {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan; 'Execution Time': number }] }>(
        `explain (analyze, buffers, timing off, format json) ${execution}`,
      )
      return rows[0]?.['QUERY PLAN'][0]
    }
    const timed = async () => {
      const before = backendMs(client)
      const result = await analyze()
      return result && { ...result, 'Execution Time': Math.min(result['Execution Time'], backendMs(client) - before) }
    }
    let found = await timed()
    // The first execution may read from the disk, so the fastest of several counts.
    for (let again = 0; again < SLOW_AGAIN && (found?.['Execution Time'] ?? 0) > SLOW_MS; again += 1) {
      const next = await timed()
      if (next !== undefined && next['Execution Time'] < (found?.['Execution Time'] ?? 0)) found = next
    }
    if (found === undefined) return undefined
    const { Plan: plan, 'Execution Time': ms } = found
    const blocks = (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
    return {
      blocks,
      ms,
      rows: plan['Actual Rows'],
      scans: [...new Set(scansOf(plan, large))],
      sorted: sortedOf(plan),
    }
  } finally {
    await client.query('deallocate growth')
  }
}

function literal(value: unknown): string {
  const prepared = prepareValue(value)
  if (prepared === null) return 'null'
  return Buffer.isBuffer(prepared) ? `'\\x${prepared.toString('hex')}'` : escapeLiteral(prepared)
}

function scansOf(plan: Plan, large: ReadonlySet<string>): string[] {
  const table = plan['Relation Name'] ?? ''
  const own = plan['Node Type'] === 'Seq Scan' && large.has(table) ? [table] : []
  return [...own, ...(plan.Plans ?? []).flatMap((inner) => scansOf(inner, large))]
}

function sortedOf(plan: Plan): number {
  const inner = plan.Plans ?? []
  const own =
    plan['Node Type'] === 'Sort' ? inner.reduce((sum, one) => sum + one['Actual Rows'] * one['Actual Loops'], 0) : 0
  return Math.max(own, ...inner.map(sortedOf))
}

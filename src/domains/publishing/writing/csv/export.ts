import { stringify } from 'csv-stringify/sync'
import { Slices } from '../../../../core/slices.ts'
import { escapeCell, writeList } from './cells.ts'
import { ACCOUNTS, COLUMNS, OVERRIDE } from './columns.ts'
import type { SheetPost } from './sheet-post.ts'

/** Columns that are written even if no post uses them, beside that of the accounts. */
const ALWAYS = new Set<string>(['content', 'scheduledFor'])

/**
 * Writes posts in slices as CSV that `importSheet` reads as the same posts, and that Excel opens: UTF-8 with a byte
 * order mark, CRLF, every cell in quotation marks, and nothing that Excel executes. Columns that no post uses are left
 * out, but not `content`, `accounts` and `scheduledFor`.
 */
export async function exportSheet(posts: readonly SheetPost[], slices = new Slices()): Promise<Buffer> {
  const { overridden, used } = await columnsOf(posts, slices)
  const header = [...used.map(({ name }) => name), ACCOUNTS, ...overridden.map((id) => `${OVERRIDE}${id}`)]
  const pieces = [Buffer.from(stringify([header], { ...FORMAT, bom: true }))]
  for (const post of posts) {
    const targets = post.targets ?? []
    const overrides = new Map(targets.map(({ accountId, override }) => [accountId, override]))
    const cells = [
      ...used.map((column) => column.write(post)),
      targets.length === 0 ? '' : writeList(targets.map(({ accountId }) => accountId)),
      ...overridden.map((id) => {
        const override = overrides.get(id)
        return override === undefined ? '' : JSON.stringify(override)
      }),
    ]
    pieces.push(Buffer.from(stringify([cells.map(escapeCell)], FORMAT)))
    await slices.pause()
  }
  return Buffer.concat(pieces)
}

const FORMAT = { record_delimiter: 'windows', quoted: true } as const

/** The columns that posts use, and the accounts that have overrides. */
async function columnsOf(posts: readonly SheetPost[], slices: Slices) {
  const names = new Set(ALWAYS)
  const overridden = new Set<string>()
  for (const post of posts) {
    for (const { name, write } of COLUMNS) {
      if (!names.has(name) && (post[name] === null || write(post) !== '')) names.add(name)
    }
    for (const { accountId, override } of post.targets ?? []) if (override) overridden.add(accountId)
    await slices.pause()
  }
  return { used: COLUMNS.filter(({ name }) => names.has(name)), overridden: [...overridden] }
}

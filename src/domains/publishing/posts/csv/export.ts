import { stringify } from 'csv-stringify/sync'
import { escapeCell, writeList } from './cells.ts'
import { ACCOUNTS, COLUMNS, OVERRIDE } from './columns.ts'
import type { SheetPost } from './sheet-post.ts'

/**
 * Writes posts as CSV that `importSheet` reads as the same posts, and that Excel opens: UTF-8 with a byte order mark,
 * CRLF, every cell in quotation marks, and nothing that Excel executes. Columns that no post uses are left out, but not
 * `content`, `accounts` and `scheduledFor`.
 */
export function exportSheet(posts: readonly SheetPost[]): Buffer {
  const always = new Set<string>(['content', 'scheduledFor'])
  const used = COLUMNS.filter(
    (column) =>
      always.has(column.name) || posts.some((post) => post[column.name] === null || column.write(post) !== ''),
  )
  const overridden = new Set(
    posts.flatMap(({ targets = [] }) => targets.flatMap(({ accountId, override }) => (override ? [accountId] : []))),
  )
  const header = [...used.map(({ name }) => name), ACCOUNTS, ...[...overridden].map((id) => `${OVERRIDE}${id}`)]
  const rows = posts.map((post) => {
    const targets = post.targets ?? []
    return [
      ...used.map((column) => column.write(post)),
      targets.length === 0 ? '' : writeList(targets.map(({ accountId }) => accountId)),
      ...[...overridden].map((id) => {
        const override = targets.find(({ accountId }) => accountId === id)?.override
        return override === undefined ? '' : JSON.stringify(override)
      }),
    ].map(escapeCell)
  })
  return Buffer.from(stringify([header, ...rows], { bom: true, record_delimiter: 'windows', quoted: true }))
}

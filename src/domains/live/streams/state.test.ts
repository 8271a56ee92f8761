import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isActive, next, type StreamTransition, type StreamStatus } from './state.ts'

const STREAM_STATUSES = ['idle', 'receiving', 'starting', 'live', 'interrupted', 'ended'] satisfies StreamStatus[]

test('the table in the comment agrees with the code', () => {
  const source = readFileSync(new URL('state.ts', import.meta.url), 'utf8')
  const rows = [...source.matchAll(/^ \* \| ([a-z_]+) +\| (.*) \|$/gm)].map(([, transition, cells]) => ({
    transition: transition as StreamTransition,
    cells: (cells ?? '').split('|').map((cell) => cell.trim()),
  }))
  const table = rows.filter(({ cells }) => cells.length === STREAM_STATUSES.length)
  expect(table).toHaveLength(9)
  for (const { transition, cells } of table.filter((row) => row.transition !== ('transition' as StreamTransition))) {
    const outcomes = STREAM_STATUSES.map((status) => next(status, transition) ?? 'none')
    expect(outcomes, transition).toEqual(cells.map((cell) => (cell === '–' || cell === '409' ? 'none' : cell)))
  }
})

test('starting, live and interrupted streams are active', () => {
  expect(STREAM_STATUSES.filter((status) => isActive(status))).toEqual(['starting', 'live', 'interrupted'])
})

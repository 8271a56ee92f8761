import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isOnAir, next, type Happening, type StreamStatus } from './state.ts'

const STREAM_STATUSES = ['idle', 'receiving', 'starting', 'live', 'interrupted', 'ended'] satisfies StreamStatus[]

test('the table in the comment agrees with the code', () => {
  const source = readFileSync(new URL('state.ts', import.meta.url), 'utf8')
  const rows = [...source.matchAll(/^ \* \| ([a-z_]+) +\| (.*) \|$/gm)].map(([, happening, cells]) => ({
    happening: happening as Happening,
    cells: (cells ?? '').split('|').map((cell) => cell.trim()),
  }))
  const table = rows.filter(({ cells }) => cells.length === STREAM_STATUSES.length)
  expect(table).toHaveLength(9)
  for (const { happening, cells } of table.filter((row) => row.happening !== ('event' as Happening))) {
    const outcomes = STREAM_STATUSES.map((status) => next(status, happening) ?? 'none')
    expect(outcomes, happening).toEqual(cells.map((cell) => (cell === '–' || cell === '409' ? 'none' : cell)))
  }
})

test('starting, live and interrupted streams are on air', () => {
  expect(STREAM_STATUSES.filter((status) => isOnAir(status))).toEqual(['starting', 'live', 'interrupted'])
})

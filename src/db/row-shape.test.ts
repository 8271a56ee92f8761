import { expect, test } from 'vitest'
import { RowShapes } from './row-shape.ts'

const columns: Readonly<Record<string, string>> = { id: 'id', workspaceId: 'workspace_id', note: 'note' }
const shapes = () =>
  new RowShapes('things', (property) => {
    const column = columns[property]
    if (column === undefined) throw new TypeError(`things has no property ${property}`)
    return column
  })

test('rows with the same properties share a statement, and no values', () => {
  const things = shapes()
  const first = things.toInsert({ id: 1, workspaceId: 2, note: 'a' })
  const second = things.toInsert({ id: 3, workspaceId: 4, note: null })
  expect(first).toEqual({
    statement:
      'insert into "things" ("id", "workspace_id", "note") select "id", "workspace_id", "note" ' +
      'from json_populate_recordset(null::"things", $1::json)',
    row: { id: 1, workspace_id: 2, note: 'a' },
  })
  expect(second.statement).toBe(first.statement)
  // PostgreSQL reads what JSON leaves out as null.
  expect(JSON.stringify(second.row)).toBe('{"id":3,"workspace_id":4}')
})

test('a property without a value is left out, so that its column gets the default', () => {
  const things = shapes()
  const whole = things.toInsert({ id: 1, workspaceId: 2 })
  for (const row of [{ id: 1 }, { id: 1, workspaceId: undefined }, { workspaceId: undefined, id: 1 }]) {
    const inserted = things.toInsert(row)
    expect(inserted.row).toEqual({ id: 1 })
    expect(inserted.statement).toContain('("id")')
  }
  expect(things.toInsert({ id: 1, workspaceId: 2 }).statement).toBe(whole.statement)
})

test('rows in another order of properties are shaped as well', () => {
  const things = shapes()
  things.toInsert({ id: 1, workspaceId: 2 })
  const { row, statement } = things.toInsert({ workspaceId: 2, id: 1 })
  expect(row).toEqual({ id: 1, workspace_id: 2 })
  expect(statement).toContain('("workspace_id", "id")')
})

test('a property that is not a column is refused', () => {
  const things = shapes()
  things.toInsert({ id: 1 })
  expect(() => things.toInsert({ id: 1, colour: 'red' })).toThrow('things has no property colour')
})

test('conflicts are ignored on request', () => {
  expect(shapes().toInsert({ id: 1 }, true).statement).toMatch(/ on conflict do nothing$/)
})

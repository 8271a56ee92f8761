import { expect, test } from 'vitest'
import { fieldOf, render } from './render.ts'

test('a list is a table without nested objects, cut to the width', () => {
  const data = [
    { _id: 'one', title: 'First', deep: { a: 1 }, count: 3, note: 'x'.repeat(60) },
    { _id: 'two', title: 'Second', deep: { a: 2 }, count: null, note: '' },
  ]
  expect(render({ status: true, message: 'Things', data, pagination: { hasMore: true, nextCursor: 'abc' } }, 50)).toBe(
    `title   _id  count
First   one  3
Second  two  -
More with --cursor abc`,
  )
  expect(render({ status: true, message: 'Things', data }, 200)).toContain(`${'x'.repeat(39)}…`)
})

test('a resource is a list of names and values, with nested objects indented', () => {
  const data = { _id: 'one', title: 'First', tags: ['a', 'b'], none: [], inner: { on: true }, rows: [{ a: 1, b: 2 }] }
  expect(render({ status: true, message: 'A thing', data }, 80)).toBe(
    `A thing
_id    one
title  First
tags   a, b
none   none
inner:
  on  true
rows:
  - a  1
    b  2`,
  )
})

test('columns that name a row come before its id, and other ids last', () => {
  const data = [{ _id: 'one', workspaceId: 'acme', createdAt: 'today', title: 'First', status: 'live' }]
  expect(render({ status: true, message: 'Things', data }, 80).split('\n')[0]).toBe(
    'title  _id  status  createdAt  workspaceId',
  )
})

test('a field is found in the data or beside it', () => {
  const body = { status: true, message: 'Made', data: { _id: 'one', n: 3, rows: [{ a: 'b' }] }, user: { email: 'e' } }
  expect(['_id', 'n', 'rows.0.a', 'rows', 'user.email', 'message'].map((path) => fieldOf(body, path))).toEqual([
    'one',
    '3',
    'b',
    '[{"a":"b"}]',
    'e',
    'Made',
  ])
  expect(() => fieldOf(body, 'nope.deeper')).toThrow('the reply has no field nope.deeper')
})

test('empty lists, replies without data, and bodies of another shape', () => {
  expect(render({ status: true, message: 'Streams', data: [] }, 80)).toBe('Streams: none')
  expect(render({ status: true, message: 'Deleted' }, 80)).toBe('Deleted')
  expect(render(undefined, 80)).toBe('Done')
  expect(render({ message: 'Welcome', user: { _id: 'one' } }, 80)).toBe('Welcome\nuser:\n  _id  one')
  expect(render({ status: true, message: 'Names', data: ['a', 'b'] }, 80)).toBe('a\nb')
})

test('control characters in texts of other users do not reach the terminal', () => {
  const evil = '\u001b]0;owned\u0007 name\r\n\u009b31m'
  const printed = render({ message: 'A thing', data: { name: evil } }, 80)
  // oxlint-disable-next-line no-control-regex -- the expression looks for control characters
  expect(printed.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
})
